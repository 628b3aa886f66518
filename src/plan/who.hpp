// Who writes: which blocks of a node's busiest writers are written by its idlest.
//
// Invariants:
//  - Plain numbers in, plain numbers out; times are seconds from the begin of the iteration.
//  - A task is moved at most once, and no move raises the end of the process that is done last.
#pragma once

#include "caesura/base.hpp"

namespace caesura::plan {

/// The write of one block, and when it can begin: at the end of the block's compression.
struct WriteTask {
    double write_s = 0.0;
    double ready_s = 0.0;
};

/// What one process of a node has to write, in the order in which it would.
struct WriteLoad {
    std::vector<WriteTask> tasks;
    double free_share = 1.0;  ///< (0, 1], of its time: in which the application leaves it the lane
};

/// Task number `task` of process `from` is written by process `to`, after all that is its own.
struct Move {
    std::uint32_t from = 0;
    std::uint32_t task = 0;
    std::uint32_t to = 0;
    friend bool operator==(const Move&, const Move&) = default;
};

enum class Balance : std::uint8_t {
    none,           ///< everybody writes what is his
    first_to_last,  ///< S0: the first task of the largest load to the end of the smallest
    best_move       ///< the task and the helper that let the last process be done soonest
};
inline constexpr Balance k_balances[] = {Balance::none, Balance::first_to_last, Balance::best_move};
std::string_view to_string(Balance balance);
/// The rule of that name. Errors: invalid_argument, listing the names there are.
Result<Balance> balance_named(std::string_view name);

struct BalanceRules {
    Balance balance = Balance::best_move;
    /// Balance::best_move: nothing is moved unless the last process is done earlier by this share.
    /// Even loads stay alone, and a prediction's error moves nothing.
    double least_gain = 0.05;
};

/// Which tasks to move, in the order in which that was decided. Same input, same moves.
///
/// @param loads  by process of the node.
/// Errors: invalid_argument (a time that is negative or not finite, a share outside (0, 1],
/// least_gain outside [0, 1)), naming process, task and value.
/// Calls: independent, pure, thread-safe. For n tasks on P processes each of at most n moves costs
/// O(n + P) with best_move and O(P) with first_to_last.
/// Source: S0 §3.4. Differs: first_to_last stops where its next move would not lower the larger of
/// the two loads: as printed, one long task goes to and fro for ever. best_move is ours; it knows
/// when blocks will have been compressed and how much of its time each lane has.
Result<std::vector<Move>> balance(std::span<const WriteLoad> loads, const BalanceRules& rules = {});

/// When each process is done if those moves are made: its own tasks in their order, each when it is
/// ready, then the foreign ones, by when they are ready. Times spent writing are stretched by
/// free_share. @param moves  of these loads, each task at most once.
std::vector<double> done_s(std::span<const WriteLoad> loads, std::span<const Move> moves = {});

}  // namespace caesura::plan
