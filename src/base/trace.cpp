#include "base/trace.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.hpp"

namespace caesura::base {
namespace {

using nlohmann::json;

json process_name(int rank) {
    return {{"ph", "M"},
            {"name", "process_name"},
            {"pid", rank},
            {"args", {{"name", "rank " + std::to_string(rank)}}}};
}

json lane_name(int rank, std::size_t lane, const std::string& name) {
    return {{"ph", "M"},
            {"name", "thread_name"},
            {"pid", rank},
            {"tid", lane},
            {"args", {{"name", name}}}};
}

json chrome_event(const TraceEvent& event, int rank, std::size_t lane, double origin_s) {
    json arguments = {{"iteration", event.iteration}, {"bytes", event.bytes}};
    if (event.given_bytes > 0) arguments["given_bytes"] = event.given_bytes;
    for (const auto& [name, value] : event.numbers)
        if (std::isfinite(value)) arguments[name] = value;
    return {{"ph", "X"},
            {"cat", event.kind},
            {"name", event.name},
            {"pid", rank},
            {"tid", lane},
            {"ts", (event.begin_s - origin_s) * 1e6},
            {"dur", (event.end_s - event.begin_s) * 1e6},
            {"args", std::move(arguments)}};
}

}  // namespace

TraceLane::~TraceLane() {
    for (Chunk* chunk = first_.next.load(std::memory_order_relaxed); chunk != nullptr;) {
        const std::unique_ptr<Chunk> mine(chunk);
        chunk = mine->next.load(std::memory_order_relaxed);
    }
}

void TraceLane::add(TraceEvent event) {
    const std::size_t number = size_.load(std::memory_order_relaxed);
    if (number > 0 && number % k_chunk == 0) {
        auto chunk = std::make_unique<Chunk>();
        last_->next.store(chunk.get(), std::memory_order_relaxed);
        last_ = chunk.release();
    }
    last_->events[number % k_chunk] = std::move(event);
    size_.store(number + 1, std::memory_order_release);
}

Status write_chrome_trace(const std::string& path, int rank, double origin_s,
                          const std::vector<const TraceLane*>& lanes) {
    json events = json::array();
    events.push_back(process_name(rank));
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        events.push_back(lane_name(rank, lane, lanes[lane]->name()));
        lanes[lane]->for_each(0, lanes[lane]->size(), [&](const TraceEvent& event) {
            events.push_back(chrome_event(event, rank, lane, origin_s));
        });
    }
    const std::string text =
        json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump();
    auto file = FileSystem::posix().open(path, FileSystem::Mode::create);
    if (!file.ok()) return file.status();
    if (Status status = (*file)->truncate(0); !status.ok()) return status;
    return (*file)->write_at(0, std::as_bytes(std::span(text)));
}

Status LiveTrace::append() {
    const bool is_new = written_.empty();
    std::vector<std::size_t> seen = is_new ? std::vector<std::size_t>(lanes_.size(), 0) : written_;
    std::string text;
    const auto add = [&](const json& event) {
        text += text.empty() && is_new ? "[\n" : ",\n";
        text += event.dump();
    };
    if (is_new) {
        add(process_name(rank_));
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
            add(lane_name(rank_, lane, lanes_[lane]->name()));
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const std::size_t end = lanes_[lane]->size();
        lanes_[lane]->for_each(seen[lane], end, [&](const TraceEvent& event) {
            add(chrome_event(event, rank_, lane, origin_s_));
        });
        seen[lane] = end;
    }
    if (text.empty()) return {};
    using Mode = FileSystem::Mode;
    auto file = FileSystem::posix().open(path_, is_new ? Mode::create : Mode::read_write);
    if (!file.ok()) return file.status();
    if (is_new)
        if (Status status = (*file)->truncate(0); !status.ok()) return status;
    if (Status status = (*file)->write_at(end_, std::as_bytes(std::span(text))); !status.ok())
        return status;
    end_ += text.size();
    written_ = std::move(seen);
    return {};
}

}  // namespace caesura::base
