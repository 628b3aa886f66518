#include "store/in_flight.hpp"

#include "base/file.hpp"
#include "store/shared_file.hpp"
#include "store/superblock.hpp"

namespace caesura::store {
namespace {

/// As HDF5 has it: a writer has the file open.
constexpr unsigned k_open_for_writing = 1;

using Front = std::array<std::byte, k_superblock_bytes>;

/// What lies at the file's begin if that is a superblock.
Result<std::optional<Superblock>> read_superblock(base::File& file, Front& front) {
    if (Status s = file.read_at(0, front); s.code() == StatusCode::insufficient_data)
        return std::optional<Superblock>();
    else if (!s.ok())
        return s;
    return decode_superblock(front);
}

Status set_flags(base::File& file, unsigned flags) {
    Front front{};
    const auto superblock = read_superblock(file, front);
    if (!superblock.ok()) return superblock.status();
    if (!*superblock || (*superblock)->status_flags == flags) return {};
    patch_superblock(front, {(*superblock)->end_of_file, flags});
    return file.write_at(0, front);
}

}  // namespace

Status mark_in_flight(SharedFile& file) {
    return set_flags(file.file(), k_open_for_writing)
        .with_context(file.path() + ": marking it as being written");
}

Result<bool> is_marked_in_flight(base::File& file) {
    Front front{};
    const auto superblock = read_superblock(file, front);
    if (!superblock.ok()) return superblock.status();
    return *superblock && (*superblock)->status_flags != 0;
}

Status unmark_in_flight(base::File& file) { return set_flags(file, 0); }

Result<bool> lets_readers_in(base::File& file) {
    Front front{};
    const auto superblock = read_superblock(file, front);
    if (!superblock.ok()) return superblock.status();
    return *superblock && (*superblock)->status_flags == 0;
}

Status lower_end(base::File& file, std::uint64_t end) {
    Front front{};
    const auto superblock = read_superblock(file, front);
    if (!superblock.ok()) return superblock.status();
    if (!*superblock || (*superblock)->end_of_file <= end) return {};
    patch_superblock(front, {end, 0});
    return file.write_at(0, front);
}

}  // namespace caesura::store
