// Goal: what libraries, copies and closing take is added where the arithmetic says, and nowhere
// else.
#include <gtest/gtest.h>

#include "simulate/simulate.hpp"

namespace caesura::simulate {
namespace {

/// One rank, no noise, three dumps of 20 MB in one block: 0.2 s of writing each.
Scenario one_rank(const plan::Obstacles& obstacles) {
    Scenario s;
    s.iterations = 4;
    s.patterns = {{1.0, obstacles}};
    s.blocks = {{Block{2e7, 1.0, 0.0}}};
    s.storage.node_bytes_per_s = 1e8;
    s.noise = {0, 0, 0, 0, 0, 0, 0, 1.0};
    return s;
}

const plan::Obstacles k_device, k_host{{{0.0, 1.0}}, {}};  // the core is never needed; always

Outcome outcome_of(const Scenario& scenario, Mode mode) {
    auto outcome = simulate(scenario, mode);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? *outcome : Outcome{};
}

TEST(SimulateCosts, a_blocking_library_adds_its_calls_and_what_storing_does_not_hide_of_its_copy) {
    Scenario s = one_rank(k_host);
    s.library = {5e8, 0.03, 0.25};  // 0.04 s of copying beside 0.2 s of storing
    EXPECT_NEAR(outcome_of(s, Mode::sync).wall_s, 4.0 + 3 * (0.03 + 0.2) + 0.25, 1e-9);
    s.storage.node_bytes_per_s = 0.0;
    EXPECT_NEAR(outcome_of(s, Mode::sync).wall_s, 4.0 + 3 * (0.03 + 0.04) + 0.25, 1e-9);
    s.blocks = {{Block{2e7, 10.0, 0.5}}};  // 2 MB after half a second
    EXPECT_NEAR(outcome_of(s, Mode::filter).wall_s, 4.0 + 3 * (0.03 + 0.5 + 0.004) + 0.25, 1e-9);
    s.storage.node_bytes_per_s = 1e8;
    EXPECT_NEAR(outcome_of(s, Mode::filter).wall_s, 4.0 + 3 * (0.03 + 0.5 + 0.02) + 0.25, 1e-9);
}

TEST(SimulateCosts, a_blocking_library_costs_other_modes_nothing) {
    for (const Mode mode : k_modes) {
        if (mode == Mode::sync || mode == Mode::filter) continue;
        Scenario s = one_rank(k_host);
        const double without_s = outcome_of(s, mode).wall_s;
        s.library = {5e8, 0.03, 0.25};
        EXPECT_EQ(outcome_of(s, mode).wall_s, without_s) << to_string(mode);
    }
}

TEST(SimulateCosts, closing_comes_after_the_last_write_in_the_background_modes_only) {
    for (const Mode mode : k_modes) {
        const bool background = mode != Mode::compute && mode != Mode::sync && mode != Mode::filter;
        for (const auto& obstacles : {k_host, k_device}) {
            Scenario s = one_rank(obstacles);
            const double without_s = outcome_of(s, mode).wall_s;
            s.output.close_s = 0.125;
            EXPECT_NEAR(outcome_of(s, mode).wall_s, without_s + (background ? 0.125 : 0.0), 1e-9)
                << to_string(mode);
        }
    }
}

// The heavy rank waits for its last block, which the light one writes: nothing else happens to it.
TEST(SimulateCosts, a_rank_closes_when_another_has_written_its_last_block) {
    Scenario s = one_rank(k_device);
    s.ranks = s.ranks_per_node = 2;
    s.iterations = 2;
    s.patterns = {{0.1, k_device}};
    s.blocks = {std::vector<Block>(4, Block{8e6, 1.0, 0.001}), {Block{8e6, 100.0, 0.001}}};
    s.storage = {1e7, 0, 0, 0};
    for (const auto rule : {plan::Balance::first_to_last, plan::Balance::best_move}) {
        s.output.balance = rule;
        s.output.close_s = 0.0;
        const Outcome without = outcome_of(s, Mode::caesura);
        EXPECT_GT(without.foreign_writes, 0u);
        s.output.close_s = 0.125;
        EXPECT_NEAR(outcome_of(s, Mode::caesura).wall_s, without.wall_s + 0.125, 1e-9);
    }
}

TEST(SimulateCosts, a_copy_into_the_system_takes_as_long_from_an_application_that_computes) {
    Scenario s = one_rank(k_host);
    s.output.copy_bytes_per_s = 2e8;  // 0.1 s of the core for each dump
    const Outcome busy = outcome_of(s, Mode::async);
    EXPECT_NEAR(busy.wall_s, 4.0 + 3 * 0.1, 1e-9);
    EXPECT_NEAR(busy.delay_s, 3 * 0.1, 1e-9);
    s.patterns = {{1.0, k_device}};  // a core that nobody needs
    EXPECT_NEAR(outcome_of(s, Mode::async).wall_s, 4.0, 1e-9);
}

TEST(SimulateCosts, a_write_ends_when_it_is_copied_and_stored) {
    Scenario s = one_rank(k_device);
    s.iterations = 2;
    s.patterns = {{0.1, k_device}};  // what is not written by then is waited for
    EXPECT_NEAR(outcome_of(s, Mode::async).wall_s, 0.1 + 0.2, 1e-9);
    s.output.copy_bytes_per_s = 4e8;  // hidden by the storing
    EXPECT_NEAR(outcome_of(s, Mode::async).wall_s, 0.1 + 0.2, 1e-9);
    s.output.copy_bytes_per_s = 5e7;  // 0.4 s
    EXPECT_NEAR(outcome_of(s, Mode::async).wall_s, 0.1 + 0.4, 1e-9);
}

TEST(SimulateCosts, a_compression_at_idle_priority_waits_for_a_copy_one_at_normal_priority_shares) {
    // Two blocks that take 0.3 s each to compress: the first is copied for 0.1 s meanwhile.
    Scenario s = one_rank(k_device);
    s.iterations = 2;
    s.patterns = {{0.1, k_device}};
    s.blocks = {std::vector<Block>(2, Block{2e7, 1.0, 0.3})};
    s.output.write_buffer_bytes = s.output.small_write_bytes = 0.0;
    s.output.copy_bytes_per_s = 2e8;
    // 0.1 + 0.3, copied until 0.5, compressed until 0.8, stored until 1.0.
    EXPECT_NEAR(outcome_of(s, Mode::no_planning).wall_s, 0.1 + 0.3 + 0.1 + 0.3 + 0.2, 1e-9);
    EXPECT_NEAR(outcome_of(s, Mode::caesura).wall_s, 0.1 + 0.3 + 0.1 + 0.3 + 0.2, 1e-9);
    // While it is copied for 0.1 s the second compression gets half of a core.
    EXPECT_NEAR(outcome_of(s, Mode::normal_priority).wall_s, 0.1 + 0.3 + 0.05 + 0.3 + 0.2, 1e-9);
}

TEST(SimulateCosts, iterations_may_differ_and_ranks_go_their_own_way_through_them) {
    Scenario s = one_rank(k_host);
    s.ranks = s.ranks_per_node = 2;
    s.iterations = 5;
    s.patterns = {{1.0, k_device}, {2.0, k_device}, {1.5, k_device}, {0.5, k_device}};
    s.patterns_per_rank = 2;  // the slower of 1.0 and 1.5, then of 2.0 and 0.5, and again
    const Outcome outcome = outcome_of(s, Mode::compute);
    ASSERT_EQ(outcome.iteration_s.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(outcome.iteration_s[i], i % 2 == 0 ? 1.5 : 2.0, 1e-12) << i;
    s.patterns.pop_back();
    EXPECT_NE(simulate(s, Mode::compute).status().message().find("multiple of patterns_per_rank"),
              std::string::npos);
}

TEST(SimulateCosts, settings_below_zero_are_named) {
    const auto message = [](auto change) {
        Scenario s = one_rank(k_host);
        change(s);
        return simulate(s, Mode::sync).status().message();
    };
    const auto names = [](const std::string& text, const char* part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    names(message([](Scenario& s) { s.library.dump_s = -1; }), "library.dump_s is -1");
    names(message([](Scenario& s) { s.library.bytes_per_s = -2; }), "library.bytes_per_s is -2");
    names(message([](Scenario& s) { s.library.close_s = -3; }), "library.close_s is -3");
    names(message([](Scenario& s) { s.output.close_s = -4; }), "output.close_s is -4");
    names(message([](Scenario& s) { s.output.copy_bytes_per_s = -5; }),
          "output.copy_bytes_per_s is -5");
}

}  // namespace
}  // namespace caesura::simulate
