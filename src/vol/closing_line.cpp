#include "vol/closing_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

struct Sums {
    std::uint64_t files = 0;
    ClosedFile all;
    std::uint64_t lost = 0;
    std::string first_lost;
    std::set<std::shared_ptr<const Config>> configs;
};

/// Never destroyed: HDF5 may end after our statics.
Sums& sums() {
    static Sums& live = *new Sums;
    return live;
}

std::string counted(std::uint64_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// 14.1 MB, as disks are sold.
std::string size_of_bytes(std::uint64_t bytes) {
    constexpr std::string_view k_units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    auto size = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; size >= 999.5 && unit + 1 < std::size(k_units); ++unit) size /= 1000.0;
    return fmt::format("{:.{}f} {}", size, unit == 0 || size >= 99.95 ? 0 : 1, k_units[unit]);
}

}  // namespace

void note_closed(const std::shared_ptr<const Config>& config, const ClosedFile& file,
                 const std::string& lost) {
    if (!config->closing_line) return;
    Sums& live = sums();
    live.configs.insert(config);
    ClosedFile& all = live.all;
    ++live.files;
    all.dumps += file.dumps;
    all.raw_bytes += file.raw_bytes;
    all.stored_bytes += file.stored_bytes;
    all.in_calls_s += file.in_calls_s;
    all.to_written_s = std::max(all.to_written_s, file.to_written_s);
    all.to_committed_s = std::max(all.to_committed_s, file.to_committed_s);
    all.taken_over_blocks += file.taken_over_blocks;
    all.taken_over_s += file.taken_over_s;
    if (lost.empty()) return;
    if (live.lost++ == 0) live.first_lost = lost;
}

std::string take_closing_line() {
    const Sums live = std::exchange(sums(), {});
    const ClosedFile& all = live.all;
    if (live.files == 0 || (all.raw_bytes == 0 && live.lost == 0)) return {};
    std::string line = fmt::format(
        "caesura: {} in {}, {} stored in {}; {:.2f} s in calls; longest delay {:.1f} s to written, "
        "{:.1f} s to committed; ",
        counted(all.dumps, "dump"), counted(live.files, "file"), size_of_bytes(all.raw_bytes),
        size_of_bytes(all.stored_bytes), all.in_calls_s, all.to_written_s, all.to_committed_s);
    if (all.taken_over_blocks > 0)
        line += fmt::format("{} due and compressed at normal priority in {:.1f} s; ",
                            counted(all.taken_over_blocks, "block"), all.taken_over_s);
    if (live.lost == 0)
        line += "nothing lost";
    else
        line +=
            fmt::format("LOST in {}, the first: {}", counted(live.lost, "file"), live.first_lost);
    for (const auto& config : live.configs)
        if (const auto rules = rules_without_use(*config); !rules.empty())
            line += fmt::format("; {} of {} met no dataset, the first: {}",
                                counted(rules.size(), "rule"), config->path, rules.front());
    return line;
}

void print_closing_line(int world_rank) {
    std::string line = take_closing_line();
    if (line.empty() || world_rank != 0) return;
    line += '\n';
    // Whole, between the lines of other ranks; what cannot be said is not an error.
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace caesura::vol
