// Goal: the closing line says what became of the files, once, and nothing where there is nothing.
#include "vol/closing_line.hpp"

#include <gtest/gtest.h>

#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

TEST(ClosingLine, sums_files_and_keeps_the_longest_delays) {
    const auto config = std::make_shared<const Config>();
    note_closed(config, {2, 500'000'000, 10'000'000, 0.25, 3.25, 4.0, 0, 0.0});
    note_closed(config, {1, 87'000'000, 4'100'000, 0.5, 1.0, 9.75, 0, 0.0});
    EXPECT_EQ(
        take_closing_line(0),
        "caesura: 3 dumps in 2 files, 587 MB stored in 14.1 MB; 0.75 s in calls; longest delay "
        "3.2 s to written, 9.8 s to committed; nothing lost");
    EXPECT_EQ(take_closing_line(0), "") << "said once";
}

TEST(ClosingLine, names_what_a_bound_for_all_was_not_for) {
    const auto config = std::make_shared<const Config>();
    note_closed(config, {1, 1000, 999});
    note_kept_exact(config, "/lon", "its name is 'lon'");
    note_kept_exact(config, "/lat", "its name is 'lat'");
    note_by_part(config, "/u_hat");
    note_stretched(config, "/sst");
    EXPECT_TRUE(take_closing_line(0).ends_with(
        "nothing lost; 2 datasets kept exact, the first: /lon (its name is 'lon'); 1 dataset of "
        "complex numbers bounded by part, the first: /u_hat; 1 dataset with fewer than 8 bits, as "
        "few "
        "values stretch the range, the first: /sst"));
    Config quiet;
    quiet.closing_line = false;
    note_kept_exact(std::make_shared<const Config>(quiet), "/lon", "its name is 'lon'");
    note_closed(config, {1, 1000, 999});
    EXPECT_TRUE(take_closing_line(0).ends_with("nothing lost"));
}

TEST(ClosingLine, names_what_was_taken_over_and_what_was_lost) {
    const auto config = std::make_shared<const Config>();
    note_closed(config, {1, 1000, 999, 0.0, 10.0, 20.0, 7, 1.5});
    for (const char* const why : {"b.h5: no space left", "c.h5: no space left"}) {
        note_closed(config, {});
        note_given_up(GivenUp::lost, why);
    }
    EXPECT_EQ(take_closing_line(0),
              "caesura: 1 dump in 3 files, 1.0 kB stored in 999 bytes; 0.00 s in calls; longest "
              "delay 10.0 s to written, 20.0 s to committed; 7 blocks compressed at normal "
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
    note_closed(shared, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    EXPECT_TRUE(take_closing_line(0).ends_with(
        "nothing lost; 2 rules of run.toml met nothing, the first: path = \"/rho\""));
    EXPECT_EQ(rules_without_use(*shared).back(), "path = \"/data\", component = \"Tepm\"");
}

// Goal: what `caesura recover` can still commit is not called lost, and a file that was open is
// never called one of which nothing is.
TEST(ClosingLine, tells_what_is_lost_from_what_recover_finishes_and_from_what_was_open) {
    const auto config = std::make_shared<const Config>();
    for (int n = 0; n < 4; ++n) note_closed(config, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    note_given_up(GivenUp::open, "d.h5: was open");
    note_given_up(GivenUp::for_recover, "a.h5: closed");
    note_given_up(GivenUp::for_recover, "b.h5: closed");
    note_given_up(GivenUp::lost, "c.h5: no space left");
    const std::string line = take_closing_line(0);
    EXPECT_TRUE(line.ends_with(
        "committed; LOST in 1 file, the first: c.h5: no space left; 2 files not complete, for "
        "caesura recover to finish, the first: a.h5: closed; 1 file left open, as flushed last, "
        "the first: d.h5: was open"))
        << line;
    note_closed(config, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    note_given_up(GivenUp::open, "d.h5: was open");
    EXPECT_EQ(take_closing_line(0).find("nothing lost"), std::string::npos);
}

// Goal: a file that was meant for Caesura and went to the native connector is said, with or without
// others, and so is a service that was lost, and whether it is back.
TEST(ClosingLine, names_files_that_were_left_to_hdf5_and_a_lost_service) {
    const auto config = std::make_shared<const Config>();
    note_native(config, "a.h5: the service may not write there");
    note_native(config, "b.h5: the service may not write there");
    EXPECT_EQ(take_closing_line(0),
              "caesura: 2 files written by HDF5 alone, the first: a.h5: the service may not write "
              "there");
    ClosedFile lost{1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0, 1, 0};
    note_closed(config, lost);
    note_native(config, "a.h5: why");
    const std::string line = take_closing_line(0);
    EXPECT_TRUE(
        line.ends_with("the service was lost, and blocks compressed here since; nothing "
                       "lost; 1 file written by HDF5 alone, the first: a.h5: why"))
        << line;
    note_closed(config, lost);
    note_service_returned();
    EXPECT_NE(take_closing_line(0).find("the service was lost and is back, and blocks"),
              std::string::npos);
    Config off;
    off.closing_line = false;
    note_native(std::make_shared<const Config>(off), "a.h5: why");
    EXPECT_EQ(take_closing_line(0), "");
}

TEST(ClosingLine, of_another_rank_is_what_was_lost_there_alone) {
    const auto config = std::make_shared<const Config>();
    note_closed(config, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    EXPECT_EQ(take_closing_line(3), "");
    note_closed(config, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    note_given_up(GivenUp::lost, "a.h5: no space left");
    EXPECT_EQ(take_closing_line(3),
              "caesura: rank 3: LOST in 1 file, the first: a.h5: no space left");
    EXPECT_EQ(take_closing_line(3), "") << "said once";
}

TEST(ClosingLine, is_silent_without_blocks_and_when_turned_off_but_for_a_loss) {
    Config config;
    note_closed(std::make_shared<const Config>(config), {});
    EXPECT_EQ(take_closing_line(0), "");
    config.closing_line = false;
    const auto off = std::make_shared<const Config>(config);
    note_closed(off, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    EXPECT_EQ(take_closing_line(0), "");
    note_closed(off, {1, 1000, 10, 0.0, 1.0, 1.0, 0, 0.0});
    note_given_up(GivenUp::lost, "a.h5: no space left");
    EXPECT_EQ(take_closing_line(0), "caesura: LOST in 1 file, the first: a.h5: no space left");
}

}  // namespace
}  // namespace caesura::vol
