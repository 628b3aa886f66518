// Goal: the kernels of sums, counts and marks find what a plain loop finds: all but sums exactly,
// sums to rounding, whatever is not finite counted as the host counts it. CUDA's runtime is stood
// in for by the host; not a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "caesura/device.hpp"
#include "device/cuda/on_host/on_host.hpp"

namespace caesura::device {
namespace {

constexpr std::uint64_t k_reduce_seed = 20261125;

/// Values about a mean, with some that are not finite.
template <class T>
std::vector<T> values_of(std::size_t count, double mean, double wild_share, std::uint64_t seed) {
    std::mt19937_64 random(k_reduce_seed + seed);
    std::normal_distribution<double> usual(mean, 1.0);
    std::uniform_real_distribution<double> share;
    const T wild[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                      -std::numeric_limits<T>::infinity()};
    std::vector<T> values(count);
    for (T& value : values)
        value = share(random) < wild_share ? wild[random() % 3] : static_cast<T>(usual(random));
    return values;
}

class CudaReductions : public ::testing::TestWithParam<std::size_t> {
  protected:
    void SetUp() override {
        on_host::begin({.seed = k_reduce_seed});
        auto made = create_cuda_device({});
        ASSERT_TRUE(made.ok()) << made.status().message();
        device_ = *std::move(made);
    }
    void TearDown() override {
        device_.reset();
        EXPECT_EQ(on_host::take_faults(), std::vector<std::string>{});
        EXPECT_EQ(on_host::left(), on_host::Left{});
    }
    std::span<std::byte> room(std::uint64_t bytes) {
        auto memory = device_->allocate(bytes);
        EXPECT_TRUE(memory.ok());
        return {*memory, bytes};
    }
    template <class T>
    std::span<const std::byte> bring(const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        const auto there = room(bytes.size());
        const auto sent = device_->to_device(there.data(), bytes);
        EXPECT_TRUE(sent.ok() && device_->wait(*sent).ok());
        return there;
    }

    template <class T>
    void sums_are_a_loops(const std::vector<T>& values) {
        constexpr DType dtype = sizeof(T) == 4 ? float32 : float64;
        const auto found =
            device_->sums(bring(values), dtype, room(sums_bytes(values.size() * sizeof(T), dtype)));
        ASSERT_TRUE(found.ok()) << found.status().message();
        ASSERT_EQ(found->size(), (values.size() + k_stretch_values - 1) / k_stretch_values);
        for (std::size_t n = 0; n < found->size(); ++n) {
            const StretchSums& line = (*found)[n];
            const auto all = std::span(values).subspan(n * k_stretch_values);
            const auto stretch = all.first(std::min<std::size_t>(all.size(), k_stretch_values));
            StretchSums loop;
            loop.low = HUGE_VAL, loop.high = -HUGE_VAL;
            double size = 0.0;
            for (const T value : stretch) {
                loop.nan += std::isnan(value) ? 1 : 0;
                if (!std::isfinite(value)) continue;
                if (loop.finite++ == 0) loop.origin = double{value};
                loop.low = std::min(loop.low, double{value});
                loop.high = std::max(loop.high, double{value});
                loop.sum += value - loop.origin;
                size += std::fabs(value - loop.origin);
                loop.squares += (value - loop.origin) * (value - loop.origin);
            }
            EXPECT_EQ(line.values, stretch.size());
            EXPECT_EQ(line.finite, loop.finite);
            EXPECT_EQ(line.nan, loop.nan);
            EXPECT_EQ(line.low, loop.low);
            EXPECT_EQ(line.high, loop.high);
            EXPECT_EQ(line.origin, loop.origin);
            // Two orders of adding n values differ by less than n roundings of what was added.
            const double rounding = static_cast<double>(loop.finite) * 0x1p-52;
            EXPECT_NEAR(line.sum, loop.sum, rounding * size);
            EXPECT_NEAR(line.squares, loop.squares, rounding * loop.squares);
        }
    }

    template <class T>
    void counts_are_a_loops(const std::vector<T>& values, double low, double high,
                            std::size_t bins) {
        constexpr DType dtype = sizeof(T) == 4 ? float32 : float64;
        std::vector<double> edges(bins + 1);
        const double step = (high - low) / static_cast<double>(bins);
        for (std::size_t i = 0; i < bins; ++i) edges[i] = static_cast<double>(i) * step + low;
        edges[bins] = high;
        RangeCounts loop{std::vector<std::uint64_t>(bins)};
        for (const T value : values) {
            const double x = double{value};
            if (std::isnan(x))
                ++loop.nan;
            else if (std::isinf(x))
                ++loop.infinite;
            else if (x < low)
                ++loop.below;
            else if (x > high)
                ++loop.above;
            else
                ++loop.bins[std::min<std::size_t>(
                                bins,
                                std::upper_bound(edges.begin(), edges.end(), x) - edges.begin()) -
                            1];
        }
        const auto found = device_->counts(bring(values), dtype, edges, room(counts_bytes(bins)));
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(found->bins, loop.bins);
        EXPECT_EQ(found->below, loop.below);
        EXPECT_EQ(found->above, loop.above);
        EXPECT_EQ(found->nan, loop.nan);
        EXPECT_EQ(found->infinite, loop.infinite);
    }

    template <class T>
    void marks_are_a_loops(const std::vector<T>& values, double threshold) {
        constexpr DType dtype = sizeof(T) == 4 ? float32 : float64;
        const std::uint64_t bytes = marks_bytes(values.size() * sizeof(T), dtype);
        const auto dirty = room(bytes);
        const std::vector<std::byte> ones(bytes, std::byte{0xff});
        const auto sent = device_->to_device(dirty.data(), ones);
        ASSERT_TRUE(sent.ok() && device_->wait(*sent).ok());
        std::vector<std::uint64_t> loop(bytes / 8);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (double{values[i]} > threshold) loop[i / 64] |= std::uint64_t{1} << (i % 64);
        const auto found = device_->marks(bring(values), dtype, threshold, dirty);
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(*found, loop);
    }

    std::unique_ptr<Device> device_;
};
// Less than a stretch, whole ones, and a rest; more than a block of threads counts.
INSTANTIATE_TEST_SUITE_P(Values, CudaReductions, ::testing::Values(1, 255, 4096, 8192, 40'001));

TEST_P(CudaReductions, sums_are_those_of_a_loop) {
    for (const double mean : {0.0, 1e6})
        for (const double wild : {0.0, 0.3, 1.0}) {
            sums_are_a_loops(values_of<float>(GetParam(), mean, wild, 1));
            sums_are_a_loops(values_of<double>(GetParam(), mean, wild, 2));
        }
}

TEST_P(CudaReductions, counts_are_those_of_a_loop) {
    for (const std::size_t bins : {1, 7, 64, 4092, 4093, 10'000}) {
        counts_are_a_loops(values_of<float>(GetParam(), 0.0, 0.1, bins), -1.0, 2.0, bins);
        counts_are_a_loops(values_of<double>(GetParam(), 0.0, 0.1, bins), -1.0, 2.0, bins);
    }
}

TEST_P(CudaReductions, marks_are_those_of_a_loop) {
    for (const double threshold : {-HUGE_VAL, -100.0, 0.0, 2.0, 100.0}) {
        marks_are_a_loops(values_of<float>(GetParam(), 0.0, 0.1, 3), threshold);
        marks_are_a_loops(values_of<double>(GetParam(), 0.0, 0.1, 4), threshold);
    }
    marks_are_a_loops(std::vector<float>(GetParam(), 0.1F), double{0.1F});  // not above itself
}

TEST_P(CudaReductions, values_on_edges_are_counted_as_the_edges_say) {
    // Steps that no binary number is: the guess is wrong for many edges.
    std::vector<double> values;
    for (std::size_t i = 0; i < GetParam(); ++i)
        values.push_back(static_cast<double>(i % 71) * (0.7 / 70.0) + 0.1);
    counts_are_a_loops(values, 0.1, 0.8, 70);
}

TEST_P(CudaReductions, what_cannot_be_is_refused) {
    const std::vector<float> values(GetParam(), 1.0f);
    const auto there = bring(values);
    const std::uint64_t bytes = sums_bytes(there.size(), float32);
    EXPECT_EQ(device_->sums(there, float32, room(bytes).first(bytes - 1)).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(device_->sums({}, float32, room(bytes)).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(device_->sums(std::as_bytes(std::span(values)), float32, room(bytes)).status().code(),
              StatusCode::invalid_argument);
    const std::uint64_t marked_bytes = marks_bytes(there.size(), float32);
    EXPECT_EQ(device_->marks(there, float32, 0.0, room(marked_bytes).first(marked_bytes - 1))
                  .status()
                  .code(),
              StatusCode::invalid_argument);
    const std::vector<double> edge{1.0};
    EXPECT_EQ(device_->counts(there, float32, edge, room(1000)).status().code(),
              StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::device
