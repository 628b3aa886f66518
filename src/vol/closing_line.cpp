#include "vol/closing_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "vol/in_call.hpp"
#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

struct Sums {
    std::uint64_t files = 0;
    ClosedFile all;
    struct Named {
        std::uint64_t files = 0;
        std::string first;
    } given_up[3], native;  ///< the former by GivenUp
    Named kept_exact, by_part, stretched;
    std::set<std::shared_ptr<const Config>> configs;
};

/// Never destroyed: HDF5 may end after our statics.
struct Guarded {
    std::mutex mutex;
    Sums sums;
};
Guarded& live() {
    static Guarded& made = *new Guarded;
    return made;
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

/// Nothing is lost unless it is said here.
std::string given_up_of(const Sums& sums) {
    static constexpr std::string_view k_words[] = {
        "LOST in {}, the first: {}",
        "{} not complete, for caesura recover to finish, the first: {}",
        "{} left open, as flushed last, the first: {}"};
    std::string line;
    for (std::size_t how = 0; how < std::size(k_words); ++how) {
        const auto& [files, first] = sums.given_up[how];
        if (files == 0) continue;
        const std::string n = counted(files, "file");
        line += (line.empty() ? "" : "; ") +
                fmt::vformat(k_words[how], fmt::make_format_args(n, first));
    }
    return line;
}

std::string blocks_of(const Sums& sums) {
    const ClosedFile& all = sums.all;
    std::string line = fmt::format(
        "{} in {}, {} stored in {}; {:.2f} s in calls; longest delay {:.1f} s to written, "
        "{:.1f} s to committed; ",
        counted(all.dumps, "dump"), counted(sums.files, "file"), size_of_bytes(all.raw_bytes),
        size_of_bytes(all.stored_bytes), all.in_calls_s, all.to_written_s, all.to_committed_s);
    if (all.taken_over_blocks > 0)
        line += fmt::format("{} compressed at normal priority in {:.1f} s; ",
                            counted(all.taken_over_blocks, "block"), all.taken_over_s);
    if (all.lost_services > 0)
        line += all.regained_services > 0
                    ? "the service was lost and is back, and blocks compressed here meanwhile; "
                    : "the service was lost, and blocks compressed here since; ";
    return line;
}

std::string natives_of(const Sums& sums) {
    if (sums.native.files == 0) return {};
    return fmt::format("{} written by HDF5 alone, the first: {}",
                       counted(sums.native.files, "file"), sums.native.first);
}

/// Where the bound of the configuration is another thing than one of the whole dataset.
std::string fields_of(const Sums& sums) {
    std::string line;
    if (const auto& [n, first] = sums.kept_exact; n > 0)
        line += fmt::format("; {} kept exact, the first: {}", counted(n, "dataset"), first);
    if (const auto& [n, first] = sums.by_part; n > 0)
        line += fmt::format("; {} of complex numbers bounded by part, the first: {}",
                            counted(n, "dataset"), first);
    if (const auto& [n, first] = sums.stretched; n > 0)
        line += fmt::format(
            "; {} with fewer than 8 bits, as few values stretch the range, the "
            "first: {}",
            counted(n, "dataset"), first);
    return line;
}

std::string rules_of(const Sums& sums) {
    std::string line;
    for (const auto& config : sums.configs)
        if (const auto rules = rules_without_use(*config); !rules.empty())
            line += fmt::format("; {} of {} met nothing, the first: {}",
                                counted(rules.size(), "rule"), config->path, rules.front());
    return line;
}

}  // namespace

void note_closed(const std::shared_ptr<const Config>& config, const ClosedFile& file) {
    if (!config->closing_line) return;
    const std::lock_guard lock(live().mutex);
    Sums& sums = live().sums;
    sums.configs.insert(config);
    ClosedFile& all = sums.all;
    ++sums.files;
    all.dumps += file.dumps;
    all.raw_bytes += file.raw_bytes;
    all.stored_bytes += file.stored_bytes;
    all.in_calls_s += file.in_calls_s;
    all.to_written_s = std::max(all.to_written_s, file.to_written_s);
    all.to_committed_s = std::max(all.to_committed_s, file.to_committed_s);
    all.taken_over_blocks += file.taken_over_blocks;
    all.taken_over_s += file.taken_over_s;
    all.lost_services = std::max(all.lost_services, file.lost_services);
    all.regained_services = std::max(all.regained_services, file.regained_services);
}

void note_native(const std::shared_ptr<const Config>& config, const std::string& why) {
    if (!config->closing_line) return;
    const std::lock_guard lock(live().mutex);
    if (live().sums.native.files++ == 0) live().sums.native.first = why;
}

void note_kept_exact(const std::shared_ptr<const Config>& config, const std::string& path,
                     const std::string& why) {
    if (!config->closing_line) return;
    const std::lock_guard lock(live().mutex);
    if (live().sums.kept_exact.files++ == 0)
        live().sums.kept_exact.first = fmt::format("{} ({})", path, why);
}

void note_by_part(const std::shared_ptr<const Config>& config, const std::string& path) {
    if (!config->closing_line) return;
    const std::lock_guard lock(live().mutex);
    if (live().sums.by_part.files++ == 0) live().sums.by_part.first = path;
}

void note_stretched(const std::shared_ptr<const Config>& config, const std::string& path) {
    if (!config->closing_line) return;
    const std::lock_guard lock(live().mutex);
    if (live().sums.stretched.files++ == 0) live().sums.stretched.first = path;
}

void note_service_returned() {
    const std::lock_guard lock(live().mutex);
    ++live().sums.all.regained_services;
}

void note_given_up(GivenUp how, const std::string& why) {
    const std::lock_guard lock(live().mutex);
    auto& [files, first] = live().sums.given_up[static_cast<std::size_t>(how)];
    if (files++ == 0) first = why;
}

std::string take_closing_line(int world_rank) {
    Sums sums = [] {
        const std::lock_guard lock(live().mutex);
        return std::exchange(live().sums, {});
    }();
    sums.all.in_calls_s += InCall::take_s();  // since the last file was completed
    const std::string given_up = given_up_of(sums);
    if (world_rank != 0)
        return given_up.empty() ? "" : fmt::format("caesura: rank {}: {}", world_rank, given_up);
    const std::string natives = natives_of(sums);
    const bool has_blocks = sums.files > 0 && (sums.all.raw_bytes > 0 || !given_up.empty());
    if (!has_blocks) {
        const std::string both =
            given_up + (given_up.empty() || natives.empty() ? "" : "; ") + natives;
        return both.empty() ? "" : "caesura: " + both;
    }
    return "caesura: " + blocks_of(sums) + (given_up.empty() ? "nothing lost" : given_up) +
           (natives.empty() ? "" : "; " + natives) + fields_of(sums) + rules_of(sums);
}

void print_closing_line(int world_rank) {
    std::string line = take_closing_line(world_rank);
    if (line.empty()) return;
    line += '\n';
    // Whole, between the lines of other ranks; what cannot be said is not an error.
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace caesura::vol
