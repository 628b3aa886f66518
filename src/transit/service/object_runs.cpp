// Analyses of objects: regions over the workers, states merged, pass by pass.
#include <fmt/format.h>

#include "base/invalid.hpp"
#include "transit/service/object_desk.hpp"

namespace caesura::transit {

struct ObjectDesk::Analysing {
    std::uint64_t request = 0;
    std::shared_ptr<const Reading> reading;
    bool all = false;                           ///< the whole object
    std::string call;                           ///< complete
    std::vector<lambda::AnalysisState> states;  ///< by strand
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
    auto run = std::make_shared<Analysing>();
    run->request = message.request;
    run->reading = std::move(*reading);
    run->call = bound->text;
    run->all = run->reading->box.extent == run->reading->shape;
    if (!bound->variant->make_analysis) return run_by_itself(run);
    const auto state = tools_.functions.start(run->call);
    if (!state.ok()) return answer(message.request, state.status());
    begin_pass(run, *state);
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

void ObjectDesk::begin_pass(const std::shared_ptr<Analysing>& run,
                            const lambda::AnalysisState& from) {
    const std::vector<std::byte> bytes = from.bytes();
    run->states.clear();
    const std::size_t strands = std::min(tools_.strands, run->reading->parts.size());
    for (std::size_t i = 0; i < std::max<std::size_t>(1, strands); ++i) {
        auto state = tools_.functions.parse_state(bytes);
        if (!state.ok()) return answer(run->request, state.status());
        run->states.push_back(std::move(*state));
    }
    walk(
        host_.errands, run->reading, run->states.size(),
        [run](std::size_t strand, const Reading::Part& part, std::span<const std::byte> values) {
            return run->states[strand].add(run->reading->view(part, values));
        },
        [this, run](const Status& status) { merge_strands(run, status); });
}

// Merging is work as well: a state may have a whole object's values.
void ObjectDesk::merge_strands(const std::shared_ptr<Analysing>& run, const Status& status) {
    if (!status.ok()) return end_run(*run, status);
    const auto results = std::make_shared<std::optional<Result<lambda::Results>>>();
    send_errand(
        host_.errands, 1e-4,
        [run, results]() -> Status {
            lambda::AnalysisState& whole = run->states.front();
            while (run->states.size() > 1) {
                if (Status merged = whole.merge(run->states.back()); !merged.ok()) return merged;
                run->states.pop_back();
            }
            if (whole.passes_left() > 0) return whole.next_pass();
            *results = whole.finish();
            return (*results)->status();
        },
        [this, run, results](const Status& merged) {
            if (!merged.ok()) return end_run(*run, merged);
            if (*results) return end_run(*run, **results);
            const lambda::AnalysisState whole = std::move(run->states.front());
            begin_pass(run, whole);
        });
}

void ObjectDesk::end_run(const Analysing& run, const Result<lambda::Results>& results) {
    if (!results.ok()) return answer(run.request, results.status());
    const std::vector<std::byte> bytes = results->bytes();
    answer_bytes(run.request, bytes);
    if (run.all && bytes.size() <= k_kept_results_bytes)
        tools_.store.keep_results(run.reading->object, run.call, bytes);
}

}  // namespace caesura::transit
