#include <complex>
#include <numbers>

#include "lambda/spectrum_fft.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// By definition: every mode by itself, every value by itself.
template <class T>
Power direct_power(const TestObject<T>& object) {
    Shape shape = Shape::filled(3, 1);
    for (int axis = 0; axis < object.shape.rank(); ++axis)
        shape[3 - object.shape.rank() + axis] = object.shape[axis];
    const std::uint64_t longest = std::max({shape[0], shape[1], shape[2]});
    std::vector<double> sum(longest / 2 + 1), numbers(longest / 2 + 1);
    std::vector<std::int64_t> modes(longest / 2 + 1);
    Power power;
    const auto n = static_cast<double>(shape.count());
    const auto each = [&](auto&& visit) {
        for (std::uint64_t i = 0; i < shape[0]; ++i)
            for (std::uint64_t j = 0; j < shape[1]; ++j)
                for (std::uint64_t l = 0; l < shape[2]; ++l) visit(i, j, l);
    };
    each([&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        std::complex<double> mode = 0.0;
        std::size_t at = 0;
        each([&](std::uint64_t i, std::uint64_t j, std::uint64_t l) {
            const double turns = static_cast<double>(a * i % shape[0]) / double(shape[0]) +
                                 static_cast<double>(b * j % shape[1]) / double(shape[1]) +
                                 static_cast<double>(c * l % shape[2]) / double(shape[2]);
            mode += double{object.values[at++]} * std::polar(1.0, -2.0 * std::numbers::pi * turns);
        });
        double f = 0.0;
        const std::uint64_t ks[] = {a, b, c};
        for (int axis = 0; axis < 3; ++axis) {
            const auto k = static_cast<double>(std::min(ks[axis], shape[axis] - ks[axis]));
            f += k * k / static_cast<double>(shape[axis] * shape[axis]);
        }
        const double number = std::sqrt(f) * static_cast<double>(longest);
        const auto bin = static_cast<std::size_t>(number + 0.5);
        const double value = std::norm(mode) / n / n;
        if (bin >= sum.size()) {
            power.beyond += value;
            ++power.beyond_modes;
            return;
        }
        sum[bin] += value;
        numbers[bin] += number;
        ++modes[bin];
    });
    for (std::size_t bin = 0; bin < sum.size(); ++bin) {
        if (modes[bin] == 0) continue;
        power.mean.push_back(sum[bin] / double(modes[bin]));
        power.wave_number.push_back(numbers[bin] / double(modes[bin]));
        power.modes.push_back(modes[bin]);
    }
    return power;
}

template <class T>
void check(const Shape& shape, std::mt19937_64& random) {
    const Registry registry;
    auto object = random_object<T>(shape, random);
    object.cut(1 + random() % 8, random);
    const Results found = take(in_parts(registry, "spectrum", object, random));
    const Power wanted = direct_power(object);
    EXPECT_EQ(list<std::int64_t>(found, "modes"), wanted.modes) << to_string(shape);
    EXPECT_EQ(number(found, "beyond_modes"), static_cast<double>(wanted.beyond_modes));
    EXPECT_NEAR(number(found, "beyond_power"), wanted.beyond, 1e-13);
    const auto power = list<double>(found, "power"), k = list<double>(found, "k");
    ASSERT_EQ(power.size(), wanted.mean.size());
    double total = number(found, "beyond_power"), squares = 0.0;
    for (std::size_t i = 0; i < power.size(); ++i) {
        EXPECT_NEAR(power[i], wanted.mean[i], 1e-13) << to_string(shape) << " bin " << i;
        EXPECT_NEAR(k[i], wanted.wave_number[i], 1e-9);
        total += power[i] * static_cast<double>(wanted.modes[i]);
    }
    // Parseval.
    for (const T x : object.values) squares += double{x} * double{x};
    EXPECT_NEAR(total, squares / static_cast<double>(shape.count()), 1e-12);
}

TEST(Spectrum, is_the_sum_over_all_values_for_even_odd_and_prime_lengths) {
    std::mt19937_64 random(81);
    for (const Shape& shape : {Shape{1}, Shape{2}, Shape{3}, Shape{64}, Shape{63}, Shape{101},
                               Shape{8, 6}, Shape{5, 9}, Shape{1, 7}, Shape{7, 1}, Shape{6, 6, 6},
                               Shape{5, 4, 7}, Shape{8, 3, 10}, Shape{2, 1, 9}}) {
        check<double>(shape, random);
        check<float>(shape, random);
    }
}

TEST(Spectrum, a_wave_is_in_its_bin) {
    const Registry registry;
    TestObject<double> object{{32, 32, 32}, std::vector<double>(32 * 32 * 32), {}};
    for (std::size_t i = 0; i < object.values.size(); ++i)
        object.values[i] =
            3.0 * std::cos(2.0 * std::numbers::pi * 5.0 * static_cast<double>(i / 32 % 32) / 32.0);
    const auto power = list<double>(take(registry.run("spectrum", object.whole())), "power");
    const auto modes = list<std::int64_t>(take(registry.run("spectrum", object.whole())), "modes");
    for (std::size_t bin = 0; bin < power.size(); ++bin)
        EXPECT_NEAR(power[bin] * static_cast<double>(modes[bin]), bin == 5 ? 4.5 : 0.0, 1e-12);
}

TEST(Spectrum, asks_for_the_whole_object_once_and_for_its_memory) {
    const Registry registry;
    std::mt19937_64 random(82);
    auto object = random_object<float>({8, 8}, random);
    object.values[3] = std::numeric_limits<float>::quiet_NaN();
    object.cut(4, random);
    auto state = take(registry.start("spectrum"));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(state.add(object.region(i)).ok());
    EXPECT_EQ(state.finish().status().code(), StatusCode::insufficient_data);
    ASSERT_TRUE(state.add(object.region(3)).ok());
    EXPECT_EQ(number(take(state.finish()), "nan"), 1.0);
    ASSERT_TRUE(state.add(object.region(2)).ok());
    EXPECT_EQ(state.finish().status().code(), StatusCode::invalid_argument);
    const auto large = random_object<float>({1000, 100}, random);
    EXPECT_EQ(registry.run("spectrum(memory_mb=1)", large.whole()).status().code(),
              StatusCode::no_space);
    const auto four = random_object<float>({2, 2, 2, 2}, random);
    EXPECT_EQ(registry.run("spectrum", four.whole()).status().code(), StatusCode::unsupported);
    EXPECT_TRUE(check_lengths({1021, 1024}).ok());
    EXPECT_EQ(check_lengths({4, 2 * 1031}).code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace caesura::lambda
