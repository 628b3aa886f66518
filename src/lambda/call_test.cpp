#include "lambda/call.hpp"

#include <gtest/gtest.h>

#include <random>

namespace caesura::lambda {
namespace {

const std::vector<Parameter>& parameters() {
    static const std::vector<Parameter> all = {
        {"bins", Parameter::Type::whole, "How many.", std::int64_t{64}, false, 1, 100},
        {"low", Parameter::Type::number, "Where it begins."},
        {"kind", Parameter::Type::text, "Which.", std::string("a"), false, 0, 0, {"a", "b"}},
        {"at", Parameter::Type::numbers, "Shares.", std::nullopt, false, 0, 1},
        {"loud", Parameter::Type::flag, "Or not.", false},
        {"needed", Parameter::Type::number, "Must be there.", std::nullopt, true}};
    return all;
}

Result<Arguments> bound(std::string_view text) {
    const auto call = parse_call(text);
    if (!call.ok()) return call.status();
    return Arguments::bind(*call, parameters());
}

std::string message(std::string_view text) { return bound(text).status().message(); }

TEST(Call, arguments_get_their_types_and_defaults) {
    const auto given =
        bound(" f( bins = 7 ,low=-1e-3, kind=\"b\", at=[0, 0.5 ,1], loud=true, needed=2) ");
    ASSERT_TRUE(given.ok()) << given.status().message();
    EXPECT_EQ(given->whole("bins"), 7);
    EXPECT_EQ(given->number("low"), -1e-3);
    EXPECT_EQ(given->text("kind"), "b");
    EXPECT_EQ(given->numbers("at"), (std::vector<double>{0, 0.5, 1}));
    EXPECT_TRUE(given->flag("loud"));
    const auto defaults = bound("f(needed=1)");
    ASSERT_TRUE(defaults.ok());
    EXPECT_EQ(defaults->whole("bins"), 64);
    EXPECT_FALSE(defaults->has("low"));
    EXPECT_EQ(parse_call("f@deflate(a=1)")->variant, "deflate");
}

TEST(Call, mistakes_are_named_with_what_there_is) {
    EXPECT_NE(message("f(needed=1, bims=2)").find("no parameter 'bims'; there is: bins, low"),
              std::string::npos);
    EXPECT_NE(message("f(needed=1, needed=1)").find("twice"), std::string::npos);
    EXPECT_NE(message("f()").find("needs 'needed': Must be there."), std::string::npos);
    EXPECT_NE(message("f(needed=1, bins=1.5)").find("bins=1.5 is no whole number"),
              std::string::npos);
    EXPECT_NE(message("f(needed=1, bins=101)").find("1 to 100"), std::string::npos);
    EXPECT_NE(message("f(needed=1, at=[0, 2])").find("0 to 1"), std::string::npos);
    EXPECT_NE(message("f(needed=1, kind=c)").find("use one of a, b"), std::string::npos);
    EXPECT_NE(message("f(needed=1, loud=1)").find("true or false"), std::string::npos);
    EXPECT_NE(message("f(needed=nan, bins=4").find("expected ',' or ')' at character 21"),
              std::string::npos)
        << message("f(needed=nan, bins=4");
    for (const char* wrong : {"", "(", "f(1)", "f(a=)", "f(a=1) g", "F", "f(a=1,)", "f(a=\"x)",
                              "f(a=[1)", "f | g", "f@(a=1)", "f(needed=[1])", "f(needed=1 2)"})
        EXPECT_EQ(bound(wrong).status().code(), StatusCode::invalid_argument) << wrong;
    EXPECT_FALSE(parse_call(std::string(k_longest_call_bytes + 1, 'a')).ok());
}

TEST(Call, chains_have_one_to_eight_stages) {
    const auto chain = parse_chain("shuffle | zstd(level=3)|aead");
    ASSERT_TRUE(chain.ok());
    ASSERT_EQ(chain->size(), 3u);
    EXPECT_EQ((*chain)[1].arguments[0].second, "3");
    EXPECT_FALSE(parse_chain("a | ").ok());
    EXPECT_FALSE(parse_chain("a|a|a|a|a|a|a|a|a").ok());
}

// What a state carries as its call must mean the same when it is read.
TEST(Call, the_text_of_what_was_bound_binds_to_the_same) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 1000; ++round) {
        Call call{"f", "", {{"needed", "1"}}};
        std::uniform_real_distribution<double> any(-1e300, 1e300);
        const double low = std::ldexp(any(random), -static_cast<int>(random() % 2000));
        call.arguments.emplace_back("low", text(Argument(low)));
        const auto first = Arguments::bind(call, parameters());
        ASSERT_TRUE(first.ok()) << first.status().message();
        const auto again = bound(text("f", "", *first));
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_EQ(again->all(), first->all());
        EXPECT_EQ(again->number("low"), low);
    }
}

TEST(Call, any_text_is_a_call_or_an_error) {
    std::mt19937_64 random(12);
    const std::string letters = "ab_09.(),=|@[]\" -+e\n\xff";
    for (int round = 0; round < 20000; ++round) {
        std::string text;
        for (std::size_t n = random() % 30; n > 0; --n) text += letters[random() % letters.size()];
        const auto chain = parse_chain(text);
        if (chain.ok())
            for (const Call& call : *chain) (void)Arguments::bind(call, parameters()).ok();
    }
}

}  // namespace
}  // namespace caesura::lambda
