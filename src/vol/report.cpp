#include "vol/report.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace caesura::vol {
namespace {

using nlohmann::json;

/// A run that makes files without end must not fill its memory with what it says about them.
constexpr std::size_t k_most_entries = 100'000;

struct Report {
    std::shared_ptr<const Config> config;
    json files = json::array();
    json datasets = json::array();
    std::uint64_t left_out = 0;
};

std::map<std::string, Report>& reports() {
    static std::map<std::string, Report> by_path;
    return by_path;
}

int world_rank() {
    int initialized = 0, finalized = 0, rank = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    // Asked for while MPI lives; the last report may be written later.
    static int known = 0;
    if (initialized != 0 && finalized == 0) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        known = rank;
    }
    return known;
}

Report* report_of(const std::shared_ptr<const Config>& config) {
    if (config->report.empty()) return nullptr;
    world_rank();
    Report& report = reports()[config->report];
    report.config = config;
    return &report;
}

void add(Report& report, json& list, json entry) {
    if (list.size() < k_most_entries)
        list.push_back(std::move(entry));
    else
        ++report.left_out;
}

Status write(const std::string& pattern, const Report& report) {
    std::string path = pattern;
    const std::size_t at = path.find("%r");
    if (at != std::string::npos)
        path.replace(at, 2, std::to_string(world_rank()));
    else if (world_rank() != 0)
        return {};
    const json document = {{"configuration", to_toml(*report.config)},
                           {"configuration_path", report.config->path},
                           {"rank", world_rank()},
                           {"files", report.files},
                           {"datasets", report.datasets},
                           {"entries_left_out", report.left_out}};
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    // Names may be any bytes; what is no UTF-8 is replaced rather than refused.
    file << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    file.close();
    if (file) return {};
    return {StatusCode::io, fmt::format("{}: the report cannot be written", path)};
}

}  // namespace

void report_file(const std::shared_ptr<const Config>& config, const std::string& path,
                 bool captured, const std::string& why) {
    Report* const report = report_of(config);
    if (report == nullptr) return;
    json entry = {{"path", path}, {"handled_by", captured ? "caesura" : "native"}};
    if (!why.empty()) entry["why"] = why;
    add(*report, report->files, std::move(entry));
}

void report_dataset(const std::shared_ptr<const Config>& config, const std::string& file,
                    const std::string& path, const std::string& what) {
    if (Report* const report = report_of(config); report != nullptr)
        add(*report, report->datasets, {{"file", file}, {"path", path}, {"what", what}});
}

Status write_reports() {
    Status first;
    for (const auto& [path, report] : reports())
        if (Status status = write(path, report); !status.ok() && first.ok()) first = status;
    return first;
}

}  // namespace caesura::vol
