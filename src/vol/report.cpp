#include "vol/report.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/all_ranks.hpp"
#include "base/clock.hpp"
#include "vol/closing_line.hpp"
#include "vol/in_call.hpp"
#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

constexpr int k_unknown = -1;
std::atomic<int> g_known_rank{k_unknown};

/// Of a process that has not asked MPI, as one that never initialises it. 0 without a launcher.
int rank_by_launcher() {
    for (const char* name : {"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char* const text = std::getenv(name)) return std::max(0, std::atoi(text));
    return 0;
}

}  // namespace

int world_rank() {
    int initialized = 0, finalized = 0, rank = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    // Asked for while MPI lives; the last report may be written later.
    if (initialized != 0 && finalized == 0) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        g_known_rank = rank;
    }
    return known_world_rank();
}

int known_world_rank() {
    const int known = g_known_rank;
    return known == k_unknown ? rank_by_launcher() : known;
}

namespace {

using nlohmann::json;

/// A run that makes files without end must not fill its memory with what it says about them.
constexpr std::size_t k_most_entries = 100'000;
/// During the run a report is written at most so often, and in at most a hundredth of the time.
constexpr double k_least_pause_s = 1.0, k_pauses = 99.0;

struct Report {
    std::shared_ptr<const Config> config;
    json files = json::array();
    json datasets = json::array();
    std::map<std::string, std::size_t> newest;  ///< in `files`, by path
    std::uint64_t left_out = 0;
    double rests_until_s = 0;
};

/// Never destroyed: HDF5 may end after our statics.
struct Reports {
    std::mutex mutex;
    std::map<std::string, Report> by_path;
};
Reports& reports() {
    static auto& live = *new Reports;
    return live;
}

/// While one lives it has the lock.
class Locked {
  public:
    explicit Locked(const std::shared_ptr<const Config>& config) : lock_(reports().mutex) {
        if (config->report.empty()) return;
        report_ = &reports().by_path[config->report];
        report_->config = config;
    }
    /// Null: none is wanted.
    Report* operator->() const { return report_; }
    explicit operator bool() const { return report_ != nullptr; }
    Report& operator*() const { return *report_; }
    /// The newest entry of a file; null if there is none.
    json* file(const std::string& path) const {
        if (report_ == nullptr) return nullptr;
        const auto newest = report_->newest.find(path);
        return newest == report_->newest.end() ? nullptr : &report_->files[newest->second];
    }

  private:
    std::lock_guard<std::mutex> lock_;
    Report* report_ = nullptr;
};

/// @return  false: there are too many.
bool add(Report& report, json& list, json entry) {
    if (list.size() >= k_most_entries) {
        ++report.left_out;
        return false;
    }
    list.push_back(std::move(entry));
    return true;
}

void add_file(Report& report, const std::string& path, json entry) {
    if (add(report, report.files, std::move(entry)))
        report.newest[path] = report.files.size() - 1;
    else
        report.newest.erase(path);
}

double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// Whole at any time for whoever looks at it during the run.
Status put_in_place(const std::string& path, const std::string& text) {
    std::error_code ignored;
    const auto kind = std::filesystem::status(path, ignored).type();
    const bool replaces = kind == std::filesystem::file_type::regular ||
                          kind == std::filesystem::file_type::not_found;  // else it is a device
    const std::string beside = replaces ? path + ".part" : path;
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    std::error_code error;
    if (file && replaces) std::filesystem::rename(beside, path, error);
    if (file && !error) return {};
    return {StatusCode::io, fmt::format("{}: the report cannot be written", path)};
}

Status write(const std::string& pattern, const Report& report, bool ended) {
    std::string path = pattern;
    const int rank = known_world_rank();
    const std::size_t at = path.find("%r");
    if (at != std::string::npos)
        path.replace(at, 2, std::to_string(rank));
    else if (rank != 0)
        return {};
    const json document = {{"configuration", to_toml(*report.config)},
                           {"configuration_path", report.config->path},
                           {"rank", rank},
                           {"ended", ended},
                           {"files", report.files},
                           {"datasets", report.datasets},
                           {"rules_without_use", rules_without_use(*report.config)},
                           {"entries_left_out", report.left_out}};
    // Names may be any bytes; what is no UTF-8 is replaced rather than refused.
    return put_in_place(path, document.dump(2, ' ', false, json::error_handler_t::replace) + '\n');
}

/// For `caesura watch`. What fails now fails at the end, too, which says so.
void write_if_due(const std::string& pattern, Report& report) {
    const double begin_s = base::Clock::steady().now_s();
    if (begin_s < report.rests_until_s) return;
    (void)write(pattern, report, false);
    const double end_s = base::Clock::steady().now_s();
    report.rests_until_s = end_s + std::max(k_least_pause_s, k_pauses * (end_s - begin_s));
}

}  // namespace

void report_file(const std::shared_ptr<const Config>& config, const std::string& path,
                 bool captured, const std::string& why) {
    world_rank();
    const Locked report(config);
    if (!report) return;
    json entry = {{"path", path}, {"handled_by", captured ? "caesura" : "native"}};
    if (!why.empty()) entry["why"] = why;
    if (captured) entry["begun_s"] = seconds_since_1970();
    add_file(*report, path, std::move(entry));
}

namespace {

/// Trivially copyable: travels between ranks as bytes.
struct Totals {
    std::uint64_t blocks = 0, recalled_blocks = 0, overflow_blocks = 0;
    std::uint64_t raw_bytes = 0, stored_bytes = 0, superseded_bytes = 0;
    double compress_s = 0, write_s = 0, in_calls_s = 0;
    std::uint64_t dumps = 0, taken_over_blocks = 0;
    double taken_over_s = 0, to_written_s = 0, to_committed_s = 0;
    std::uint64_t lost_services = 0, regained_services = 0;
};

Totals totals_of(const WriterReport& r) {
    return {r.blocks,
            r.recalled_blocks,
            r.overflow_blocks,
            r.raw_bytes,
            r.stored_bytes,
            r.superseded_bytes,
            r.compress_s,
            r.write_s,
            InCall::take_s(),
            r.dumps,
            r.taken_over_blocks,
            r.taken_over_s,
            r.longest_to_written_s,
            r.longest_to_committed_s,
            r.lost_services,
            r.regained_services};
}

Status add_up(Communicator& communicator, Totals& totals) {
    const auto all = base::from_all(communicator, totals);
    if (!all.ok()) return all.status();
    totals = {};
    for (const Totals& one : *all) {
        totals.blocks += one.blocks;
        totals.recalled_blocks += one.recalled_blocks;
        totals.overflow_blocks += one.overflow_blocks;
        totals.raw_bytes += one.raw_bytes;
        totals.stored_bytes += one.stored_bytes;
        totals.superseded_bytes += one.superseded_bytes;
        totals.compress_s += one.compress_s;
        totals.write_s += one.write_s;
        totals.in_calls_s = std::max(totals.in_calls_s, one.in_calls_s);
        totals.dumps = std::max(totals.dumps, one.dumps);
        totals.taken_over_blocks += one.taken_over_blocks;
        totals.taken_over_s += one.taken_over_s;
        totals.to_written_s = std::max(totals.to_written_s, one.to_written_s);
        totals.to_committed_s = std::max(totals.to_committed_s, one.to_committed_s);
        totals.lost_services = std::max(totals.lost_services, one.lost_services);
        totals.regained_services = std::max(totals.regained_services, one.regained_services);
    }
    return {};
}

json to_json(const Totals& totals) {
    const double stored = static_cast<double>(std::max<std::uint64_t>(totals.stored_bytes, 1));
    return {{"count", totals.blocks},
            {"raw_bytes", totals.raw_bytes},
            {"stored_bytes", totals.stored_bytes},
            {"ratio", static_cast<double>(totals.raw_bytes) / stored},
            {"recalled", totals.recalled_blocks},
            {"overflow", totals.overflow_blocks},
            {"superseded_bytes", totals.superseded_bytes},
            {"compress_s", totals.compress_s},
            {"write_s", totals.write_s},
            {"in_calls_s", totals.in_calls_s},
            {"dumps", totals.dumps},
            {"taken_over_blocks", totals.taken_over_blocks},
            {"taken_over_s", totals.taken_over_s},
            {"longest_to_written_s", totals.to_written_s},
            {"longest_to_committed_s", totals.to_committed_s},
            {"service_lost", totals.lost_services > 0},
            {"service_back", totals.regained_services > 0}};
}

ClosedFile closed_of(const Totals& totals) {
    return {totals.dumps,
            totals.raw_bytes,
            totals.stored_bytes,
            totals.in_calls_s,
            totals.to_written_s,
            totals.to_committed_s,
            totals.taken_over_blocks,
            totals.taken_over_s,
            totals.lost_services,
            totals.regained_services};
}

}  // namespace

void report_blocks(const EndedFile& file, const WriterReport& mine, bool was_pending) {
    Totals totals = totals_of(mine);
    const Status added = add_up(file.communicator, totals);
    world_rank();
    note_closed(file.config, closed_of(totals));
    const Locked report(file.config);
    json* const entry = report.file(file.path);
    if (entry == nullptr) return;
    (*entry)["blocks"] = to_json(totals);
    (*entry)["completed"] = was_pending ? "after H5Fclose" : "in H5Fclose";
    (*entry)["ranks"] = file.communicator.size();
    if (!added.ok()) (*entry)["error"] = added.message();
    write_if_due(file.config->report, *report);
}

void report_given_up(const GivenUpFile& file, const WriterReport& mine) {
    const Totals totals = totals_of(mine);
    note_closed(file.config, closed_of(totals));
    if (file.is_said) note_given_up(file.how, file.why);
    const Locked report(file.config);
    json* entry = report.file(file.path);
    if (entry == nullptr && report) {  // the process ends while the file is being made
        add_file(*report, file.path, {{"path", file.path}, {"handled_by", "caesura"}});
        entry = report.file(file.path);
    }
    if (entry == nullptr) return;
    if (totals.dumps > 0) (*entry)["blocks"] = to_json(totals);
    (*entry)["error"] = file.why;
    if (file.how != GivenUp::open)
        (*entry)[file.how == GivenUp::lost ? "lost" : "for_recover"] = {
            {"dumps", file.dumps}, {"raw_bytes", file.raw_bytes}};
}

void report_dataset(const std::shared_ptr<const Config>& config, const std::string& file,
                    const std::string& path, bool blocks, const std::string& what) {
    world_rank();
    if (const Locked report(config); report)
        add(*report, report->datasets,
            {{"file", file}, {"path", path}, {"blocks", blocks}, {"what", what}});
}

namespace {

/// The newest entry of a dataset: it was made a short while ago, or is an old one of which more is
/// written. Null if the report has no entry of it.
json* dataset_in(Report& report, const std::string& file, const std::string& path) {
    for (auto entry = report.datasets.rbegin(); entry != report.datasets.rend(); ++entry)
        if ((*entry)["path"] == path && (*entry)["file"] == file) return &*entry;
    return nullptr;
}

}  // namespace

void report_kept_exact(const std::shared_ptr<const Config>& config, const std::string& file,
                       const std::string& path, const std::string& why) {
    note_kept_exact(config, path, why);
    const Locked report(config);
    json* const entry = report ? dataset_in(*report, file, path) : nullptr;
    if (entry == nullptr) return;
    (*entry)["what"] = (*entry)["what"].get<std::string>() + ", kept exact: " + why;
    (*entry)["kept_exact"] = why;
}

void report_stretched(const std::shared_ptr<const Config>& config, const std::string& file,
                      const std::string& path, const std::string& why) {
    note_stretched(config, path);
    const Locked report(config);
    json* const entry = report ? dataset_in(*report, file, path) : nullptr;
    if (entry != nullptr) (*entry)["stretched_range"] = why;
}

Status write_reports() {
    const std::lock_guard lock(reports().mutex);
    Status first;
    for (const auto& [path, report] : reports().by_path)
        if (Status status = write(path, report, true); !status.ok() && first.ok()) first = status;
    return first;
}

}  // namespace caesura::vol
