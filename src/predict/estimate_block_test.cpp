// The codec's own estimate as features: close to what the codec then makes of the block, wherever
// in an array the block lies; and a model that starts from it predicts well before it has learned.
#include <gtest/gtest.h>

#include <cstring>

#include "predict/fields.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_estimate_block_seed = 20261120;
const Box k_array{{0, 0, 0}, {96, 96, 96}};

struct Field {
    const char* name;
    std::vector<float> values;
    double bound;
};

std::vector<Field> fields() {
    auto rough = smooth_field<float>({96, 96, 96}, 4, k_estimate_block_seed);
    const auto noise = noise_field<float>({96, 96, 96}, k_estimate_block_seed + 1);
    for (std::size_t i = 0; i < rough.size(); ++i) rough[i] += 0.01f * noise[i];
    return {{"smooth", smooth_field<float>({96, 96, 96}, 6, k_estimate_block_seed), 1e-3},
            {"rough", rough, 1e-3},
            {"noise", noise, 1e-2}};
}

const std::byte* bytes_of(const Field& field) {
    return reinterpret_cast<const std::byte*>(field.values.data());
}

double compressed_bytes(const Field& field, const Box& part, const ErrorBound& bound) {
    std::vector<float> values(part.extent.count());
    copy_box(part, k_array, bytes_of(field), part, reinterpret_cast<std::byte*>(values.data()),
             sizeof(float));
    const auto frame =
        compress(std::as_bytes(std::span(values)), DType::float32, part.extent, bound);
    EXPECT_TRUE(frame.ok());
    return static_cast<double>(frame->size());
}

TEST(EstimateBlock, is_close_to_what_the_codec_makes_of_the_block) {
    // Whole planes lie together; a cube does not, and is judged by its middle.
    const Box planes{{20, 0, 0}, {64, 96, 96}}, cube{{10, 20, 5}, {80, 72, 90}};
    for (const Field& field : fields()) {
        for (const Box& part : {planes, cube}) {
            for (const ErrorBound& bound : {absolute(field.bound), lossless()}) {
                const Features features = estimate_block(bytes_of(field), DType::float32, k_array,
                                                         part, bound, Mode::automatic, TableSet());
                ASSERT_TRUE(features.estimated);
                ASSERT_EQ(features.values, part.extent.count());
                const SizeModel model("caesura", DType::float32);
                const Bytes predicted = model.predict(features);
                const double actual = compressed_bytes(field, part, bound);
                EXPECT_NEAR(predicted.mean, actual, 0.12 * actual)
                    << field.name << " bound " << bound.value << " part " << to_string(part);
                EXPECT_LT(predicted.sigma, 0.5 * predicted.mean);
            }
        }
    }
}

TEST(EstimateBlock, of_what_cannot_be_compressed_is_the_raw_size) {
    std::mt19937 random(k_estimate_block_seed);
    std::vector<float> values(k_array.extent.count());
    for (float& value : values) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(&value, &bits, sizeof bits);
    }
    const Features features =
        estimate_block(reinterpret_cast<const std::byte*>(values.data()), DType::float32, k_array,
                       k_array, lossless(), Mode::automatic, TableSet());
    EXPECT_GT(features.bits_per_value, 30.0);
    EXPECT_LE(features.bits_per_value, 32.0);
}

TEST(EstimateBlock, of_nothing_is_nothing) {
    const Features features =
        estimate_block(nullptr, DType::float32, k_array, {{0, 0, 0}, {0, 4, 4}}, absolute(1.0),
                       Mode::automatic, TableSet());
    EXPECT_EQ(features.values, 0u);
    EXPECT_EQ(SizeModel("caesura", DType::float32).predict(features).mean, 0.0);
}

}  // namespace
}  // namespace caesura::predict
