// Goal: what a device makes of a block keeps the bound and is read by the dataset's own codec; an
// emulated device takes the time that was stated.
#include "transit/devices/gpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "hdf5/block_codec.hpp"

namespace caesura::transit {
namespace {

struct DeviceField {
    Shape chunk{16, 32, 32};
    Shape valid{16, 32, 32};
    std::vector<float> values;
    DatasetCodec recipe;
    std::unique_ptr<BlockCodec> codec;
    run::Job job;

    explicit DeviceField(Shape inside, ErrorBound bound) : valid(std::move(inside)) {
        values.resize(valid.count());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::sin(0.01f * static_cast<float>(i)) + 0.1f * static_cast<float>(i % 7);
        recipe = {{"caesura", {}, {}}, float32, chunk, bound, {}, false};
        codec = std::move(*make_block_codec(recipe.spec, recipe.dtype, chunk, bound));
        const Shape origin{0, 0, 0};
        job.dtype = float32;
        job.chunk_box = {origin, chunk};
        job.valid = valid;
        job.codec = codec.get();
        job.pieces = {{{origin, valid},
                       {origin, valid},
                       reinterpret_cast<const std::byte*>(values.data()),
                       nullptr}};
    }
    double worst(std::span<const std::byte> stored) const {
        std::vector<float> back(chunk.count());
        const Status status = codec->decode(stored, 0, std::as_writable_bytes(std::span(back)));
        EXPECT_TRUE(status.ok()) << status.message();
        std::vector<float> inside(valid.count());
        const Box box{{0, 0, 0}, valid};
        copy_box(box, {{0, 0, 0}, chunk}, reinterpret_cast<const std::byte*>(back.data()), box,
                 reinterpret_cast<std::byte*>(inside.data()), 4);
        double worst = 0.0;
        for (std::size_t i = 0; i < inside.size(); ++i)
            worst = std::max(worst, std::fabs(double{inside[i]} - double{values[i]}));
        return worst;
    }
};

std::unique_ptr<GpuDevice> gpu_of(
    device::Coder coder, std::shared_ptr<StatedSpeeds> speeds = std::make_shared<StatedSpeeds>()) {
    GpuDevice::Options options;
    options.coder = coder;
    return std::move(*GpuDevice::emulated(options, std::move(speeds)));
}

TEST(GpuDevice, keeps_the_bound_and_is_read_by_the_datasets_codec) {
    base::BufferPool pool;
    for (const device::Coder coder : {device::Coder::packed, device::Coder::codec})
        for (const Shape& inside : {Shape{16, 32, 32}, Shape{7, 32, 5}})
            for (const ErrorBound& bound : {absolute(1e-3), lossless()}) {
                DeviceField field(inside, bound);
                const auto gpu = gpu_of(coder);
                ASSERT_TRUE(gpu->takes(field.job, field.recipe));
                DeviceParts parts;
                const auto encoded = encode_on(*gpu, field.job, field.recipe, pool, parts);
                ASSERT_TRUE(encoded.ok()) << encoded.status().message();
                EXPECT_EQ(field.job.codec, field.codec.get());
                EXPECT_LE(field.worst(encoded->stored.bytes()), bound.value);
                EXPECT_GT(parts.to_s, 0.0);
                EXPECT_GT(parts.compute_s, 0.0);
            }
}

TEST(GpuDevice, a_block_that_holds_spent_bounds_comes_back_exactly) {
    base::BufferPool pool;
    DeviceField field(Shape{16, 32, 32}, absolute(0.1));
    field.job.exactly = true;
    DeviceParts parts;
    const auto gpu = gpu_of(device::Coder::packed);
    const auto encoded = encode_on(*gpu, field.job, field.recipe, pool, parts);
    ASSERT_TRUE(encoded.ok()) << encoded.status().message();
    EXPECT_EQ(field.worst(encoded->stored.bytes()), 0.0);
}

TEST(GpuDevice, an_emulated_one_takes_the_stated_time_and_says_that_it_is_emulated) {
    base::BufferPool pool;
    DeviceField field(Shape{16, 32, 32}, absolute(1e-3));
    auto speeds = std::make_shared<StatedSpeeds>();
    speeds->per_block_s = 0.02;
    speeds->link_bytes_per_s = 1e9;
    const auto gpu = gpu_of(device::Coder::packed, speeds);
    EXPECT_NE(gpu->label().find("emulated"), std::string::npos);
    DeviceParts parts;
    const double begin_s = base::Clock::steady().now_s();
    ASSERT_TRUE(encode_on(*gpu, field.job, field.recipe, pool, parts).ok());
    EXPECT_GE(base::Clock::steady().now_s() - begin_s, 0.02);
    EXPECT_GE(parts.compute_s, 0.02);
    EXPECT_NEAR(parts.to_s, static_cast<double>(field.values.size()) * 4 / 1e9, 1e-9);
}

// Goal: with a keep a stated speed counts even where the host is slower, and the bytes are those
// that were made; what is not in the keep is computed.
TEST(GpuDevice, a_block_that_was_compressed_before_takes_the_stated_time_alone) {
    base::BufferPool pool;
    auto speeds = std::make_shared<StatedSpeeds>();
    speeds->per_block_s = 0.0;
    speeds->compress_bytes_per_s = speeds->link_bytes_per_s = 1e12;
    GpuDevice::Options options;
    options.kept_bytes = 1 << 20;
    const auto gpu = std::move(*GpuDevice::emulated(options, speeds));
    EXPECT_NE(gpu->label().find("emulated, results kept"), std::string::npos);
    DeviceField field(Shape{16, 32, 32}, absolute(1e-3));
    const auto encode = [&](DeviceParts& parts) {
        auto encoded = encode_on(*gpu, field.job, field.recipe, pool, parts);
        EXPECT_TRUE(encoded.ok()) << encoded.status().message();
        const auto bytes = encoded->stored.bytes();
        EXPECT_LE(field.worst(bytes), field.recipe.bound.value);
        return std::vector(bytes.begin(), bytes.end());
    };
    DeviceParts parts;
    const auto made = encode(parts);
    EXPECT_EQ(encode(parts), made);
    speeds->per_block_s = 0.02;
    const double begin_s = base::Clock::steady().now_s();
    EXPECT_EQ(encode(parts), made);
    EXPECT_GE(base::Clock::steady().now_s() - begin_s, 0.02);
    EXPECT_GE(parts.compute_s, 0.02);
    field.values[5] += 1.0f;
    EXPECT_NE(encode(parts), made) << "other values";
    const auto other = encode(parts);
    field.recipe.bound = absolute(1e-2);
    EXPECT_NE(encode(parts), other) << "another bound";
    field.job.exactly = true;
    (void)encode(parts);
    EXPECT_EQ(field.worst(encode_on(*gpu, field.job, field.recipe, pool, parts)->stored.bytes()),
              0.0);
}

TEST(GpuDevice, says_which_blocks_it_does_not_take) {
    DeviceField field(Shape{16, 32, 32}, pointwise_relative(1e-3));
    const auto gpu = gpu_of(device::Coder::packed);
    EXPECT_FALSE(gpu->takes(field.job, field.recipe)) << "a bound that packed frames do not have";
    DeviceField other(Shape{16, 32, 32}, absolute(1e-3));
    other.recipe.spec.name = "none";
    EXPECT_FALSE(gpu->takes(other.job, other.recipe)) << "another codec";
    DeviceField verified(Shape{16, 32, 32}, absolute(1e-3));
    verified.recipe.spec.verify = true;
    EXPECT_FALSE(gpu->takes(verified.job, verified.recipe)) << "the host looks again";
    DeviceField masked(Shape{16, 32, 32}, absolute(1e-3));
    masked.recipe.missing = {0x60ad78ec};
    EXPECT_FALSE(gpu->takes(masked.job, masked.recipe)) << "packed frames have no masks";
    GpuDevice::Options small;
    small.memory_bytes = 1000;
    const auto tiny = GpuDevice::emulated(small, std::make_shared<StatedSpeeds>());
    DeviceField large(Shape{16, 32, 32}, absolute(1e-3));
    EXPECT_FALSE((*tiny)->takes(large.job, large.recipe)) << "no memory for it";
}

}  // namespace
}  // namespace caesura::transit
