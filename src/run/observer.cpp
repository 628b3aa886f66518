#include "run/observer.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
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

/// Makes a version odd for its life; even again if memory runs out meanwhile.
class BeingWritten {
  public:
    explicit BeingWritten(std::atomic<std::uint64_t>& version) : version_(version) { add(); }
    ~BeingWritten() { add(); }
    BeingWritten(const BeingWritten&) = delete;
    BeingWritten& operator=(const BeingWritten&) = delete;

  private:
    void add() { version_.fetch_add(1, std::memory_order_acq_rel); }
    std::atomic<std::uint64_t>& version_;
};

}  // namespace

Observer::Observer() : stretches_(usage_of_this_thread) {}

void Observer::begin_iteration(double now_s, std::string_view label) {
    recorded_ = {};
    label_ = label;
    running_ = true;
    after_dump_ = dumped_;
    dumped_ = added_ = false;
    begin_s_.store(now_s, std::memory_order_relaxed);
    leave_open_calls();
    stretches_.begin(now_s);
    seen_ = {};
    told_ = false;
    for (LaneState& lane : lanes_) lane.open_s = 0.0;  // a mark may reach over the boundary
    publish(now_s, label_, after_dump_, false);
}

// The running iteration as it is now; an open mark ends now.
plan::IterationRecord Observer::record_until(double now_s) const {
    plan::IterationRecord record = recorded_;
    record.length_s = now_s - begin_s_.load(std::memory_order_relaxed);
    const auto close = [&](const LaneState& lane, std::vector<plan::Interval>& marks) {
        if (lane.depth > 0 && record.length_s > lane.open_s)
            marks.push_back({lane.open_s, record.length_s});
    };
    close(lanes_[0], record.obstacles.compress);
    close(lanes_[1], record.obstacles.write);
    return record;
}

void Observer::expect_next(double now_s, bool dumped) {
    if (!running_) return;
    dumped_ = dumped_ || dumped;
    plan::IterationRecord record = record_until(now_s);
    if (added_)
        history_.update_last(std::move(record));
    else
        history_.add(label_, after_dump_, std::move(record));
    publish(now_s, history_.next_label(), dumped_, !added_);
    added_ = true;
}

void Observer::end_iteration(double now_s) {
    if (!running_) return;
    expect_next(now_s, false);
    last_s_.store(now_s - begin_s_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    begin_s_.store(now_s, std::memory_order_relaxed);
    running_ = false;
}

void Observer::enter(Lane which, double now_s) {
    LaneState& lane = lanes_[index(which)];
    if (which == Lane::write) writing_.fetch_add(1, std::memory_order_seq_cst);
    if (lane.depth++ > 0) return;
    if (which == Lane::compress) computing_since_s_.store(now_s, std::memory_order_release);
    lane.open_s = now_s - begin_s_.load(std::memory_order_relaxed);
    match(lane, index(which), lane.open_s);
}

void Observer::leave(Lane which, double now_s) {
    LaneState& lane = lanes_[index(which)];
    if (lane.depth == 0) return;  // entered before nothing: not ours to count
    const double relative_s = now_s - begin_s_.load(std::memory_order_relaxed);
    if (which == Lane::write) writing_.fetch_sub(1, std::memory_order_seq_cst);
    if (--lane.depth > 0) return;
    if (which == Lane::compress) {
        computed_s_.store(computing_s(now_s), std::memory_order_release);
        computing_since_s_.store(-1.0, std::memory_order_release);
    }
    auto& marks = which == Lane::write ? recorded_.obstacles.write : recorded_.obstacles.compress;
    if (relative_s > lane.open_s) marks.push_back({lane.open_s, relative_s});
    pass(lane, index(which), relative_s);
}

// The mark that was matched last is over.
void Observer::pass(LaneState& lane, std::size_t which, double relative_s) {
    if (lane.matched)
        late_s_.store(relative_s - lane.expected[lane.next - 1].end_s, std::memory_order_relaxed);
    lane.matched = false;
    published_[which].passed.store(lane.next, std::memory_order_release);
}

void Observer::observe_enter(Doing doing, double now_s) {
    told_ = true;
    if (doing == Doing::communicates) {
        ++calls_;
        writing_.fetch_add(1, std::memory_order_seq_cst);
    }
    const std::size_t before = stretches_.seen().communicating.size();
    stretches_.enter(doing, now_s);
    LaneState& lane = lanes_[index(Lane::write)];
    if (stretches_.seen().communicating.size() == before || lane.depth > 0 ||
        !recorded_.obstacles.write.empty())
        return;
    // Where nothing is marked, a stretch of calls that has ended says how late the application is.
    const plan::Interval stretch = stretches_.seen().communicating.back();
    match(lane, index(Lane::write), stretch.begin_s);
    pass(lane, index(Lane::write), stretch.end_s);
}

// Waking the lane costs a system call, which thousands of short calls must not pay: only a lane
// that has looked and was refused is woken. The order of the two stores against
// application_writes() (there refused, then writing; here writing, then refused) lets no refusal be
// missed.
bool Observer::observe_leave(Doing doing, double now_s) {
    stretches_.leave(now_s);
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
    const Seen& told = stretches_.finish(now_s);
    plan::Obstacles& recorded = recorded_.obstacles;
    const bool marked = !recorded.compress.empty() || inside(Lane::compress);
    seen_.waiting = told.waiting;
    seen_.spinning = told.spinning;
    seen_.communicating = without(told.communicating, recorded.write);
    seen_.computing = marked ? Intervals() : without(told.computing, recorded.write);
    recorded.compress = without(marked ? recorded.compress : seen_.computing, told.waiting);
    if (!workers_have_a_core)
        recorded.compress = unite(std::move(recorded.compress), told.spinning);
    recorded.write = unite(std::move(recorded.write), told.communicating);
}

double Observer::computing_s(double now_s) const {
    const double since_s = computing_since_s_.load(std::memory_order_acquire);
    const double before_s = computed_s_.load(std::memory_order_acquire);
    return before_s + (since_s >= 0.0 ? std::max(0.0, now_s - since_s) : 0.0);
}

// Which expected mark is this one? The next, unless leaving some out, or taking the last one for a
// mark that was not expected, explains its time much better. The rest is then expected as late.
void Observer::match(LaneState& lane, std::size_t which, double relative_s) {
    const std::size_t n = lane.of_iteration;
    lane.matched = false;
    if (n == 0) return;
    const double late_s = late_s_.load(std::memory_order_relaxed);
    const double length_s = length_s_.load(std::memory_order_relaxed);
    const double step_s = 0.75 * length_s / static_cast<double>(n);
    // Having none left is as good a reason for a mark nobody expected.
    double least = lane.next < n ? std::numeric_limits<double>::infinity() : step_s;
    std::size_t best = n;
    double best_late_s = late_s;
    const std::size_t first = lane.next > 0 ? lane.next - 1 : 0;
    for (std::size_t i = first; i < std::min(n, lane.next + 8); ++i) {
        const double base_s = i < lane.next ? lane.late_before_s : late_s;
        const double change_s = relative_s - lane.expected[i].begin_s - base_s;
        const double away = std::abs(static_cast<double>(i) - static_cast<double>(lane.next));
        const double cost = std::abs(change_s) + step_s * away;
        if (cost < least) {
            least = cost;
            best = i;
            best_late_s = relative_s - lane.expected[i].begin_s;
        }
    }
    if (best == n) return;
    lane.late_before_s = best < lane.next ? lane.late_before_s : late_s;
    lane.next = best + 1;
    lane.matched = true;
    late_s_.store(best_late_s, std::memory_order_relaxed);
    published_[which].passed.store(best, std::memory_order_release);
}

// The obstacles of an iteration of this kind that begins at origin_s, and of those after it.
// next: it is the one after that of the last call, not the same, better known.
void Observer::publish(double origin_s, std::string_view label, bool after_dump, bool next) {
    const std::size_t place = next ? 1 : 0;
    if (place >= ahead_.size() || label != ahead_[place])
        kind_.fetch_add(1, std::memory_order_acq_rel);
    const double length_before_s = length_s_.load(std::memory_order_relaxed);
    if (length_before_s > 0.0) {
        const double due_s =
            origin_s_.load(std::memory_order_relaxed) + (next ? length_before_s : 0.0);
        slip_s_.store(slip_s_.load(std::memory_order_relaxed) + origin_s - due_s,
                      std::memory_order_relaxed);
    }
    ahead_.clear();
    const BeingWritten odd(version_);
    double shift_s = 0.0;
    std::array<std::size_t, 2> count{};
    for (LaneState& lane : lanes_) {
        lane.next = lane.of_iteration = 0;
        lane.late_before_s = 0.0;
        lane.expected.clear();
        lane.matched = false;
    }
    std::string ahead_label(label);
    for (std::size_t ahead = 0; ahead < k_ahead; ++ahead) {
        // Whether those after the next follow a dump is not known: as if they did not.
        const plan::IterationRecord* record =
            history_.expect(ahead_label, ahead == 0 && after_dump);
        if (ahead == 0) {
            length_s_.store(record ? record->length_s : 0.0, std::memory_order_release);
            spread_s_.store(record ? record->obstacles.spread_s : 0.0, std::memory_order_release);
        }
        ahead_.push_back(ahead_label);
        if (!record || !(record->length_s > 0.0)) break;
        for (std::size_t l = 0; l < 2; ++l) {
            const auto& marks = l == 0 ? record->obstacles.compress : record->obstacles.write;
            for (const plan::Interval& mark : marks) {
                if (count[l] == k_published) break;
                published_[l].begin_s[count[l]].store(mark.begin_s + shift_s,
                                                      std::memory_order_release);
                published_[l].end_s[count[l]].store(mark.end_s + shift_s,
                                                    std::memory_order_release);
                ++count[l];
                if (ahead == 0) lanes_[l].expected.push_back(mark);
            }
            if (ahead == 0) lanes_[l].of_iteration = count[l];
        }
        shift_s += record->length_s;
        ahead_label = history_.label_after(ahead_label);
    }
    for (std::size_t l = 0; l < 2; ++l) {
        published_[l].count.store(count[l], std::memory_order_release);
        published_[l].passed.store(0, std::memory_order_release);
    }
    late_s_.store(0.0, std::memory_order_release);
    origin_s_.store(origin_s, std::memory_order_release);
}

Expectation Observer::expected() const {
    for (int attempt = 0; attempt < 16; ++attempt) {
        const std::uint64_t version = version_.load(std::memory_order_acquire);
        if (version % 2 == 1) continue;
        Expectation out;
        out.begin_s = origin_s_.load(std::memory_order_acquire);
        out.length_s = length_s_.load(std::memory_order_acquire);
        out.obstacles.spread_s = spread_s_.load(std::memory_order_acquire);
        out.late_s = late_s_.load(std::memory_order_acquire);
        out.slip_s = slip_s_.load(std::memory_order_acquire) + out.late_s;
        out.kind = kind_.load(std::memory_order_acquire);
        const double shift_s = out.begin_s + out.late_s;
        for (std::size_t l = 0; l < 2; ++l) {
            const Published& lane = published_[l];
            auto& obstacles = l == 0 ? out.obstacles.compress : out.obstacles.write;
            const std::size_t count =
                std::min(lane.count.load(std::memory_order_acquire), k_published);
            for (std::size_t i = lane.passed.load(std::memory_order_acquire); i < count; ++i)
                obstacles.push_back({lane.begin_s[i].load(std::memory_order_acquire) + shift_s,
                                     lane.end_s[i].load(std::memory_order_acquire) + shift_s});
        }
        if (version_.load(std::memory_order_acquire) == version) return out;
    }
    return {};  // the application is in the middle of saying: nothing is known for the moment
}

std::vector<plan::Interval> Observer::write_obstacles() const {
    const double begin_s = iteration_begin_s();
    std::vector<plan::Interval> obstacles = expected().obstacles.write;
    for (plan::Interval& obstacle : obstacles) {
        obstacle.begin_s -= begin_s;
        obstacle.end_s -= begin_s;
    }
    return obstacles;
}

}  // namespace caesura::run
