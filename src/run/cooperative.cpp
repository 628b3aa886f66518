// Cooperative mode: the application compresses on its own thread while it would wait anyway.
//
// Invariants:
//  - A block is begun only if it is expected to be done before the time is up: what can be late is
//    one block, by as much as its prediction is wrong.
//  - Nobody else computes the block meanwhile unless somebody waits for it (help()).
#include <algorithm>

#include "plan/compress_policy.hpp"
#include "run/executor.hpp"

namespace caesura::run {

// The first job of the oldest dump that has any to begin; later dumps wait for earlier ones.
Job* Executor::job_before(double deadline_s, DumpTask*& dump) {
    for (const auto& candidate : dumps_.dumps()) {
        if (candidate->all_begun()) continue;
        dump = candidate.get();
        std::vector<double> expected_s;
        const std::vector<Job*> jobs = jobs_to_begin(*dump, expected_s);
        plan::CompressView view;
        view.now_s = clock_.now_s();
        view.gap = {deadline_s - view.now_s, std::numeric_limits<double>::infinity()};
        view.expected_s = expected_s;
        const plan::CompressDecision decision = decide_compress(view);
        if (!decision.begin) return nullptr;
        Job* job = jobs[*decision.begin];
        if (begin(*job, *dump, view.now_s)) return job;
    }
    return nullptr;
}

double Executor::compress_until(double deadline_s, const std::function<bool()>& done) {
    const double begin_s = clock_.now_s();
    double spent_s = 0.0;  // exactly 0 if nothing was to be done
    while (clock_.now_s() < deadline_s && !error_.happened() && !(done && done())) {
        DumpTask* dump = nullptr;
        Job* job = job_before(deadline_s, dump);
        if (!job) break;
        compress(*job, *dump, options_.trace ? &help_trace_ : nullptr, &help_compress_s_);
        spent_s = clock_.now_s() - begin_s;
    }
    return spent_s;
}

}  // namespace caesura::run
