// Goal: each part of a complex number keeps the bound by itself, with every codec; what was
// verified is the larger error of the two; a dataset made by HDF5 gets the parameters that its
// codec wants.
#include "hdf5/complex_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "hdf5/test_plugins.hpp"

namespace caesura::hdf5 {
namespace {

const Shape k_complex_chunk{24, 40}, k_complex_valid{20, 40};

/// Waves of which the real part is a thousand times the imaginary one.
template <class T>
std::vector<std::complex<T>> waves(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::complex<T>> values(k_complex_chunk.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double noise = static_cast<double>(random() % 1000) * 1e-3;
        const double phase = 0.02 * static_cast<double>(i);
        values[i] = {static_cast<T>(std::sin(phase) + 0.3 * noise),
                     static_cast<T>(1e-3 * std::cos(phase) - 1e-4 * noise)};
    }
    return values;
}

template <class T>
void expect_parts_within(const CodecSpec& spec, const ErrorBound& bound) {
    const auto values = waves<T>(3);
    const auto codec =
        make_block_codec(spec, dtype_of<std::complex<T>>(), k_complex_chunk, bound).value();
    const auto block = codec->encode(std::as_bytes(std::span(values)), k_complex_valid);
    ASSERT_TRUE(block.ok()) << block.status().message();
    std::vector<std::complex<T>> back(values.size());
    const Status status =
        codec->decode(block->bytes, block->filter_mask, std::as_writable_bytes(std::span(back)));
    ASSERT_TRUE(status.ok()) << status.message();
    double most = 0.0;
    for (std::size_t i = 0; i < k_complex_valid.count(); ++i) {
        const auto off = [](T a, T b) {
            return std::abs(static_cast<double>(a) - static_cast<double>(b));
        };
        const double real = off(values[i].real(), back[i].real());
        const double imaginary = off(values[i].imag(), back[i].imag());
        most = std::max({most, real, imaginary});
        if (bound.kind != ErrorBound::Kind::pointwise_relative) continue;
        ASSERT_LE(real, bound.value * std::abs(static_cast<double>(values[i].real())));
        ASSERT_LE(imaginary, bound.value * std::abs(static_cast<double>(values[i].imag())));
    }
    if (bound.kind == ErrorBound::Kind::absolute) {
        EXPECT_LE(most, bound.value);
        EXPECT_GT(most, 0.0);
        EXPECT_NEAR(block->max_error, most, 1e-12 * most);
        EXPECT_LE(block->max_error, bound.value);
    } else if (bound.kind == ErrorBound::Kind::lossless) {
        EXPECT_EQ(most, 0.0);
        EXPECT_EQ(block->max_error, 0.0);
    } else {
        EXPECT_TRUE(std::isnan(block->max_error));
    }
}

TEST(ComplexCodec, keeps_the_bound_of_each_part_and_says_the_larger_error) {
    const CodecSpec spec{.name = "caesura", .verify = true};
    for (const ErrorBound& bound :
         {absolute(1e-2), absolute(3e-4), absolute(1e-5), pointwise_relative(1e-3), lossless()}) {
        SCOPED_TRACE(bound.value);
        expect_parts_within<float>(spec, bound);
        expect_parts_within<double>(spec, bound);
    }
}

TEST(ComplexCodec, keeps_it_with_the_codecs_of_plugins) {
    CAESURA_NEEDS_PLUGINS();
    for (const char* const name : {"sz3", "zfp"}) {
        SCOPED_TRACE(name);
        const CodecSpec spec{.name = name, .verify = true};
        expect_parts_within<float>(spec, absolute(1e-3));
        expect_parts_within<double>(spec, absolute(1e-3));
    }
}

// A filter's set_local makes of them what the pipeline has: it must not be given that itself.
TEST(ComplexCodec, is_created_with_what_the_codec_of_its_parts_is_created_with) {
    CAESURA_NEEDS_PLUGINS();
    for (const char* const name : {"caesura", "sz3", "zfp", "zstd"}) {
        SCOPED_TRACE(name);
        const bool exact = std::string_view(name) == "zstd";
        const CodecSpec spec{.name = name};
        const ErrorBound bound = exact ? lossless() : absolute(1e-3);
        const auto codec = make_block_codec(spec, complex64, k_complex_chunk, bound).value();
        const auto of_parts =
            make_block_codec(spec, float32, with_parts(k_complex_chunk), bound).value();
        EXPECT_EQ(codec->creation_values(), of_parts->creation_values());
    }
}

}  // namespace
}  // namespace caesura::hdf5
