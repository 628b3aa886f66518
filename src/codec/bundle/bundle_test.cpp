// Goal: each array of a bundle keeps its own bound, a bundle costs no more than its arrays one by
// one, and nothing that is read breaks.
#include "codec/bundle/bundle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

constexpr unsigned k_bundle_seed = 20;

/// Density, momentum, temperature, as far apart as in a plotfile; boxes of any extents.
std::vector<BundlePart> plotfile_parts() {
    return {{{5, 7, 24}, absolute(1e-4), 0, false},
            {{5, 7, 24}, absolute(1e8), 1, false},
            {{5, 7, 24}, lossless(), 2, false},
            {{3}, absolute(1e-4), 0, false},
            {{16, 24}, pointwise_relative(1e-3), 1, false},
            {{8, 8, 8}, absolute(1e3), 2, true},
            {{1}, absolute(1e-4), 0, false}};
}

template <class T>
std::vector<T> values_of(std::span<const BundlePart> parts) {
    constexpr double k_scales[] = {1.0, 5e11, 1e4};
    std::vector<T> all;
    unsigned seed = k_bundle_seed;
    for (const BundlePart& part : parts)
        for (const T value : smooth_array<T>(part.shape, seed++))
            all.push_back(static_cast<T>(k_scales[part.component] * (2.0 + value)));
    return all;
}

template <class T>
void keeps_each_bound() {
    const auto parts = plotfile_parts();
    const auto values = values_of<T>(parts);
    const auto raw = std::as_bytes(std::span(values));
    const auto bundle = compress_bundle(raw, dtype_of<T>(), parts);
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    EXPECT_LE(bundle->size(), bundle_bytes_at_most(parts.size(), raw.size()));
    const auto info = read_bundle_info(*bundle);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->parts.size(), parts.size());
    EXPECT_EQ(info->raw_bytes, raw.size());
    std::vector<T> back(values.size(), T{7});
    ASSERT_TRUE(decompress_bundle(*bundle, std::as_writable_bytes(std::span(back))).ok());
    std::size_t at = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const BundlePart& part = parts[p];
        EXPECT_EQ(info->parts[p].component, part.component);
        EXPECT_EQ(info->parts[p].info.shape, part.shape);
        if (part.as_it_is) {
            EXPECT_GE(info->parts[p].frame.size(), part.shape.count() * sizeof(T));
        }
        for (std::size_t i = 0; i < part.shape.count(); ++i, ++at) {
            const double error = std::fabs(double{values[at]} - double{back[at]});
            const bool exact = part.as_it_is || part.bound.kind == ErrorBound::Kind::lossless;
            const double bound = exact ? 0.0
                                 : part.bound.kind == ErrorBound::Kind::absolute
                                     ? part.bound.value
                                     : part.bound.value * std::fabs(double{values[at]});
            ASSERT_LE(error, bound) << "array " << p << " value " << i;
        }
    }
}

TEST(Bundle, keeps_the_bound_of_each_array) {
    keeps_each_bound<float>();
    keeps_each_bound<double>();
}

TEST(Bundle, is_as_small_as_its_arrays_one_by_one) {
    const auto parts = plotfile_parts();
    const auto values = values_of<double>(parts);
    const auto raw = std::as_bytes(std::span(values));
    const auto bundle = compress_bundle(raw, DType::float64, parts);
    ASSERT_TRUE(bundle.ok());
    std::size_t at = 0, one_by_one = 0;
    for (const BundlePart& part : parts) {
        const std::size_t bytes = part.shape.count() * sizeof(double);
        const auto frame = compress_part(raw.subspan(at, bytes), DType::float64, part);
        ASSERT_TRUE(frame.ok());
        one_by_one += frame->size();
        at += bytes;
    }
    EXPECT_EQ(bundle->size(), one_by_one + 24 + 8 * parts.size());
}

TEST(Bundle, of_what_cannot_be_compressed_stays_within_its_limit) {
    const std::vector<BundlePart> parts = {{{9, 9}, lossless()}, {{100}, absolute(1e-30), 1}};
    const auto values = random_bits_array<double>({181}, k_bundle_seed);
    const auto raw = std::as_bytes(std::span(values));
    const auto bundle = compress_bundle(raw, DType::float64, parts);
    ASSERT_TRUE(bundle.ok());
    EXPECT_LE(bundle->size(), bundle_bytes_at_most(parts.size(), raw.size()));
}

TEST(Bundle, refuses_arrays_that_do_not_make_the_values) {
    const std::vector<float> values(10);
    const auto raw = std::as_bytes(std::span(values));
    EXPECT_EQ(compress_bundle(raw, DType::float32, {}).status().code(),
              StatusCode::invalid_argument);
    const std::vector<BundlePart> nine = {{{9}}};
    EXPECT_EQ(compress_bundle(raw, DType::float32, nine).status().code(),
              StatusCode::invalid_argument);
    const std::vector<BundlePart> ten = {{{10}}};
    EXPECT_EQ(compress_bundle(raw, DType::complex64, ten).status().code(),
              StatusCode::invalid_argument);
    const std::vector<BundlePart> bad = {{{10}, absolute(-1.0)}};
    EXPECT_EQ(compress_bundle(raw, DType::float32, bad).status().code(),
              StatusCode::invalid_argument);
}

Status decode(std::span<const std::byte> bundle, std::size_t raw_bytes) {
    const Bytes copy(bundle.begin(), bundle.end());  // exactly its bytes, for a sanitizer to see
    Bytes back(raw_bytes);
    return decompress_bundle(copy, back);
}

// Every truncation and every changed byte.
TEST(Bundle, that_is_damaged_is_an_error) {
    const std::vector<BundlePart> parts = {{{4, 6}, absolute(1e-3)}, {{5}, lossless(), 1}};
    const auto values = values_of<float>(parts);
    const auto raw = std::as_bytes(std::span(values));
    const auto whole = compress_bundle(raw, DType::float32, parts);
    ASSERT_TRUE(whole.ok());
    ASSERT_TRUE(decode(*whole, raw.size()).ok());
    for (std::size_t n = 0; n < whole->size(); ++n)
        EXPECT_FALSE(decode(std::span(*whole).first(n), raw.size()).ok()) << n;
    for (std::size_t i = 0; i < whole->size(); ++i) {
        Bytes changed = *whole;
        changed[i] ^= std::byte{0x10};
        EXPECT_FALSE(decode(changed, raw.size()).ok()) << "byte " << i;
    }
    Bytes longer = *whole;
    longer.push_back(std::byte{0});
    EXPECT_EQ(decode(longer, raw.size()).code(), StatusCode::corrupt);
    EXPECT_EQ(decode(*whole, raw.size() + 4).code(), StatusCode::invalid_argument);
}

TEST(Bundle, of_a_later_version_is_refused_by_name) {
    const std::vector<BundlePart> parts = {{{4}}, {{5}}};
    const std::vector<float> values(9);
    auto bundle = compress_bundle(std::as_bytes(std::span(values)), DType::float32, parts);
    ASSERT_TRUE(bundle.ok());
    (*bundle)[4] = std::byte{7};
    const auto info = read_bundle_info(*bundle);
    EXPECT_EQ(info.status().code(), StatusCode::unsupported);
    EXPECT_NE(info.status().message().find("version 7"), std::string::npos);
}

TEST(Bundle, frame_bytes_are_pinned) {
    const std::vector<BundlePart> parts = {{{2}, absolute(0.5), 3}, {{1}, lossless(), 1, true}};
    const std::vector<float> values = {1.0f, 1.0f, 2.0f};
    const auto bundle = compress_bundle(std::as_bytes(std::span(values)), DType::float32, parts);
    ASSERT_TRUE(bundle.ok());
    std::string hex;
    for (const std::byte b : *bundle)
        for (const unsigned nibble :
             {std::to_integer<unsigned>(b) >> 4, std::to_integer<unsigned>(b) & 15u})
            hex += "0123456789abcdef"[nibble];
    EXPECT_EQ(hex,
              "8a43424e01010000e46bb497be6f103a02000000000000002500000003000000"
              "25000000010000008a43465201010111a1699ca830ddcf59000000000000e03f"
              "0200000000000000020000803f8a43465201010110752ff8c473a5bf90000000"
              "000000000001000000000000000000000040");
}

// ------------------------------------------------------------------------------- interleaved

/// Position, velocity and a number that is stored as it is, of particles.
std::vector<BundlePart> particle_parts(const Shape& shape) {
    return {{shape, absolute(1e-3), 0, false, true},
            {shape, absolute(1e2), 1, false, true},
            {shape, lossless(), 2, true, true}};
}

template <class T>
std::vector<T> particles(const Shape& shape) {
    std::vector<T> all;
    const auto one = smooth_array<T>(shape, k_bundle_seed);
    const auto other = smooth_array<T>(shape, k_bundle_seed + 1);
    for (std::size_t i = 0; i < one.size(); ++i) {
        all.push_back(one[i]);
        all.push_back(static_cast<T>(1e6 * other[i]));
        all.push_back(static_cast<T>(i));
    }
    return all;
}

template <class T>
void keeps_interleaved_bounds(const Shape& shape) {
    const auto parts = particle_parts(shape);
    const auto values = particles<T>(shape);
    const auto raw = std::as_bytes(std::span(values));
    const auto bundle = compress_bundle(raw, dtype_of<T>(), parts);
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    const auto info = read_bundle_info(*bundle);
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_TRUE(info->interleaved);
    ASSERT_EQ(info->parts.size(), 3u);
    std::vector<T> back(values.size(), T{7});
    ASSERT_TRUE(decompress_bundle(*bundle, std::as_writable_bytes(std::span(back))).ok());
    double largest[3] = {0, 0, 0};
    for (std::size_t i = 0; i < values.size(); ++i)
        largest[i % 3] = std::max(largest[i % 3], std::fabs(double{values[i]} - double{back[i]}));
    EXPECT_LE(largest[0], 1e-3);
    EXPECT_GT(largest[0], 0.0);
    EXPECT_LE(largest[1], 1e2);
    EXPECT_GT(largest[1], 1.0);
    EXPECT_EQ(largest[2], 0.0);
}

TEST(Bundle, of_interleaved_arrays_keeps_the_bound_of_each) {
    for (const Shape& shape : {Shape{5000}, Shape{40, 50}, Shape{12, 13, 14}}) {
        keeps_interleaved_bounds<float>(shape);
        keeps_interleaved_bounds<double>(shape);
    }
}

TEST(Bundle, of_interleaved_arrays_is_as_small_as_they_are_one_after_the_other) {
    const Shape shape{40, 50};
    auto parts = particle_parts(shape);
    const auto values = particles<double>(shape);
    const auto raw = std::as_bytes(std::span(values));
    const auto bundle = compress_bundle(raw, DType::float64, parts);
    ASSERT_TRUE(bundle.ok());
    Bytes apart(raw.size());
    const std::size_t each = raw.size() / 3;
    BundleArrays arrays(raw, DType::float64, parts, nullptr);
    for (std::size_t array = 0; array < 3; ++array) {
        const auto own = arrays.next();
        ASSERT_EQ(own.size(), each);
        std::copy(own.begin(), own.end(), apart.begin() + static_cast<long>(array * each));
    }
    for (BundlePart& part : parts) part.interleaved = false;
    const auto other = compress_bundle(apart, DType::float64, parts);
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(bundle->size(), other->size());
}

TEST(Bundle, of_interleaved_arrays_of_several_shapes_is_refused) {
    const std::vector<float> values(9);
    const auto raw = std::as_bytes(std::span(values));
    const std::vector<BundlePart> shapes = {{{4}, lossless(), 0, false, true},
                                            {{5}, lossless(), 1, false, true}};
    EXPECT_EQ(compress_bundle(raw, DType::float32, shapes).status().code(),
              StatusCode::invalid_argument);
    const std::vector<BundlePart> mixed = {{{3}, lossless(), 0, false, true},
                                           {{3}, lossless(), 1, false, true},
                                           {{3}, lossless(), 2, false, false}};
    EXPECT_EQ(compress_bundle(raw, DType::float32, mixed).status().code(),
              StatusCode::invalid_argument);
}

TEST(Bundle, of_interleaved_arrays_that_is_damaged_is_an_error) {
    const auto values = particles<float>({4, 6});
    const auto raw = std::as_bytes(std::span(values));
    const auto whole = compress_bundle(raw, DType::float32, particle_parts({4, 6}));
    ASSERT_TRUE(whole.ok());
    ASSERT_TRUE(decode(*whole, raw.size()).ok());
    for (std::size_t n = 0; n < whole->size(); ++n)
        EXPECT_FALSE(decode(std::span(*whole).first(n), raw.size()).ok()) << n;
    for (std::size_t i = 0; i < whole->size(); ++i) {
        Bytes changed = *whole;
        changed[i] ^= std::byte{0x10};
        EXPECT_FALSE(decode(changed, raw.size()).ok()) << "byte " << i;
    }
}

std::string hex_of(const Bytes& bytes) {
    std::string hex;
    for (const std::byte b : bytes)
        for (const unsigned nibble :
             {std::to_integer<unsigned>(b) >> 4, std::to_integer<unsigned>(b) & 15u})
            hex += "0123456789abcdef"[nibble];
    return hex;
}

TEST(Bundle, interleaved_bytes_are_pinned) {
    const std::vector<BundlePart> parts = {{{2}, absolute(0.5), 0, false, true},
                                           {{2}, lossless(), 1, true, true}};
    const std::vector<float> values = {1.0f, 2.0f, 1.0f, 3.0f};
    const auto bundle = compress_bundle(std::as_bytes(std::span(values)), DType::float32, parts);
    ASSERT_TRUE(bundle.ok());
    EXPECT_EQ(hex_of(*bundle),
              "8a43424e020101008588afb9d216f0c802000000000000002500000000000000"
              "29000000010000008a43465201010111a1699ca830ddcf59000000000000e03f"
              "0200000000000000020000803f8a434652010101101563bb751c022943000000"
              "00000000000200000000000000000000004000004040");
}

// ---- boxes of a canvas

struct Painted {
    Canvas canvas;
    std::vector<BundlePart> parts;
};

/// Boxes of a level in one chunk: beside each other, apart, one value, at the edges.
template <class T>
Painted painted(T fill) {
    Painted out{{{12, 10, 16}}, {}};
    std::memcpy(out.canvas.fill.data(), &fill, sizeof fill);
    const auto add = [&](const Shape& offset, const Shape& shape, const ErrorBound& bound) {
        BundlePart part{shape, bound};
        part.offset = offset;
        out.parts.push_back(part);
    };
    add({0, 0, 0}, {4, 10, 16}, absolute(1e-4));
    add({4, 2, 3}, {8, 5, 7}, absolute(1e-2));
    add({11, 9, 15}, {1, 1, 1}, lossless());
    add({4, 0, 0}, {1, 2, 16}, pointwise_relative(1e-3));
    return out;
}

template <class T>
void gives_back_boxes_and_the_fill_value_between(T fill) {
    const auto [canvas, parts] = painted<T>(fill);
    const Box all{Shape::filled(3, 0), canvas.shape};
    std::vector<T> values(canvas.shape.count(), fill), allowed(values.size(), T{0});
    unsigned seed = k_bundle_seed;
    for (const BundlePart& part : parts) {
        const Box box{part.offset, part.shape};
        const auto own = smooth_array<T>(part.shape, seed++);
        std::vector<T> bound(own.size(), static_cast<T>(part.bound.value));
        if (part.bound.kind == ErrorBound::Kind::pointwise_relative)
            for (std::size_t i = 0; i < own.size(); ++i)
                bound[i] = static_cast<T>(part.bound.value * std::fabs(own[i]));
        const auto paint = [&](const std::vector<T>& from, std::vector<T>& to) {
            copy_box(box, box, std::as_bytes(std::span(from)).data(), all,
                     std::as_writable_bytes(std::span(to)).data(), sizeof(T));
        };
        paint(own, values);
        paint(bound, allowed);
    }
    const auto bundle =
        compress_bundle(std::as_bytes(std::span(values)), dtype_of<T>(), parts, {}, &canvas);
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    const auto info = read_bundle_info(*bundle);
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->canvas, canvas);
    EXPECT_EQ(info->raw_bytes, values.size() * sizeof(T));
    for (std::size_t i = 0; i < parts.size(); ++i)
        EXPECT_EQ(info->parts[i].offset, parts[i].offset);
    std::vector<T> back(values.size(), T{7});
    ASSERT_TRUE(decompress_bundle(*bundle, std::as_writable_bytes(std::span(back))).ok());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (allowed[i] == T{0})
            ASSERT_EQ(std::memcmp(&back[i], &values[i], sizeof(T)), 0) << "value " << i;
        else
            ASSERT_LE(std::fabs(back[i] - values[i]), allowed[i]) << "value " << i;
    }
}

template <class T>
void gives_back_integers(bool interleaved) {
    std::vector<BundlePart> parts(3, {{40, 30}, lossless(), 0, false, interleaved});
    parts[1].as_it_is = true;
    std::vector<T> values(3 * 40 * 30);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 7 == 0 ? std::numeric_limits<T>::max() : static_cast<T>(i);
    const auto raw = std::as_bytes(std::span(values));
    const auto bundle = compress_bundle(raw, dtype_of<T>(), parts);
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    const auto info = read_bundle_info(*bundle);
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->dtype, dtype_of<T>());
    EXPECT_EQ(info->parts[1].info.dtype, dtype_of<T>());
    std::vector<T> back(values.size(), T{7});
    ASSERT_TRUE(decompress_bundle(*bundle, std::as_writable_bytes(std::span(back))).ok());
    EXPECT_EQ(back, values);
    parts[2].bound = absolute(0.5);
    EXPECT_EQ(compress_bundle(raw, dtype_of<T>(), parts).status().code(),
              StatusCode::invalid_argument);
}

TEST(Bundle, gives_back_integers_of_every_width) {
    for (const bool interleaved : {false, true}) {
        gives_back_integers<std::int8_t>(interleaved);
        gives_back_integers<std::uint16_t>(interleaved);
        gives_back_integers<std::int32_t>(interleaved);
        gives_back_integers<std::uint64_t>(interleaved);
    }
}

TEST(Bundle, gives_back_boxes_and_between_them_exactly_the_fill_value) {
    gives_back_boxes_and_the_fill_value_between<float>(0.0F);
    gives_back_boxes_and_the_fill_value_between<double>(-1e30);
    gives_back_boxes_and_the_fill_value_between<double>(std::nan(""));
}

TEST(Bundle, refuses_boxes_that_do_not_lie_beside_each_other_in_the_canvas) {
    const Painted both = painted<float>(0.0F);  // Clang before 16 captures no bindings
    const auto& canvas = both.canvas;
    const auto& parts = both.parts;
    const std::vector<float> values(canvas.shape.count());
    const auto refused = [&](auto change) {
        std::vector<BundlePart> wrong = parts;
        change(wrong);
        return compress_bundle(std::as_bytes(std::span(values)), DType::float32, wrong, {}, &canvas)
                   .status()
                   .code() == StatusCode::invalid_argument;
    };
    EXPECT_TRUE(refused([](auto& all) { all[1].offset[0] = 5; }));  // out of the canvas
    EXPECT_TRUE(refused([](auto& all) { all[1].offset = {}; }));
    EXPECT_TRUE(refused([](auto& all) { all[2].interleaved = true; }));
    EXPECT_TRUE(refused([](auto& all) { all.assign(4, all[0]); }));  // more values than there are
    EXPECT_TRUE(refused([](auto& all) { all.clear(); }));
}

TEST(Bundle, of_boxes_survives_any_damage) {
    const auto [canvas, parts] = painted<float>(1.5F);
    const std::vector<float> values(canvas.shape.count(), 1.5F);
    const auto bundle =
        compress_bundle(std::as_bytes(std::span(values)), DType::float32, parts, {}, &canvas);
    ASSERT_TRUE(bundle.ok());
    std::vector<float> back(values.size());
    for (std::size_t i = 0; i < bundle->size(); ++i) {
        Bytes broken = *bundle;
        broken[i] ^= std::byte{0x10};
        EXPECT_FALSE(decompress_bundle(broken, std::as_writable_bytes(std::span(back))).ok())
            << "byte " << i;
        broken.resize(i);
        EXPECT_FALSE(decompress_bundle(broken, std::as_writable_bytes(std::span(back))).ok())
            << "cut at " << i;
    }
}

}  // namespace
}  // namespace caesura::codec
