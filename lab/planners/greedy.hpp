// S0's OneListGreedy and TwoListsGreedy; see greedy.cpp.
#pragma once

#include "plan/orders.hpp"

namespace caesura::lab {

plan::Schedule one_list_greedy(std::span<const plan::Job> jobs, const plan::Obstacles& obstacles,
                               bool resumable);
plan::Schedule two_lists_greedy(std::span<const plan::Job> jobs, const plan::Obstacles& obstacles,
                                bool resumable);

}  // namespace caesura::lab
