#include "base/cores.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>

namespace caesura::base {
namespace {

/// The next number of a line, which is shortened by it.
std::optional<std::uint64_t> take_number(std::string_view& line) {
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return number;
}

std::string text_of_stat() {
    std::string text;
    const int file = ::open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return text;
    std::array<char, 16384> part;
    for (ssize_t n = 0; (n = ::read(file, part.data(), part.size())) > 0;) {
        text.append(part.data(), static_cast<std::size_t>(n));
        if (text.find("\nintr") != std::string::npos) break;  // behind the cores, and long
    }
    ::close(file);
    return text;
}

}  // namespace

std::size_t CoreMask::count() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
}

CoreMask cores_of_this_thread() {
    CoreMask mask;
    if (::sched_getaffinity(0, sizeof mask.words_,
                            reinterpret_cast<cpu_set_t*>(mask.words_.data())) != 0)
        mask = {};
    return mask;
}

std::optional<double> idle_s(std::string_view stat, const CoreMask& cores, double ticks_per_s) {
    std::uint64_t ticks = 0;
    std::size_t found = 0;
    while (!stat.empty()) {
        const std::size_t end = std::min(stat.find('\n'), stat.size());
        std::string_view line = stat.substr(0, end);
        stat.remove_prefix(std::min(end + 1, stat.size()));
        if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
        line.remove_prefix(3);
        const auto core = take_number(line);
        if (!core || !cores.has(*core)) continue;
        // user, nice, system, idle, waiting for a disk
        std::array<std::uint64_t, 5> times{};
        for (std::uint64_t& time : times) {
            const auto number = take_number(line);
            if (!number) return std::nullopt;
            time = *number;
        }
        ticks += times[3] + times[4];
        ++found;
    }
    if (found == 0 || found != cores.count()) return std::nullopt;
    return static_cast<double>(ticks) / ticks_per_s;
}

std::optional<double> idle_s(const CoreMask& cores) {
    return idle_s(text_of_stat(), cores, static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace caesura::base
