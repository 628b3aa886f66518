// Checks of dumps and blocks, alone and beside each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "store/region_format.hpp"
#include "transit/message_checks.hpp"

namespace caesura::transit {
namespace {

using Place = store::RegionWriter::Place;

Status wrong(std::string what) { return {StatusCode::corrupt, std::move(what)}; }

/// Product of value_bytes and all extents, each >= 1; nullopt above `limit`, or without axes.
std::optional<std::uint64_t> bytes_of(const Shape& extent, std::size_t value_bytes,
                                      std::uint64_t limit) {
    if (extent.rank() < 1) return std::nullopt;
    std::uint64_t bytes = value_bytes;
    for (int axis = 0; axis < extent.rank(); ++axis) {
        if (extent[axis] < 1 || extent[axis] > limit / bytes) return std::nullopt;
        bytes *= extent[axis];
    }
    return bytes;
}

/// Of so many axes, and its far corner is a number. Says nothing of the extents' product.
bool is_box(const Box& box, int axes) {
    if (box.offset.rank() != axes || box.extent.rank() != axes) return false;
    for (int axis = 0; axis < axes; ++axis)
        if (box.extent[axis] < 1 || box.extent[axis] > k_offset_limit ||
            box.offset[axis] > k_offset_limit - box.extent[axis])
            return false;
    return true;
}

/// @param inner, outer  boxes of the same axes.
bool is_inside(const Box& inner, const Box& outer) {
    for (int axis = 0; axis < inner.offset.rank(); ++axis)
        if (inner.offset[axis] < outer.offset[axis] ||
            inner.offset[axis] + inner.extent[axis] > outer.offset[axis] + outer.extent[axis])
            return false;
    return true;
}

Box valid_box(const Block& block) { return {block.chunk_box.offset, block.valid}; }

// ------------------------------------------------------------------------------- places

/// @param opening  bytes that the region has before its first block.
Status check_place(const Place& place, std::uint64_t dump, std::uint64_t opening) {
    constexpr std::uint64_t k_step = store::k_region_alignment;
    const bool aligned =
        place.address % k_step == 0 && place.bytes % k_step == 0 && place.previous % k_step == 0;
    const bool fits = place.bytes <= k_offset_limit &&
                      place.address <= k_offset_limit - place.bytes &&
                      place.previous <= k_offset_limit;
    if (aligned && fits && place.rank >= 0 && place.address >= store::first_region_address() &&
        place.bytes >= opening && place.dump == dump)
        return {};
    return wrong(fmt::format(
        "place [{}, +{}) of rank {} and dump {}, behind {}, in dump {}; it "
        "opens with {} bytes",
        place.address, place.bytes, place.rank, place.dump, place.previous, dump, opening));
}

/// Ascending by address.
std::vector<Place> sorted(std::vector<Place> places) {
    std::sort(places.begin(), places.end(),
              [](const Place& a, const Place& b) { return a.address < b.address; });
    return places;
}

/// Does one of the places hold [begin, end)?
bool holds(std::span<const Place> ascending, std::uint64_t begin, std::uint64_t end) {
    const auto behind =
        std::upper_bound(ascending.begin(), ascending.end(), begin,
                         [](std::uint64_t at, const Place& place) { return at < place.address; });
    if (behind == ascending.begin()) return false;
    const Place& place = *std::prev(behind);
    return end - place.address <= place.bytes;
}

/// As store::slot_offsets() makes them.
Status check_slots(const BeginDump& message, std::uint64_t opening) {
    constexpr std::uint64_t k_unit = 8;
    if (message.slots.size() < 2 || message.places.empty())
        return wrong(
            fmt::format("{} slots in {} places", message.slots.size(), message.places.size()));
    std::uint64_t least = opening;
    for (const std::uint64_t slot : message.slots) {
        if (slot < least || slot % k_unit != 0 || slot > message.places.back().bytes)
            return wrong(fmt::format("a slot at {} of a place of {} bytes, where {} are taken",
                                     slot, message.places.back().bytes, least));
        least = slot + store::k_block_prefix_bytes;
    }
    return {};
}

/// The number that the file knows the dump by.
std::uint64_t dump_in_file(const BeginDump& message) {
    if (!message.places.empty()) return message.places[0].dump;
    return message.spill ? message.spill->dump : 0;
}

Status check_places(const BeginDump& message) {
    const std::uint64_t dump = dump_in_file(message);
    std::uint64_t opening = 0;
    for (std::size_t i = 0; i < message.places.size(); ++i) {
        const bool with_manifest = !message.manifest.empty() && i == message.manifest_region;
        const bool is_last = i + 1 == message.places.size();
        opening =
            store::region_overhead_bytes(0, with_manifest ? message.manifest.size() : 0) +
            (is_last && !message.slots.empty() ? store::slot_table_bytes(message.slots.size() - 1)
                                               : 0);
        if (Status s = check_place(message.places[i], dump, opening); !s.ok()) return s;
    }
    if (!message.manifest.empty() && message.manifest_region >= message.places.size())
        return wrong(fmt::format("the manifest goes to place {} of {}", message.manifest_region,
                                 message.places.size()));
    std::vector<Place> all = message.places;
    if (message.spill) {
        const std::uint64_t least = store::region_overhead_bytes(0, 0);
        if (Status s = check_place(*message.spill, dump, least); !s.ok())
            return s.with_context("spill");
        all.push_back(*message.spill);
    }
    all = sorted(std::move(all));
    for (std::size_t i = 1; i < all.size(); ++i)
        if (all[i].address - all[i - 1].address < all[i - 1].bytes)
            return wrong(fmt::format("places [{}, +{}) and [{}, +{}) overlap", all[i - 1].address,
                                     all[i - 1].bytes, all[i].address, all[i].bytes));
    return message.slots.empty() ? Status{} : check_slots(message, opening);
}

Status check_codec(const DatasetCodec& codec) {
    using Bound = ErrorBound::Kind;
    if (Status status = validate(codec.bound); !status.ok()) return wrong(status.message());
    if (codec.bound.kind == Bound::relative || codec.bound.kind == Bound::psnr)
        return wrong("the bound of a codec depends on values of other blocks");
    if (!bytes_of(codec.chunk, size_of(codec.dtype), k_block_limit_bytes))
        return wrong(
            fmt::format("a chunk of {} {}", to_string(codec.chunk), to_string(codec.dtype)));
    if (std::ranges::adjacent_find(codec.missing, std::greater_equal<>()) != codec.missing.end())
        return wrong("missing values of a codec do not ascend");
    return {};
}

// ------------------------------------------------------------------------------- blocks

Status check_piece(const Piece& piece, const Block& block) {
    const int axes = block.valid.rank();
    if (!is_box(piece.part, axes) || !is_box(piece.source_box, axes) ||
        !is_inside(piece.part, piece.source_box) || !is_inside(piece.part, valid_box(block)))
        return wrong(fmt::format("{} of an array that is {}, for a block that is {}",
                                 to_string(piece.part), to_string(piece.source_box),
                                 to_string(valid_box(block))));
    const std::size_t value_bytes = size_of(block.dtype);
    const auto bytes = bytes_of(piece.source_box.extent, value_bytes, k_arena_limit_bytes);
    const std::uint64_t room =
        piece.source == Source::payload ? block.payload_bytes : k_arena_limit_bytes;
    if (bytes && *bytes <= room && piece.offset <= room - *bytes && piece.offset % value_bytes == 0)
        return {};
    return wrong(fmt::format("an array of {} {} at offset {} of {} bytes",
                             to_string(piece.source_box.extent), to_string(block.dtype),
                             piece.offset, room));
}

Status check_pieces(const Block& block) {
    if (block.pieces.empty()) return wrong("no pieces");
    bool uses_payload = false;
    for (std::size_t i = 0; i < block.pieces.size(); ++i) {
        if (Status status = check_piece(block.pieces[i], block); !status.ok())
            return status.with_context(fmt::format("piece {}", i));
        uses_payload |= block.pieces[i].source == Source::payload;
    }
    if (!uses_payload && block.payload_bytes > 0)
        return wrong(fmt::format("{} bytes of payload that no piece is in", block.payload_bytes));
    return {};
}

/// What encode_parts() goes by: arrays of as many values as the block has.
Status check_parts(const Block& block) {
    if (block.parts.empty()) return block.bundled ? wrong("a bundle of no arrays") : Status{};
    if (!block.bundled && block.parts.size() > 1)
        return wrong(fmt::format("{} arrays that are no bundle", block.parts.size()));
    const codec::BundlePart& first = block.parts.front();
    const bool boxes = first.offset.rank() > 0;
    if (boxes && !block.bundled) return wrong("a box that is no bundle");
    std::uint64_t left = block.raw_bytes();
    for (const codec::BundlePart& part : block.parts) {
        if (Status status = validate(part.bound); !status.ok()) return wrong(status.message());
        if (is_integer(block.dtype) && !part.as_it_is &&
            part.bound.kind != ErrorBound::Kind::lossless)
            return wrong(fmt::format("a bound of {} values", to_string(block.dtype)));
        const auto bytes = bytes_of(part.shape, size_of(block.dtype), left);
        if (!bytes) return wrong(fmt::format("an array of {} has no room", to_string(part.shape)));
        left -= *bytes;
        if (boxes != (part.offset.rank() > 0) ||
            (boxes && (!is_box({part.offset, part.shape}, block.valid.rank()) ||
                       !is_inside({part.offset, part.shape},
                                  {Shape::filled(block.valid.rank(), 0), block.valid}))))
            return wrong(fmt::format("a box ({}) that does not lie in {}",
                                     to_string(Box{part.offset, part.shape}),
                                     to_string(block.valid)));
        if (part.interleaved != first.interleaved ||
            (part.interleaved && part.shape != first.shape))
            return wrong("arrays that take turns are all of one shape");
    }
    return left == 0 || boxes ? Status{}
                              : wrong(fmt::format("arrays that leave {} bytes over", left));
}

/// What fits() asks of both kinds.
Status check_job(std::uint64_t of_dump, std::uint32_t job, const BeginDump& dump) {
    if (of_dump == dump.dump && job < dump.n_jobs) return {};
    return wrong(fmt::format("job {} of dump {} in dump {}, which has {}", job, of_dump, dump.dump,
                             dump.n_jobs));
}

}  // namespace

Status check(const BeginDump& message) {
    if (message.n_jobs > k_blocks_limit)
        return wrong(fmt::format("{} jobs; at most {}", message.n_jobs, k_blocks_limit));
    if (Status status = check_places(message); !status.ok()) return status;
    if (!(message.due_in_s >= 0.0)) return wrong(fmt::format("due_in_s is {}", message.due_in_s));
    for (std::size_t i = 0; i < message.codecs.size(); ++i)
        if (Status status = check_codec(message.codecs[i]); !status.ok())
            return status.with_context(fmt::format("codec {}", i));
    return {};
}

Status check(const Block& block) {
    if (block.job >= k_blocks_limit) return wrong(fmt::format("job {}", block.job));
    const int axes = block.valid.rank();
    const Box valid = valid_box(block);
    if (!is_box(block.chunk_box, axes) || !is_box(valid, axes) ||
        !is_inside(valid, block.chunk_box) ||
        !bytes_of(block.chunk_box.extent, size_of(block.dtype), k_block_limit_bytes))
        return wrong(fmt::format("a chunk of {} {}, of which {} is valid",
                                 to_string(block.chunk_box), to_string(block.dtype),
                                 to_string(block.valid)));
    if (Status status = check_pieces(block); !status.ok()) return status;
    if (Status status = check_parts(block); !status.ok()) return status;
    if (!(block.absolute_bound >= 0.0 && std::isfinite(block.absolute_bound)))
        return wrong(fmt::format("absolute_bound is {}", block.absolute_bound));
    if (!(block.expected_compress_s >= 0.0 && block.expected_compress_s <= k_seconds_limit))
        return wrong(fmt::format("expected_compress_s is {}", block.expected_compress_s));
    return {};
}

Status check(const StoredBlock& block) {
    if (block.job >= k_blocks_limit) return wrong(fmt::format("job {}", block.job));
    if (block.payload_bytes >= 1 && block.payload_bytes <= k_block_limit_bytes) return {};
    return wrong(fmt::format("a block of {} bytes", block.payload_bytes));
}

Status check(const PressBlock& message) {
    if (Status status = check_codec(message.codec); !status.ok()) return status;
    const auto bytes = bytes_of(message.valid, size_of(message.codec.dtype), k_block_limit_bytes);
    const Shape& chunk = message.codec.chunk;
    bool inside = bytes && message.valid.rank() == chunk.rank();
    for (int axis = 0; inside && axis < chunk.rank(); ++axis)
        inside = message.valid[axis] <= chunk[axis];
    if (!inside)
        return wrong(
            fmt::format("{} of a chunk of {}", to_string(message.valid), to_string(chunk)));
    if (message.payload_bytes == *bytes) return {};
    return wrong(
        fmt::format("{} bytes for a block of {}", message.payload_bytes, to_string(message.valid)));
}

Status check(const PressedBlock& message) {
    const bool fits = message.status.ok() ? message.payload_bytes >= 1 &&
                                                message.payload_bytes <= k_block_limit_bytes
                                          : message.payload_bytes == 0;
    if (!fits)
        return wrong(fmt::format("a block of {} bytes ({})", message.payload_bytes,
                                 to_string(message.status.code())));
    if (message.max_error && !(*message.max_error >= 0.0))
        return wrong(fmt::format("max_error is {}", *message.max_error));
    if (!(message.compress_s >= 0.0 && message.compress_s <= k_seconds_limit))
        return wrong(fmt::format("compress_s is {}", message.compress_s));
    if (!(message.utilisation >= 0.0 && message.utilisation <= 1.0))
        return wrong(fmt::format("utilisation is {}", message.utilisation));
    if (message.statistics.empty()) return {};
    return TableStatistics::parse(message.statistics).status();
}

Status check(const Finished& message) {
    for (const store::ChunkRecord& record : message.records)
        if (record.bytes < 1 || record.bytes > k_block_limit_bytes ||
            record.address < store::first_region_address() ||
            record.address > k_offset_limit - record.bytes)
            return wrong(fmt::format("a block of {} bytes at {}", record.bytes, record.address));
    for (const ledger::Extent& tail : message.tails)
        if (tail.bytes > k_offset_limit || tail.address > k_offset_limit - tail.bytes)
            return wrong(fmt::format("a tail of {} bytes at {}", tail.bytes, tail.address));
    if (message.used_end <= k_offset_limit) return {};
    return wrong(fmt::format("used_end is {}", message.used_end));
}

// --------------------------------------------------------------- messages beside each other

Status fits(const Block& block, const BeginDump& dump) {
    if (Status status = check_job(block.dump, block.job, dump); !status.ok()) return status;
    if (block.codec >= dump.codecs.size())
        return wrong(
            fmt::format("job {} wants codec {} of {}", block.job, block.codec, dump.codecs.size()));
    const DatasetCodec& codec = dump.codecs[block.codec];
    if (codec.dtype == block.dtype && codec.chunk == block.chunk_box.extent) return {};
    return wrong(fmt::format("job {} is a chunk of {} {}, its codec's are {} {}", block.job,
                             to_string(block.chunk_box.extent), to_string(block.dtype),
                             to_string(codec.chunk), to_string(codec.dtype)));
}

Status fits(const StoredBlock& block, const BeginDump& dump) {
    return check_job(block.dump, block.job, dump);
}

std::uint64_t arena_end(const Block& block) {
    std::uint64_t end = 0;
    for (const Piece& piece : block.pieces)
        if (piece.source == Source::arena)
            end = std::max(end,
                           piece.offset + piece.source_box.extent.count() * size_of(block.dtype));
    return end;
}

bool covers_all(const Block& block) {
    const Box valid = valid_box(block);
    const auto& pieces = block.pieces;
    if (std::any_of(pieces.begin(), pieces.end(), [&](auto& piece) { return piece.part == valid; }))
        return true;
    if (pieces.size() > k_cover_pieces) return false;
    std::uint64_t values = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        values += pieces[i].part.extent.count();
        for (std::size_t j = 0; j < i; ++j)
            if (intersect(pieces[i].part, pieces[j].part)) return false;
    }
    return values == block.valid.count();
}

Status lies_in(const Finished& finished, const BeginDump& dump) {
    const std::vector<Place> places = sorted(dump.places);
    for (const store::ChunkRecord& record : finished.records)
        if (record.dump != dump_in_file(dump) ||
            !holds(places, record.address - store::k_block_prefix_bytes,
                   record.address + record.bytes))
            return wrong(fmt::format("dump {}: a block of dump {} lies in [{}, +{})", dump.dump,
                                     record.dump, record.address, record.bytes));
    for (const ledger::Extent& tail : finished.tails)
        if (tail.address % store::k_region_alignment != 0 || tail.bytes == 0 ||
            tail.bytes % store::k_region_alignment != 0 || !holds(places, tail.address, tail.end()))
            return wrong(fmt::format("dump {}: a tail lies in [{}, +{})", dump.dump, tail.address,
                                     tail.bytes));
    if (finished.used_end == 0 || holds(places, finished.used_end - 1, finished.used_end))
        return {};
    return wrong(fmt::format("dump {}: used up to {}", dump.dump, finished.used_end));
}

}  // namespace caesura::transit
