#include "run/call_stretches.hpp"

namespace caesura::run {

void CallStretches::begin(double now_s) {
    seen_.computing.clear();
    seen_.communicating.clear();
    seen_.spinning.clear();
    seen_.waiting.clear();
    origin_s_ = now_s;
    asked_ = {now_s, usage_()};
    computing_since_ = asked_;
    in_stretch_ = false;
    depth_ = 0;
}

// Usage now, or of a moment less than k_merge_s ago: the intervals it judges are longer.
CallStretches::Moment CallStretches::moment(double now_s) {
    if (now_s - asked_.at_s >= k_merge_s) asked_ = {now_s, usage_()};
    return {now_s, asked_.usage};
}

bool CallStretches::busy(const Moment& begin, const Moment& end) {
    return end.usage.cpu_s - begin.usage.cpu_s >= k_busy_share * (end.at_s - begin.at_s);
}

plan::Interval CallStretches::relative(const Moment& begin, const Moment& end) const {
    return {begin.at_s - origin_s_, end.at_s - origin_s_};
}

void CallStretches::enter(Doing doing, double now_s) {
    if (depth_++ > 0) return;
    entered_s_ = now_s;
    const bool goes_on = in_stretch_ && doing == doing_ && now_s - stretch_end_.at_s < k_merge_s;
    if (goes_on) return;
    close_stretch();
    in_stretch_ = true;
    doing_ = doing;
    inside_s_ = 0.0;
    stretch_begin_ = stretch_end_ = moment(now_s);
}

void CallStretches::leave(double now_s) {
    if (depth_ == 0 || --depth_ > 0) return;
    inside_s_ += now_s - entered_s_;
    stretch_end_ = moment(now_s);
}

void CallStretches::close_stretch() {
    if (!in_stretch_) return;
    in_stretch_ = false;
    const double length_s = stretch_end_.at_s - stretch_begin_.at_s;
    if (length_s < k_merge_s || inside_s_ < 0.5 * length_s) return;  // computing went on
    close_computing(stretch_begin_);
    computing_since_ = stretch_end_;
    const plan::Interval stretch = relative(stretch_begin_, stretch_end_);
    if (doing_ == Doing::waits) {
        seen_.waiting.push_back(stretch);
        return;
    }
    seen_.communicating.push_back(stretch);
    // One that yields its core to others who want it is not busy: they were.
    if (busy(stretch_begin_, stretch_end_)) seen_.spinning.push_back(stretch);
}

void CallStretches::close_computing(const Moment& end) {
    if (end.at_s - computing_since_.at_s < k_merge_s) return;
    const bool slept = end.usage.sleeps != computing_since_.usage.sleeps;
    if (slept && !busy(computing_since_, end)) return;
    seen_.computing.push_back(relative(computing_since_, end));
}

const Seen& CallStretches::finish(double now_s) {
    if (depth_ > 0) {
        depth_ = 1;
        leave(now_s);
    }
    close_stretch();
    asked_ = {now_s, usage_()};
    close_computing(asked_);
    return seen_;
}

}  // namespace caesura::run
