// Our codec as a dataset's codec: the bound holds on any block, with and without padding; the
// pipeline says all that decoding takes. Seeds are in the messages.
#include "hdf5/caesura_codec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/bound/bound.hpp"
#include "hdf5/filter/filter.hpp"
#include "hdf5/test_blocks.hpp"

namespace caesura::hdf5 {
namespace {

std::vector<std::byte> valid_part(const TestBlock& block) {
    std::vector<std::byte> part(block.valid.count() * size_of(block.dtype));
    const Box full{Shape::filled(block.chunk.rank(), 0), block.chunk};
    const Box inside{full.offset, block.valid};
    copy_box(inside, full, block.bytes.data(), inside, part.data(), size_of(block.dtype));
    return part;
}

TEST(CaesuraCodec, keeps_the_bound_on_any_block_however_it_is_handed_over) {
    const char* names[] = {"caesura", "caesura:fast", "caesura:strong", "caesura:planes"};
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937_64 random(seed);
        const TestBlock block = random_block(random, 12000);
        const double exponent = static_cast<double>(random() % 12) - 9;
        const ErrorBound bound =
            random() % 6 == 0
                ? lossless()
                : absolute(std::pow(10.0, exponent) * (block.what == "huge" ? 1e37 : 1));
        const CodecSpec spec{.name = names[seed % 4], .verify = seed % 3 == 0};
        SCOPED_TRACE(fmt::format("seed {}: {}, {} {} {}, valid {}, bound {}", seed, spec.name,
                                 block.what, to_string(block.dtype), to_string(block.chunk),
                                 to_string(block.valid), bound.value));
        const auto codec = make_block_codec(spec, block.dtype, block.chunk, bound);
        ASSERT_TRUE(codec.ok()) << codec.status().message();
        const auto padded = (*codec)->encode(block.bytes, block.valid);
        ASSERT_TRUE(padded.ok()) << padded.status().message();
        const auto bare = (*codec)->encode(valid_part(block), block.valid);
        ASSERT_TRUE(bare.ok()) << bare.status().message();
        EXPECT_EQ(padded->bytes, bare->bytes);
        EXPECT_EQ(padded->filter_mask, 0u);
        EXPECT_FALSE(padded->fell_back);
        EXPECT_TRUE(padded->statistics.empty());  // nobody asked
        EXPECT_LE(padded->bytes.size(),
                  block.valid.count() * size_of(block.dtype) + k_frame_overhead_bytes);
        std::vector<std::byte> decoded(block.bytes.size(), std::byte{0xee});
        const Status status = (*codec)->decode(padded->bytes, 0, decoded);
        ASSERT_TRUE(status.ok()) << status.message();
        const codec::BoundCheck check =
            codec::check_bound(block.bytes, decoded, block.dtype, block.chunk, block.valid, bound);
        EXPECT_TRUE(check.holds) << "max error " << check.max_error;
        if (spec.verify == true) {
            EXPECT_EQ(padded->max_error, check.max_error);
        }
        if (HasFailure()) break;
    }
}

// Goal: what verification sees of arrays with bounds of their own is a share of each one's.
TEST(CaesuraCodec, verified_arrays_say_how_much_of_their_bounds_was_used) {
    constexpr std::size_t k_values = 4096;
    std::vector<float> values(2 * k_values);
    std::mt19937_64 random(20);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(random() % 1000) * (i < k_values ? 1e-6f : 1e6f);
    for (const bool interleaved : {false, true}) {
        std::vector<codec::BundlePart> parts(2);
        for (std::uint32_t i = 0; i < 2; ++i)
            parts[i] = {Shape{k_values}, absolute(i == 0 ? 1e-3 : 1e5), i, false, interleaved};
        if (interleaved) parts[0].bound = absolute(1e5);
        for (const bool verify : {false, true}) {
            const CodecSpec spec{.name = "caesura", .verify = verify};
            const auto codec = make_block_codec(spec, float32, Shape{2 * k_values}, lossless());
            ASSERT_TRUE(codec.ok()) << codec.status().message();
            const auto block =
                (*codec)->encode_parts(std::as_bytes(std::span(values)), parts, true);
            ASSERT_TRUE(block.ok()) << block.status().message();
            EXPECT_FALSE(block->fell_back);
            EXPECT_EQ(std::isnan(block->max_error), !verify);
            if (!verify) continue;
            EXPECT_GT(block->max_error, 0.5);
            EXPECT_LE(block->max_error, 1.0);
        }
    }
}

TEST(CaesuraCodec, what_is_encoded_exactly_comes_back_to_the_bit_through_the_same_pipeline) {
    const char* names[] = {"caesura", "caesura:fast", "caesura:strong", "caesura:planes"};
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        const TestBlock block = random_block(random, 12000);
        SCOPED_TRACE(fmt::format("seed {}: {} {}", seed, block.what, to_string(block.chunk)));
        const auto codec = make_block_codec({.name = names[seed % 4]}, block.dtype, block.chunk,
                                            absolute(block.what == "huge" ? 1e36 : 0.5));
        ASSERT_TRUE(codec.ok()) << codec.status().message();
        const auto encoded = (*codec)->encode_exactly(block.bytes, block.valid);
        ASSERT_TRUE(encoded.ok()) << encoded.status().message();
        const auto settings = hdf5::parse_cd_values((*codec)->pipeline()[0].cd_values);
        ASSERT_TRUE(settings.ok());
        TestBlock decoded = block;
        ASSERT_TRUE(hdf5::decode_chunk(*settings, encoded->bytes, decoded.bytes).ok());
        EXPECT_EQ(valid_part(decoded), valid_part(block));
        if (HasFailure()) break;
    }
}

// Goal: the pipeline's cd_values alone tell a reader everything, the table set included.
TEST(CaesuraCodec, a_block_decodes_with_what_the_pipeline_says) {
    TestBlock block = smooth_block(float32, {40, 64, 64});
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(0.0, 0.3);
    for (std::size_t i = 0; i < block.chunk.count(); ++i)
        block.set(i, block.value(i) + noise(random));
    const ErrorBound bound = absolute(0.01);
    SharedTables shared{{}, true};
    const auto first = make_block_codec({.name = "caesura"}, float32, block.chunk, bound, shared);
    ASSERT_TRUE(first.ok());
    const auto before = (*first)->encode(block.bytes, block.chunk);
    ASSERT_TRUE(before.ok());
    const auto counts = TableStatistics::parse(before->statistics);
    ASSERT_TRUE(counts.ok()) << counts.status().message();
    shared.set = counts->train();
    ASSERT_NE(shared.set.id(), 0u);

    const auto codec = make_block_codec({.name = "caesura"}, float32, block.chunk, bound, shared);
    ASSERT_TRUE(codec.ok());
    const auto encoded = (*codec)->encode(block.bytes, block.chunk);
    ASSERT_TRUE(encoded.ok());
    EXPECT_LE(encoded->bytes.size(), before->bytes.size());
    EXPECT_EQ(read_frame_info(encoded->bytes)->table_set_id, shared.set.id());
    ASSERT_EQ((*codec)->pipeline().size(), 1u);
    const FilterSpec& filter = (*codec)->pipeline()[0];
    EXPECT_EQ(filter.id, hdf5::k_filter_id);
    const auto settings = hdf5::parse_cd_values(filter.cd_values);
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    EXPECT_EQ(settings->tables, shared.set);
    EXPECT_EQ(settings->bound, bound);
    std::vector<std::byte> decoded(block.bytes.size());
    const Status status = hdf5::decode_chunk(*settings, encoded->bytes, decoded);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(
        codec::check_bound(block.bytes, decoded, float32, block.chunk, block.chunk, bound).holds);
}

TEST(CaesuraCodec, a_pointwise_bound_holds_for_every_value) {
    const TestBlock block = smooth_block(float64, {33, 40, 20});
    const auto codec =
        make_block_codec({.name = "caesura"}, float64, block.chunk, pointwise_relative(1e-3));
    ASSERT_TRUE(codec.ok()) << codec.status().message();
    const auto encoded = (*codec)->encode(block.bytes, block.chunk);
    ASSERT_TRUE(encoded.ok());
    TestBlock decoded = block;
    ASSERT_TRUE((*codec)->decode(encoded->bytes, 0, decoded.bytes).ok());
    for (std::size_t i = 0; i < block.chunk.count(); ++i)
        ASSERT_LE(std::abs(block.value(i) - decoded.value(i)), 1e-3 * std::abs(block.value(i)))
            << i;
    EXPECT_LT(2 * encoded->bytes.size(), block.bytes.size());
}

TEST(CaesuraCodec, what_cannot_be_is_refused_with_its_name) {
    const auto refused = [](const CodecSpec& spec, const ErrorBound& bound) {
        const auto codec = make_block_codec(spec, float32, {8, 8}, bound);
        EXPECT_FALSE(codec.ok());
        EXPECT_EQ(codec.status().code(), StatusCode::invalid_argument);
        return codec.status().message();
    };
    EXPECT_NE(refused({.name = "caesura:slow"}, absolute(1)).find("caesura:slow"),
              std::string::npos);
    EXPECT_NE(refused({.name = "caesura", .cd_values = {1}}, absolute(1)).find("cd_values"),
              std::string::npos);
    EXPECT_NE(refused({.name = "caesura"}, psnr(60)).find("60 dB"), std::string::npos);
    EXPECT_NE(refused({.name = "none"}, pointwise_relative(0.1)).find("caesura"),
              std::string::npos);
    EXPECT_EQ(caesura_mode({.name = "caesura"}), Mode::automatic);
    EXPECT_EQ(caesura_mode({.name = "caesura:strong"}), Mode::strong);
    EXPECT_EQ(caesura_mode({.name = "caesura:slow"}), std::nullopt);
    EXPECT_EQ(caesura_mode({.name = "sz3"}), std::nullopt);
}

TEST(CaesuraCodec, a_frame_of_another_dataset_is_corrupt) {
    const TestBlock block = smooth_block(float32, {16, 16, 16});
    const auto codec = make_block_codec({.name = "caesura"}, float32, {16, 16, 16}, absolute(0.1));
    const auto other = make_block_codec({.name = "caesura"}, float64, {16, 16, 16}, absolute(0.1));
    const auto smaller = make_block_codec({.name = "caesura"}, float32, {8, 8, 8}, absolute(0.1));
    ASSERT_TRUE(codec.ok() && other.ok() && smaller.ok());
    const auto encoded = (*codec)->encode(block.bytes, block.chunk);
    ASSERT_TRUE(encoded.ok());
    std::vector<std::byte> chunk(16 * 16 * 16 * 8);
    EXPECT_EQ((*other)->decode(encoded->bytes, 0, chunk).code(), StatusCode::corrupt);
    EXPECT_EQ((*smaller)->decode(encoded->bytes, 0, std::span(chunk).first(8 * 8 * 8 * 4)).code(),
              StatusCode::corrupt);
    EXPECT_EQ(
        (*codec)->decode(encoded->bytes, 1, std::span(chunk).first(block.bytes.size())).code(),
        StatusCode::corrupt);
    EXPECT_EQ((*codec)->decode(encoded->bytes, 0, std::span(chunk).first(4)).code(),
              StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::hdf5
