#include "run/observer.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace caesura::run {
namespace {

Usage usage_of_this_thread() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_nvcsw};
}

}  // namespace

Observer::Observer() : activity_(usage_of_this_thread) {}

void Observer::begin_iteration(double now_s) {
    recorded_ = {};
    write_marks_ = 0;
    drift_s_.store(0.0, std::memory_order_relaxed);
    begin_s_.store(now_s, std::memory_order_relaxed);
    leave_open_calls();
    activity_.begin(now_s);
    seen_ = {};
    told_ = false;
    publish_prediction();
}

void Observer::end_iteration(double now_s) {
    last_ = recorded_;
    last_s_.store(now_s - begin_s_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    n_published_.store(0, std::memory_order_release);
}

void Observer::enter(Lane lane, double now_s) {
    const double relative_s = now_s - begin_s_.load(std::memory_order_relaxed);
    if (lane == Lane::compress) {
        if (compressing_++ == 0) open_compress_s_ = relative_s;
        return;
    }
    writing_.fetch_add(1, std::memory_order_seq_cst);
    if (marking_write_++ == 0) {
        open_write_s_ = relative_s;
        note_drift(relative_s);
    }
}

void Observer::leave(Lane lane, double now_s) {
    const double relative_s = now_s - begin_s_.load(std::memory_order_relaxed);
    if (lane == Lane::compress) {
        if (--compressing_ == 0 && relative_s > open_compress_s_)
            recorded_.compress.push_back({open_compress_s_, relative_s});
        return;
    }
    writing_.fetch_sub(1, std::memory_order_seq_cst);
    if (--marking_write_ == 0 && relative_s > open_write_s_) {
        recorded_.write.push_back({open_write_s_, relative_s});
        ++write_marks_;
    }
}

void Observer::observe_enter(Doing doing, double now_s) {
    told_ = true;
    if (doing == Doing::communicates) {
        ++calls_;
        writing_.fetch_add(1, std::memory_order_seq_cst);
    }
    const std::size_t before = activity_.seen().communicating.size();
    activity_.enter(doing, now_s);
    // Where nothing is marked, a stretch of calls that has ended says how late the application is.
    if (activity_.seen().communicating.size() > before && write_marks_ == 0 &&
        marking_write_ == 0 && before < last_.write.size())
        drift_s_.store(activity_.seen().communicating[before].begin_s - last_.write[before].begin_s,
                       std::memory_order_relaxed);
}

// Waking the lane costs a system call, which thousands of short calls must not pay: only a lane
// that has looked and was refused is woken. The order of the two stores against
// application_writes() (there refused, then writing; here writing, then refused) lets no refusal be
// missed.
bool Observer::observe_leave(Doing doing, double now_s) {
    activity_.leave(now_s);
    if (doing != Doing::communicates || calls_ == 0) return false;
    --calls_;
    writing_.fetch_sub(1, std::memory_order_seq_cst);
    return refused_.load(std::memory_order_seq_cst) && refused_.exchange(false);
}

// Calls that were entered in this iteration and are left after it.
void Observer::leave_open_calls() {
    writing_.fetch_sub(std::exchange(calls_, 0), std::memory_order_seq_cst);
}

bool Observer::application_writes() const {
    if (writing_.load(std::memory_order_acquire) == 0) return false;
    refused_.store(true, std::memory_order_seq_cst);
    return writing_.load(std::memory_order_seq_cst) > 0;
}

void Observer::settle(double now_s, bool watched, bool workers_have_a_core) {
    leave_open_calls();
    if (!watched && !told_) return;
    const Seen& told = activity_.finish(now_s);
    const bool marked = !recorded_.compress.empty() || compressing_ > 0;
    seen_.waiting = told.waiting;
    seen_.spinning = told.spinning;
    seen_.communicating = without(told.communicating, recorded_.write);
    seen_.computing = marked ? Intervals() : without(told.computing, recorded_.write);
    recorded_.compress = without(marked ? recorded_.compress : seen_.computing, told.waiting);
    if (!workers_have_a_core)
        recorded_.compress = unite(std::move(recorded_.compress), told.spinning);
    recorded_.write = unite(std::move(recorded_.write), told.communicating);
}

plan::Obstacles Observer::predicted() const { return last_; }

// The k-th write mark of this iteration against the k-th of the last: the rest is expected to be
// as late (or early) as this one.
void Observer::note_drift(double relative_begin_s) {
    if (write_marks_ < last_.write.size())
        drift_s_.store(relative_begin_s - last_.write[write_marks_].begin_s,
                       std::memory_order_relaxed);
}

void Observer::publish_prediction() {
    n_published_.store(0, std::memory_order_release);
    const std::size_t n = std::min(last_.write.size(), k_published);
    for (std::size_t i = 0; i < n; ++i) {
        published_begin_s_[i].store(last_.write[i].begin_s, std::memory_order_relaxed);
        published_end_s_[i].store(last_.write[i].end_s, std::memory_order_relaxed);
    }
    n_published_.store(n, std::memory_order_release);
}

std::vector<plan::Interval> Observer::write_obstacles() const {
    const std::size_t n = n_published_.load(std::memory_order_acquire);
    const double drift_s = drift_s_.load(std::memory_order_relaxed);
    std::vector<plan::Interval> obstacles(n);
    for (std::size_t i = 0; i < n; ++i)
        obstacles[i] = {published_begin_s_[i].load(std::memory_order_relaxed) + drift_s,
                        published_end_s_[i].load(std::memory_order_relaxed) + drift_s};
    return obstacles;
}

}  // namespace caesura::run
