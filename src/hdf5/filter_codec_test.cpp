// Codecs through real plugins: the bound holds whatever comes in, fallbacks say so, errors name the
// way out. The blocks' seeds are in every message.
#include "hdf5/filter_codec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "codec/bound/bound.hpp"
#include "hdf5/hdf5_filter_plugin.hpp"
#include "hdf5/known_filters.hpp"
#include "hdf5/test_blocks.hpp"
#include "hdf5/test_plugins.hpp"

namespace caesura::hdf5 {
namespace {

class FilterCodec : public testing::Test {
  protected:
    void SetUp() override { CAESURA_NEEDS_PLUGINS(); }
};

std::unique_ptr<BlockCodec> make(const CodecSpec& spec, const TestBlock& block,
                                 const ErrorBound& bound) {
    auto codec = make_block_codec(spec, block.dtype, block.chunk, bound);
    EXPECT_TRUE(codec.ok()) << codec.status().message();
    return codec.ok() ? std::move(*codec) : nullptr;
}

/// Encode, decode and judge; returns the encoded block.
EncodedBlock round_trip(const BlockCodec& codec, const TestBlock& block, const ErrorBound& bound) {
    auto encoded = codec.encode(block.bytes, block.valid);
    EXPECT_TRUE(encoded.ok()) << encoded.status().message();
    if (!encoded.ok()) return {};
    EXPECT_LE(encoded->bytes.size(), block.bytes.size());
    EXPECT_LT(encoded->filter_mask, 1u << codec.pipeline().size());
    std::vector<std::byte> decoded(block.bytes.size(), std::byte{0xee});
    const Status status = codec.decode(encoded->bytes, encoded->filter_mask, decoded);
    EXPECT_TRUE(status.ok()) << status.message();
    const codec::BoundCheck check =
        codec::check_bound(block.bytes, decoded, block.dtype, block.chunk, block.valid, bound);
    EXPECT_TRUE(check.holds) << "max error " << check.max_error << " bound " << bound.value;
    if (!std::isnan(encoded->max_error)) {
        EXPECT_EQ(encoded->max_error, check.max_error);
    }
    return std::move(*encoded);
}

TEST_F(FilterCodec, keeps_the_bound_on_any_block) {
    const char* codecs[] = {"none", "sz3", "zfp", "zstd", "blosc2", "round+zstd", "round+blosc2"};
    std::size_t fallbacks = 0;
    std::size_t normal = 0;
    for (unsigned seed = 0; seed < 700; ++seed) {
        std::mt19937_64 random(seed);
        const TestBlock block = random_block(random, 12000);
        const double exponent = static_cast<double>(random() % 12) - 9;
        const bool huge = block.what == "huge";
        const ErrorBound bound =
            random() % 8 == 0 ? lossless() : absolute(std::pow(10.0, exponent) * (huge ? 1e37 : 1));
        const CodecSpec spec{.name = codecs[seed % std::size(codecs)]};
        SCOPED_TRACE(fmt::format("seed {}: {}, {} {} {}, valid {}, bound {}", seed, spec.name,
                                 block.what, to_string(block.dtype), to_string(block.chunk),
                                 to_string(block.valid), bound.value));
        const auto codec = make(spec, block, bound);
        ASSERT_TRUE(codec);
        const EncodedBlock encoded = round_trip(*codec, block, bound);
        EXPECT_FALSE(std::isnan(encoded.max_error));
        ++(encoded.fell_back ? fallbacks : normal);
        if (HasFailure()) break;
    }
    EXPECT_GT(fallbacks, 5u);  // the ways out were taken ...
    EXPECT_GT(normal, 500u);   // ... and not always
}

TEST_F(FilterCodec, what_is_encoded_exactly_comes_back_to_the_bit) {
    const char* codecs[] = {"none", "sz3", "zfp", "zstd", "blosc2", "round+zstd", "round+blosc2"};
    for (unsigned seed = 0; seed < 210; ++seed) {
        std::mt19937_64 random(seed);
        const TestBlock block = random_block(random, 12000);
        const CodecSpec spec{.name = codecs[seed % std::size(codecs)]};
        SCOPED_TRACE(
            fmt::format("seed {}: {}, {} {}", seed, spec.name, block.what, to_string(block.chunk)));
        const auto codec = make(spec, block, absolute(block.what == "huge" ? 1e36 : 0.5));
        ASSERT_TRUE(codec);
        const auto encoded = codec->encode_exactly(block.bytes, block.valid);
        ASSERT_TRUE(encoded.ok()) << encoded.status().message();
        EXPECT_LE(encoded->bytes.size(), block.bytes.size());
        EXPECT_EQ(encoded->max_error, 0.0);
        std::vector<std::byte> decoded(block.bytes.size(), std::byte{0xee});
        ASSERT_TRUE(codec->decode(encoded->bytes, encoded->filter_mask, decoded).ok());
        EXPECT_EQ(decoded, block.bytes);
        if (HasFailure()) break;
    }
}

TEST_F(FilterCodec, without_verification_nonfinite_values_still_survive) {
    for (const char* name : {"sz3", "zfp", "round+zstd"}) {
        TestBlock block = smooth_block(float32, {16, 20, 24});
        block.set(0, NAN);
        block.set(4000, INFINITY);
        block.set(7679, -INFINITY);
        const auto codec = make({.name = name, .verify = false}, block, absolute(0.1));
        ASSERT_TRUE(codec);
        SCOPED_TRACE(name);
        round_trip(*codec, block, absolute(0.1));
    }
}

TEST_F(FilterCodec, an_unverified_lossy_block_reports_no_error) {
    const TestBlock block = smooth_block(float64, {30, 30, 30});
    const auto codec = make({.name = "sz3", .verify = false}, block, absolute(0.1));
    ASSERT_TRUE(codec);
    EXPECT_TRUE(std::isnan(round_trip(*codec, block, absolute(0.1)).max_error));
}

TEST_F(FilterCodec, a_smooth_block_becomes_small_through_the_first_stage_alone) {
    for (const DType dtype : {float32, float64}) {
        const TestBlock block = smooth_block(dtype, {32, 32, 32});
        for (const char* name : {"sz3", "zfp"}) {
            const auto codec = make({.name = name}, block, absolute(1.0));
            ASSERT_TRUE(codec);
            ASSERT_EQ(codec->pipeline().size(), 2u);
            EXPECT_TRUE(codec->pipeline()[0].optional);
            EXPECT_EQ(codec->pipeline()[1].id, k_zstd_id);
            const EncodedBlock encoded = round_trip(*codec, block, absolute(1.0));
            EXPECT_EQ(encoded.filter_mask, 0b10u);
            EXPECT_FALSE(encoded.fell_back);
            EXPECT_GT(encoded.max_error, 0.0);
            EXPECT_LT(3 * encoded.bytes.size(), block.bytes.size()) << name;
        }
    }
}

TEST_F(FilterCodec, sz3_compresses_shapes_with_axes_of_length_one) {
    for (const Shape& chunk : {Shape{1, 4096}, Shape{4096, 1}, Shape{1, 64, 64}, Shape{64, 1, 64},
                               Shape{1, 1, 4096}, Shape{1, 1, 1, 4096}, Shape{8, 1, 8, 64}}) {
        const TestBlock block = smooth_block(float32, chunk);
        const auto codec = make({.name = "sz3"}, block, absolute(1.0));
        ASSERT_TRUE(codec);
        EXPECT_EQ(round_trip(*codec, block, absolute(1.0)).filter_mask, 0b10u) << to_string(chunk);
    }
}

TEST_F(FilterCodec, one_value_is_stored_by_every_codec) {
    for (const char* name : {"none", "sz3", "zfp", "zstd", "blosc2", "round+zstd"}) {
        for (const Shape& chunk : {Shape{1}, Shape{1, 1, 1}}) {
            SCOPED_TRACE(name);
            const TestBlock block = smooth_block(float64, chunk);
            const auto codec = make({.name = name}, block, absolute(0.1));
            ASSERT_TRUE(codec);
            round_trip(*codec, block, absolute(0.1));
        }
    }
}

TEST_F(FilterCodec, a_block_whose_bound_the_filter_breaks_goes_lossless) {
    const TestBlock block = smooth_block(float32, {32, 32, 32});
    // The user's cd_values ask SZ3 for a hundred times the field's bound.
    const CodecSpec loose{.name = "sz3",
                          .cd_values = *bound_to_cd_values(k_sz3_id, absolute(10.0))};
    const auto codec = make(loose, block, absolute(0.1));
    ASSERT_TRUE(codec);
    const EncodedBlock encoded = round_trip(*codec, block, lossless());
    EXPECT_TRUE(encoded.fell_back);
    EXPECT_EQ(encoded.filter_mask, 0b01u);
    EXPECT_EQ(encoded.max_error, 0.0);
}

TEST_F(FilterCodec, an_incompressible_block_is_stored_raw_with_every_stage_masked) {
    std::mt19937_64 random(7);
    TestBlock block = smooth_block(float32, {20, 20, 20});
    for (std::byte& byte : block.bytes) byte = static_cast<std::byte>(random() & 255);
    for (const char* name : {"sz3", "zfp", "zstd", "blosc2", "round+zstd"}) {
        const auto codec = make({.name = name}, block, absolute(1e-40));
        ASSERT_TRUE(codec);
        const EncodedBlock encoded = round_trip(*codec, block, lossless());
        EXPECT_EQ(encoded.filter_mask, (1u << codec->pipeline().size()) - 1) << name;
        EXPECT_EQ(encoded.bytes, block.bytes) << name;
    }
}

TEST_F(FilterCodec, lossless_is_exact_with_every_codec) {
    TestBlock block = smooth_block(float32, {16, 16, 16});
    block.set(5, -0.0);
    block.set(6, NAN);
    for (const char* name : {"none", "sz3", "zfp", "zstd", "blosc2", "round+zstd"}) {
        const auto codec = make({.name = name}, block, lossless());
        ASSERT_TRUE(codec);
        SCOPED_TRACE(name);
        round_trip(*codec, block, lossless());
    }
}

TEST_F(FilterCodec, any_other_filter_works_with_cd_values_and_is_verified) {
    const TestBlock block = smooth_block(float32, {32, 32, 32});
    // SPERR (32028): the mode and quality word of "absolute error 1.0"; see its H5Z-SPERR manual.
    // Bitshuffle (32008): default block, LZ4.
    for (const CodecSpec& spec : {CodecSpec{.name = "filter:32008", .cd_values = {0, 2}},
                                  CodecSpec{.name = "filter:307", .cd_values = {5}}}) {
        SCOPED_TRACE(spec.name);
        const auto codec = make(spec, block, absolute(1.0));
        ASSERT_TRUE(codec);
        EXPECT_FALSE(codec->reentrant());
        const EncodedBlock encoded = round_trip(*codec, block, absolute(1.0));
        EXPECT_FALSE(encoded.fell_back);
        EXPECT_EQ(encoded.max_error, 0.0);
    }
}

/// Bytes of `block` after filter `name` made for bound `encode`, decoded with those for `decode`.
std::vector<std::byte> cross(const char* name, const TestBlock& block, double encode,
                             double decode) {
    const FilterTraits traits = *find_traits(name);
    const FilterPlugin* plugin = *FilterPlugin::find(traits.id, name);
    const auto values = [&](double bound) {
        return *plugin->final_cd_values(*bound_to_cd_values(traits.id, absolute(bound)),
                                        block.dtype, block.chunk);
    };
    FilterBuffer buffer(block.bytes);
    EXPECT_TRUE(plugin->apply(Direction::encode, values(encode), buffer));
    EXPECT_TRUE(plugin->apply(Direction::decode, values(decode), buffer));
    const auto bytes = buffer.bytes();
    return {bytes.begin(), bytes.end()};
}

TEST_F(FilterCodec, only_a_stream_that_carries_its_bound_may_be_encoded_with_a_tighter_one) {
    const TestBlock block = smooth_block(float32, {24, 24, 24});
    for (const char* name : {"sz3", "zfp"}) {
        const bool same = cross(name, block, 0.1, 1.0) == cross(name, block, 0.1, 0.1);
        EXPECT_EQ(same, find_traits(name)->stream_carries_bound) << name;
    }
}

TEST_F(FilterCodec, reentrant_filters_give_the_same_values_from_many_threads) {
    for (const char* name : {"sz3", "zfp", "zstd", "blosc2", "round+zstd"}) {
        SCOPED_TRACE(name);
        const TestBlock block = smooth_block(float32, {24, 24, 24});
        const auto codec = make({.name = name}, block, absolute(0.1));
        ASSERT_TRUE(codec);
        EXPECT_EQ(codec->reentrant(), std::string_view(name) != "blosc2");
        const auto expected = codec->encode(block.bytes, block.valid);
        ASSERT_TRUE(expected.ok());
        // Values, not bytes: SZ3 leaves bytes of its stream uninitialised.
        std::vector<std::byte> values(block.bytes.size());
        ASSERT_TRUE(codec->decode(expected->bytes, expected->filter_mask, values).ok());
        std::array<int, 4> wrong{};
        std::vector<std::thread> threads;
        for (int& mine : wrong) {
            threads.emplace_back([&] {
                std::vector<std::byte> decoded(block.bytes.size());
                for (int n = 0; n < 25; ++n) {
                    const auto got = codec->encode(block.bytes, block.valid);
                    mine += !got.ok() || got->filter_mask != expected->filter_mask ||
                            !codec->decode(got->bytes, got->filter_mask, decoded).ok() ||
                            decoded != values;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, (std::array<int, 4>{}));
    }
}

TEST_F(FilterCodec, stored_bytes_that_cannot_be_right_are_corrupt) {
    const TestBlock block = smooth_block(float32, {16, 16, 16});
    for (const char* name : {"none", "zstd", "blosc2"}) {
        SCOPED_TRACE(name);
        const auto codec = make({.name = name}, block, lossless());
        ASSERT_TRUE(codec);
        const auto encoded = codec->encode(block.bytes, block.valid);
        ASSERT_TRUE(encoded.ok());
        std::vector<std::byte> chunk(block.bytes.size());
        EXPECT_EQ(codec->decode(encoded->bytes, 0x80, chunk).code(), StatusCode::corrupt);
        const std::span<const std::byte> whole(encoded->bytes);
        for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() - 1}) {
            EXPECT_EQ(codec->decode(whole.first(length), 0, chunk).code(), StatusCode::corrupt)
                << length << " of " << whole.size() << " bytes";
        }
    }
}

TEST_F(FilterCodec, a_block_of_the_wrong_size_is_refused) {
    const TestBlock block = smooth_block(float32, {16, 16, 16});
    for (const char* name : {"none", "zstd"}) {
        const auto codec = make({.name = name}, block, lossless());
        ASSERT_TRUE(codec);
        const std::span<const std::byte> bytes(block.bytes);
        EXPECT_EQ(codec->encode(bytes.first(100), block.valid).status().code(),
                  StatusCode::invalid_argument);
    }
    const auto codec = make({.name = "zstd"}, block, lossless());
    for (const Shape& valid : {Shape{16, 16}, Shape{16, 16, 17}, Shape{0, 16, 16}}) {
        EXPECT_EQ(codec->encode(block.bytes, valid).status().code(), StatusCode::invalid_argument);
    }
}

struct Refusal {
    CodecSpec spec;
    ErrorBound bound;
    StatusCode code;
    const char* says;
};

TEST_F(FilterCodec, refuses_what_cannot_work_and_says_what_to_do) {
    const Refusal refusals[] = {
        {{.name = "sz3"}, absolute(-2), StatusCode::invalid_argument, "-2"},
        {{.name = "sz3"}, relative(0.125), StatusCode::invalid_argument, "0.125"},
        {{.name = "sz4"}, absolute(1), StatusCode::invalid_argument, "filter:<"},
        {{.name = "sz3", .cd_values = {1, 2}}, absolute(1), StatusCode::invalid_argument, "9"},
        {{.name = "none", .cd_values = {1}}, lossless(), StatusCode::invalid_argument, "none"},
        {{.name = "round+sz3"}, absolute(1), StatusCode::invalid_argument, "zstd"},
        {{.name = "filter:x"}, absolute(1), StatusCode::invalid_argument, "256"},
        {{.name = "filter:99999999"}, absolute(1), StatusCode::invalid_argument, "65535"},
        {{.name = "filter:32028"}, absolute(1), StatusCode::invalid_argument, "cd_values"},
        {{.name = "filter:1"}, absolute(1), StatusCode::unsupported, "built into HDF5"},
        {{.name = "filter:40000", .cd_values = {1}},
         absolute(1),
         StatusCode::unsupported,
         "pip install hdf5plugin"},
        {{.name = "filter:40000", .cd_values = {1}},
         absolute(1),
         StatusCode::unsupported,
         std::getenv("HDF5_PLUGIN_PATH")},
    };
    for (const Refusal& refusal : refusals) {
        const auto codec = make_block_codec(refusal.spec, float32, {16, 16}, refusal.bound);
        ASSERT_FALSE(codec.ok()) << refusal.spec.name;
        EXPECT_EQ(codec.status().code(), refusal.code) << codec.status().message();
        EXPECT_NE(codec.status().message().find(refusal.says), std::string::npos)
            << codec.status().message();
    }
    for (const Shape& chunk : {Shape{}, Shape{0}, Shape{1u << 16, 1u << 16}}) {
        EXPECT_EQ(make_block_codec({}, float32, chunk, absolute(1)).status().code(),
                  StatusCode::invalid_argument)
            << to_string(chunk);
    }
}

}  // namespace
}  // namespace caesura::hdf5
