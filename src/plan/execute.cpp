// What the two lanes really do with a plan when durations and obstacles are not those expected.
//
// Invariants:
//  - A simulation of events in the order of time; every begin and end is the very sum that
//    lanes.hpp makes too, so that a reality as expected gives the planned schedule exactly.
//  - The application's clock is the wall clock less the time that tasks have held it up.
#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "plan/scenarios.hpp"

namespace caesura::plan {
namespace {

constexpr double k_never_s = std::numeric_limits<double>::infinity();

std::vector<Interval> without_empty(std::span<const Interval> obstacles) {
    std::vector<Interval> kept;
    for (const Interval& o : obstacles)
        if (!is_empty(o) && o.end_s > 0.0) kept.push_back(o);
    return kept;
}

/// One lane: the task that runs, if any, and the application's obstacle, if one is on.
/// `delay_s` everywhere: how late the application is by now.
class Lane {
  public:
    Lane(std::span<const Interval> expected, std::span<const Interval> real, bool resumable,
         double follow)
        : expected_(without_empty(expected)),
          real_(without_empty(real)),
          resumable_(resumable),
          follow_(follow) {}

    bool running() const { return running_; }
    bool on() const { return on_; }
    double task_end_s() const { return running_ && !on_ ? since_s_ + left_s_ : k_never_s; }
    /// When the application's next obstacle is due, or the one that is on ends.
    double turn_s(double delay_s) const {
        if (on_) return real_[next_].end_s + delay_s;
        return next_ < real_.size() ? real_[next_].begin_s + delay_s : k_never_s;
    }
    /// Is an obstacle due that a task keeps from beginning?
    bool holds_up(double application_s, double delay_s) const {
        return !resumable_ && running_ && !on_ && turn_s(delay_s) <= application_s;
    }

    /// From when on a task expected to take so long may begin, seen from now. Infinity: not before
    /// an obstacle has ended.
    double may_begin_s(double now_s, double expected_s, double delay_s) const {
        // An obstacle that is due goes first; only what takes no time gets in just before it.
        const double due_s = turn_s(delay_s);
        if (on_ || due_s < now_s || (due_s <= now_s && expected_s > 0.0)) return k_never_s;
        if (resumable_) return now_s;
        for (std::size_t k = next_; k < expected_.size(); ++k) {
            const double end_s = expected_[k].end_s + late_s_;
            if (end_s <= now_s) continue;  // forgotten: it should have come and gone
            return now_s + expected_s <= expected_[k].begin_s + late_s_ ? now_s : end_s;
        }
        return now_s;
    }
    void begin_task(double now_s, double real_s) {
        running_ = true;
        since_s_ = now_s;
        left_s_ = real_s;
    }
    void end_task() { running_ = false; }

    /// The obstacle that comes next begins, or the one that is on ends.
    void turn(double now_s) {
        if (on_) {
            happened_.back().end_s = now_s;
            on_ = false;
            ++next_;
            since_s_ = now_s;  // a suspended task goes on
            return;
        }
        // One that was on before all began keeps its own begin.
        const double begin_s = real_[next_].begin_s < 0.0 ? real_[next_].begin_s : now_s;
        // As late as it came: what holds the application up makes all that follows later too.
        if (next_ < expected_.size())
            late_s_ = std::lerp(late_s_, begin_s - expected_[next_].begin_s, follow_);
        happened_.push_back({begin_s, now_s});
        on_ = true;
        if (running_) left_s_ -= std::max(0.0, now_s - since_s_);
    }

    /// All obstacles as they happened, those to come as late as the application is.
    std::vector<Interval> take_happened(double delay_s) {
        if (on_) happened_.back().end_s = real_[next_++].end_s + delay_s;
        for (; next_ < real_.size(); ++next_)
            happened_.push_back({real_[next_].begin_s + delay_s, real_[next_].end_s + delay_s});
        return std::move(happened_);
    }

  private:
    std::vector<Interval> expected_, real_, happened_;
    bool resumable_;
    double follow_;
    std::size_t next_ = 0;  // the obstacle that is on or comes next
    double late_s_ = 0.0;   // the last obstacle that came, against what was expected
    bool on_ = false, running_ = false;
    double since_s_ = 0.0, left_s_ = 0.0;  // the task works since then, with so much left then
};

class World {
  public:
    World(const Orders& orders, std::span<const Job> expected, const Obstacles& expected_obstacles,
          std::span<const Job> real, const Obstacles& real_obstacles, bool resumable, double follow)
        : orders_(orders),
          expected_(expected),
          real_(real),
          compress_(expected_obstacles.compress, real_obstacles.compress, resumable, follow),
          write_(expected_obstacles.write, real_obstacles.write, false, follow) {
        Schedule& done = result_.schedule;
        done.compress_begin_s.resize(real.size());
        done.compress_end_s.assign(real.size(), k_never_s);
        done.write_begin_s.resize(real.size());
    }

    Execution run() {
        while (written_ < real_.size()) {
            for (Lane* lane : {&compress_, &write_})
                if (lane->on() && lane->turn_s(delay_s_) <= application_s()) lane->turn(now_s_);
            do {
                end_tasks();
            } while (begin_compression() || begin_write());
            begin_obstacles();
            now_s_ = std::max(now_s_, next_event_s());
        }
        result_.delay_s = delay_s_;
        result_.obstacles.compress = compress_.take_happened(delay_s_);
        result_.obstacles.write = write_.take_happened(delay_s_);
        return std::move(result_);
    }

  private:
    /// How far the application has come: it stands still while it is held up.
    double application_s() const { return held_ ? held_since_s_ : now_s_; }

    void end_tasks() {
        Schedule& done = result_.schedule;
        if (compress_.task_end_s() <= now_s_) {
            done.compress_end_s[orders_.compress[compressed_++]] = now_s_;
            compress_.end_task();
        }
        if (write_.task_end_s() <= now_s_) {
            done.end_s = now_s_;
            ++written_;
            write_.end_task();
        }
    }

    bool begin_compression() {
        compress_wake_s_ = k_never_s;
        if (compress_.running() || compressed_ == real_.size()) return false;
        const std::size_t j = orders_.compress[compressed_];
        compress_wake_s_ = compress_.may_begin_s(now_s_, expected_[j].compress_s, delay_s_);
        if (compress_wake_s_ > now_s_) return false;
        compress_.begin_task(now_s_, real_[j].compress_s);
        result_.schedule.compress_begin_s[j] = now_s_;
        return true;
    }

    bool begin_write() {
        write_wake_s_ = k_never_s;
        if (write_.running() || written_ == real_.size()) return false;
        const std::size_t j = orders_.write[written_];
        if (result_.schedule.compress_end_s[j] > now_s_) return false;
        write_wake_s_ = write_.may_begin_s(now_s_, expected_[j].write_s, delay_s_);
        if (write_wake_s_ > now_s_) return false;
        write_.begin_task(now_s_, real_[j].write_s);
        result_.schedule.write_begin_s[j] = now_s_;
        return true;
    }

    void begin_obstacles() {
        for (Lane* lane : {&compress_, &write_})
            if (!lane->on() && lane->turn_s(delay_s_) <= application_s() &&
                !lane->holds_up(application_s(), delay_s_))
                lane->turn(now_s_);
        const bool held = compress_.holds_up(application_s(), delay_s_) ||
                          write_.holds_up(application_s(), delay_s_);
        if (held && !held_) held_since_s_ = now_s_;
        if (!held && held_) delay_s_ += now_s_ - held_since_s_;
        held_ = held;
    }

    double next_event_s() const {
        const double next_s = std::min(
            {compress_wake_s_, write_wake_s_, compress_.task_end_s(), write_.task_end_s()});
        if (held_) return next_s;
        return std::min({next_s, compress_.turn_s(delay_s_), write_.turn_s(delay_s_)});
    }

    const Orders& orders_;
    std::span<const Job> expected_, real_;
    Lane compress_, write_;
    Execution result_;
    std::size_t compressed_ = 0, written_ = 0;
    double now_s_ = 0.0, delay_s_ = 0.0;
    double compress_wake_s_ = k_never_s, write_wake_s_ = k_never_s;  // when to try again
    bool held_ = false;  // the application waits for a task of ours
    double held_since_s_ = 0.0;
};

Status check_order(std::string_view lane, std::span<const std::size_t> order, std::size_t n_jobs) {
    if (order.size() != n_jobs)
        return {StatusCode::invalid_argument,
                fmt::format("the {} order names {} jobs, but there are {}", lane, order.size(),
                            n_jobs)};
    std::vector<bool> seen(n_jobs, false);
    for (const std::size_t j : order) {
        if (j >= n_jobs || seen[j])
            return {StatusCode::invalid_argument,
                    fmt::format("the {} order names job {}{}; it must name each of the {} jobs "
                                "once",
                                lane, j, j < n_jobs ? " twice" : "", n_jobs)};
        seen[j] = true;
    }
    return {};
}

// By begin; what takes no time may begin together with its successor, so by end next.
template <class Begins, class End>
Order by_begin(const Begins& begin_s, End end_s) {
    Order order = generation_order(begin_s.size());
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(begin_s[a], end_s(a), a) < std::tuple(begin_s[b], end_s(b), b);
    });
    return order;
}

}  // namespace

Execution run_orders(const Orders& orders, std::span<const Job> expected,
                     const Obstacles& expected_obstacles, std::span<const Job> real,
                     const Obstacles& real_obstacles, bool resumable, double follow) {
    return World(orders, expected, expected_obstacles, real, real_obstacles, resumable, follow)
        .run();
}

Orders orders_of(const Schedule& schedule, std::span<const Job> jobs) {
    return {by_begin(schedule.compress_begin_s,
                     [&](std::size_t j) { return schedule.compress_end_s[j]; }),
            by_begin(schedule.write_begin_s,
                     [&](std::size_t j) { return schedule.write_begin_s[j] + jobs[j].write_s; })};
}

// Source: S0 §5.4.1 ("executed sequentially"), S0 §3.2. Differs: what is held up is said.
Result<Execution> execute(const Orders& orders, std::span<const Job> expected,
                          const Obstacles& expected_obstacles, std::span<const Job> real,
                          const Obstacles& real_obstacles, const Rules& rules) {
    if (Status s = validate(expected, expected_obstacles); !s.ok())
        return s.with_context("expected");
    if (Status s = validate(real, real_obstacles); !s.ok()) return s.with_context("real");
    if (expected.size() != real.size())
        return Status(
            StatusCode::invalid_argument,
            fmt::format("{} jobs are expected, but {} are real", expected.size(), real.size()));
    if (Status s = check_order("compress", orders.compress, real.size()); !s.ok()) return s;
    if (Status s = check_order("write", orders.write, real.size()); !s.ok()) return s;
    return run_orders(orders, expected, expected_obstacles, real, real_obstacles, rules.resumable);
}

}  // namespace caesura::plan
