// The predictors' promises: bounds, exact values, the same codes on every instruction set, and
// decoders that take anything.
#include "codec/predictors/predictors.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include "codec/bound/float_environment.hpp"
#include "codec/test_targets.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace caesura::codec {
namespace {

struct Collected : CodeSink {
    std::vector<std::uint32_t> codes;
    void put_chunk(const std::uint32_t* chunk, std::size_t n) override {
        codes.insert(codes.end(), chunk, chunk + n);
    }
};

struct Replayed : CodeSource {
    explicit Replayed(const std::vector<std::uint32_t>& c) : codes(c) {}
    const std::vector<std::uint32_t>& codes;
    std::size_t next = 0;
    void get_chunk(std::uint32_t* chunk) override {
        for (std::size_t i = 0; i < k_chunk_values; ++i) {
            chunk[i] = next < codes.size() ? codes[next++] : 0;
        }
    }
};

template <class T>
struct Coded {
    std::vector<std::uint32_t> codes;
    ExactValues<T> exact;
};

struct Settings {
    bool lorenzo = true;
    LorenzoSettings for_lorenzo;
    InterpolationSettings for_interpolation;
};

template <class T>
Coded<T> encode(const std::vector<T>& values, const Shape& shape, const Quantiser<T>& quantiser,
                const Settings& settings) {
    const FloatEnvironment environment;
    Collected sink;
    Coded<T> coded;
    PredictorScratch scratch;
    CodeWriter writer(sink);
    if (settings.lorenzo) {
        encode_lorenzo(values.data(), shape, quantiser, settings.for_lorenzo, scratch, writer,
                       coded.exact);
    } else {
        encode_interpolation(values.data(), shape, quantiser, settings.for_interpolation, scratch,
                             writer, coded.exact);
    }
    coded.codes = std::move(sink.codes);
    return coded;
}

template <class T>
Status decode(const Coded<T>& coded, const Shape& shape, const Quantiser<T>& quantiser,
              const Settings& settings, std::vector<T>& values) {
    const FloatEnvironment environment;
    Replayed source(coded.codes);
    PredictorScratch scratch;
    CodeReader reader(source);
    values.assign(shape.count(), T{-7});
    return settings.lorenzo
               ? decode_lorenzo(values.data(), shape, quantiser, settings.for_lorenzo, scratch,
                                reader, coded.exact)
               : decode_interpolation(values.data(), shape, quantiser, settings.for_interpolation,
                                      scratch, reader, coded.exact);
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
BitsOf<T> bits(T v) {
    return std::bit_cast<BitsOf<T>>(v);
}

/// Bit for bit, payloads of NaN included.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// |x - y| <= bound in exact arithmetic. A 64-bit mantissa holds every float32 difference; for
/// float64, halving the operands and widening keeps what decides.
template <class T>
bool within(T x, T y, double bound) {
    const long double difference = static_cast<long double>(x) - static_cast<long double>(y);
    return std::abs(difference) <= static_cast<long double>(bound);
}

template <class T>
bool must_be_exact(T v) {
    if (!std::isfinite(v)) return true;
    return std::abs(v) < std::numeric_limits<T>::min() && bits(v) != 0;
}

/// How many values break the promise; 0 is the only good answer.
template <class T>
std::size_t broken(const std::vector<T>& original, const std::vector<T>& decoded, double bound) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < original.size(); ++i) {
        const bool good = must_be_exact(original[i]) ? bits(original[i]) == bits(decoded[i])
                                                     : within(original[i], decoded[i], bound);
        n += good ? 0 : 1;
    }
    return n;
}

// ------------------------------------------------------------------------------ inputs

using Random = std::mt19937_64;

Shape random_shape(Random& random, std::uint64_t most) {
    const int rank = static_cast<int>(random() % 4) + 1;
    Shape shape = Shape::filled(rank, 1);
    std::uint64_t room = most;
    for (int axis = 0; axis < rank; ++axis) {
        // Small extents often, long rows sometimes.
        const std::uint64_t limit = random() % 4 == 0 ? room : std::min<std::uint64_t>(room, 40);
        shape[axis] = 1 + random() % limit;
        room = std::max<std::uint64_t>(1, room / shape[axis]);
    }
    for (int axis = rank - 1; axis > 0; --axis) {
        std::swap(shape[axis], shape[static_cast<int>(random() % (axis + 1U))]);
    }
    return shape;
}

enum class Content { smooth, noise, steps, constant, zeros, masked, peculiar, bit_patterns, huge };
constexpr int k_contents = 9;

template <class T>
T peculiar(Random& random) {
    using Limits = std::numeric_limits<T>;
    const T choices[] = {Limits::quiet_NaN(),
                         -Limits::quiet_NaN(),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         T{-0.0},
                         T{0.0},
                         Limits::max(),
                         Limits::lowest(),
                         Limits::min(),
                         -Limits::min(),
                         std::bit_cast<T>(static_cast<BitsOf<T>>(bits(Limits::quiet_NaN()) + 17)),
                         static_cast<T>(1e20),
                         static_cast<T>(-2147483648.0)};
    return choices[random() % std::size(choices)];
}

template <class T>
std::vector<T> make_content(Content content, std::size_t n, Random& random) {
    std::vector<T> v(n);
    std::normal_distribution<double> normal;
    const double scale = std::exp2(static_cast<double>(random() % 41) - 20.0);
    const double offset = random() % 2 == 0 ? 0.0 : 100.0 * scale;
    for (std::size_t i = 0; i < n; ++i) {
        const double t = static_cast<double>(i);
        double x = std::sin(0.05 * t) + 0.3 * std::cos(0.013 * t) + 0.001 * normal(random);
        switch (content) {
            case Content::smooth:
                break;
            case Content::noise:
                x = normal(random);
                break;
            case Content::steps:
                x = static_cast<double>(random() % 5) * 0.5;
                break;
            case Content::constant:
                x = 1.25;
                break;
            case Content::zeros:
                x = random() % 50 == 0 ? x : 0.0;
                break;
            case Content::masked:
                x = (i / 37) % 3 == 0 ? 1e20 : x;
                break;
            case Content::peculiar:
                break;
            case Content::huge:
                x = std::exp2(static_cast<double>(random() % 240) - 100.0);
                break;
            case Content::bit_patterns:
                break;
        }
        v[i] = static_cast<T>(content == Content::zeros || content == Content::masked ||
                                      content == Content::huge
                                  ? x
                                  : scale * x + offset);
        if (content == Content::peculiar && random() % 5 == 0) v[i] = peculiar<T>(random);
        if (content == Content::bit_patterns) {
            v[i] = std::bit_cast<T>(static_cast<BitsOf<T>>(random()));
        }
    }
    return v;
}

template <class T>
double random_bound(const std::vector<T>& values, Random& random) {
    double largest = 0;
    for (const T v : values) {
        if (std::isfinite(v)) largest = std::max(largest, std::abs(static_cast<double>(v)));
    }
    if (largest == 0) largest = 1;
    const double exponent = static_cast<double>(random() % 100) / 10.0;  // 1 ... 1e-10
    return std::max(std::min(largest, 1e250) * std::pow(10.0, -exponent), 1e-300);
}

Settings random_settings(int rank, Random& random) {
    Settings s;
    s.lorenzo = random() % 3 == 0;
    s.for_lorenzo.axes = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 16 : 15);
    auto& i = s.for_interpolation;
    std::shuffle(i.order.begin(), i.order.begin() + rank, random);
    for (auto& f : i.feedback) f = static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random() % 16);
    i.cubic = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 16 : 15);
    i.alpha = static_cast<std::uint8_t>(16 + random() % 49);
    i.beta = static_cast<std::uint8_t>(16 + random() % 49);
    return s;
}

std::string describe(std::uint64_t seed, const Shape& shape, Content content, double bound,
                     const Settings& s) {
    std::string text = "seed " + std::to_string(seed) + " shape " + to_string(shape) + " content " +
                       std::to_string(static_cast<int>(content)) + " bound " +
                       std::to_string(bound) + (s.lorenzo ? " lorenzo axes " : " order ");
    if (s.lorenzo) return text + std::to_string(s.for_lorenzo.axes);
    for (const auto axis : s.for_interpolation.order) text += std::to_string(axis);
    return text;
}

template <class T>
struct Case {
    Shape shape;
    Content content = Content::smooth;
    std::vector<T> values;
    double bound = 0;
    Quantiser<T> quantiser;
    Settings settings;
    std::string text;

    Case(std::uint64_t seed, std::uint64_t most) {
        Random random(seed);
        shape = random_shape(random, most);
        content = static_cast<Content>(random() % k_contents);
        values = make_content<T>(content, shape.count(), random);
        bound = random_bound(values, random);
        quantiser = choose_quantiser<T>(values, bound);
        settings = random_settings(shape.rank(), random);
        text = describe(seed, shape, content, bound, settings);
    }
};

// ------------------------------------------------------------------------------ tests

template <class T>
class Predictors : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Predictors, Types);

TYPED_TEST(Predictors, keep_every_value_within_the_bound) {
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        const Case<TypeParam> c(seed, seed % 50 == 0 ? 60'000 : 3'000);
        const auto coded = encode(c.values, c.shape, c.quantiser, c.settings);
        ASSERT_EQ(coded.codes.size(), c.values.size()) << c.text;
        std::vector<TypeParam> decoded;
        const Status status = decode(coded, c.shape, c.quantiser, c.settings, decoded);
        ASSERT_TRUE(status.ok()) << status.message() << " " << c.text;
        ASSERT_EQ(broken(c.values, decoded, c.bound), 0U) << c.text;
    }
}

TYPED_TEST(Predictors, give_the_same_bits_on_every_instruction_set) {
    for (std::uint64_t seed = 5001; seed <= 5300; ++seed) {
        const Case<TypeParam> c(seed, 4'000);
        Coded<TypeParam> first;
        std::vector<TypeParam> first_decoded;
        for_each_target([&](const char* target) {
            const auto coded = encode(c.values, c.shape, c.quantiser, c.settings);
            std::vector<TypeParam> decoded;
            const Status status = decode(coded, c.shape, c.quantiser, c.settings, decoded);
            ASSERT_TRUE(status.ok()) << status.message() << " " << c.text;
            if (first.codes.empty()) {
                first = coded;
                first_decoded = decoded;
                return;
            }
            ASSERT_EQ(first.codes, coded.codes) << target << " " << c.text;
            ASSERT_EQ(first.exact.positions, coded.exact.positions) << c.text;
            ASSERT_TRUE(same_bits(first.exact.values, coded.exact.values)) << c.text;
            ASSERT_TRUE(same_bits(first_decoded, decoded)) << target << " " << c.text;
        });
    }
}

// Loops over whole vectors stop where one value needs care; whichever it is, wherever rows end.
TYPED_TEST(Predictors, store_one_value_exactly_wherever_it_lies) {
    using T = TypeParam;
    using Limits = std::numeric_limits<T>;
    const T peculiar_values[] = {Limits::quiet_NaN(),  Limits::infinity(),    T{-0.0},
                                 Limits::denorm_min(), -Limits::denorm_min(), static_cast<T>(1e20)};
    Random random(99);
    for_each_target([&](const char* target) {
        // Rows around one and two vectors of every length there is, also doubled along x; planes
        // of one row, and of too few for a cubic.
        for (const std::uint64_t n : {3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 34, 63, 65}) {
            for (const Shape& shape : {Shape{n}, Shape{3, n}, Shape{6, n}, Shape{2, 2, n},
                                       Shape{5, 1, n}, Shape{4, 9, n}}) {
                for (int round = 0; round < 4; ++round) {
                    Settings settings = random_settings(shape.rank(), random);
                    settings.lorenzo = false;
                    // Zeros of the usual sign are nothing peculiar.
                    std::vector<T> values(shape.count());
                    for (std::size_t i = 0; i < values.size(); ++i) {
                        if (i % 3 != 0)
                            values[i] = static_cast<T>(std::sin(0.1 * static_cast<double>(i)));
                    }
                    const std::size_t at = random() % values.size();
                    values[at] = peculiar_values[random() % std::size(peculiar_values)];
                    const auto quantiser = choose_quantiser<T>(values, 1e-3);
                    const auto coded = encode(values, shape, quantiser, settings);
                    // Rounding to T may push another one over the bound.
                    const auto& exact = coded.exact.values;
                    ASSERT_LE(exact.size(), 2U) << to_string(shape) << " at " << at;
                    EXPECT_EQ(std::count_if(exact.begin(), exact.end(),
                                            [&](T v) { return bits(v) == bits(values[at]); }),
                              1)
                        << to_string(shape) << " at " << at << " " << target;
                    std::vector<T> decoded;
                    ASSERT_TRUE(decode(coded, shape, quantiser, settings, decoded).ok());
                    ASSERT_EQ(broken(values, decoded, 1e-3), 0U)
                        << to_string(shape) << " at " << at << " " << target;
                }
            }
        }
    });
}

TYPED_TEST(Predictors, survive_any_codes_and_exact_values) {
    using T = TypeParam;
    for (std::uint64_t seed = 9001; seed <= 9600; ++seed) {
        const Case<T> c(seed, 2'000);
        Random random(seed);
        Coded<T> coded;
        coded.codes.resize(c.values.size());
        for (auto& code : coded.codes) {
            code = random() % 8 == 0 ? k_exact_code : static_cast<std::uint32_t>(random());
        }
        const std::size_t n_exact = random() % (c.values.size() + 2);
        for (std::size_t i = 0; i < n_exact; ++i) {
            coded.exact.values.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(random())));
            coded.exact.positions.push_back(
                static_cast<std::uint32_t>(random() % 16 == 0 ? random() : i + random() % 2));
        }
        std::vector<T> decoded;
        const Status status = decode(coded, c.shape, c.quantiser, c.settings, decoded);
        EXPECT_TRUE(status.ok() || status.code() == StatusCode::corrupt) << c.text;
        if (c.settings.lorenzo) continue;
        // A decoder that asks for other than what there is says so.
        const auto asked = static_cast<std::size_t>(
            std::count(coded.codes.begin(), coded.codes.end(), k_exact_code));
        EXPECT_EQ(status.ok(), asked == n_exact) << c.text;
    }
}

TYPED_TEST(Predictors, refuse_exact_positions_out_of_order) {
    const Shape shape{7, 9};
    const Quantiser<TypeParam> quantiser{TypeParam{1}, TypeParam{1}};
    for (const auto& positions :
         {std::vector<std::uint32_t>{5, 5}, std::vector<std::uint32_t>{6, 2},
          std::vector<std::uint32_t>{0, 63}, std::vector<std::uint32_t>{1}}) {
        Coded<TypeParam> coded;
        coded.codes.resize(63);
        coded.exact.values.resize(2);
        coded.exact.positions = positions;
        std::vector<TypeParam> decoded;
        EXPECT_EQ(decode(coded, shape, quantiser, {}, decoded).code(), StatusCode::corrupt);
    }
}

// A land mask must neither spread into the sea nor cost more exact values than it has cells.
TYPED_TEST(Predictors, keep_masked_regions_to_themselves) {
    using T = TypeParam;
    const Shape shape{24, 40, 56};
    for (const T fill : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                         static_cast<T>(1e20)}) {
        std::vector<T> values(shape.count());
        std::size_t masked = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double x = static_cast<double>(i % 56);
            const double y = static_cast<double>(i / 56 % 40);
            const double z = static_cast<double>(i / (56 * 40));
            const bool land = std::hypot(x - 20, y - 20) < 12 + z / 4;
            masked += land ? 1 : 0;
            values[i] = land ? fill : static_cast<T>(280 + std::sin(x / 9) + std::cos((y + z) / 7));
        }
        for (const bool lorenzo : {true, false}) {
            Settings settings;
            settings.lorenzo = lorenzo;
            settings.for_interpolation.feedback = {6, 6, 6, 6};
            const auto quantiser = choose_quantiser<T>(values, 1e-3);
            const auto coded = encode(values, shape, quantiser, settings);
            EXPECT_GE(coded.exact.values.size(), masked) << "fill " << fill;
            // Rounding to T may push a value or two over the bound.
            EXPECT_LE(coded.exact.values.size(), masked + 20) << "fill " << fill;
            // Smooth sea: residuals stay small but for the coast (a few percent of the cells).
            const auto large =
                std::count_if(coded.codes.begin(), coded.codes.end(),
                              [](std::uint32_t z) { return z != k_exact_code && z > 1000; });
            EXPECT_LT(static_cast<std::size_t>(large), values.size() / 20) << "fill " << fill;
            std::vector<T> decoded;
            ASSERT_TRUE(decode(coded, shape, quantiser, settings, decoded).ok());
            EXPECT_EQ(broken(values, decoded, 1e-3), 0U);
        }
    }
}

TYPED_TEST(Predictors, work_in_less_memory_than_promised) {
    using T = TypeParam;
    for (const Shape& shape : {Shape{64, 64, 64}, Shape{10, 96, 96}, Shape{500, 300},
                               Shape{16, 16, 16, 32}, Shape{33, 65, 129}}) {
        Random random(7);
        const auto values = make_content<T>(Content::smooth, shape.count(), random);
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const Settings settings = random_settings(shape.rank(), random);
            PredictorScratch scratch;
            Collected sink;
            ExactValues<T> exact;
            const auto writer = std::make_unique<CodeWriter>(sink);
            if (settings.lorenzo) {
                encode_lorenzo<T>(values.data(), shape, {T{1}, T{1}}, settings.for_lorenzo, scratch,
                                  *writer, exact);
            } else {
                encode_interpolation<T>(values.data(), shape, {T{1}, T{1}},
                                        settings.for_interpolation, scratch, *writer, exact);
            }
            EXPECT_LE(static_cast<double>(scratch.bytes()),
                      0.8 * static_cast<double>(shape.count() * sizeof(T)))
                << to_string(shape);
        }
    }
}

TYPED_TEST(Predictors, ignore_the_float_mode_of_the_caller) {
#if defined(__x86_64__)
    const Case<TypeParam> c(4711, 3'000);
    Random random(4711);
    auto values = make_content<TypeParam>(Content::peculiar, c.values.size(), random);
    const auto plain = encode(values, c.shape, c.quantiser, c.settings);
    const unsigned mode = _mm_getcsr();
    constexpr unsigned k_upwards_flush_all = 0xdfc0;  // round up, FTZ, DAZ, exceptions masked
    _mm_setcsr(k_upwards_flush_all);
    const auto coded = encode(values, c.shape, c.quantiser, c.settings);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(mode);
    EXPECT_EQ(after, k_upwards_flush_all);
    EXPECT_EQ(plain.codes, coded.codes);
    EXPECT_TRUE(same_bits(plain.exact.values, coded.exact.values));
#else
    GTEST_SKIP() << "sets MXCSR";
#endif
}

TYPED_TEST(Predictors, have_a_quantiser_for_every_bound) {
    using T = TypeParam;
    Random random(3);
    const auto values = make_content<T>(Content::noise, 5000, random);
    for (double bound = 1e-310; bound < 1e300; bound *= 7.3) {
        const auto quantiser = choose_quantiser<T>(values, bound);
        EXPECT_LE(static_cast<double>(quantiser.bound), bound);
        EXPECT_GE(quantiser.step, std::numeric_limits<T>::min());
        EXPECT_TRUE(std::isfinite(quantiser.step));
        EXPECT_TRUE(std::isfinite(T{1} / quantiser.step));
    }
}

TEST(PredictorSettings, are_checked) {
    InterpolationSettings s;
    EXPECT_TRUE(valid(s, 4).ok());
    EXPECT_TRUE(valid(LorenzoSettings{}, 3).ok());
    EXPECT_EQ(valid(LorenzoSettings{0x10}, 3).code(), StatusCode::corrupt);
    s.order = {1, 0, 1, 3};
    EXPECT_EQ(valid(s, 3).code(), StatusCode::corrupt);
    EXPECT_TRUE(valid(s, 2).ok());
    s.order = {0, 1, 3, 2};
    EXPECT_EQ(valid(s, 3).code(), StatusCode::corrupt);
    s = {};
    s.feedback[1] = 16;
    EXPECT_EQ(valid(s, 2).code(), StatusCode::corrupt);
    EXPECT_TRUE(valid(s, 1).ok());
    s = {};
    s.alpha = 15;
    EXPECT_EQ(valid(s, 1).code(), StatusCode::corrupt);
    s = {};
    s.beta = 65;
    EXPECT_EQ(valid(s, 1).code(), StatusCode::corrupt);
}

}  // namespace
}  // namespace caesura::codec
