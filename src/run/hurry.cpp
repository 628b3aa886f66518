#include "run/hurry.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "run/executor.hpp"

namespace caesura::run {
namespace {

struct Register {
    std::mutex mutex;
    std::vector<Executor*> executors;
    bool hurry = false;
};

/// Never destroyed: executors may outlive our statics.
Register& live() {
    static Register& made = *new Register;
    return made;
}

}  // namespace

void enlist(Executor& executor) {
    const std::lock_guard lock(live().mutex);
    live().executors.push_back(&executor);
    if (live().hurry) executor.hurry();
}

void delist(Executor& executor) {
    const std::lock_guard lock(live().mutex);
    std::erase(live().executors, &executor);
}

void hurry_all() {
    const std::lock_guard lock(live().mutex);
    live().hurry = true;
    for (Executor* const executor : live().executors) executor->hurry();
}

bool all_have_written() {
    const std::lock_guard lock(live().mutex);
    return std::all_of(live().executors.begin(), live().executors.end(),
                       [](const Executor* executor) { return executor->has_written(); });
}

}  // namespace caesura::run
