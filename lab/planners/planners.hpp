// Every planner there is, by its name: those of the product, and those of the papers that it does
// not choose, to compare with.
//
//   ext_johnson, generation_list, insertion   the order, each task after those placed before it
//   one_list_greedy, two_lists_greedy         see greedy.cpp
#pragma once

#include "plan/schedule.hpp"

namespace caesura::lab {

inline constexpr std::string_view k_algorithms[] = {
    "ext_johnson", "ext_johnson_backfill", "generation_list", "generation_list_backfill",
    "insertion",   "insertion_backfill",   "one_list_greedy", "two_lists_greedy",
    "search",
};

/// Is there an algorithm of that name? "default" is plan::k_default_algorithm. Errors:
/// invalid_argument, listing the names there are.
Status check_name(std::string_view algorithm);

/// As plan::schedule(), among all of them. For n jobs the greedies cost O(n^3) and O(n^4).
/// Source: S0 §3.3; S1-Alg1 for the insertion orders. Differs: ties broken by job index.
Result<plan::Schedule> schedule(std::string_view algorithm, std::span<const plan::Job> jobs,
                                const plan::Obstacles& obstacles, const plan::Rules& rules = {});

}  // namespace caesura::lab
