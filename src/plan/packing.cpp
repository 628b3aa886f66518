#include "plan/packing.hpp"

#include <cmath>
#include <numeric>

namespace caesura::plan {

std::vector<Interval> gaps_between(std::span<const Interval> gaps, double from_s, double until_s) {
    std::vector<Interval> inside;
    for (const Interval& gap : gaps) {
        const Interval part{std::max(gap.begin_s, from_s), std::min(gap.end_s, until_s)};
        if (!is_empty(part)) inside.push_back(part);
    }
    return inside;
}

double total_s(std::span<const Interval> gaps) {
    double sum_s = 0.0;
    for (const Interval& gap : gaps) sum_s += gap.end_s - gap.begin_s;
    return sum_s;
}

PackingLane::PackingLane(std::span<const Job> jobs, double Job::*duration,
                         std::span<const Interval> idle_gaps)
    : gaps(idle_gaps.begin(), idle_gaps.end()), shortest_first(generation_order(jobs.size())) {
    for (const Job& job : jobs) duration_s.push_back(job.*duration);
    total_s = std::accumulate(duration_s.begin(), duration_s.end(), 0.0);
    std::stable_sort(shortest_first.begin(), shortest_first.end(),
                     [&](std::size_t a, std::size_t b) { return duration_s[a] < duration_s[b]; });
}

// Small gaps first: what a gap for one or two tasks wastes depends on which they are, while a large
// gap is filled almost without waste by many subsets of whatever is left.
bool TightPacker::try_once(std::span<const Interval> gaps, double slack_s, Random& random) {
    const auto room_s = [&](std::size_t gap) { return gaps[gap].end_s - gaps[gap].begin_s; };
    left_ = lane_.shortest_first;
    by_room_ = generation_order(gaps.size());
    std::stable_sort(by_room_.begin(), by_room_.end(),
                     [&](std::size_t a, std::size_t b) { return room_s(a) < room_s(b); });
    for (std::size_t i = 0; i + 1 < by_room_.size(); ++i) {
        slack_s -= fill(by_room_[i], room_s(by_room_[i]), random);
        if (slack_s < 0.0) return false;
    }
    double rest_s = 0.0;
    for (const std::size_t j : left_) {
        rest_s += lane_.duration_s[j];
        gap_of_[j] = by_room_.back();
    }
    return rest_s <= room_s(by_room_.back());
}

// Guess how many tasks the gap takes and draw all but two of them, each about as long as the rest
// of the gap asks for; then close it. Returns what is left of the gap.
double TightPacker::fill(std::size_t gap, double room_s, Random& random) {
    const double mean_s = lane_.total_s / static_cast<double>(lane_.duration_s.size());
    const double guess = std::min(room_s / mean_s, static_cast<double>(left_.size()));
    auto n = static_cast<std::size_t>(guess + share(random));
    for (; n > 2 && !left_.empty(); --n) {
        const double asked_s = room_s / static_cast<double>(n);
        const auto at = std::lower_bound(
            left_.begin(), left_.end(), asked_s,
            [&](std::size_t j, double time_s) { return lane_.duration_s[j] < time_s; });
        // Up to four places to either side.
        const auto place =
            static_cast<std::size_t>(at - left_.begin()) + below(random, 5) + below(random, 5);
        const std::size_t chosen = std::min(std::max<std::size_t>(place, 4) - 4, left_.size() - 1);
        const double duration_s = lane_.duration_s[left_[chosen]];
        if (duration_s > room_s) break;
        room_s -= duration_s;
        take(chosen, gap);
        steps_ += 4;
    }
    return close(gap, room_s);
}

// The one or two tasks that leave least, in one pass from both ends of the lengths.
double TightPacker::close(std::size_t gap, double room_s) {
    const auto length_s = [&](std::size_t at) { return lane_.duration_s[left_[at]]; };
    std::size_t end = left_.size();
    while (end > 0 && length_s(end - 1) > room_s) --end;
    steps_ += left_.size() + 8;
    if (end == 0) return room_s;
    double least_s = room_s - length_s(end - 1);
    std::size_t first = end - 1, second = end;  // second == end: only one
    for (std::size_t low = 0, high = end - 1; low < high;) {
        const double left_s = room_s - length_s(low) - length_s(high);
        if (left_s < 0.0) {
            --high;
            continue;
        }
        if (left_s < least_s) {
            least_s = left_s;
            first = low;
            second = high;
        }
        ++low;
    }
    if (second < end) take(second, gap);  // the later place first
    take(first, gap);
    return least_s;
}

bool Refill::run(Order& order, std::span<const double> begin_s, double until_s, Random& random) {
    const std::vector<Interval> gaps = gaps_between(lane_.gaps, 0.0, until_s);
    if (gaps.size() < 2) return false;
    // Half of the time the smallest gaps are filled first, and half of the time with any tasks;
    // otherwise gaps in order of time, tasks in their order.
    const bool smallest_first = coin(random), any_tasks = coin(random);
    std::size_t first = below(random, gaps.size());
    if (smallest_first && coin(random)) first = 0;
    rest_.clear();
    for (const std::size_t j : order)
        if (begin_s[j] >= gaps[first].begin_s) rest_.push_back(j);
    if (any_tasks)
        for (std::size_t i = rest_.size(); i > 1; --i)
            std::swap(rest_[i - 1], rest_[below(random, i)]);
    gaps_.resize(gaps.size() - first);
    std::iota(gaps_.begin(), gaps_.end(), first);
    const auto room_s = [&](std::size_t gap) { return gaps[gap].end_s - gaps[gap].begin_s; };
    if (smallest_first)
        std::stable_sort(gaps_.begin(), gaps_.end(),
                         [&](std::size_t a, std::size_t b) { return room_s(a) < room_s(b); });
    // What each gap may leave, on average, if all is to fit.
    const double spare_s =
        std::max(0.0, total_s(gaps) - lane_.total_s) / static_cast<double>(gaps.size());
    // Tasks that lie before the first gap to refill stay there; those left over come last.
    for (const std::size_t j : order)
        gap_of_[j] = begin_s[j] < gaps[first].begin_s ? 0 : gaps.size();
    for (const std::size_t gap : gaps_) {
        if (rest_.empty()) break;
        nodes_ = 0;
        chosen_.clear();
        best_.clear();
        best_left_s_ = std::numeric_limits<double>::infinity();
        search(0, room_s(gap), -spare_s * std::log(1.0 - share(random)));
        steps_ += 4 * nodes_ + rest_.size();
        for (const std::size_t at : best_) gap_of_[rest_[at]] = gap;
        for (std::size_t i = best_.size(); i-- > 0;)
            rest_.erase(rest_.begin() + static_cast<std::ptrdiff_t>(best_[i]));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return gap_of_[a] < gap_of_[b]; });
    return true;
}

// Depth first over the subsets that fit, in order of preference, until one leaves little enough.
void Refill::search(std::size_t first, double room_s, double enough_s) {
    constexpr std::uint64_t k_most_nodes = 100;
    if (room_s < best_left_s_) {
        best_left_s_ = room_s;
        best_ = chosen_;
    }
    for (std::size_t at = first; at < rest_.size(); ++at) {
        if (best_left_s_ <= enough_s || nodes_ >= k_most_nodes) return;
        const double duration_s = lane_.duration_s[rest_[at]];
        if (duration_s > room_s) continue;
        ++nodes_;
        chosen_.push_back(at);
        search(at + 1, room_s - duration_s, enough_s);
        chosen_.pop_back();
    }
}

}  // namespace caesura::plan
