#include "codec/planes_coder.hpp"

#include <zstd.h>

#include <algorithm>

#include "codec/rans_section.hpp"

namespace caesura::codec {

void PlanesEncoder::begin(std::uint64_t, const TableSet&, TableStatistics*, std::uint64_t) {
    widths_.clear();
    bits_.clear();
}

void PlanesEncoder::put_chunk(const std::uint32_t* codes, std::size_t) {
    std::uint8_t* widths = widths_.room(k_groups);
    bits_.advance(pack_groups(codes, widths, bits_.room(4 * k_chunk_values + k_kernel_slack)));
    widths_.advance(k_groups);
}

bool PlanesEncoder::finish(std::vector<std::byte>& out) {
    std::vector<std::byte> packed(ZSTD_compressBound(widths_.size()));
    const std::size_t n =
        ZSTD_compress(packed.data(), packed.size(), widths_.data(), widths_.size(), 1);
    const bool worth = ZSTD_isError(n) == 0 && n < widths_.size();
    const auto append = [&](const void* data, std::size_t bytes) {
        const auto* first = static_cast<const std::byte*>(data);
        out.insert(out.end(), first, first + bytes);
    };
    out.push_back(std::byte{worth});
    put_leb128(out, worth ? n : widths_.size());
    worth ? append(packed.data(), n) : append(widths_.data(), widths_.size());
    append(bits_.data(), bits_.size());
    return false;
}

Status PlanesDecoder::open(std::span<const std::byte> section, std::uint64_t n_codes,
                           const TableSet&) {
    const Status corrupt(StatusCode::corrupt, "planes section: its widths are broken");
    chunk_ = 0;
    n_chunks_ = chunks_of(n_codes);
    std::uint64_t stored = 0;
    if (section.empty() || std::to_integer<unsigned>(section[0]) > 1) return corrupt;
    const bool packed = section[0] != std::byte{0};
    auto rest = section.subspan(1);
    if (!take_leb128(rest, stored) || stored > rest.size()) return corrupt;
    const auto source = rest.first(static_cast<std::size_t>(stored));
    rest = rest.subspan(source.size());
    widths_.resize(n_chunks_ * k_groups);
    if (packed) {
        const std::size_t n =
            ZSTD_decompress(widths_.data(), widths_.size(), source.data(), source.size());
        if (ZSTD_isError(n) != 0 || n != widths_.size()) return corrupt;
    } else {
        if (source.size() != widths_.size()) return corrupt;
        std::copy_n(reinterpret_cast<const std::uint8_t*>(source.data()), source.size(),
                    widths_.begin());
    }
    if (std::any_of(widths_.begin(), widths_.end(), [](std::uint8_t w) { return w > 32; })) {
        return corrupt;
    }
    std::uint64_t bytes = 0;
    for (std::size_t c = 0; c < n_chunks_; ++c) bytes += packed_bytes(&widths_[c * k_groups]);
    if (bytes != rest.size()) {
        return {StatusCode::corrupt, "planes section: its bits are cut off"};
    }
    bits_ = reinterpret_cast<const std::uint8_t*>(rest.data());
    return {};
}

void PlanesDecoder::get_chunk(std::uint32_t* codes) {
    if (chunk_ >= n_chunks_) {
        std::fill_n(codes, k_chunk_values, 0U);
        ++chunk_;
        return;
    }
    const std::uint8_t* widths = &widths_[chunk_++ * k_groups];
    unpack_groups(bits_, widths, codes);
    bits_ += packed_bytes(widths);
}

Status PlanesDecoder::close() {
    if (chunk_ == n_chunks_) return {};
    return {StatusCode::corrupt, "planes section: more or fewer codes than the block has"};
}

}  // namespace caesura::codec
