// The core's clock at this instant. A rented core's clock may wander, so a speed in bytes per
// second says little without it. Even so, cycles are not all: a neighbour on the same core takes a
// share of its units and caches, and no clock shows that.
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace {

constexpr std::int64_t k_products = 20'000;  // about 20 us
constexpr int k_tries = 3;                   // the highest: the others were interrupted
// Of a 64-bit multiplication whose factor is the product before: 3 on x86 cores since 2008 and on
// recent Arm server cores. Additions would do but for the loop's own branch, which two threads of a
// core take turns at.
constexpr double k_latency_cycles = 3;

}  // namespace

/// Cycles per second of the calling thread's core. Takes about 60 us.
extern "C" __attribute__((visibility("default"))) double caesura_bench_clock_hz() {
    double highest = 0;
    for (int attempt = 0; attempt < k_tries; ++attempt) {
        const auto begin = std::chrono::steady_clock::now();
        std::uint64_t product = 3;
        std::uint64_t factor = 5;
        asm volatile("" : "+r"(factor));  // not known: no shifts instead
        for (std::int64_t i = 0; i < k_products; i += 4) {
            for (int j = 0; j < 4; ++j) {
                product *= factor;
                asm volatile("" : "+r"(product));  // no shortcut
            }
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        const double cycles = k_latency_cycles * static_cast<double>(k_products);
        highest = std::max(highest, cycles / taken.count());
    }
    return highest;
}
