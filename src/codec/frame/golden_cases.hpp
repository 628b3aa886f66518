// For tests: small arrays and options that between them make every kind of frame, with the frame's
// name in tests/golden. The arrays come from integers, so every machine has the same.
#pragma once

#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "base/short_float.hpp"
#include "caesura/codec.hpp"
#include "codec/integers/integer_families.hpp"

namespace caesura::codec {

struct GoldenCase {
    std::string name;
    std::vector<std::byte> values;
    DType dtype = DType::float32;
    Shape shape;
    ErrorBound bound;
    CompressOptions options;
    std::size_t untyped_bytes = 0;  ///< not 0: compress_bytes of values of so many bytes
    bool shared_tables = false;     ///< with golden_tables()

    friend std::ostream& operator<<(std::ostream& out, const GoldenCase& one) {
        return out << one.name;
    }
    Result<std::vector<std::byte>> compressed(const TableSet* tables) const {
        if (untyped_bytes > 0) return compress_bytes(values, untyped_bytes, options.checksum);
        CompressOptions with = options;
        with.tables = shared_tables ? tables : nullptr;
        return compress(values, dtype, shape, bound, with);
    }
};

/// Deterministic noise: the same integers everywhere.
class GoldenNoise {
  public:
    explicit GoldenNoise(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {  // SplitMix64
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

  private:
    std::uint64_t state_;
};

/// Calls what(axis, index along it) for each axis of a shape, the fastest first.
template <class What>
void for_each_axis(const Shape& shape, std::size_t i, What what) {
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        what(axis, static_cast<std::int64_t>(i % shape[axis]));
        i /= shape[axis];
    }
}

/// Parabolas along the axes, between about -1 and 1 each, and noise of a hundredth.
template <class T>
std::vector<T> golden_waves(const Shape& shape) {
    GoldenNoise noise(shape.count());
    std::vector<T> values(shape.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::int64_t sum = 0;
        for_each_axis(shape, i, [&](int axis, std::int64_t at) {
            const std::int64_t period = 17 + 6 * axis;
            const std::int64_t phase = at % period;
            const std::int64_t wave = phase * (period - phase) * 4096 / (period * period);
            sum += (at / period) % 2 == 0 ? wave : -wave;
        });
        // Noise down to the last bits, or nothing but the lossless path would ever be taken.
        const auto fraction = static_cast<std::int64_t>(noise.next() % (std::uint64_t{9} << 40));
        values[i] = static_cast<T>((sum << 40) + fraction) / static_cast<T>(std::int64_t{1} << 50);
    }
    return values;
}

template <class T>
void put_specials(std::vector<T>& values) {
    using Limits = std::numeric_limits<T>;
    const T specials[] = {
        Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::denorm_min(), -T(0),
        Limits::max()};
    for (std::size_t i = 5; i < values.size(); i += 37) values[i] = specials[i % 6];
}

/// Silence, and noise around one point that fades with the distance.
template <class T>
std::vector<T> golden_burst(const Shape& shape) {
    GoldenNoise noise(7);
    std::vector<T> values(shape.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint64_t far = 0;
        for_each_axis(shape, i, [&](int axis, std::int64_t at) {
            const std::int64_t off = at - static_cast<std::int64_t>(shape[axis] / 3);
            far += static_cast<std::uint64_t>(off * off);
        });
        const std::uint64_t fraction = noise.next() >> 40;
        if (far <= 36) values[i] = static_cast<T>(fraction >> far / 4) / static_cast<T>(1 << 24);
    }
    return values;
}

template <class T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// Trained on an array like those that share it.
inline TableSet golden_tables() {
    const Shape shape{12, 13, 14};
    const auto values = to_bytes(golden_waves<float>(shape));
    TableStatistics statistics;
    CompressOptions options;
    options.mode = Mode::fast;
    options.statistics = &statistics;
    const auto frame = compress(values, float32, shape, absolute(1e-2), options);
    if (!frame.ok()) return TableSet();
    return statistics.train();
}

template <class T>
void add_lossy_cases(const std::string& type, bool tiny, std::vector<GoldenCase>& cases) {
    const auto add = [&](const std::string& name, const Shape& shape, std::vector<T> values,
                         const ErrorBound& bound, Mode mode) -> CompressOptions& {
        GoldenCase one;
        one.name = name + "_" + type;
        one.values = to_bytes(values);
        one.dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
        one.shape = shape;
        one.bound = bound;
        one.options.mode = mode;
        cases.push_back(std::move(one));
        return cases.back().options;
    };
    const Shape cube = tiny ? Shape{6, 7, 8} : Shape{12, 13, 14};
    const auto waves = golden_waves<T>(cube);
    auto specials = waves;
    put_specials(specials);
    auto holes = waves;
    for (std::size_t i = 0; i < holes.size(); ++i)
        if (i % cube[2] < 3) holes[i] = std::numeric_limits<T>::quiet_NaN();
    add("fast", cube, waves, absolute(1e-2), Mode::fast);
    add("strong", cube, waves, absolute(1e-2), Mode::strong);
    add("planes", cube, waves, absolute(1e-2), Mode::planes);
    add("fine", cube, waves, relative(1e-4), Mode::strong);
    add("specials_fast", cube, specials, absolute(1e-2), Mode::fast);
    add("specials_strong", cube, specials, absolute(1e-2), Mode::strong).checksum = false;
    add("holes", cube, holes, absolute(1e-2), Mode::strong);
    auto masked = waves;  // a coast, and a few islands of another value
    for (std::size_t i = 0; i < masked.size(); ++i) {
        if (i % cube[2] < 2 + i / cube[2] % 3) masked[i] = T(1e20);
        if (i % 41 == 17) masked[i] = T(-9999);
    }
    add("masked_fast", cube, masked, relative(1e-3), Mode::fast);
    add("masked_strong", cube, masked, absolute(1e-2), Mode::strong);
    add("masked_psnr", cube, masked, psnr(50), Mode::automatic);
    add("pointwise_fast", cube, specials, pointwise_relative(1e-2), Mode::fast);
    add("pointwise_strong", cube, waves, pointwise_relative(1e-3), Mode::strong);
    add("psnr", cube, waves, psnr(50), Mode::automatic);
    const Shape wide = tiny ? Shape{12, 14, 16} : Shape{32, 32, 32};
    add("burst", wide, golden_burst<T>(wide), absolute(1e-3), Mode::automatic);
    add("burst_strong", wide, golden_burst<T>(wide), absolute(1e-2), Mode::strong);
    add("burst_regions", wide, golden_burst<T>(wide), absolute(1e-3), Mode::regions);
    const Shape line = tiny ? Shape{300} : Shape{1500};
    add("line", line, golden_waves<T>(line), absolute(1e-2), Mode::strong);
    const Shape plane = tiny ? Shape{15, 19} : Shape{31, 37};
    add("plane", plane, golden_waves<T>(plane), absolute(1e-2), Mode::strong);
    const Shape four = tiny ? Shape{4, 4, 4, 5} : Shape{5, 6, 7, 8};
    add("four_axes", four, golden_waves<T>(four), absolute(1e-2), Mode::strong);
    add("four_axes_fast", four, golden_waves<T>(four), absolute(1e-2), Mode::fast);
    const Shape thin = tiny ? Shape{1, 1, 260} : Shape{1, 1, 700};
    add("thin", thin, golden_waves<T>(thin), absolute(1e-2), Mode::fast);
    // So few values that tables of their own would not pay.
    add("shared_tables", thin, golden_waves<T>(thin), absolute(1e-2), Mode::fast);
    cases.back().shared_tables = true;
    add("lossless", cube, waves, lossless(), Mode::automatic);
    add("constant", cube, std::vector<T>(cube.count(), T(2.5)), absolute(1e-2), Mode::automatic);
    std::vector<T> noise(40);
    GoldenNoise bits(1);
    for (T& value : noise) {
        const std::uint64_t word = bits.next();
        std::memcpy(&value, &word, sizeof(T));
    }
    add("raw", Shape{2, 2, 2, 5}, noise, lossless(), Mode::automatic);
}

/// A type each, of families that between them take every form and coder.
inline void add_integer_cases(bool tiny, std::vector<GoldenCase>& cases) {
    const auto add = [&](const char* name, DType dtype, const Shape& shape = {12, 13, 14}) {
        GoldenCase one;
        one.name = std::string("integers_") + name + "_" + std::string(to_string(dtype));
        one.shape = tiny ? Shape{6, 7, 8} : shape;
        one.values =
            as_bytes_of(family(name, static_cast<std::size_t>(one.shape.count()), 1), dtype);
        one.dtype = dtype;
        cases.push_back(std::move(one));
    };
    add("signed_levels", DType::int8);
    add("counts", DType::int16);
    add("gaps", DType::int32);
    add("sorted_keys", DType::int64);
    add("blobs", DType::uint8);
    add("permuted", DType::uint16);
    add("clusters", DType::uint32, Shape{16, 32, 32});
    add("enumeration", DType::uint64);
    add("constant", DType::uint32);
    add("noise", DType::int32);
}

/// Types that are coded as others.
inline void add_recoded_cases(bool tiny, std::vector<GoldenCase>& cases) {
    const Shape cube = tiny ? Shape{6, 7, 8} : Shape{12, 13, 14};
    const auto add = [&](const std::string& name, DType dtype, const std::vector<float>& values,
                         const ErrorBound& bound, Mode mode = Mode::automatic) {
        GoldenCase one;
        one.name = name;
        one.values.resize(values.size() * 2);
        base::narrow(std::as_bytes(std::span(values)).data(), dtype, one.values);
        one.dtype = dtype;
        one.shape = cube;
        one.bound = bound;
        one.options.mode = mode;
        cases.push_back(std::move(one));
    };
    const auto waves = golden_waves<float>(cube);
    auto specials = waves;
    put_specials(specials);
    for (const auto& [type, dtype] : {std::pair<std::string, DType>{"f16", DType::float16},
                                      std::pair<std::string, DType>{"bf16", DType::bfloat16}}) {
        add("fast_" + type, dtype, waves, absolute(0.1), Mode::fast);
        add("strong_" + type, dtype, specials, relative(0.05), Mode::strong);
        add("pointwise_" + type, dtype, specials, pointwise_relative(0.1));
        add("lossless_" + type, dtype, specials, lossless());
        auto masked = waves;
        for (std::size_t i = 0; i < masked.size(); ++i)
            if (i % cube[2] < 2 + i / cube[2] % 3) masked[i] = -9999.0F;
        add("masked_" + type, dtype, masked, relative(0.05));
        add("constant_" + type, dtype, std::vector<float>(cube.count(), 2.5F), absolute(0.1));
    }
    GoldenCase mask;
    mask.name = "mask_bool";
    mask.shape = cube;
    mask.dtype = DType::boolean;
    for (const float value : waves) mask.values.push_back(static_cast<std::byte>(value > 0.5F));
    cases.push_back(std::move(mask));
}

/// @param tiny  arrays of about 300 values: where to start fuzzing from.
inline std::vector<GoldenCase> golden_cases(bool tiny = false) {
    std::vector<GoldenCase> cases;
    add_lossy_cases<float>("f32", tiny, cases);
    add_lossy_cases<double>("f64", tiny, cases);
    add_integer_cases(tiny, cases);
    add_recoded_cases(tiny, cases);
    for (const std::size_t value_bytes : {1U, 3U, 24U}) {
        GoldenCase one;
        one.name = "bytes_" + std::to_string(value_bytes);
        GoldenNoise noise(value_bytes);
        one.values.resize(tiny ? 100 : 1000);
        for (std::byte& byte : one.values) byte = static_cast<std::byte>(noise.next() % 5);
        one.untyped_bytes = value_bytes;
        cases.push_back(std::move(one));
    }
    return cases;
}

/// Frames of slabs: arrays just larger than a slab, with next to nothing in them.
inline std::vector<GoldenCase> golden_slab_cases() {
    std::vector<GoldenCase> cases;
    const auto add = [&]<class T>(const std::string& name, T one_step) {
        const Shape shape{3, 1025, 8192 / sizeof(T)};
        std::vector<T> ramp(shape.count());
        for (std::size_t i = 0; i < ramp.size(); ++i)
            ramp[i] = one_step * static_cast<T>(i / shape[2] % 1025);
        GoldenCase one;
        one.name = name;
        one.values = to_bytes(ramp);
        one.dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
        one.shape = shape;
        one.bound = absolute(1e-2);
        one.options.mode = Mode::fast;
        cases.push_back(std::move(one));
    };
    add("slabs_f32", 1.0F);
    add("slabs_f64", 1.0);
    return cases;
}

}  // namespace caesura::codec
