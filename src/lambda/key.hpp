// The operator's key for encryption: 32 bytes of a file that only its owner may read.
//
// Invariants:
//  - The key lies in locked memory between guard pages, in no core dump, and is wiped with the
//    object. It is copied nowhere else.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "caesura/base.hpp"

namespace caesura::lambda {

class Key {
  public:
    static constexpr std::size_t k_bytes = 32;
    using Id = std::array<std::byte, 8>;

    /// Errors: io, invalid_argument (not a plain file, another owner, readable by others, not 32
    /// bytes), naming what is wrong and what to do; no_space.
    static Result<std::shared_ptr<const Key>> read(const std::string& path);
    ~Key();
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;

    const unsigned char* data() const { return secret_; }
    /// Tells keys apart and says nothing of the key.
    const Id& id() const { return id_; }

  private:
    explicit Key(unsigned char* secret);
    unsigned char* secret_;
    Id id_{};
};

}  // namespace caesura::lambda
