// The predictors' promises: bounds, exact values, the same codes on every instruction set, and
// decoders that take anything.
#include "codec/predictors.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "codec/float_environment.hpp"

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
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
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
        std::int64_t targets = hwy::SupportedTargets();
        while (targets != 0) {
            const std::int64_t target = targets & -targets;
            targets ^= target;
            hwy::SetSupportedTargetsForTest(target);
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
            const auto coded = encode(c.values, c.shape, c.quantiser, c.settings);
            std::vector<TypeParam> decoded;
            const Status status = decode(coded, c.shape, c.quantiser, c.settings, decoded);
            hwy::SetSupportedTargetsForTest(0);
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
            ASSERT_TRUE(status.ok()) << status.message() << " " << c.text;
            if (first.codes.empty()) {
                first = coded;
                first_decoded = decoded;
                continue;
            }
            ASSERT_EQ(first.codes, coded.codes) << hwy::TargetName(target) << " " << c.text;
            ASSERT_EQ(first.exact.positions, coded.exact.positions) << c.text;
            ASSERT_TRUE(same_bits(first.exact.values, coded.exact.values)) << c.text;
            ASSERT_TRUE(same_bits(first_decoded, decoded))
                << hwy::TargetName(target) << " " << c.text;
        }
    }
}

}  // namespace
}  // namespace caesura::codec
