// Goal: the closing line says what became of the files, once, and nothing where there is nothing.
#include "vol/closing_line.hpp"

#include <gtest/gtest.h>

#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

TEST(ClosingLine, sums_files_and_keeps_the_longest_delays) {
    const auto config = std::make_shared<const Config>();
    note_closed(config, {2, 500'000'000, 10'000'000, 0.25, 3.25, 4.0, 0, 0.0}, "");
    note_closed(config, {1, 87'000'000, 4'100'000, 0.5, 1.0, 9.75, 0, 0.0}, "");
    EXPECT_EQ(
        take_closing_line(),
        "caesura: 3 dumps in 2 files, 587 MB stored in 14.1 MB; 0.75 s in calls; longest delay "
        "3.2 s to written, 9.8 s to committed; nothing lost");
    EXPECT_EQ(take_closing_line(), "") << "said once";
}

TEST(ClosingLine, names_what_was_taken_over_and_what_was_lost) {
    const auto config = std::make_shared<const Config>();
    note_closed(config, {1, 1000, 999, 0.0, 10.0, 20.0, 7, 1.5}, "");
    note_closed(config, {}, "b.h5: no space left");
    note_closed(config, {}, "c.h5: no space left");
    EXPECT_EQ(take_closing_line(),
              "caesura: 1 dump in 3 files, 1.0 kB stored in 999 bytes; 0.00 s in calls; longest "
              "delay 10.0 s to written, 20.0 s to committed; 7 blocks due and compressed at normal "
              "priority in 1.5 s; LOST in 2 files, the first: b.h5: no space left");
}

TEST(ClosingLine, names_rules_that_have_matched_nothing) {
    const auto config = parse_config(R"(
        [[dataset]]
        path = "/rho"
        bound = 1e-3
        [[dataset]]
        path = "/data"
        component = "*"
        bound = 1e-3
        [[dataset]]
        path = "/data"
        component = "Tepm"
        bound = 1.0)",
                                     "run.toml");
    ASSERT_TRUE(config.ok()) << config.status().message();
    const auto shared = std::make_shared<const Config>(*config);
    ASSERT_TRUE(components_of(*shared, "/data", {"density", "Temp"}).ok());
    note_closed(shared, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0}, "");
    EXPECT_TRUE(take_closing_line().ends_with(
        "nothing lost; 2 rules of run.toml met no dataset, the first: path = \"/rho\""));
    EXPECT_EQ(rules_without_use(*shared).back(), "path = \"/data\", component = \"Tepm\"");
}

TEST(ClosingLine, is_silent_without_blocks_and_when_turned_off) {
    Config config;
    note_closed(std::make_shared<const Config>(config), {}, "");
    EXPECT_EQ(take_closing_line(), "");
    config.closing_line = false;
    note_closed(std::make_shared<const Config>(config), {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0},
                "a.h5: lost");
    EXPECT_EQ(take_closing_line(), "");
}

}  // namespace
}  // namespace caesura::vol
