// Chunks become frames and come back: every type, shape and form of frame; wrong bytes are errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "codec/bundle/bundle.hpp"
#include "codec/frame/recode.hpp"
#include "codec/packed/packed.hpp"
#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

template <class T>
std::vector<T> smooth(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<T> step;
    std::vector<T> values(n);
    T at = 0;
    for (T& value : values) value = at += step(random);
    return values;
}

template <class T>
double largest_error(std::span<const T> a, std::span<const std::byte> bytes) {
    std::vector<T> b(a.size());
    std::memcpy(b.data(), bytes.data(), bytes.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    return largest;
}

Result<std::vector<std::byte>> decode(const Settings& settings, std::span<const std::byte> frame) {
    const auto bytes = decoded_bytes(settings, frame);
    if (!bytes.ok()) return bytes.status();
    std::vector<std::byte> chunk(static_cast<std::size_t>(*bytes), std::byte{0xee});
    if (Status status = decode_chunk(settings, frame, chunk); !status.ok()) return status;
    return chunk;
}

Settings with_chunk(Element element, std::vector<std::uint32_t> chunk, ErrorBound bound) {
    Settings settings;
    settings.element = element;
    settings.element_bytes = element == Element::float64 ? 8 : 4;
    settings.chunk = std::move(chunk);
    settings.bound = bound;
    return settings;
}

TEST(Chunk, of_several_arrays_is_decoded_and_one_of_another_dataset_is_an_error) {
    const std::vector<codec::BundlePart> parts = {{{10, 20, 30}, absolute(0.01), 0},
                                                  {{7, 9}, lossless(), 1}};
    const auto values = smooth<float>(6063, 5);
    const auto bundle = codec::compress_bundle(std::as_bytes(std::span(values)), float32, parts);
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    for (const std::uint32_t chunk_values : {6063u, 7000u}) {  // all of a chunk; its begin
        Settings settings = with_chunk(Element::float32, {chunk_values}, lossless());
        for (const bool big_endian : {false, true}) {
            settings.big_endian = big_endian;
            auto chunk = decode(settings, *bundle);
            ASSERT_TRUE(chunk.ok()) << chunk.status().message();
            ASSERT_EQ(chunk->size(), 4 * chunk_values);
            if (big_endian)
                for (std::size_t at = 0; at < chunk->size(); at += 4)
                    std::reverse(chunk->data() + at, chunk->data() + at + 4);
            const auto inside = std::span(*chunk).first(4 * values.size());
            EXPECT_LE(largest_error<float>(values, inside), 0.0101);
            EXPECT_EQ(std::memcmp(inside.data() + 24000, values.data() + 6000, 252), 0);
            for (std::size_t at = inside.size(); at < chunk->size(); ++at)
                ASSERT_EQ((*chunk)[at], std::byte{0});
        }
    }
    for (const Settings& other : {with_chunk(Element::float32, {6062}, lossless()),
                                  with_chunk(Element::float32, {6100, 1}, lossless()),
                                  with_chunk(Element::float64, {6063}, lossless())})
        EXPECT_EQ(decode(other, *bundle).status().code(), StatusCode::corrupt);
    const Settings unknown;  // no HDF5 filled in what the chunk is
    const auto chunk = decode(unknown, *bundle);
    ASSERT_TRUE(chunk.ok()) << chunk.status().message();
    EXPECT_EQ(chunk->size(), 4 * values.size());
}

// Members of a compound type: a whole chunk, and its corner at the edge of a dataset.
TEST(Chunk, of_interleaved_arrays_is_decoded_at_its_place) {
    const std::vector<codec::BundlePart> parts = {{{5, 7}, lossless(), 0, false, true},
                                                  {{5, 7}, lossless(), 1, false, true}};
    const auto values = smooth<float>(70, 5);
    const auto bundle = codec::compress_bundle(std::as_bytes(std::span(values)), float32, parts);
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    auto chunk = decode(with_chunk(Element::float32, {5, 7, 2}, lossless()), *bundle);
    ASSERT_TRUE(chunk.ok()) << chunk.status().message();
    EXPECT_EQ(std::memcmp(chunk->data(), values.data(), chunk->size()), 0);
    chunk = decode(with_chunk(Element::float32, {6, 9, 2}, lossless()), *bundle);
    ASSERT_TRUE(chunk.ok()) << chunk.status().message();
    ASSERT_EQ(chunk->size(), 6u * 9 * 2 * 4);
    const std::vector<std::byte> zeros(9 * 8);
    for (std::size_t row = 0; row < 6; ++row) {
        const std::byte* const at = chunk->data() + row * 72;
        const std::size_t inside = row < 5 ? 56 : 0;
        EXPECT_EQ(std::memcmp(at, values.data() + 14 * std::min<std::size_t>(row, 4), inside), 0);
        EXPECT_EQ(std::memcmp(at + inside, zeros.data(), 72 - inside), 0);
    }
    for (const Settings& other : {with_chunk(Element::float32, {4, 7, 2}, lossless()),
                                  with_chunk(Element::float32, {5, 7, 3}, lossless()),
                                  with_chunk(Element::float32, {70}, lossless()),
                                  with_chunk(Element::float32, {5, 14}, lossless()),
                                  with_chunk(Element::float64, {5, 7, 2}, lossless())})
        EXPECT_EQ(decode(other, *bundle).status().code(), StatusCode::corrupt);
}

TEST(Chunk, what_a_gpu_packed_is_decoded_and_wrong_bytes_of_it_are_errors) {
    for (const ErrorBound bound : {lossless(), absolute(0.01)}) {
        const Settings settings = with_chunk(Element::float32, {60, 50}, bound);
        const auto values = smooth<float>(3000, 5);
        std::vector<std::byte> frame(codec::packed::packed_bytes_at_most(12'000));
        const auto bytes =
            codec::packed::pack_frame(std::as_bytes(std::span(values)), float32, bound, frame);
        ASSERT_TRUE(bytes.ok()) << bytes.status().message();
        frame.resize(*bytes);
        const auto chunk = decode(settings, frame);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        EXPECT_LE(largest_error<float>(values, *chunk), bound.value);
        // Of another dataset.
        EXPECT_EQ(decode(with_chunk(Element::float32, {60, 51}, bound), frame).status().code(),
                  StatusCode::corrupt);
        EXPECT_EQ(decode(with_chunk(Element::float64, {30, 50}, bound), frame).status().code(),
                  StatusCode::corrupt);
        for (std::size_t n = 0; n < frame.size(); n += 7)
            EXPECT_FALSE(decode(settings, std::span(frame).first(n)).ok()) << n;
        for (std::size_t n = 0; n < frame.size(); n += 13) {
            frame[n] ^= std::byte{0x20};
            const auto damaged = decode(settings, frame);
            EXPECT_TRUE(!damaged.ok() || *damaged == *chunk) << n;
            frame[n] ^= std::byte{0x20};
        }
    }
}

TEST(Chunk, keeps_the_bound_for_any_number_of_axes) {
    const std::vector<std::uint32_t> k_chunks[] = {
        {3000},       {60, 50}, {10, 15, 20}, {5, 6, 10, 10},     {5, 6, 10, 5, 2},
        {1, 1, 3000}, {1},      {1, 1, 1, 1}, {1, 30, 1, 100, 1}, {2, 3, 1, 5, 2, 5, 10}};
    for (const auto& extents : k_chunks) {
        SCOPED_TRACE(fmt::format("{} axes, first {}", extents.size(), extents[0]));
        const Settings settings = with_chunk(Element::float32, extents, absolute(0.01));
        const auto values = smooth<float>(settings.chunk_bytes() / 4, 1);
        const auto frame = encode_chunk(settings, std::as_bytes(std::span(values)));
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        const auto chunk = decode(settings, *frame);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        EXPECT_LE(largest_error(std::span<const float>(values), *chunk), 0.01);
    }
}

TEST(Chunk, big_endian_floats_are_floats) {
    for (const ErrorBound bound : {absolute(1e-6), lossless()}) {
        Settings settings = with_chunk(Element::float64, {20, 20, 20}, bound);
        const auto values = smooth<double>(8000, 2);
        std::vector<std::byte> stored(64000);
        std::memcpy(stored.data(), values.data(), stored.size());
        const auto plain = encode_chunk(settings, stored);
        settings.big_endian = std::endian::native == std::endian::little;
        for (std::size_t at = 0; at < stored.size(); at += 8)
            std::reverse(stored.begin() + static_cast<int>(at),
                         stored.begin() + static_cast<int>(at) + 8);
        const auto frame = encode_chunk(settings, stored);
        ASSERT_TRUE(frame.ok() && plain.ok());
        EXPECT_EQ(*frame, *plain);
        auto chunk = decode(settings, *frame);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        for (std::size_t at = 0; at < stored.size(); at += 8)
            std::reverse(chunk->begin() + static_cast<int>(at),
                         chunk->begin() + static_cast<int>(at) + 8);
        EXPECT_LE(largest_error(std::span<const double>(values), *chunk), bound.value);
    }
}

TEST(Chunk, other_types_come_back_bit_for_bit_whatever_the_bound) {
    for (const std::uint32_t value_bytes : {1U, 2U, 3U, 4U, 8U, 24U, 65536U, 70000U}) {
        SCOPED_TRACE(value_bytes);
        Settings settings = with_chunk(Element::bytes, {3, 5}, absolute(10));
        settings.element_bytes = value_bytes;
        std::mt19937 random(value_bytes);
        std::vector<std::byte> values(15 * value_bytes);
        for (std::byte& value : values) value = static_cast<std::byte>(random() % 7);
        const auto frame = encode_chunk(settings, values);
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        const auto chunk = decode(settings, *frame);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        EXPECT_EQ(*chunk, values);
    }
}

TEST(Chunk, of_integers_goes_the_codecs_own_way_and_older_ones_are_read) {
    Settings settings = with_chunk(Element::bytes, {40, 100}, absolute(10));
    settings.element_bytes = 4;
    std::vector<std::int32_t> values(4000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i) - 17;
    const auto bytes = std::as_bytes(std::span(values));
    const auto frame = encode_chunk(settings, bytes);
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    EXPECT_LT(frame->size() * 50, bytes.size());
    EXPECT_TRUE(is_integer(read_frame_info(*frame)->dtype));
    const Shape shape{40, 100};
    for (const auto& one :
         {*frame, *compress(bytes, DType::int32, shape, lossless()), *compress_bytes(bytes, 4)}) {
        const auto chunk = decode(settings, one);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), chunk->begin(), chunk->end()));
    }
    const Shape halves{40, 200};
    for (const auto& one : {*compress(bytes, float32, shape, lossless()),
                            *compress(bytes, DType::int16, halves, lossless())})
        EXPECT_EQ(decode(settings, one).status().code(), StatusCode::corrupt);
    settings.element = Element::float32;
    EXPECT_EQ(decode(settings, *frame).status().code(), StatusCode::corrupt);
}

// Goal: HDF5 leaves the filter mask of a chunk as it was if it stores it anew at the same length.
// One that had been skipped, as long as its values, would then be read as its values.
TEST(Chunk, is_never_stored_at_the_length_of_its_values) {
    std::mt19937_64 random(41);
    for (const auto element : {Element::bytes, Element::float64}) {
        Settings settings = with_chunk(element, {40}, lossless());
        settings.element_bytes = 8;
        int of_that_length = 0;
        for (std::size_t same = 0; same < 40; ++same)
            for (int round = 0; round < 20; ++round) {
                std::vector<std::uint64_t> values(40, 0);
                for (std::size_t i = same; i < values.size(); ++i)
                    values[i] = random() >> (round % 8);
                const auto bytes = std::as_bytes(std::span(values));
                const auto stored = encode_chunk(settings, bytes, std::nullopt);
                ASSERT_TRUE(stored.ok());
                EXPECT_NE(stored->size(), bytes.size());
                const auto typed =
                    compress(bytes, element == Element::float64 ? DType::float64 : DType::int64,
                             Shape{40}, lossless(), {});
                of_that_length += typed.ok() && typed->size() == bytes.size();
                const auto back = decode(settings, *stored);
                ASSERT_TRUE(back.ok());
                EXPECT_EQ(std::memcmp(back->data(), bytes.data(), bytes.size()), 0);
            }
        EXPECT_GT(of_that_length, 0);  // or nothing was tried
    }
}

TEST(Chunk, of_16_bit_floats_keeps_the_bound_in_either_byte_order) {
    std::vector<float> wide(4000);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = std::sin(0.01F * static_cast<float>(i));
    std::vector<std::byte> values(2 * wide.size());
    codec::decode_as(std::as_bytes(std::span(wide)), float16, true, values);
    const auto swapped = [](std::vector<std::byte> bytes) {
        for (std::size_t i = 0; i < bytes.size(); i += 2) std::swap(bytes[i], bytes[i + 1]);
        return bytes;
    };
    const auto widened = [](const std::vector<std::byte>& bytes) {
        std::vector<float> floats(bytes.size() / 2);
        const std::vector<std::byte> coded = codec::code_as(bytes, float16, true);
        std::memcpy(floats.data(), coded.data(), coded.size());
        return floats;
    };
    for (const bool big_endian : {false, true}) {
        Settings settings = with_chunk(Element::float16, {40, 100}, absolute(0.01));
        settings.element_bytes = 2;
        settings.big_endian = big_endian;
        const auto frame = encode_chunk(settings, big_endian ? swapped(values) : values);
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        EXPECT_LT(frame->size() * 6, values.size());
        const auto chunk = decode(settings, *frame);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        const auto before = widened(values);
        const auto after = widened(big_endian ? swapped(*chunk) : *chunk);
        for (std::size_t i = 0; i < before.size(); ++i)
            ASSERT_LE(std::abs(after[i] - before[i]), 0.01F) << i;
        settings.element = Element::bfloat16;
        EXPECT_EQ(decode(settings, *frame).status().code(), StatusCode::corrupt);
    }
}

TEST(Chunk, a_frame_of_the_part_inside_the_array_fills_the_corner_and_zeros_elsewhere) {
    const Settings settings = with_chunk(Element::float32, {8, 10, 12}, absolute(1e-3));
    for (const Shape valid : {Shape{8, 10, 5}, Shape{3, 10, 12}, Shape{1, 1, 1}, Shape{7, 9, 11}}) {
        SCOPED_TRACE(to_string(valid));
        const auto values = smooth<float>(valid.count(), 3);
        const auto frame =
            compress(std::as_bytes(std::span(values)), float32, valid, settings.bound);
        ASSERT_TRUE(frame.ok());
        const auto chunk = decode(settings, *frame);
        ASSERT_TRUE(chunk.ok()) << chunk.status().message();
        std::vector<float> whole(960);
        std::memcpy(whole.data(), chunk->data(), chunk->size());
        std::size_t next = 0;
        for (std::uint64_t i = 0; i < whole.size(); ++i) {
            const bool inside = i / 120 < valid[0] && i / 12 % 10 < valid[1] && i % 12 < valid[2];
            const float expected = inside ? values[next++] : 0.0F;
            ASSERT_LE(std::abs(whole[i] - expected), inside ? 1e-3 : 0.0) << i;
        }
    }
}

TEST(Chunk, table_sets_come_from_the_cd_values) {
    Settings settings = with_chunk(Element::float32, {200, 200}, absolute(1e-4));
    const auto values = smooth<float>(40000, 4);
    const auto bytes = std::as_bytes(std::span(values));
    TableStatistics statistics;
    CompressOptions options;
    options.statistics = &statistics;
    ASSERT_TRUE(compress(bytes, float32, {200, 200}, settings.bound, options).ok());
    settings.tables = statistics.train();
    const auto frame = encode_chunk(settings, bytes);
    ASSERT_TRUE(frame.ok());
    ASSERT_EQ(read_frame_info(*frame)->table_set_id, settings.tables.id());
    const auto chunk = decode(settings, *frame);
    ASSERT_TRUE(chunk.ok()) << chunk.status().message();
    EXPECT_LE(largest_error(std::span<const float>(values), *chunk), 1e-4);
    settings.tables = TableSet();
    EXPECT_FALSE(decode(settings, *frame).ok());
}

TEST(Chunk, without_type_and_shape_a_bound_is_refused_and_lossless_works) {
    Settings settings;
    const auto values = smooth<float>(1000, 5);
    const auto bytes = std::as_bytes(std::span(values));
    const auto frame = encode_chunk(settings, bytes);
    ASSERT_TRUE(frame.ok());
    const auto chunk = decode(settings, *frame);
    ASSERT_TRUE(chunk.ok());
    EXPECT_EQ(largest_error(std::span<const float>(values), *chunk), 0);
    settings.bound = absolute(1);
    const auto refused = encode_chunk(settings, bytes);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().message().find("complete cd_values"), std::string::npos);
}

TEST(Chunk, a_frame_of_another_dataset_is_an_error) {
    const Settings settings = with_chunk(Element::float32, {10, 10}, absolute(1));
    const auto values = smooth<double>(300, 6);
    const auto frame_of = [&](DType dtype, const Shape& shape) {
        const auto bytes = std::as_bytes(std::span(values)).first(shape.count() * size_of(dtype));
        return *compress(bytes, dtype, shape, absolute(1));
    };
    EXPECT_TRUE(decode(settings, frame_of(float32, {10, 10})).ok());
    EXPECT_TRUE(decode(settings, frame_of(float32, {100})).ok());  // the whole chunk, flat
    for (const auto& frame :
         {frame_of(float64, {5, 10}), frame_of(float64, {10, 10}), frame_of(float32, {11, 9}),
          frame_of(float32, {99}), frame_of(float32, {5, 5, 2})}) {
        const auto chunk = decode(settings, frame);
        ASSERT_FALSE(chunk.ok());
        EXPECT_EQ(chunk.status().code(), StatusCode::corrupt) << chunk.status().message();
    }
    EXPECT_FALSE(decode(settings, {}).ok());
    EXPECT_FALSE(decode(settings, std::as_bytes(std::span(values))).ok());
}

TEST(Chunk, every_truncation_and_flipped_byte_is_an_error) {
    const Settings settings = with_chunk(Element::float32, {12, 12, 12}, absolute(1e-2));
    const auto values = smooth<float>(1728, 8);
    const auto frame = *encode_chunk(settings, std::as_bytes(std::span(values)));
    for (std::size_t n = 0; n < frame.size(); ++n)
        EXPECT_FALSE(decode(settings, std::span(frame).first(n)).ok()) << n;
    for (std::size_t at = 0; at < frame.size(); ++at) {
        auto broken = frame;
        broken[at] ^= std::byte{0x40};
        EXPECT_FALSE(decode(settings, broken).ok()) << at;
    }
}

// With the checksum off a wrong frame may decode to wrong values, but nothing worse.
TEST(Chunk, broken_frames_without_checksum_do_no_harm) {
    Settings settings = with_chunk(Element::float32, {12, 12, 12}, absolute(1e-2));
    settings.checksum = false;
    const auto values = smooth<float>(1728, 9);
    for (const Mode mode : {Mode::fast, Mode::strong, Mode::planes}) {
        settings.mode = mode;
        const auto frame = *encode_chunk(settings, std::as_bytes(std::span(values)));
        for (unsigned seed = 0; seed < 400; ++seed) {
            std::mt19937 random(seed);
            auto broken = frame;
            for (int i = 0; i < 3; ++i)
                broken[random() % broken.size()] = static_cast<std::byte>(random());
            const auto chunk = decode(settings, broken);
            if (chunk.ok()) {
                EXPECT_EQ(chunk->size(), settings.chunk_bytes()) << seed;
            }
            Settings unknown;  // then the frame alone says how much memory it takes
            (void)decoded_bytes(unknown, broken);
        }
    }
}

}  // namespace
}  // namespace caesura::hdf5
