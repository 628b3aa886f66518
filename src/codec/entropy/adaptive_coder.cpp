#include "codec/entropy/adaptive_coder.hpp"

#include <fmt/format.h>

#include "base/little_endian.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_word_bytes = 4;
constexpr std::size_t k_first_words = 2;  // that a decoder reads before its first bit
constexpr std::uint64_t k_least_range = std::uint64_t{1} << 32;
constexpr unsigned k_probability_bits = 16;

}  // namespace

void RangeEncoder::begin(Output& out) {
    out_ = &out;
    begin_ = out.size();
    low_ = 0;
    range_ = ~std::uint64_t{0};
}

/// Where low passes 2^64 the words that went out are one more.
inline void RangeEncoder::add(std::uint64_t to_low) {
    low_ += to_low;
    if (low_ >= to_low) return;
    for (std::size_t at = out_->size(); at > begin_;) {
        std::byte* const words = out_->data() + (at -= k_word_bytes);
        const auto word = static_cast<std::uint32_t>(base::get_little(words, k_word_bytes) + 1);
        base::put_little(words, word, k_word_bytes);
        if (word != 0) return;
    }
}

inline void RangeEncoder::put_words() {
    if (range_ >= k_least_range) return;
    base::put_little(out_->room(k_word_bytes), low_ >> 32, k_word_bytes);
    out_->advance(k_word_bytes);
    low_ <<= 32;
    range_ <<= 32;
}

inline bool RangeEncoder::code(AdaptiveBit& bit, bool set) {
    const std::uint64_t bound = (range_ >> k_probability_bits) * bit.probability();
    if (set) {
        range_ = bound;
    } else {
        add(bound);
        range_ -= bound;
    }
    bit.learn(set);
    put_words();
    return set;
}

inline std::uint32_t RangeEncoder::raw(std::uint32_t value, unsigned bits) {
    range_ >>= bits;
    add(range_ * value);
    put_words();
    return value;
}

void RangeEncoder::finish() {
    for (std::size_t i = 0; i < k_first_words; ++i) {
        base::put_little(out_->room(k_word_bytes), low_ >> 32, k_word_bytes);
        out_->advance(k_word_bytes);
        low_ <<= 32;
    }
}

void RangeDecoder::begin(std::span<const std::byte> words) {
    next_ = words.data();
    end_ = words.data() + words.size();
    beyond_ = false;
    value_ = std::uint64_t{take()} << 32;
    value_ |= take();
    range_ = ~std::uint64_t{0};
}

inline std::uint32_t RangeDecoder::take() {
    if (next_ == end_) {
        beyond_ = true;
        return 0;
    }
    const auto word = static_cast<std::uint32_t>(base::get_little(next_, k_word_bytes));
    next_ += k_word_bytes;
    return word;
}

inline void RangeDecoder::narrow(std::uint64_t range) {
    range_ = range;
    if (range_ >= k_least_range) return;
    range_ <<= 32;
    value_ = value_ << 32 | take();
}

inline bool RangeDecoder::code(AdaptiveBit& bit, bool) {
    const std::uint64_t bound = (range_ >> k_probability_bits) * bit.probability();
    const bool set = value_ < bound;
    if (!set) value_ -= bound;
    bit.learn(set);
    narrow(set ? bound : range_ - bound);
    return set;
}

inline std::uint32_t RangeDecoder::raw(std::uint32_t, unsigned bits) {
    const std::uint64_t range = range_ >> bits;
    // Above the last one only in a broken section.
    const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
    const std::uint64_t value = std::min(value_ / range, most);
    value_ -= value * range;
    narrow(range);
    return static_cast<std::uint32_t>(value);
}

void AdaptiveEncoder::begin(std::uint64_t, const TableSet&, TableStatistics*, std::uint64_t,
                            Output& out) {
    model_.reset();
    bits_.begin(out);
    empty_ = true;
}

void AdaptiveEncoder::put_chunk(const std::uint32_t* codes, std::size_t n) {
    model_.run(bits_, codes, n);
    empty_ = false;
}

bool AdaptiveEncoder::finish() {
    if (!empty_) bits_.finish();
    return false;
}

Status AdaptiveDecoder::open(std::span<const std::byte> section, std::uint64_t n_codes,
                             const TableSet&) {
    const std::size_t least = n_codes > 0 ? k_first_words * k_word_bytes : 0;
    if (section.size() % k_word_bytes != 0 || section.size() < least ||
        (n_codes == 0 && !section.empty())) {
        return {StatusCode::corrupt,
                fmt::format("adaptive section: {} bytes for {} codes", section.size(), n_codes)};
    }
    model_.reset();
    if (n_codes > 0) bits_.begin(section);
    left_ = n_codes;
    asked_beyond_ = false;
    return {};
}

void AdaptiveDecoder::get_chunk(std::uint32_t* codes) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, k_chunk_values));
    if (n < k_chunk_values) std::fill(codes + n, codes + k_chunk_values, 0U);
    if (n == 0) asked_beyond_ = true;
    model_.run(bits_, codes, n);
    left_ -= n;
}

Status AdaptiveDecoder::close() {
    if (left_ > 0 || asked_beyond_ || !bits_.exhausted())
        return {StatusCode::corrupt, "adaptive section: it is not used up by its codes"};
    return {};
}

}  // namespace caesura::codec
