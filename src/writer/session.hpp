// What all parts of a Writer share: its ranks, options and memory, what was learned, its counters.
//
// Invariant: belongs to the application's thread; outlives every other part.
#pragma once

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/process.hpp"
#include "base/trace.hpp"
#include "caesura/writer.hpp"
#include "writer/experience.hpp"
#include "writer/transport.hpp"
#include "writer/warnings.hpp"

namespace caesura::writer {

/// Words that need no memory of their own. What is told to the other ranks gets this one's number.
inline Status out_of_memory() { return {StatusCode::no_space, "out of memory"}; }

struct Session {
    /// @param past  null: nothing is known.
    Session(std::string file_path, std::shared_ptr<Communicator> ranks, WriterOptions opts,
            std::uint64_t budget_bytes, std::shared_ptr<Experience> past)
        : experience(past ? std::move(past) : std::make_shared<Experience>()),
          path(std::move(file_path)),
          comm(std::move(ranks)),
          options(std::move(opts)),
          rank(comm->rank()),
          size(comm->size()),
          budget(budget_bytes),
          pool(experience->pool),
          returns_before(experience->transport ? experience->transport->returns() : 0) {}

    double now_s() const { return clock.now_s(); }
    /// Errors: cancelled (a forked child asks).
    Status check_process() const { return process.check(path + ": the Writer"); }
    void say(const std::string& text) const {
        if (options.on_message) options.on_message(text);
    }
    /// What is said without a callback, too.
    void warn(Warning what, const std::string& text) { warnings.warn(what, text); }
    /// Says once that the service has gone, once that it is there again, and once that it does not
    /// take this file, or a dump of it.
    void notice_service() {
        const Transport* const transport = experience->transport.get();
        if (transport == nullptr) return;
        count_losses(totals);
        if (!said_refusal) {
            const Status refusal = transport->refusal(path);
            said_refusal = !refusal.ok();
            if (said_refusal)
                warn(Warning::service_refused,
                     "this process compresses and writes by itself what the service does not "
                     "take: " +
                         refusal.message());
        }
        if (totals.regained_services > said_regained) {
            said_regained = said_lost = totals.regained_services;
            warn(Warning::service_back,
                 "the service is there again: it compresses and writes from now on");
        }
        if (totals.lost_services == said_lost) return;
        said_lost = totals.lost_services;
        warn(Warning::service_lost, transport->loss().message());
    }
    /// A service that is there again was lost before, whether anybody has looked or not.
    void count_losses(WriterReport& report) const {
        const Transport* const transport = experience->transport.get();
        if (transport == nullptr) return;
        report.regained_services = transport->returns() - returns_before;
        report.lost_services = report.regained_services + (transport->is_lost() ? 1 : 0);
    }
    /// Before a dump is assembled.
    void mend_service() {
        if (!experience->transport) return;
        notice_service();
        experience->transport->mend(0.0);
        notice_service();
    }
    /// Are blocks compressed and written by a service that is there?
    bool elsewhere() const { return experience->transport && !experience->transport->is_lost(); }
    bool traces() const { return !options.trace_path.empty(); }
    void trace(const char* kind, std::string name, double begin_s) {
        if (traces())
            application_trace.add({kind, std::move(name), begin_s, now_s(), iteration, 0});
    }

    std::shared_ptr<Experience> experience;  ///< used by all that follows
    std::string path;
    std::shared_ptr<Communicator> comm;
    WriterOptions options;
    const base::Process process;
    const base::Clock& clock = base::Clock::steady();
    int rank = 0, size = 1;
    Warnings warnings{options.on_message, rank};
    base::MemoryBudget budget;
    base::BufferPool& pool;  ///< the Experience's
    WriterReport totals;
    std::uint64_t returns_before = 0;  ///< of the service: those are no concern of this Writer's
    std::uint64_t said_lost = 0, said_regained = 0;
    bool said_refusal = false;
    bool is_last_dump = false;  ///< of a file that is closed before its commit
    /// Of that dump's spill regions; the same on all ranks.
    std::uint64_t spill_begin = 0, spill_end = 0;
    std::uint64_t iteration = 0;     ///< the open one, or the last
    double iteration_begin_s = 0.0;  ///< its begin
    /// Of this rank.
    std::string trace_path() const;
    base::TraceLane application_trace{"application"}, plan_trace{"plan"}, outcome_trace{"outcomes"};
    std::unique_ptr<base::LiveTrace> live_trace;
    double trace_origin_s = 0.0;
};

}  // namespace caesura::writer
