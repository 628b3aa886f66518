// Test support: a file system that remembers every write, truncate and sync in one order, and can
// say what the file would look like had the machine stopped somewhere in between.
#pragma once

#include <mutex>

#include "base/file.hpp"

namespace caesura::store {

struct Operation {
    enum class Kind { write, truncate, extend, sync, sync_directory };
    Kind kind = Kind::sync;
    std::uint64_t offset = 0;  ///< of a write; new length of a truncate or extend
    std::vector<std::byte> bytes;
};

/// Forwards to `inner`, except syncs, which are only noted. One path per instance.
class RecordingFileSystem final : public base::FileSystem {
  public:
    explicit RecordingFileSystem(base::FileSystem& inner) : inner_(inner) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override;
    Status sync_directory_of(const std::string& path) override;
    void add(Operation operation);
    std::size_t size() const;
    const std::vector<Operation>& operations() const { return operations_; }

  private:
    base::FileSystem& inner_;
    mutable std::mutex mutex_;
    std::vector<Operation> operations_;
};

/// The file after operations 0 .. count-1.
/// @param torn_bytes  of operation `count` (a write) this many bytes also arrived.
/// @param before  the file before the first.
std::vector<std::byte> state_after(std::span<const Operation> operations, std::size_t count,
                                   std::size_t torn_bytes = 0, std::vector<std::byte> before = {});

/// As state_after, but of the operations since the last sync only those with keep[i] arrived, where
/// i counts from that sync.
std::vector<std::byte> state_with_losses(std::span<const Operation> operations, std::size_t count,
                                         const std::vector<bool>& keep);
/// Whether the file's name is on the disk by then: a new file without it is gone.
bool has_name(std::span<const Operation> operations, std::size_t count);
/// How many operations lie between the last sync among the first `count` and `count`.
std::size_t unsynced(std::span<const Operation> operations, std::size_t count);

}  // namespace caesura::store
