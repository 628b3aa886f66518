#include "base/trace.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"

namespace caesura::base {

Status write_chrome_trace(const std::string& path, int rank, double origin_s,
                          const std::vector<const TraceLane*>& lanes) {
    using nlohmann::json;
    json events = json::array();
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", rank},
                      {"args", {{"name", "rank " + std::to_string(rank)}}}});
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        events.push_back({{"ph", "M"},
                          {"name", "thread_name"},
                          {"pid", rank},
                          {"tid", lane},
                          {"args", {{"name", lanes[lane]->name()}}}});
        for (const TraceEvent& event : lanes[lane]->events()) {
            json arguments = {{"iteration", event.iteration}, {"bytes", event.bytes}};
            if (event.given_bytes > 0) arguments["given_bytes"] = event.given_bytes;
            events.push_back({{"ph", "X"},
                              {"cat", event.kind},
                              {"name", event.name},
                              {"pid", rank},
                              {"tid", lane},
                              {"ts", (event.begin_s - origin_s) * 1e6},
                              {"dur", (event.end_s - event.begin_s) * 1e6},
                              {"args", std::move(arguments)}});
        }
    }
    const std::string text =
        json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump();
    auto file = FileSystem::posix().open(path, FileSystem::Mode::create);
    if (!file.ok()) return file.status();
    if (Status status = (*file)->truncate(0); !status.ok()) return status;
    return (*file)->write_at(0, std::as_bytes(std::span(text)));
}

}  // namespace caesura::base
