#include "run/observer.hpp"

#include <algorithm>

namespace caesura::run {

void Observer::begin_iteration(double now_s) {
    recorded_ = {};
    write_marks_ = 0;
    drift_s_.store(0.0, std::memory_order_relaxed);
    begin_s_.store(now_s, std::memory_order_relaxed);
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
    if (writing_.fetch_add(1, std::memory_order_acq_rel) == 0) {
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
    if (writing_.fetch_sub(1, std::memory_order_acq_rel) == 1 && relative_s > open_write_s_) {
        recorded_.write.push_back({open_write_s_, relative_s});
        ++write_marks_;
    }
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
