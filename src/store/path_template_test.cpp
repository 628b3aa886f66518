// Goal: a path made by a template is taken apart into the same iteration and field again; a text
// that would not be is refused, with what is wrong with it.
#include "store/path_template.hpp"

#include <gtest/gtest.h>

#include <random>

namespace caesura::store {
namespace {

const char* const k_good[] = {"/step_%06T/{field}",  "/data/%T/fields/{field}",
                              "/{field}/%T",         "/{field}/step_%010T/values",
                              "/{field}_%04T",       "/plt%05T/level_0/{field}",
                              "/%T/{field}/v",       "/%T_{field}",
                              "/a b/%020T/x{field}y"};

TEST(PathTemplate, what_it_makes_it_takes_apart) {
    const unsigned seed = 20261125;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::string fields[] = {"rho",         "velocity/x", "0", "12/7",
                                  "step_000001", "a_5",        "_", "electrons/position/x",
                                  "values",      "fields"};
    for (const char* const text : k_good) {
        const auto layout = PathTemplate::parse(text);
        ASSERT_TRUE(layout.ok()) << layout.status().message();
        EXPECT_EQ(layout->text(), text);
        for (int i = 0; i < 400; ++i) {
            const std::uint64_t iteration = random() >> (random() % 64);
            const std::string& field = fields[random() % std::size(fields)];
            const std::string path = layout->path(iteration, field);
            const auto match = layout->match(path);
            ASSERT_TRUE(match) << text << " made " << path;
            EXPECT_EQ(match->iteration, iteration) << path;
            EXPECT_EQ(match->field, field) << path;
            const std::string group = layout->dump_group(iteration);
            EXPECT_TRUE(group.empty() || path.starts_with(group + "/")) << path << " " << group;
        }
    }
}

TEST(PathTemplate, numbers_are_written_as_it_says) {
    const auto layout = PathTemplate::parse("/step_%06T/{field}");
    ASSERT_TRUE(layout.ok());
    EXPECT_EQ(layout->path(10, "rho"), "/step_000010/rho");
    EXPECT_EQ(layout->path(12345678, "v/x"), "/step_12345678/v/x");
    EXPECT_EQ(layout->dump_group(10), "/step_000010");
    EXPECT_EQ(PathTemplate::parse("/{field}/%T")->dump_group(10), "");
    EXPECT_EQ(PathTemplate::parse("/%T/f/{field}")->dump_group(10), "/10");
}

TEST(PathTemplate, other_paths_are_not_its_own) {
    const auto layout = PathTemplate::parse("/step_%06T/{field}");
    ASSERT_TRUE(layout.ok());
    for (const char* const path :
         {"", "/", "/step_10/rho", "/step_0000010/rho", "/step_000010/", "/step_000010",
          "/step_+00010/rho", "/step_99999999999999999999/rho", "/other_000010/rho"})
        EXPECT_FALSE(layout->match(path)) << path;
}

TEST(PathTemplate, a_text_that_is_none_says_why) {
    const std::pair<const char*, const char*> bad[] = {
        {"", "begins with no '/'"},
        {"step_%T/{field}", "begins with no '/'"},
        {"/step_%T/rho", "{field} is missing"},
        {"/step/{field}", "%T, the iteration's number, is missing"},
        {"/step_%d/{field}", "%T, the iteration's number, is missing"},
        {"/step_%6T/{field}", "%T, the iteration's number, is missing"},
        {"/step_%021T/{field}", "%T, the iteration's number, is missing"},
        {"/step_%00T/{field}", "%T, the iteration's number, is missing"},
        {"/%T/{field}/{field}", "once each"},
        {"/%T/{field}/%T", "once each"},
        {"/%T/{species}/{field}", "once each"},
        {"/%T{field}", "no digit on both"},
        {"/{field}%T", "no digit on both"},
        {"/step2%T/{field}", "no digit on both"},
        {"/{field}/%T0", "no digit on both"},
        {"/%T//{field}", "is empty"},
        {"/%T/{field}/", "is empty"},
        {"/../%T/{field}", "'.' or '..'"},
        {"/%T\n/{field}", "not visible"}};
    for (const auto& [text, why] : bad) {
        const auto layout = PathTemplate::parse(text);
        ASSERT_FALSE(layout.ok()) << text;
        EXPECT_NE(layout.status().message().find(why), std::string::npos)
            << layout.status().message();
        EXPECT_NE(layout.status().message().find("/step_%06T/{field}"), std::string::npos);
    }
}

}  // namespace
}  // namespace caesura::store
