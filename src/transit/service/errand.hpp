// Something that a session has a worker do, and what it does itself with what came out.
//
// Invariant: the session lives until the second part is over, which always runs, on its lane.
#pragma once

#include <functional>
#include <memory>

#include "transit/service/lane.hpp"
#include "transit/service/press.hpp"
#include "transit/service/replies.hpp"

namespace caesura::transit {

/// What errands need of their session.
struct ErrandHost {
    ClientId client = 0;
    Press& press;
    Lane& lane;
    std::function<double()> weight;
    std::function<bool()> is_alive;                ///< any thread
    std::function<std::shared_ptr<void>()> owner;  ///< the session; lane
};

/// @param cost_s  what it is expected to take.
/// @param work    on a worker. It may throw bad_alloc.
/// @param then    on the lane: with the work's status; cancelled: the client is gone.
/// Everything that both hold is destroyed on the lane.
void send_errand(const ErrandHost& host, double cost_s, std::function<Status()> work,
                 std::function<void(const Status&)> then);

}  // namespace caesura::transit
