// Waiting so that it is known: the core is free meanwhile.
//
//     caesura::wait([&] { device.synchronize(); });     // any callable that sleeps until done
//
// What the call returns is passed on. The time inside is no obstacle of the compress lane, also
// where a mark (Iteration::busy) is around it. Without any writer it is just the call.
// The wait should sleep, not spin: one that spins keeps the core from the compress threads,
// whatever is said about it. caesura/cuda.hpp waits for a CUDA stream in that way.
// C++17, no dependency but the C face.
#pragma once

#include <utility>

#include "caesura/caesura.h"

namespace caesura {

namespace detail {
struct Waiting {
    Waiting() { caesura_observe_enter(CAESURA_WAITS); }
    ~Waiting() { caesura_observe_leave(CAESURA_WAITS); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
};
}  // namespace detail

/// Calls: local; on the thread that runs the iteration. Exceptions of `call` pass through.
template <class Call>
auto wait(Call&& call) -> decltype(std::forward<Call>(call)()) {
    const detail::Waiting waiting;
    return std::forward<Call>(call)();
}

}  // namespace caesura
