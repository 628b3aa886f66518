// Memory that the processes of a node share.
//
// Invariants:
//  - It has no name in any file system (memfd): nothing is left behind whatever dies when, and
//    nobody who was not given its key can find it.
//  - Address space costs nothing until allocate() has got pages for a part of it, so that a full
//    machine is an error of that call and not a bus error of whoever touches the part.
//  - A process maps it once, however many of its threads open it: one byte has one address, and
//    ThreadSanitizer sees all there is.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>

#include "caesura/base.hpp"

namespace caesura::base {

class SharedMemory {
  public:
    /// What the others need in order to open it. Trivially copyable: travels as bytes.
    struct Key {
        std::array<std::byte, 16> nonce{};
        std::int64_t process = 0;
        std::int32_t descriptor = -1;
        std::uint32_t unused = 0;
        std::uint64_t bytes = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    /// The first bytes are taken by the nonce.
    static constexpr std::size_t k_first_byte = 64;

    /// Zeros. Errors: unsupported (no memfd, a limit on file sizes or on address space).
    static Result<std::shared_ptr<SharedMemory>> create(std::uint64_t bytes);
    /// The creator must hold it meanwhile. Errors: unsupported (another process namespace, another
    /// user, no /proc).
    static Result<std::shared_ptr<SharedMemory>> open(const Key& key);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    const Key& key() const { return key_; }
    std::byte* data() { return data_; }
    std::uint64_t bytes() const { return key_.bytes; }

    /// Get pages for a part. Any thread. Errors: no_space.
    Status allocate(std::uint64_t offset, std::uint64_t bytes);
    /// Give the whole pages of a part back; they read as zeros afterwards. Any thread.
    void release(std::uint64_t offset, std::uint64_t bytes);

  private:
    SharedMemory(const Key& key, int descriptor, std::byte* data)
        : key_(key), descriptor_(descriptor), data_(data) {}
    static Result<std::shared_ptr<SharedMemory>> map(const Key& key, int descriptor);

    Key key_;
    int descriptor_;
    std::byte* data_;
};

}  // namespace caesura::base
