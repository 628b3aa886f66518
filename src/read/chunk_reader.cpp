#include "read/chunk_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/file.hpp"
#include "codec/bundle/bundle.hpp"
#include "codec/packed/packed.hpp"
#include "hdf5/filter/kept_chunk.hpp"

namespace caesura::read {
namespace {

std::size_t all_members_bytes(const store::DatasetInfo& dataset) {
    return size_of(dataset.spec.dtype) * std::max<std::size_t>(1, dataset.members.size());
}

void swap_bytes(std::span<std::byte> values, std::size_t value_bytes) {
    for (std::size_t at = 0; at + value_bytes <= values.size(); at += value_bytes)
        std::reverse(values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.begin() + static_cast<std::ptrdiff_t>(at + value_bytes));
}

/// One member of each value to the front of the array. It moves towards the front only.
template <class Value>
void gather(std::span<std::byte> values, std::size_t step_bytes, std::size_t first_byte) {
    std::byte* to = values.data();
    for (std::size_t at = first_byte; at < values.size(); at += step_bytes, to += sizeof(Value))
        std::memmove(to, values.data() + at, sizeof(Value));
}

/// Where a position lies in a dense array, counted in values.
std::uint64_t index_in(const Box& array, const Shape& position) {
    std::uint64_t index = 0;
    for (int axis = 0; axis < position.rank(); ++axis)
        index = index * array.extent[axis] + (position[axis] - array.offset[axis]);
    return index;
}

Shape last_of(const Box& box) {
    Shape last = box.offset;
    for (int axis = 0; axis < last.rank(); ++axis) last[axis] += box.extent[axis] - 1;
    return last;
}

}  // namespace

ChunkReader::ChunkReader(base::File& file, std::uint64_t file_bytes,
                         const store::DatasetInfo& dataset, bool contiguous,
                         hdf5::PluginsByFilter& plugins)
    : file_(file),
      file_bytes_(file_bytes),
      dataset_(dataset),
      contiguous_(contiguous),
      value_bytes_(all_members_bytes(dataset)),
      decoder_(dataset.spec.pipeline, plugins) {
    const store::DatasetSpec& spec = dataset.spec;
    bool sound = spec.chunk.rank() == spec.shape.rank();
    for (int axis = 0; sound && axis < spec.chunk.rank(); ++axis) sound = spec.chunk[axis] > 0;
    const auto bytes = array_bytes(spec.chunk, value_bytes_);
    if (!sound || !bytes || *bytes > std::numeric_limits<std::uint32_t>::max()) {
        usable_ = {StatusCode::corrupt, fmt::format("dataset {}: chunks of {} cannot be", spec.path,
                                                    to_string(spec.chunk))};
        return;
    }
    chunk_bytes_ = *bytes;
    layout_ = ChunkLayout::of(spec.shape, spec.chunk);
}

std::size_t ChunkReader::value_bytes(const ReadOptions& options) const {
    return options.member ? size_of(dataset_.spec.dtype) : value_bytes_;
}

const store::ChunkRecord* ChunkReader::find(std::uint64_t number) const {
    const auto& chunks = dataset_.chunks;
    const auto at = std::lower_bound(
        chunks.begin(), chunks.end(), number,
        [](const store::ChunkRecord& chunk, std::uint64_t wanted) { return chunk.chunk < wanted; });
    return at != chunks.end() && at->chunk == number ? &*at : nullptr;
}

Status ChunkReader::damaged(std::uint64_t number, std::string what) const {
    return in_context(number, {StatusCode::corrupt, std::move(what)});
}

Status ChunkReader::in_context(std::uint64_t number, const Status& status) const {
    if (status.ok()) return status;
    return status.with_context(fmt::format("dataset {} chunk {}", dataset_.spec.path, number));
}

Status ChunkReader::read_stored(const store::ChunkRecord& record, bool verify,
                                std::span<std::byte> bytes) const {
    store::ChunkRecord wanted = record;
    if (!verify) wanted.checksum = 0;  // nothing to compare with
    return store::read_chunk(file_, dataset_, wanted, bytes);
}

/// A chunk's values as its filters leave them, all members of each.
/// @param values  of the whole chunk; of a contiguous dataset's, what lies inside.
/// @param part    what has to be there; the rest may be anything.
Status ChunkReader::load(const store::ChunkRecord& record, const Box& part, bool verify,
                         std::span<std::byte> values, Scratch& scratch) const {
    if (record.bytes > file_bytes_ || record.address > file_bytes_ - record.bytes)
        return damaged(record.chunk, fmt::format("{} bytes at {} lie beyond the file's end at {}",
                                                 record.bytes, record.address, file_bytes_));
    if (!decoder_.stores_values(record.filter_mask)) {
        const auto stored = scratch.stored.bytes(static_cast<std::size_t>(record.bytes));
        if (Status s = read_stored(record, verify, stored); !s.ok()) return s;
        return in_context(record.chunk, decoder_.decode(stored, record.filter_mask, values));
    }
    if (record.bytes != values.size())
        return damaged(record.chunk, fmt::format("{} bytes are stored, its values have {}",
                                                 record.bytes, values.size()));
    if (verify && record.checksum != 0) return read_stored(record, verify, values);
    // Nothing to check: from the first value that is wanted to the last.
    const Box whole = layout_.whole(record.chunk);
    const std::uint64_t begin = index_in(whole, part.offset) * value_bytes_;
    const std::uint64_t end = (index_in(whole, last_of(part)) + 1) * value_bytes_;
    store::ChunkRecord some = record;
    some.address += begin;
    some.bytes = end - begin;
    return read_stored(some, false, values.subspan(begin, end - begin));
}

std::size_t ChunkReader::decoded_bytes(std::uint64_t number) const {
    return contiguous_ ? layout_.inside(number).extent.count() * value_bytes_
                       : static_cast<std::size_t>(chunk_bytes_);
}

Status ChunkReader::decode(const store::ChunkRecord& record, const Box& part,
                           const ReadOptions& options, std::span<std::byte> values,
                           Scratch& scratch) const {
    if (Status s = load(record, part, options.verify, values, scratch); !s.ok()) return s;
    if (dataset_.big_endian) swap_bytes(values, value_bytes_);
    return {};
}

Result<ChunkReader::Values> ChunkReader::values_of(std::uint64_t number, const Box& part,
                                                   const ReadOptions& options,
                                                   Scratch& scratch) const {
    const store::ChunkRecord* record = find(number);
    if (record == nullptr) return fill(part, options, scratch);
    const std::span<std::byte> values = scratch.chunk.bytes(decoded_bytes(number));
    if (Status s = decode(*record, part, options, values, scratch); !s.ok()) return s;
    const std::size_t out_bytes = value_bytes(options);
    if (out_bytes != value_bytes_) {
        const std::size_t first = options.member.value_or(0) * out_bytes;
        if (dataset_.spec.dtype == float32)
            gather<float>(values, value_bytes_, first);
        else
            gather<double>(values, value_bytes_, first);
    }
    return Values{values.data(), layout_.whole(number)};
}

Status ChunkReader::read(std::uint64_t number, const Box& part, const Box& box, std::byte* target,
                         const ReadOptions& options, Scratch& scratch) const {
    const store::ChunkRecord* record = find(number);
    const std::size_t bytes = decoded_bytes(number);
    const std::byte* const place =
        options.member ? nullptr : dense_part(part, box, target, value_bytes_);
    const bool direct = place != nullptr && part.extent.count() * value_bytes_ == bytes;
    if (record != nullptr && direct)
        return decode(*record, part, options, {target + (place - target), bytes}, scratch);
    const auto values = values_of(number, part, options, scratch);
    if (!values.ok()) return values.status();
    copy_box(part, values->box, values->bytes, box, target, value_bytes(options));
    return {};
}

Status ChunkReader::read(std::uint64_t number, const Box& part, const Box& box,
                         const StridedArray& target, const ReadOptions& options,
                         Scratch& scratch) const {
    const auto values = values_of(number, part, options, scratch);
    if (!values.ok()) return values.status();
    copy_strided(part, values->box, values->bytes, box, target, value_bytes(options));
    return {};
}

ChunkReader::Values ChunkReader::fill(const Box& part, const ReadOptions& options,
                                      Scratch& scratch) const {
    const std::size_t bytes = value_bytes(options);
    std::span<const std::byte> value(dataset_.fill);
    if (value.size() == value_bytes_) value = value.subspan(options.member.value_or(0) * bytes);
    const auto values = scratch.chunk.bytes(part.extent.count() * bytes);
    std::memset(values.data(), 0, values.size());
    if (value.size() >= bytes)
        for (std::size_t at = 0; at < values.size(); at += bytes)
            std::memcpy(values.data() + at, value.data(), bytes);
    return {values.data(), part};
}

Result<Block> ChunkReader::describe(std::uint64_t number, bool verify, Scratch& scratch) const {
    Block block;
    block.chunk = number;
    block.box = layout_.inside(number);
    const store::ChunkRecord* record = find(number);
    if (record == nullptr) return block;
    block.written = true;
    block.stored_bytes = record->bytes;
    block.filter_mask = record->filter_mask;
    if (!decoder_.stores_frame(record->filter_mask)) return block;
    if (record->bytes > file_bytes_)
        return damaged(number, fmt::format("{} bytes in a file of {}", record->bytes, file_bytes_));
    const auto stored = scratch.stored.bytes(static_cast<std::size_t>(record->bytes));
    if (Status s = read_stored(*record, verify, stored); !s.ok()) return s;
    const auto unreadable = [&](const Status& status) {
        if (status.code() == StatusCode::insufficient_data)
            return damaged(number, status.message());
        return in_context(number, status);
    };
    const auto note = [&](std::uint32_t component, const FrameInfo& info) {
        block.frames.push_back({component, info});
    };
    if (codec::is_bundle(stored)) {
        const auto bundle = codec::read_bundle_info(stored);
        if (!bundle.ok()) return unreadable(bundle.status());
        for (const codec::BundleLine& line : bundle->parts) note(line.component, line.info);
    } else if (!codec::packed::is_packed_frame(stored)) {
        const auto info = hdf5::stored_frame_info(stored);
        if (!info.ok()) return unreadable(info.status());
        note(0, *info);
    }
    return block;
}

}  // namespace caesura::read
