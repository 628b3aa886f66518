#include "codec/planes_coder.hpp"

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
    const std::size_t flag = out.size();
    out.push_back(std::byte{0});
    out[flag] = std::byte{put_small_bytes(out, {widths_.data(), widths_.size()})};
    const auto* bits = reinterpret_cast<const std::byte*>(bits_.data());
    out.insert(out.end(), bits, bits + bits_.size());
    return false;
}

Status PlanesDecoder::open(std::span<const std::byte> section, std::uint64_t n_codes,
                           const TableSet&) {
    const Status corrupt(StatusCode::corrupt, "planes section: its widths are broken");
    chunk_ = 0;
    n_chunks_ = chunks_of(n_codes);
    if (section.empty() || std::to_integer<unsigned>(section[0]) > 1) return corrupt;
    const bool packed = section[0] != std::byte{0};
    auto rest = section.subspan(1);
    widths_.resize(n_chunks_ * k_groups);
    if (!take_small_bytes(rest, packed, widths_)) return corrupt;
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
