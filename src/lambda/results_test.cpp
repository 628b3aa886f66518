#include "lambda/results.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();

Results sample() {
    Results results;
    results.put("count", std::int64_t{-3});
    results.put("mean", 0.1);
    results.put("unit", std::string("kg m⁻³"));
    results.put("counts", std::vector<std::int64_t>{1, 2, 3});
    results.put("edges", std::vector<double>{0.0, k_nan, k_inf});
    return results;
}

TEST(Results, travel_as_bytes_and_come_back) {
    const Results results = sample();
    const auto back = Results::parse(results.bytes());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->bytes(), results.bytes());
    EXPECT_EQ(number(*back, "count"), -3.0);
    EXPECT_EQ(back->find("nothing"), nullptr);
    EXPECT_TRUE(Results::parse(Results().bytes())->entries().empty());
}

TEST(Results, a_name_occurs_once_and_texts_are_utf8) {
    Results results = sample();
    results.put("mean", 0.2);
    EXPECT_EQ(number(results, "mean"), 0.2);
    EXPECT_EQ(results.entries().size(), 5u);
    results.put("bad", std::string("a\xff"
                                   "b\xc0\x80"));
    EXPECT_EQ(std::get<std::string>(*results.find("bad")), "a?b??");
    EXPECT_TRUE(is_utf8("ü€😀"));
    for (const char* wrong : {"\x80", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
        EXPECT_FALSE(is_utf8(wrong)) << wrong;
}

TEST(Results, are_json_with_names_for_what_json_lacks) {
    const auto json = sample().to_json();
    EXPECT_EQ(
        json.dump(),
        R"({"count":-3,"mean":0.1,"unit":"kg m⁻³","counts":[1,2,3],"edges":[0.0,"nan","inf"]})");
}

// Whatever the bytes are: an error, or results that have a byte form and JSON.
TEST(Results, any_bytes_are_results_or_an_error) {
    std::mt19937_64 random(21);
    const auto good = sample().bytes();
    int parsed = 0;
    for (int round = 0; round < 50000; ++round) {
        auto bytes = mutated(good, random);
        if (random() % 2 == 0) bytes = mutated(std::move(bytes), random);
        const auto results = Results::parse(bytes);
        if (!results.ok()) {
            EXPECT_NE(results.status().code(), StatusCode::internal);
            continue;
        }
        ++parsed;
        EXPECT_EQ(results->bytes(), bytes) << "round " << round;
        (void)results->to_json().dump();
    }
    EXPECT_GT(parsed, 1000);
    for (std::size_t n = 0; n < good.size(); ++n)
        EXPECT_FALSE(Results::parse(std::span(good).first(n)).ok());
}

}  // namespace
}  // namespace caesura::lambda
