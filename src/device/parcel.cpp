#include "device/parcel.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/little_endian.hpp"
#include "codec/packed/packed.hpp"
#include "device/codec_frames.hpp"

namespace caesura::device {
namespace {

namespace packed = codec::packed;

constexpr std::uint64_t k_number_bytes = 8;

void write_number(std::byte* at, std::uint64_t number) {
    base::put_little(at, number, k_number_bytes);
}

std::uint64_t read_number(const std::byte* at) { return base::get_little(at, k_number_bytes); }

}  // namespace

std::uint64_t parcel_bytes_at_most(std::uint64_t pieces, std::uint64_t bytes, Coder coder) {
    const std::uint64_t table_bytes = k_number_bytes * (1 + pieces);
    if (coder == Coder::codec) return table_bytes + pieces * k_frame_overhead_bytes + bytes;
    // Every piece may begin a chunk and fill up 8 bytes more than their sum would.
    return table_bytes + packed::packed_bytes_at_most(bytes) +
           pieces * packed::packed_bytes_at_most(8);
}

Result<std::uint64_t> pack(std::span<const std::span<const std::byte>> pieces,
                           const Content& content, std::span<std::byte> parcel, Coder coder) {
    if (coder != Coder::codec && coder != Coder::packed)
        return Status{
            StatusCode::unsupported,
            fmt::format("coder {} on the host; there are codec and packed", to_string(coder))};
    std::uint64_t raw_bytes = 0;
    for (const auto& piece : pieces) raw_bytes += piece.size();
    if (parcel.size() < parcel_bytes_at_most(pieces.size(), raw_bytes, coder))
        return Status{StatusCode::invalid_argument,
                      fmt::format("a parcel of {} bytes is too small for {} pieces of together {}",
                                  parcel.size(), pieces.size(), raw_bytes)};
    std::uint64_t at = parcel_table_bytes(pieces.size());
    std::vector<std::uint64_t> frame_bytes;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (Status status = validate(content, pieces[i].size()); !status.ok())
            return status.with_context(fmt::format("piece {}", i));
        const Result<std::uint64_t> frame =
            coder == Coder::codec
                ? compress_frame(pieces[i], content,
                                 parcel.subspan(at, pieces[i].size() + k_frame_overhead_bytes))
                : packed::pack_frame(pieces[i], content.dtype, content.bound, parcel.subspan(at));
        if (!frame.ok()) return frame.status().with_context(fmt::format("piece {}", i));
        frame_bytes.push_back(*frame);
        at += *frame;
    }
    write_table(frame_bytes, parcel.first(parcel_table_bytes(pieces.size())));
    return at;
}

Result<FrameExtent> find_frame(std::span<const std::byte> begin, std::uint64_t parcel_bytes,
                               std::uint64_t index) {
    if (begin.size() < k_number_bytes || parcel_bytes < begin.size())
        return Status{StatusCode::insufficient_data, "a parcel of less than 8 bytes"};
    const std::uint64_t pieces = read_number(begin.data());
    if (pieces > parcel_bytes / k_number_bytes - 1)
        return Status{StatusCode::corrupt, fmt::format("a parcel of {} bytes says it has {} pieces",
                                                       parcel_bytes, pieces)};
    if (index >= pieces)
        return Status{StatusCode::invalid_argument,
                      fmt::format("piece {} of a parcel of {}", index, pieces)};
    if (begin.size() / k_number_bytes < index + 2)
        return Status{StatusCode::insufficient_data,
                      fmt::format("{} bytes of a parcel's table", begin.size())};
    FrameExtent place{k_number_bytes * (1 + pieces), 0};
    for (std::uint64_t i = 0; i <= index; ++i) {
        place.offset += place.bytes;
        place.bytes = read_number(begin.data() + k_number_bytes * (1 + i));
        if (place.bytes > parcel_bytes - place.offset)
            return Status{StatusCode::insufficient_data,
                          fmt::format("piece {} is said to end {} bytes beyond the parcel", i,
                                      place.bytes - (parcel_bytes - place.offset))};
    }
    return place;
}

Result<std::vector<std::span<const std::byte>>> frames_of(std::span<const std::byte> parcel) {
    const std::uint64_t pieces = parcel.size() < k_number_bytes ? 1 : read_number(parcel.data());
    std::vector<std::span<const std::byte>> frames;
    if (pieces == 0) return frames;
    // If the last lies in the parcel, all do.
    const Result<FrameExtent> last = find_frame(parcel, parcel.size(), pieces - 1);
    if (!last.ok()) return last.status();
    std::uint64_t at = parcel_table_bytes(pieces);
    for (std::uint64_t i = 0; i < pieces; ++i) {
        const std::uint64_t bytes = read_number(parcel.data() + k_number_bytes * (1 + i));
        frames.push_back(parcel.subspan(at, bytes));
        at += bytes;
    }
    return frames;
}

bool is_nvcomp_frame(std::span<const std::byte> begin) {
    std::uint32_t magic = 0;
    if (begin.size() < sizeof magic) return false;
    std::memcpy(&magic, begin.data(), sizeof magic);
    return magic == k_nvcomp_magic;
}

void write_table(std::span<const std::uint64_t> frame_bytes, std::span<std::byte> table) {
    write_number(table.data(), frame_bytes.size());
    for (std::size_t i = 0; i < frame_bytes.size(); ++i)
        write_number(table.data() + k_number_bytes * (1 + i), frame_bytes[i]);
}

Status unpack(std::span<const std::byte> parcel, std::uint64_t index, std::span<std::byte> piece) {
    const Result<FrameExtent> place = find_frame(parcel, parcel.size(), index);
    if (!place.ok()) return place.status();
    const auto frame = parcel.subspan(place->offset, place->bytes);
    if (is_nvcomp_frame(frame))
        return {StatusCode::unsupported,
                fmt::format("piece {} was compressed by nvCOMP: only a GPU's device with that "
                            "coder has it back",
                            index)};
    const Status status = packed::is_packed_frame(frame) ? packed::unpack_frame(frame, piece)
                                                         : decompress_frame(frame, piece);
    return status.ok() ? status : status.with_context(fmt::format("piece {}", index));
}

}  // namespace caesura::device
