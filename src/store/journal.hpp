// The redo journal of one commit's in-place overwrites, in the file's reserved space.
//
// Invariants:
//  - It is valid from the moment it is whole on disk until it is cleared; replaying it any number
//    of times gives the same file.
//  - It is only written when everything it refers to beyond the old end is in the file.
#pragma once

#include "store/overlay.hpp"
#include "store/region_format.hpp"
#include "store/shared_file.hpp"

namespace caesura::store {

inline constexpr std::size_t k_journal_header_bytes = 128;
inline constexpr std::uint64_t k_journal_inside_bytes =
    k_first_region_address - k_journal_address - k_journal_header_bytes;

/// The overwrites one after the other, in the order in which they are to be made.
std::vector<std::byte> encode_journal_payload(std::span<const Extent> overwrites);
/// nullopt: its own lengths do not add up.
std::optional<std::vector<Extent>> decode_journal_payload(std::span<const std::byte> payload);

/// The slot's bytes: header, and the payload behind it if it lies inside.
/// @param payload_address  directly behind the header, or beyond the end of the file.
std::vector<std::byte> encode_journal(const RunId& run, std::uint64_t sequence,
                                      std::uint64_t payload_address,
                                      std::span<const std::byte> payload);
Status clear_journal(base::File& file);

struct Journal {
    enum class State { none, torn, valid };
    State state = State::none;
    std::uint64_t sequence = 0;
    std::vector<Extent> overwrites;
};
/// Errors: io. A journal that is not whole, or of another run, is `torn`, not an error.
Result<Journal> read_journal(base::File& file, const RunId& run);

}  // namespace caesura::store
