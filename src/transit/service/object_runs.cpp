// Analyses of objects: regions over the workers and devices, and over other services, states
// merged, pass by pass.
#include <fmt/format.h>

#include <map>

#include "base/invalid.hpp"
#include "transit/service/object_desk.hpp"
#include "transit/service/region_analysis.hpp"

namespace caesura::transit {

struct ObjectDesk::Analysing {
    std::uint64_t request = 0;
    std::shared_ptr<const Reading> reading;
    bool all = false;             ///< the whole object
    bool of_a_service = false;    ///< it wants the state behind one pass
    std::string call;             ///< complete
    std::vector<std::byte> from;  ///< state before the pass
    std::size_t open = 0;         ///< parts of the pass that are under way
    Status status;
    std::vector<lambda::AnalysisState> states;  ///< behind parts of the pass
    std::vector<StateShare> shares;             ///< of them, and of `from`
};

namespace {

/// The parts of a reading, one after the other on one worker.
class ReadRegions final : public lambda::RegionIterator {
  public:
    explicit ReadRegions(const Reading& reading) : reading_(reading) {}
    Result<std::optional<lambda::RegionView>> next() override {
        if (at_ >= reading_.parts.size()) return std::optional<lambda::RegionView>();
        const Reading::Part& part = reading_.parts[at_++];
        const auto values = bring(reading_, part, scratch_);
        if (!values.ok()) return values.status();
        return std::optional(reading_.view(part, *values));
    }
    Status rewind() override {
        at_ = 0;
        return {};
    }

  private:
    const Reading& reading_;
    base::Buffer scratch_;
    std::size_t at_ = 0;
};

}  // namespace

void ObjectDesk::take(const ListFunctions& message) {
    if (!admit(message.request)) return;
    const std::string help = tools_.functions.help();
    answer_bytes(message.request, std::as_bytes(std::span(help)));
}

void ObjectDesk::take(const RunFunction& message) {
    if (!admit(message.request)) return;
    const auto bound = tools_.functions.bind(message.call);
    if (!bound.ok()) return answer(message.request, bound.status());
    if (bound->function->kind != lambda::Kind::analysis)
        return answer(message.request,
                      base::invalid(fmt::format("{} is no analysis", bound->text)));
    auto reading = read(message.object, message.box);
    if (!reading.ok()) return answer(message.request, reading.status());
    if ((*reading)->form && (*reading)->form->is_sealed())
        return answer(message.request, (*reading)->form->refuse(bound->text + " cannot run here"));
    auto run = std::make_shared<Analysing>();
    run->request = message.request;
    run->reading = std::move(*reading);
    run->call = bound->text;
    run->all = run->reading->box.extent == run->reading->shape;
    if (!bound->variant->make_analysis) return run_by_itself(run);
    const auto state = tools_.functions.start(run->call);
    if (!state.ok()) return answer(message.request, state.status());
    begin_pass(run, state->bytes());
}

// One whose states do not merge has one worker until it is done.
void ObjectDesk::run_by_itself(const std::shared_ptr<Analysing>& run) {
    const auto results =
        std::make_shared<Result<lambda::Results>>(Status(StatusCode::internal, "it did not run"));
    const double values = static_cast<double>(run->reading->box.extent.count());
    send_errand(
        host_.errands, values * 1e-8,
        [run, results, &functions = tools_.functions]() -> Status {
            ReadRegions regions(*run->reading);
            *results = functions.run(run->call, regions);
            return results->status();
        },
        [this, run, results](const Status& status) {
            end_run(*run, status.ok() ? *results : Result<lambda::Results>(status));
        });
}

// Regions of this service are its workers'; those in the memory of others are theirs.
void ObjectDesk::begin_pass(const std::shared_ptr<Analysing>& run, std::vector<std::byte> from) {
    run->from = std::move(from);
    run->states.clear();
    run->shares.clear();
    run->shares.emplace_back(tools_.store.states());
    if (Status status = run->shares.back().set(run->from.size()); !status.ok())
        return end_run(*run, status);
    std::map<FarObject*, Reading> by_place;
    for (const Reading::Part& part : run->reading->parts) {
        auto [place, is_new] = by_place.try_emplace(part.values->far());
        if (is_new) place->second = run->reading->without_parts();
        place->second.parts.push_back(part);
    }
    run->open = by_place.size() + 1;
    for (auto& [far, reading] : by_place) {
        if (far == nullptr)
            pass_here(run, std::make_shared<const Reading>(std::move(reading)));
        else
            pass_there(run, reading);
    }
    end_part(run, {});
}

void ObjectDesk::pass_here(const std::shared_ptr<Analysing>& run,
                           std::shared_ptr<const Reading> reading) {
    analyse_regions(host_.errands, host_.dispatch, tools_.functions, std::move(reading), run->from,
                    tools_.strands, tools_.store.states(),
                    [this, run](const Status& status, std::vector<StrandState> strands) {
                        for (StrandState& strand : strands) {
                            run->states.push_back(std::move(strand.state));
                            run->shares.push_back(std::move(strand.share));
                        }
                        end_part(run, status);
                    });
}

// A service that cannot do it gives its values instead.
void ObjectDesk::pass_there(const std::shared_ptr<Analysing>& run, const Reading& part) {
    const auto held = std::make_shared<const Reading>(part);
    std::vector<Box> boxes;
    for (const Reading::Part& one : held->parts) boxes.push_back(one.box);
    const auto state = std::make_shared<Result<std::vector<std::byte>>>(std::vector<std::byte>());
    const ErrandHost host = host_.errands;
    const auto owner = host.owner();
    held->parts.front().values->far()->run_pass(
        std::move(boxes), run->from,
        [this, owner, run, held, state](Result<std::vector<std::byte>> there) {
            *state = std::move(there);
            host_.errands.lane.give([this, owner, run, held, state] {
                if (!state->ok()) return pass_here(run, held);
                auto parsed = tools_.functions.parse_state(**state);
                if (!parsed.ok()) return end_part(run, parsed.status());
                run->states.push_back(std::move(*parsed));
                run->shares.emplace_back(tools_.store.states());
                end_part(run, run->shares.back().set((*state)->size()));
            });
        });
}

void ObjectDesk::end_part(const std::shared_ptr<Analysing>& run, const Status& status) {
    if (run->status.ok()) run->status = status;
    if (--run->open > 0) return;
    if (!run->status.ok()) return end_run(*run, run->status);
    merge_states(run);
}

// Merging is work as well: a state may have a whole object's values.
void ObjectDesk::merge_states(const std::shared_ptr<Analysing>& run) {
    struct Merged {
        std::optional<Result<lambda::Results>> results;
        std::vector<std::byte> state;
    };
    const auto merged = std::make_shared<Merged>();
    send_errand(
        host_.errands, 1e-4,
        [run, merged]() -> Status {
            lambda::AnalysisState& whole = run->states.front();
            while (run->states.size() > 1) {
                if (Status status = whole.merge(run->states.back()); !status.ok()) return status;
                run->states.pop_back();
            }
            if (!run->of_a_service && whole.passes_left() == 0) {
                merged->results = whole.finish();
                return merged->results->status();
            }
            if (!run->of_a_service)
                if (Status status = whole.next_pass(); !status.ok()) return status;
            merged->state = whole.bytes();
            return {};
        },
        [this, run, merged](const Status& status) {
            if (!status.ok()) return end_run(*run, status);
            if (merged->results) return end_run(*run, *merged->results);
            if (!run->of_a_service) return begin_pass(run, std::move(merged->state));
            answer_bytes(run->request, merged->state);
        });
}

void ObjectDesk::take(const RunPass& message) {
    if (!admit(message.request)) return;
    const auto run = std::make_shared<Analysing>();
    run->request = message.request;
    run->of_a_service = true;
    std::optional<Reading> all;
    for (const Box& box : message.boxes) {
        auto reading = read(message.object, box);
        if (!reading.ok()) return answer(message.request, reading.status());
        if (!(*reading)->is_guest)
            return answer(message.request, base::invalid("a pass over an object that is no guest"));
        if (!all) all = (*reading)->without_parts();
        all->parts.insert(all->parts.end(), (*reading)->parts.begin(), (*reading)->parts.end());
    }
    run->reading = std::make_shared<const Reading>(std::move(*all));
    begin_pass(run, message.state);
}

void ObjectDesk::end_run(const Analysing& run, const Result<lambda::Results>& results) {
    if (!results.ok()) return answer(run.request, results.status());
    const std::vector<std::byte> bytes = results->bytes();
    answer_bytes(run.request, bytes);
    if (run.all && bytes.size() <= k_kept_results_bytes)
        tools_.store.keep_results(run.reading->object, run.call, bytes);
}

}  // namespace caesura::transit
