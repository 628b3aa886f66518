#include "store/continuations.hpp"

#include <algorithm>
#include <bit>

#include "store/byte_order.hpp"
#include "store/object_header.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_link_info_message = 0x02;
constexpr std::uint64_t k_undefined = ~std::uint64_t{0};
/// Commits between the one that leaves a place and the first that may take it: a reader that has
/// opened the file as it was before may still be reading.
constexpr std::uint64_t k_commits_between = 4;

/// Does a group have its links in a heap?
bool has_link_heap(ObjectHeader& header) {
    for (const ObjectHeader::Message& one : header.messages()) {
        if (one.type != k_link_info_message) continue;
        const auto body = header.body(one);
        const bool tracked = body.size() > 1 && (body[1] & std::byte{1}) != std::byte{0};
        const std::size_t at = tracked ? 10 : 2;
        return at + 8 <= body.size() && base::get_little(body.data() + at, 8) != k_undefined;
    }
    return false;
}

}  // namespace

std::uint64_t ContinuationPlaces::take(std::uint64_t bytes, std::uint64_t sequence) {
    Place* best = nullptr;
    for (Place& place : places_)
        if (place.left_by > 0 && place.left_by + k_commits_between <= sequence &&
            place.bytes >= bytes && (best == nullptr || place.bytes < best->bytes))
            best = &place;
    if (best == nullptr) return 0;
    best->left_by = 0;
    return best->address;
}

void ContinuationPlaces::add(std::uint64_t address, std::uint64_t bytes) {
    places_.push_back({address, bytes});
}

void ContinuationPlaces::leave(std::uint64_t address, std::uint64_t sequence) {
    for (Place& place : places_)
        if (place.address == address) place.left_by = sequence;
}

Result<std::optional<Extent>> move_continuations(PlacingState& state, std::uint64_t address,
                                                 const ContinuationMove& move,
                                                 ContinuationPlaces& places) {
    const auto read = [&](std::uint64_t at, std::span<std::byte> bytes) {
        return state.read(at, bytes);
    };
    auto header = ObjectHeader::read(read, address);
    if (!header.ok()) return header.status();
    const std::vector<Extent> before = header->pieces();
    const bool changed = std::any_of(before.begin(), before.end(), [&](const Extent& piece) {
        return state.overlay.covers(piece.address, 1);
    });
    if (!changed || has_link_heap(*header) || !header->gather()) return std::optional<Extent>();
    for (std::size_t i = 1; i < before.size(); ++i) {
        state.overlay.erase(before[i].address, before[i].bytes.size());
        places.leave(before[i].address, move.sequence);
    }
    std::optional<Extent> early;
    if (const std::uint64_t bytes = header->continuation_bytes(); bytes > 0) {
        std::uint64_t place = places.take(bytes, move.sequence);
        const bool reused = place != 0;
        if (!reused) {
            place = state.eoa;
            const std::uint64_t room = move.last ? bytes : std::bit_ceil(bytes);
            state.eoa += room;
            places.add(place, room);
        }
        header->place_continuation(place);
        header->write(state.overlay);
        if (!reused) return early;
        early = header->pieces()[1];
        state.overlay.erase(early->address, early->bytes.size());
        return early;
    }
    header->write(state.overlay);
    return early;
}

}  // namespace caesura::store
