// The core's clock at this instant. Clocks of rented machines wander by a factor of two from one
// second to the next, so a speed in bytes per second says little without it.
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace {

constexpr std::int64_t k_additions = 60'000;  // about 20 us
constexpr int k_tries = 3;                    // the highest: the others were interrupted

}  // namespace

/// Cycles per second of the calling thread's core, from additions that wait for each other: one a
/// cycle on every core there is. Takes about 60 us.
extern "C" __attribute__((visibility("default"))) double caesura_bench_clock_hz() {
    double highest = 0;
    for (int attempt = 0; attempt < k_tries; ++attempt) {
        const auto begin = std::chrono::steady_clock::now();
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < k_additions; ++i) {
            sum += 1;
            asm volatile("" : "+r"(sum));  // no shortcut
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        highest = std::max(highest, static_cast<double>(k_additions) / taken.count());
    }
    return highest;
}
