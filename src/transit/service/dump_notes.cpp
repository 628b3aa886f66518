#include "transit/service/dump_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/invalid.hpp"
#include "run/encode.hpp"

namespace caesura::transit {
namespace {

Result<std::vector<std::byte>> start_of(const lambda::Registry& functions,
                                        const std::string& call) {
    const auto state = functions.start(call);
    if (!state.ok()) return state.status();
    if (state->passes_left() > 0)
        return base::invalid(
            fmt::format("{} passes over the values more than once, and in transit they pass once; "
                        "a histogram needs low and high",
                        state->call()));
    return state->bytes();
}

}  // namespace

Result<std::unique_ptr<DumpNotes>> DumpNotes::make(ObjectStore& store,
                                                   const lambda::Registry& functions,
                                                   std::vector<Dataset> datasets, double time,
                                                   const std::vector<std::string>& wanted,
                                                   const std::vector<std::string>& ordered) {
    std::unique_ptr<DumpNotes> notes(new DumpNotes(store, functions));
    for (const bool of_client : {true, false})
        for (const std::string& call : of_client ? wanted : ordered) {
            auto start = start_of(functions, call);
            if (!start.ok()) return start.status();
            const bool known = std::any_of(notes->calls_.begin(), notes->calls_.end(),
                                           [&](const Call& one) { return one.start == *start; });
            if (!known) notes->calls_.push_back({std::move(*start), of_client});
        }
    notes->sums_.resize(datasets.size());
    for (std::size_t i = 0; i < datasets.size(); ++i) notes->shares_.emplace_back(store.states());
    notes->datasets_ = std::move(datasets);
    notes->time_ = time;
    return notes;
}

DumpNotes::~DumpNotes() {
    if (calls_.empty() || finished_) return;
    for (const Dataset& dataset : datasets_) store_.forget_states(dataset.object);
}

DumpNotes::Seen DumpNotes::look(const run::Job& job) const try {
    Seen seen;
    // Several arrays in one block have bounds of their own, and may lie in each other.
    if (job.dataset >= datasets_.size() || !job.parts.empty()) return seen;
    const Dataset& dataset = datasets_[job.dataset];
    const std::span<const std::byte> values = run::dense_values(job);
    const read::ValueRange range = read::range_of(values, job.dtype);
    seen.range = widened({range.lowest, range.highest}, job.exactly ? lossless() : dataset.bound);
    lambda::RegionView region;
    region.object = dataset.name;
    region.id = dataset.object;
    region.dtype = job.dtype;
    region.shape = dataset.shape;
    region.box = {job.chunk_box.offset, job.valid};
    region.time = time_;
    region.values = values;
    for (const Call& call : calls_) {
        auto state = functions_.parse_state(call.start);
        if (!state.ok() || !state->add(region).ok()) {
            seen.states.clear();
            break;
        }
        seen.states.push_back(std::move(*state));
    }
    return seen;
} catch (const std::bad_alloc&) {
    return {};
}

void DumpNotes::note(const run::Job& job, Seen seen,
                     const std::optional<store::ChunkRecord>& record) {
    if (job.dataset >= datasets_.size()) return;
    store_.add_block(datasets_[job.dataset].object, job.chunk, seen.range, record);
    if (calls_.empty()) return;
    Sum& sum = sums_[job.dataset];
    sum.values += job.valid.count();
    if (sum.broken || seen.states.empty()) return give_up(job.dataset);
    if (sum.states.empty())
        sum.states = std::move(seen.states);
    else
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (!sum.states[i].merge(seen.states[i]).ok()) return give_up(job.dataset);
    if (count(job.dataset, calls_.size() * job.valid_bytes()).ok()) return;
    store_.states().note_refusal();
    give_up(job.dataset);
}

Status DumpNotes::count(std::size_t dataset, std::uint64_t bytes) {
    return shares_[dataset].grow(bytes, [&] {
        std::uint64_t all = 0;
        for (const lambda::AnalysisState& state : sums_[dataset].states) all += bytes_of(state);
        return all;
    });
}

void DumpNotes::give_up(std::size_t dataset) {
    sums_[dataset].broken = true;
    sums_[dataset].states.clear();
    shares_[dataset].give_back();
}

std::vector<FoundInDump> DumpNotes::finish(std::uint64_t dump) {
    std::vector<FoundInDump> all;
    finished_ = true;
    for (std::uint32_t i = 0; i < sums_.size(); ++i) {
        Sum& sum = sums_[i];
        if (sum.broken) store_.forget_states(datasets_[i].object);
        for (std::size_t k = 0; k < sum.states.size(); ++k) {
            if (calls_[k].of_client) {
                FoundInDump found{dump, i, sum.values, sum.states[k].bytes()};
                if (found.state.size() <= k_state_limit_bytes) all.push_back(std::move(found));
            }
            // What the store keeps is counted all along, else two ranks would find room for one.
            const std::uint64_t bytes = bytes_of(sum.states[k]);
            store_.merge(datasets_[i].object, std::move(sum.states[k]), sum.values,
                         shares_[i].split(bytes));
        }
        shares_[i].give_back();
        sum.states.clear();
    }
    return all;
}

}  // namespace caesura::transit
