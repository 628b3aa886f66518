#include <map>

#include "lambda/pattern_table.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// By definition, over the bits.
template <class T>
double reference(const std::vector<T>& values) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    std::vector<Bits> sorted(values.size());
    std::memcpy(sorted.data(), values.data(), values.size() * sizeof(T));
    std::sort(sorted.begin(), sorted.end());
    double entropy = 0.0;
    for (auto at = sorted.begin(); at != sorted.end();) {
        const auto end = std::upper_bound(at, sorted.end(), *at);
        const double share = static_cast<double>(end - at) / static_cast<double>(values.size());
        entropy -= share * std::log2(share);
        at = end;
    }
    return std::max(0.0, entropy);
}

template <class T>
void check_exact(std::mt19937_64& random, int round) {
    const Registry registry;
    auto object = random_object<T>(random_shape(1 + round % 4, 12, random), random, 0.1);
    for (T& value : object.values)
        if (random() % 2 == 0) value = static_cast<T>(random() % 8);
    object.cut(1 + random() % 12, random);
    const Results parts = take(in_parts(registry, "entropy", object, random));
    EXPECT_EQ(number(parts, "exact"), 1.0);
    EXPECT_NEAR(number(parts, "entropy_bits"), reference(object.values), 1e-12)
        << "seed 61 round " << round;
}

TEST(Entropy, is_exact_while_the_patterns_fit) {
    std::mt19937_64 random(61);
    for (int round = 0; round < 20; ++round) {
        check_exact<float>(random, round);
        check_exact<double>(random, round);
    }
}

/// Values of many patterns, as a field has: some frequent, many rare.
std::vector<float> many_patterns(std::size_t n, double exponent, double zero_share,
                                 std::mt19937_64& random) {
    std::uniform_real_distribution<double> share(0.0, 1.0);
    std::vector<float> values(n);
    for (float& value : values)
        if (share(random) >= zero_share)
            value = static_cast<float>(std::floor(std::pow(share(random), -exponent) * 1000.0)) +
                    static_cast<float>(random() % 500000) * 1e-3f;
    return values;
}

// A limit of 1 MiB holds 49,152 patterns; there are some 10 times as many here.
TEST(Entropy, beyond_the_memory_it_is_an_estimate_within_its_stated_error) {
    const Registry registry;
    std::mt19937_64 random(62);
    double worst = 0.0;
    for (int round = 0; round < 8; ++round) {
        const double zeros = round % 2 == 0 ? 0.0 : 0.6;
        TestObject<float> object{{1000000}, many_patterns(1000000, 0.5, zeros, random), {}};
        object.cut(20, random);
        const Results found = take(in_parts(registry, "entropy(memory_mb=1)", object, random));
        EXPECT_EQ(number(found, "exact"), 0.0);
        const double error = number(found, "standard_error_bits");
        EXPECT_GT(error, 0.0);
        EXPECT_LT(error, 0.05);
        const double off = std::abs(number(found, "entropy_bits") - reference(object.values));
        worst = std::max(worst, off / error);
        // Zeros kept exactly on one server are 1/4096 of another part at most.
        EXPECT_LT(off, 4.0 * error + 0.005) << "seed 62 round " << round;
    }
    RecordProperty("worst_over_standard_error", std::to_string(worst));
}

TEST(Entropy, different_values_throughout_are_told_exactly_even_by_a_sample) {
    const Registry registry;
    TestObject<double> object{{400000}, std::vector<double>(400000), {}};
    for (std::size_t i = 0; i < object.values.size(); ++i)
        object.values[i] = static_cast<double>(i);
    const Results found = take(registry.run("entropy(memory_mb=1)", object.whole()));
    EXPECT_EQ(number(found, "exact"), 0.0);
    EXPECT_NEAR(number(found, "entropy_bits"), std::log2(400000.0), 1e-12);
    EXPECT_NEAR(number(found, "patterns"), 400000.0, 0.05 * 400000.0);
}

TEST(PatternTable, counts_as_a_map_does_while_patterns_come_and_go) {
    std::mt19937_64 random(63);
    PatternTable table;
    std::map<std::uint64_t, std::uint64_t> wanted;
    for (int step = 0; step < 200000; ++step) {
        const std::uint64_t pattern = random() % 3000;
        if (random() % 3 == 0) {
            const auto found = wanted.find(pattern);
            ASSERT_EQ(table.take(pattern), found == wanted.end() ? 0 : found->second);
            if (found != wanted.end()) wanted.erase(found);
        } else {
            table.add(pattern, 2);
            wanted[pattern] += 2;
        }
        ASSERT_EQ(table.size(), wanted.size());
    }
    std::map<std::uint64_t, std::uint64_t> found;
    table.for_each([&](std::uint64_t pattern, std::uint64_t times) { found[pattern] = times; });
    EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace caesura::lambda
