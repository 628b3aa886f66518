#include "codec/entropy/planes_coder.hpp"

#include <algorithm>

namespace caesura::codec {

void PlanesEncoder::begin(std::uint64_t, const TableSet&, TableStatistics*, std::uint64_t,
                          Output& out) {
    widths_.clear();
    out_ = &out;
    begin_ = out.size();
}

void PlanesEncoder::put_chunk(const std::uint32_t* codes, std::size_t) {
    std::byte* const bits = out_->room(4 * k_chunk_values + k_kernel_slack);
    std::uint8_t* const widths = widths_.room(k_groups);
    out_->advance(pack_groups(codes, widths, reinterpret_cast<std::uint8_t*>(bits)));
    widths_.advance(k_groups);
}

bool PlanesEncoder::finish() {
    const std::size_t head = out_->size();
    const std::span<const std::uint8_t> widths(widths_.data(), widths_.size());
    // Where codes are long, zstd would gain half a percent of the bytes and take a twentieth of
    // the time, of decompression as well.
    constexpr std::size_t k_code_bytes_per_width = 128;
    out_->push_back(std::byte{0});
    if ((head - begin_) / k_code_bytes_per_width >= widths.size()) {
        SmallBytes::put_raw(*out_, widths);
    } else {
        const bool packed = small_bytes_.put(*out_, widths);
        out_->data()[head] = std::byte{packed};
    }
    end_head(*out_, head);
    return false;
}

Status PlanesDecoder::open(std::span<const std::byte> section, std::uint64_t n_codes,
                           const TableSet&) {
    const Status corrupt(StatusCode::corrupt, "planes section: its widths are broken");
    chunk_ = 0;
    n_chunks_ = chunks_of(n_codes);
    std::span<const std::byte> bits, head;
    if (!split_section(section, bits, head) || head.empty()) return corrupt;
    if (std::to_integer<unsigned>(head[0]) > 1) return corrupt;
    const bool packed = head[0] != std::byte{0};
    auto rest = head.subspan(1);
    widths_.resize(n_chunks_ * k_groups);
    if (!small_bytes_.take(rest, packed, widths_) || !rest.empty()) return corrupt;
    if (std::any_of(widths_.begin(), widths_.end(), [](std::uint8_t w) { return w > 32; })) {
        return corrupt;
    }
    std::uint64_t bytes = 0;
    for (std::size_t c = 0; c < n_chunks_; ++c) bytes += packed_bytes(&widths_[c * k_groups]);
    if (bytes != bits.size()) {
        return {StatusCode::corrupt, "planes section: its bits are cut off"};
    }
    bits_ = reinterpret_cast<const std::uint8_t*>(bits.data());
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
