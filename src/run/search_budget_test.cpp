// Goal: a search takes some 20 ms on any machine from the second one on, and never many times that.
#include "run/search_budget.hpp"

#include <gtest/gtest.h>

namespace caesura::run {
namespace {

/// CPU seconds of a search on a machine that takes so many steps a millisecond.
double took_s(const SearchBudget& budget, double steps_per_ms) {
    return 1e-3 * static_cast<double>(budget.steps()) / steps_per_ms;
}

TEST(SearchBudget, takes_twenty_milliseconds_on_slow_machines_from_the_second_search_on) {
    for (const double slower : {1.0, 2.2, 4.0, 10.0}) {
        const double steps_per_ms = plan::k_search_steps_per_ms / slower;
        SearchBudget budget;
        EXPECT_LE(took_s(budget, steps_per_ms), 0.25 * slower * SearchBudget::k_search_s + 1e-9);
        budget.learn(budget.steps(), took_s(budget, steps_per_ms));
        for (int search = 0; search < 5; ++search) {
            const double cpu_s = took_s(budget, steps_per_ms);
            EXPECT_NEAR(cpu_s, SearchBudget::k_search_s, 1e-6) << slower;
            budget.learn(budget.steps(), cpu_s);
        }
    }
}

TEST(SearchBudget, grows_no_further_than_the_measured_machine) {
    SearchBudget budget;
    for (int search = 0; search < 10; ++search) budget.learn(budget.steps(), 1e-6);
    EXPECT_EQ(budget.steps(), SearchBudget::k_most_steps);
}

TEST(SearchBudget, survives_times_that_cannot_be_right) {
    SearchBudget budget;
    const std::uint64_t before = budget.steps();
    budget.learn(before, 0.0);
    budget.learn(before, -1.0);
    EXPECT_EQ(budget.steps(), before);
    for (int search = 0; search < 10; ++search) budget.learn(budget.steps(), 1e9);
    EXPECT_EQ(budget.steps(), SearchBudget::k_least_steps);
}

}  // namespace
}  // namespace caesura::run
