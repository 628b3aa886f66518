// What write-protecting an application's pages would cost in place of copying them: an experiment
// beside the library, which does not do it.
//
// Six arrays of 33.5 MB, as bench/calls has them. "copy" is what put() does. "protect" takes the
// right to write from the pages; whoever writes is stopped by a signal, whose handler copies one
// stretch and gives the right back. Best case: nothing is written before all is compressed, and
// the pages are given back. Worst case: all is written at once. A line of JSON on stdout.
//
// usage: protect [--stretch-kb KB] [--repeats N]
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t k_arrays = 6, k_bytes = std::size_t{8} << 22;  // 33.5 MB
struct Protected {
    std::byte* values = nullptr;
    std::byte* snapshot = nullptr;
};
std::array<Protected, k_arrays> arrays;
std::size_t stretch_bytes = 64 << 10;
std::size_t faults = 0;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::byte* touched() {
    void* const mapped =
        ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::exit(1);
    std::memset(mapped, 1, k_bytes);
    return static_cast<std::byte*>(mapped);
}

void on_write(int, siginfo_t* what, void*) {
    auto* const at = static_cast<std::byte*>(what->si_addr);
    for (const Protected& one : arrays) {
        if (at < one.values || at >= one.values + k_bytes) continue;
        const std::size_t begin =
            static_cast<std::size_t>(at - one.values) / stretch_bytes * stretch_bytes;
        const std::size_t n = std::min(stretch_bytes, k_bytes - begin);
        std::memcpy(one.snapshot + begin, one.values + begin, n);
        ::mprotect(one.values + begin, n, PROT_READ | PROT_WRITE);
        ++faults;
        return;
    }
    ::signal(SIGSEGV, SIG_DFL);  // not ours
}

double seconds(auto&& call) {
    const double begin_s = now_s();
    call();
    return now_s() - begin_s;
}

double protect_s(int rights) {
    return seconds([&] {
        for (const Protected& one : arrays) ::mprotect(one.values, k_bytes, rights);
    });
}

double write_all_s(int value) {
    return seconds([&] {
        for (const Protected& one : arrays) std::memset(one.values, value, k_bytes);
    });
}

}  // namespace

int main(int n, char** words) {
    int repeats = 7;
    for (int i = 1; i + 1 < n; i += 2) {
        const std::string_view word = words[i];
        if (word == "--stretch-kb")
            stretch_bytes = std::strtoull(words[i + 1], nullptr, 10) << 10;
        else if (word == "--repeats")
            repeats = std::atoi(words[i + 1]);
    }
    for (Protected& one : arrays) one = {touched(), touched()};
    struct sigaction action {};
    action.sa_sigaction = on_write;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGSEGV, &action, nullptr);
    nlohmann::json rows = nlohmann::json::array();
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double copy_s = seconds([&] {
            for (const Protected& one : arrays) std::memcpy(one.snapshot, one.values, k_bytes);
        });
        const double write_s = write_all_s(2 * repeat);
        const double best_s = protect_s(PROT_READ), back_s = protect_s(PROT_READ | PROT_WRITE);
        const double after_s = write_all_s(2 * repeat + 1);
        const double again_s = protect_s(PROT_READ);
        faults = 0;
        const double worst_s = write_all_s(2 * repeat + 1);
        rows.push_back({{"copy_s", copy_s},
                        {"write_s", write_s},
                        {"protect_s", best_s},
                        {"give_back_s", back_s},
                        {"write_after_s", after_s},
                        {"protect_again_s", again_s},
                        {"write_protected_s", worst_s},
                        {"faults", faults}});
    }
    fmt::print("{}\n", nlohmann::json{{"stretch_bytes", stretch_bytes}, {"runs", rows}}.dump());
    return 0;
}
