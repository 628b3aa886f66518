#include "device/cuda/packer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codec/packed/packed.hpp"
#include "device/codec_frames.hpp"
#include "device/parcel.hpp"

namespace caesura::device::cuda {
namespace {

namespace packed = codec::packed;

constexpr std::uint64_t k_look_bytes = 4096;  // of a parcel: the table of 500 pieces

/// Lines of the pieces, ends of the chunks.
std::uint64_t scratch_bytes(std::uint64_t pieces, std::uint64_t bytes) {
    return pieces * sizeof(PackPiece) + 8 * (packed::chunks_of(bytes, 4) + pieces + 1);
}

}  // namespace

Result<std::unique_ptr<Packer>> Packer::create(Coder coder, cudaStream_t stream) {
    if (coder != Coder::packed)
        return Status{StatusCode::unsupported,
                      fmt::format("coder {} on a GPU; there is packed", to_string(coder))};
    std::unique_ptr<Packer> packer(new Packer(coder, stream));
    if (Status status = packer->pinned_.grow(2 * k_look_bytes); !status.ok()) return status;
    return packer;
}

std::uint64_t Packer::parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const {
    return parcel_bytes_at_most(pieces, bytes, coder_) + 8 + scratch_bytes(pieces, bytes);
}

Status Packer::fill_job(std::span<const std::span<const std::byte>> pieces, const Content& content,
                        std::span<std::byte> parcel, PackJob& job) {
    job.value_bytes = static_cast<std::uint32_t>(size_of(content.dtype));
    job.bound = content.bound.kind == ErrorBound::Kind::absolute ? content.bound.value : 0.0;
    job.piece_count = pieces.size();
    std::uint64_t raw_bytes = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (Status status = validate(content, pieces[i].size()); !status.ok())
            return status.with_context(fmt::format("piece {}", i));
        if (pieces[i].empty() || !is_aligned(pieces[i].data(), job.value_bytes))
            return {StatusCode::invalid_argument,
                    fmt::format("piece {} of {} bytes is empty or not aligned to {}", i,
                                pieces[i].size(), job.value_bytes)};
        pinned_.as<PackPiece>()[i] = {reinterpret_cast<const unsigned char*>(pieces[i].data()),
                                      pieces[i].size(), job.chunks, 0};
        raw_bytes += pieces[i].size();
        job.chunks += packed::chunks_of(pieces[i].size(), job.value_bytes);
    }
    if (parcel.size() < parcel_bytes(pieces.size(), raw_bytes) || !is_aligned(parcel.data(), 8))
        return {StatusCode::invalid_argument,
                fmt::format("a parcel of {} bytes, aligned to 8, is needed for {} pieces of "
                            "together {}; this has {}",
                            parcel_bytes(pieces.size(), raw_bytes), pieces.size(), raw_bytes,
                            parcel.size())};
    // Behind the most that the frames can take, at whole 8 bytes.
    const std::uint64_t frames = parcel_bytes_at_most(pieces.size(), raw_bytes, Coder::packed);
    std::byte* const scratch = parcel.data() + (frames + 7) / 8 * 8;
    job.parcel = reinterpret_cast<unsigned char*>(parcel.data());
    job.pieces = reinterpret_cast<PackPiece*>(scratch);
    job.ends = reinterpret_cast<std::uint64_t*>(scratch + pieces.size() * sizeof(PackPiece));
    return {};
}

Result<std::uint64_t> Packer::compress(std::span<const std::span<const std::byte>> pieces,
                                       const Content& content, std::span<std::byte> parcel) {
    if (pieces.empty()) return Status{StatusCode::invalid_argument, "no pieces to compress"};
    const std::uint64_t lines_bytes = pieces.size() * sizeof(PackPiece);
    PackJob job;
    if (Status status = pinned_.grow(lines_bytes + 8); !status.ok()) return status;
    if (Status status = fill_job(pieces, content, parcel, job); !status.ok()) return status;
    cudaError_t code =
        cudaMemcpyAsync(job.pieces, pinned_.data(), lines_bytes, cudaMemcpyHostToDevice, stream_);
    if (code == cudaSuccess) code = pack(job, stream_);
    std::byte* const end = pinned_.data() + lines_bytes;
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(end, job.ends + job.chunks, 8, cudaMemcpyDeviceToHost, stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "compressing");
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, end, 8);
    return bytes;
}

/// After an error too: what was given to the stream before still uses our memory and the caller's.
cudaError_t Packer::end_of(cudaError_t given) {
    const cudaError_t done = cudaStreamSynchronize(stream_);
    return given != cudaSuccess ? given : done;
}

Result<std::span<const std::byte>> Packer::look(const std::byte* memory, std::uint64_t bytes) {
    if (Status status = pinned_.grow(bytes + 8); !status.ok()) return status;
    cudaError_t code =
        cudaMemcpyAsync(pinned_.data(), memory, bytes, cudaMemcpyDeviceToHost, stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "looking at a parcel");
    return std::span<const std::byte>(pinned_.data(), bytes);
}

Result<std::span<const std::byte>> Packer::frame_of(std::span<const std::byte> parcel,
                                                    std::uint64_t index) {
    if (index > parcel.size() / 8)
        return Status{StatusCode::invalid_argument,
                      fmt::format("piece {} of a parcel of {} bytes", index, parcel.size())};
    const std::uint64_t table_bytes = std::max(k_look_bytes, 8 * (index + 2));
    const auto begin = look(parcel.data(), std::min<std::uint64_t>(parcel.size(), table_bytes));
    if (!begin.ok()) return begin.status();
    const Result<FrameExtent> place = find_frame(*begin, parcel.size(), index);
    if (!place.ok()) return place.status();
    return parcel.subspan(place->offset, place->bytes);
}

Status Packer::decompress(std::span<const std::byte> parcel, std::uint64_t index,
                          std::span<std::byte> piece) {
    const auto frame = frame_of(parcel, index);
    if (!frame.ok()) return frame.status();
    const auto head =
        look(frame->data(), std::min<std::uint64_t>(frame->size(), sizeof(PackedHeader)));
    if (!head.ok()) return head.status();
    // What lies where kernels cannot read it, in a parcel that was put together again, is the
    // host's.
    const bool aligned = is_aligned(frame->data(), 8) && is_aligned(piece.data(), 8);
    Status status;
    if (is_nvcomp_frame(*head))
        status = {StatusCode::unsupported,
                  "it was compressed by nvCOMP; make the device with that coder"};
    else if (packed::is_packed_frame(*head) && aligned)
        status = unpack_packed(*head, *frame, piece);
    else
        status = unpack_at_host(*frame, piece);
    return status.ok() ? status : status.with_context(fmt::format("piece {}", index));
}

/// Frames of our codec too, which an emulated device or a file may have made.
Status Packer::unpack_at_host(std::span<const std::byte> frame, std::span<std::byte> piece) {
    std::vector<std::byte> at_host(frame.size()), raw(piece.size());
    // Copies to and from ordinary memory are done when the stream is.
    cudaError_t code = cudaMemcpyAsync(at_host.data(), frame.data(), frame.size(),
                                       cudaMemcpyDeviceToHost, stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "looking at a frame");
    Status status = packed::is_packed_frame(at_host) ? packed::unpack_frame(at_host, raw)
                                                     : decompress_frame(at_host, raw);
    if (!status.ok()) return status;
    code = cudaMemcpyAsync(piece.data(), raw.data(), raw.size(), cudaMemcpyDefault, stream_);
    code = end_of(code);
    return status_of(code, "a piece decompressed on the host");
}

Status Packer::unpack_packed(std::span<const std::byte> head, std::span<const std::byte> frame,
                             std::span<std::byte> piece) {
    const Result<PackedHeader> header = packed::read_packed_header(head, frame.size());
    if (!header.ok()) return header.status();
    if (piece.size() != header->raw_bytes)
        return {StatusCode::invalid_argument,
                fmt::format("{} bytes, there is room for {}", header->raw_bytes, piece.size())};
    UnpackJob job;
    job.frame = reinterpret_cast<const unsigned char*>(frame.data());
    job.header = *header;
    job.values = reinterpret_cast<unsigned char*>(piece.data());
    // The host's, which the GPU writes to where something is wrong; the tail beside it.
    job.damaged = pinned_.as<std::uint32_t>();
    *job.damaged = 0;
    std::byte* const tail = pinned_.data() + 8;
    std::memcpy(tail, &header->tail, 8);
    cudaError_t code = unpack(job, stream_);
    if (code == cudaSuccess && header->tail_bytes > 0)
        code = cudaMemcpyAsync(piece.data() + piece.size() - header->tail_bytes, tail,
                               header->tail_bytes, cudaMemcpyDefault, stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "decompressing");
    if (*static_cast<volatile std::uint32_t*>(job.damaged) == 0) return {};
    return {StatusCode::corrupt, "a chunk of the packed frame is damaged"};
}

}  // namespace caesura::device::cuda
