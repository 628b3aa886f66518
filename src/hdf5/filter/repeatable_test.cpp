// Chunks pass the filter again and again, as HDF5's chunk cache makes them do, and no value is ever
// off by more than its bound.
//
// CAESURA_FILTER_RUNS: how many random runs; CAESURA_FILTER_SEED: the first one's seed.
#include "hdf5/filter/repeatable.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <tuple>

#include "codec/frame/recode.hpp"
#include "hdf5/filter/kept_chunk.hpp"

namespace caesura::hdf5 {
namespace {

using Kind = ErrorBound::Kind;
using Bytes = std::vector<std::byte>;

/// A dataset's one chunk: what HDF5's cache holds of it, what the file does, and what was written.
/// All values as double; the chunk's own bytes are what passes the filter.
class Passing {
  public:
    Passing(unsigned seed, Settings settings) : random_(seed), settings_(std::move(settings)) {
        n_ = settings_.chunk_bytes() / settings_.element_bytes;
        for (std::size_t i = 0; i < n_; ++i) put(i, fill());
        written_.assign(cached_.begin(), cached_.end());
        limit_.assign(n_, -1.0);
    }

    std::size_t below(std::size_t n) { return random_() % n; }
    std::size_t size() const { return n_; }
    double fill() const { return number(*settings_.fill); }

    void write(std::size_t i, double value) {
        put(i, value);
        std::memcpy(written_.data() + i * width(), cached_.data() + i * width(), width());
        limit_[i] = -1.0;
    }

    /// The cache writes the chunk, which stays there as it is, as with H5Fflush: the next pass
    /// begins from the same values. Returns what check() finds in the file.
    double flush() {
        const auto kept = std::tuple(cached_, limit_, decoded_);
        evict();
        const double found = check();
        std::tie(cached_, limit_, decoded_) = kept;
        return found;
    }
    /// The chunk leaves the cache and comes back.
    double evict() {
        store();
        read();
        return check();
    }
    /// The same, in another process.
    double reopen() {
        store();
        decoded_.reset();
        read();
        return check();
    }
    /// Another chunk of the dataset is decoded here.
    void see(Fineness other) { note(other); }

    /// The largest error, as a share of what each value may be off.
    double check() {
        double largest = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            const double value = at(written_, i);
            const double found = at(cached_, i);
            if (same_bits(i)) continue;
            if (!std::isfinite(value) || is_fill_of_range(i) || !std::isfinite(found)) return 1e300;
            const double limit = limit_[i] >= 0 ? limit_[i] : 0;
            largest = std::max(largest, limit > 0 ? std::abs(found - value) / limit : 1e300);
        }
        return largest;
    }
    const Bytes& stored() const { return stored_; }
    const Bytes& cached() const { return cached_; }

  private:
    void store() {
        const double range = range_of_chunk();
        for (std::size_t i = 0; i < n_; ++i) settle(i, range);
        auto stored = encode_chunk(settings_, cached_, decoded_);
        ASSERT_TRUE(stored.ok()) << stored.status().message();
        stored_ = std::move(*stored);
    }
    std::size_t width() const { return settings_.element_bytes; }
    bool of_range() const {
        return settings_.bound.kind == Kind::relative || settings_.bound.kind == Kind::psnr;
    }
    DType short_type() const { return settings_.element == Element::float16 ? float16 : bfloat16; }
    double of_short(std::uint16_t bits) const {
        const auto wide = codec::code_as(std::as_bytes(std::span(&bits, 1)), short_type(), true);
        float value = 0;
        std::memcpy(&value, wide.data(), sizeof value);
        return value;
    }
    std::uint16_t short_bits(float value) const {
        std::uint16_t bits = 0;
        codec::decode_as(std::as_bytes(std::span(&value, 1)), short_type(), true,
                         std::as_writable_bytes(std::span(&bits, 1)));
        return bits;
    }
    double number(std::uint64_t bits) const {
        switch (settings_.element) {
            case Element::float32:
                return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
            case Element::float64:
                return std::bit_cast<double>(bits);
            default:
                return of_short(static_cast<std::uint16_t>(bits));
        }
    }
    std::uint64_t bits(double value) const {
        switch (settings_.element) {
            case Element::float32:
                return std::bit_cast<std::uint32_t>(static_cast<float>(value));
            case Element::float64:
                return std::bit_cast<std::uint64_t>(value);
            default:
                return short_bits(static_cast<float>(value));
        }
    }
    double at(const Bytes& bytes, std::size_t i) const {
        std::uint64_t value = 0;
        for (std::size_t k = 0; k < width(); ++k) {
            const std::size_t from = settings_.big_endian ? k : width() - 1 - k;
            value = value << 8 | std::to_integer<std::uint64_t>(bytes[i * width() + from]);
        }
        return number(value);
    }
    void put(std::size_t i, double value) {
        cached_.resize(n_ * width());
        std::uint64_t rest = bits(value);
        for (std::size_t k = 0; k < width(); ++k, rest >>= 8) {
            const std::size_t to = settings_.big_endian ? width() - 1 - k : k;
            cached_[i * width() + to] = static_cast<std::byte>(rest & 0xff);
        }
    }
    bool same_bits(std::size_t i) const {
        return std::memcmp(written_.data() + i * width(), cached_.data() + i * width(), width()) ==
               0;
    }
    bool is_fill_of_range(std::size_t i) const {
        return of_range() && bits(at(written_, i)) == *settings_.fill;
    }
    double range_of_chunk() const {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (std::size_t i = 0; i < n_; ++i) {
            const double value = at(cached_, i);
            if (!std::isfinite(value) || bits(value) == *settings_.fill) continue;
            low = std::min(low, value);
            high = std::max(high, value);
        }
        return low < high ? high - low : 0.0;
    }
    /// What a value may be off from the first pass on in which its chunk has a bound.
    void settle(std::size_t i, double range) {
        if (limit_[i] > 0) return;
        const ErrorBound& bound = settings_.bound;
        limit_[i] = bound.kind == Kind::absolute   ? bound.value
                    : bound.kind == Kind::relative ? bound.value * range
                    : bound.kind == Kind::psnr     ? std::pow(10.0, -bound.value / 20) * range
                                                   : bound.value * std::abs(at(cached_, i));
    }
    void note(Fineness finest) { decoded_ = std::max(decoded_.value_or(finest), finest); }
    void read() {
        if (const auto finest = finest_grid(settings_, stored_)) note(*finest);
        ASSERT_EQ(decoded_bytes(settings_, stored_).value(), cached_.size());
        const Status status = decode_chunk(settings_, stored_, cached_);
        ASSERT_TRUE(status.ok()) << status.message();
    }

    std::mt19937_64 random_;
    Settings settings_;
    std::size_t n_ = 0;
    Bytes cached_, written_, stored_;
    std::vector<double> limit_;
    std::optional<Fineness> decoded_;
};

double random_value(std::mt19937_64& random, std::size_t i, double scale, int kind) {
    const double noise = static_cast<double>(random() % 2001) / 1000 - 1;
    const double smooth = std::sin(0.03 * static_cast<double>(i));
    switch (kind) {
        case 0:
            return scale * smooth;
        case 1:
            return scale * (300 + smooth + 0.01 * noise);
        case 2:
            return scale * noise;
        case 3:  // steps, zeros, -0
            return scale * std::round(4 * smooth) * (random() % 9 == 0 ? -0.0 : 1.0);
        case 4:
            return random() % 3 == 0 ? 0.0 : scale * std::exp(20 * noise);
        default: {
            constexpr double k_odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-42, 3e38, 9.96921e36};
            return random() % 40 == 0 ? k_odd[random() % std::size(k_odd)] : scale * smooth;
        }
    }
}

Settings any_settings(std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return random() % n; };
    Settings settings;
    constexpr Element k_elements[] = {Element::float32, Element::float32, Element::float64,
                                      Element::float16, Element::bfloat16};
    settings.element = k_elements[below(std::size(k_elements))];
    settings.element_bytes = settings.element == Element::float32   ? 4
                             : settings.element == Element::float64 ? 8
                                                                    : 2;
    settings.big_endian = below(4) == 0;
    constexpr Mode k_modes[] = {Mode::automatic, Mode::automatic, Mode::fast,
                                Mode::strong,    Mode::planes,    Mode::regions};
    settings.mode = k_modes[below(std::size(k_modes))];
    const std::size_t rank = 1 + below(3);
    for (std::size_t axis = 0; axis < rank; ++axis)
        settings.chunk.push_back(static_cast<std::uint32_t>(1 + below(rank == 1 ? 900 : 30)));
    const double value = std::pow(10.0, -static_cast<double>(below(600)) / 100);
    constexpr Kind k_kinds[] = {Kind::absolute, Kind::absolute, Kind::relative, Kind::relative,
                                Kind::pointwise_relative};
    const Kind kind = k_kinds[below(std::size(k_kinds))];
    settings.bound = {kind, kind == Kind::absolute ? value : value / 4};
    if (below(8) == 0) settings.bound.value = std::exp2(-static_cast<double>(3 + below(9)));
    settings.fill = 0;
    const std::uint64_t k_fills[] = {0x7fc00000, 0x7cf00000, 0xc479c000};  // NaN, 9.97e36, -999
    if (settings.element == Element::float32 && below(3) == 0)
        settings.fill = k_fills[below(std::size(k_fills))];
    if (settings.element == Element::float64 && below(3) == 0)
        settings.fill = std::bit_cast<std::uint64_t>(-999.25);
    return settings;
}

/// One run: parts of a chunk are written, in some order, with passes of the cache in between.
double largest_error_of(unsigned seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return random() % n; };
    Settings settings = any_settings(random);
    Passing passing(seed, settings);
    constexpr double k_scales[] = {1.0, 1e-3, 40.0, 1e4};
    const double scale = k_scales[below(std::size(k_scales))];
    const int kind = static_cast<int>(below(6));
    const std::size_t n = passing.size();
    const std::size_t row = settings.chunk.back();
    const std::size_t pattern = below(5);
    const std::size_t passes = 1 + below(8);
    double largest = 0;
    std::size_t next = 0;
    const auto where = [&](std::size_t pass) {
        return fmt::format(
            "type {}, mode {}, bound {} {}, fill {:#x}, chunk of {}, values {} times "
            "{}, pattern {}, pass {} of {}",
            static_cast<int>(settings.element), static_cast<int>(settings.mode),
            static_cast<int>(settings.bound.kind), settings.bound.value, *settings.fill, n, kind,
            scale, pattern, pass, passes);
    };
    for (std::size_t pass = 0; pass < passes; ++pass) {
        const auto write = [&](std::size_t i) {
            passing.write(i, random_value(random, i, scale, kind));
        };
        if (below(4) == 0) passing.see(static_cast<Fineness>(below(24)));
        if (pattern == 0 || (pattern == 1 && pass == 0)) {  // all at once, or at first
            for (std::size_t i = 0; i < n; ++i) write(i);
        } else if (pattern == 2) {  // rows, one after the other
            for (std::size_t i = 0; i < row && next < n; ++i) write(next++);
        } else if (pattern == 3) {  // points
            for (std::size_t i = 0; i < 1 + n / 9; ++i) write(below(n));
        } else {  // a stretch
            const std::size_t begin = below(n);
            for (std::size_t i = begin; i < std::min(n, begin + 1 + below(n)); ++i) write(i);
        }
        const std::size_t how = below(4);
        largest = std::max(largest, how == 0   ? passing.flush()
                                    : how == 1 ? passing.reopen()
                                               : passing.evict());
        if (testing::Test::HasFatalFailure()) return 1e300;
        EXPECT_LE(largest, 1.0) << "largest error / bound: " << where(pass);
        if (largest > 1.0) return largest;
    }
    largest = std::max(largest, passing.reopen());
    const Bytes before = passing.cached();
    passing.evict();
    EXPECT_EQ(before, passing.cached()) << "a pass without a change changed values";
    return largest;
}

TEST(Repeatable, no_value_leaves_its_bound_however_often_its_chunk_passes) {
    const char* const runs = std::getenv("CAESURA_FILTER_RUNS");
    const char* const first = std::getenv("CAESURA_FILTER_SEED");
    const unsigned n = runs != nullptr ? static_cast<unsigned>(std::atoi(runs)) : 400;
    const unsigned begin = first != nullptr ? static_cast<unsigned>(std::atoi(first)) : 1;
    double largest = 0;
    for (unsigned seed = begin; seed < begin + n; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        const double found = largest_error_of(seed);
        EXPECT_LE(found, 1.0) << "largest error / bound";
        if (HasFailure()) return;
        largest = std::max(largest, found);
    }
    fmt::print("{} runs from seed {}: largest error / bound {:.6f}\n", n, begin, largest);
    EXPECT_GT(largest, 0.9);  // bounds are used
}

/// A chunk of 64 x 64 values whose first rows are written, and the settings for it.
struct Rows {
    Settings settings;
    std::vector<float> values;
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values)); }
};

Rows rows_of(const ErrorBound& bound, std::size_t rows) {
    Rows made;
    made.settings.element = Element::float32;
    made.settings.element_bytes = 4;
    made.settings.chunk = {64, 64};
    made.settings.bound = bound;
    made.settings.fill = 0;
    made.values.resize(64 * 64);
    std::mt19937 random(3);
    std::normal_distribution<float> noise(300.0F, 1.0F);
    for (std::size_t i = 0; i < 64 * rows; ++i) made.values[i] = noise(random);
    return made;
}

double psnr_of(std::span<const float> values, std::span<const float> decoded) {
    double low = HUGE_VAL, high = -HUGE_VAL, sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = static_cast<double>(values[i]) - static_cast<double>(decoded[i]);
        low = std::min(low, static_cast<double>(values[i]));
        high = std::max(high, static_cast<double>(values[i]));
        sum += error * error;
    }
    const double range = high - low;
    return 10 * std::log10(range * range * static_cast<double>(values.size()) / sum);
}

TEST(Repeatable, psnr_is_that_of_what_was_written_and_unwritten_values_stay) {
    for (const std::size_t rows : {9u, 40u, 64u}) {
        for (const double asked : {40.0, 60.0, 90.0}) {
            Rows made = rows_of(psnr(asked), rows);
            const std::vector<float> written = made.values;
            std::optional<Fineness> decoded;
            for (int pass = 0; pass < 3; ++pass) {
                const auto stored = encode_chunk(made.settings, made.bytes(), decoded);
                ASSERT_TRUE(stored.ok()) << stored.status().message();
                decoded = finest_grid(made.settings, *stored);
                const auto chunk = std::as_writable_bytes(std::span(made.values));
                ASSERT_TRUE(decode_chunk(made.settings, *stored, chunk).ok());
            }
            const std::span all(made.values);
            EXPECT_GE(psnr_of(std::span(written).first(64 * rows), all.first(64 * rows)), asked);
            for (const float value : all.subspan(64 * rows))
                EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0U);
        }
    }
}

// Neither the unwritten rows nor the padding of an edge stretch the range.
TEST(Repeatable, a_relative_bound_is_of_the_values_without_the_fill_value) {
    const Rows made = rows_of(relative(1e-3), 40);
    const auto stored = encode_chunk(made.settings, made.bytes());
    ASSERT_TRUE(stored.ok()) << stored.status().message();
    std::vector<float> found(made.values.size());
    ASSERT_TRUE(
        decode_chunk(made.settings, *stored, std::as_writable_bytes(std::span(found))).ok());
    for (std::size_t i = 0; i < 64 * 40; ++i) ASSERT_NEAR(found[i], made.values[i], 8e-3);
    EXPECT_LT(stored->size(), 64 * 40 * 2u);
    const auto info = stored_frame_info(*stored);
    ASSERT_TRUE(info.ok()) << info.status().message();
    const auto [low, high] =
        std::minmax_element(made.values.begin(), made.values.begin() + 64 * 40);
    EXPECT_NEAR(info->absolute_bound, 1e-3 * static_cast<double>(*high - *low), 1e-8);
}

// A process that has read a dataset goes on to write it: what is new is not stored without loss.
TEST(Repeatable, new_chunks_stay_lossy_where_others_have_been_decoded) {
    const Rows made = rows_of(absolute(0.02), 64);
    const auto first = encode_chunk(made.settings, made.bytes());
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto later =
        encode_chunk(made.settings, made.bytes(), finest_grid(made.settings, *first));
    ASSERT_TRUE(later.ok()) << later.status().message();
    // One value in 16 of such noise lies on the grid by chance.
    EXPECT_LT(static_cast<double>(later->size()), 1.25 * static_cast<double>(first->size()));
}

// Parameters without a fill value cannot tell old values from new ones.
TEST(Repeatable, under_older_parameters_a_second_pass_is_without_loss) {
    Rows made = rows_of(absolute(0.02), 64);
    made.settings.fill.reset();
    const auto first = encode_chunk(made.settings, made.bytes());
    const auto chunk = std::as_writable_bytes(std::span(made.values));
    ASSERT_TRUE(decode_chunk(made.settings, *first, chunk).ok());
    const std::vector<float> once = made.values;
    const auto second = encode_chunk(made.settings, chunk, finest_grid(made.settings, *first));
    ASSERT_TRUE(decode_chunk(made.settings, *second, chunk).ok());
    EXPECT_EQ(once, made.values);
}

}  // namespace
}  // namespace caesura::hdf5
