// Where regions go for which there is no memory: a file without a name.
//
// Invariants:
//  - Nothing is left of it, whatever dies when: it never had a name.
//  - What is in use never overlaps, and takes at most the given bytes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/file.hpp"

namespace caesura::transit {

class Spool {
  public:
    /// Bytes that lie in it, until the last owner of this goes.
    class Stretch {
      public:
        Stretch(Spool& spool, std::uint64_t address, std::uint64_t bytes)
            : spool_(spool), address_(address), bytes_(bytes) {}
        ~Stretch() { spool_.give_back(address_, bytes_); }
        Stretch(const Stretch&) = delete;
        Stretch& operator=(const Stretch&) = delete;
        std::uint64_t bytes() const { return bytes_; }
        /// Any thread. Errors: io.
        Status read(std::span<std::byte> to) const { return spool_.file_->read_at(address_, to); }

      private:
        Spool& spool_;
        std::uint64_t address_, bytes_;
    };

    /// Errors: io, invalid_argument (no such directory), unsupported (a file system that has no
    /// files without a name), naming the directory.
    static Result<std::unique_ptr<Spool>> make(const std::string& directory,
                                               std::uint64_t most_bytes);
    /// Outlives its stretches. Errors: no_space (full, or the disk is), io.
    Result<std::shared_ptr<const Stretch>> write(std::span<const std::byte> bytes);
    std::uint64_t used_bytes() const;

  private:
    Spool(std::unique_ptr<base::File> file, std::uint64_t most_bytes)
        : file_(std::move(file)), most_bytes_(most_bytes) {}
    std::optional<std::uint64_t> claim(std::uint64_t bytes);
    void give_back(std::uint64_t address, std::uint64_t bytes);

    const std::unique_ptr<base::File> file_;
    const std::uint64_t most_bytes_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> used_;  ///< bytes by address
    std::uint64_t used_bytes_ = 0;
};

}  // namespace caesura::transit
