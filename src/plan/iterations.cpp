#include "plan/iterations.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/median.hpp"

namespace caesura::plan {
namespace {

using base::median;

// Medians keep order: what is sorted and disjoint in every record is so in the result.
std::vector<Interval> median_of(const std::vector<const std::vector<Interval>*>& all) {
    std::vector<Interval> out(all.front()->size());
    std::vector<double> begins(all.size()), ends(all.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (std::size_t k = 0; k < all.size(); ++k) {
            begins[k] = (*all[k])[i].begin_s;
            ends[k] = (*all[k])[i].end_s;
        }
        out[i] = {median(begins), median(ends)};
    }
    return out;
}

bool alike(const IterationRecord& a, const IterationRecord& b) {
    return a.obstacles.compress.size() == b.obstacles.compress.size() &&
           a.obstacles.write.size() == b.obstacles.write.size();
}

// What an obstacle's ends deviate by themselves, from the distances between one end and the next:
// that an iteration is late as a whole is followed while it runs, and no spread. Two ends that
// deviate independently make a distance deviate sqrt(2) times as much.
double spread_of(const std::vector<const std::vector<Interval>*>& all) {
    // Mean of largest less smallest of 1, 2, 3 normal numbers, in standard deviations.
    constexpr double k_range[] = {1.0, 1.128, 1.693};
    static_assert(std::size(k_range) == IterationHistory::k_kept);
    const auto distance = [](const std::vector<Interval>& marks, std::size_t end) {
        const Interval& mark = marks[end / 2];
        if (end % 2 == 1) return mark.end_s - mark.begin_s;
        return mark.begin_s - (end > 0 ? marks[end / 2 - 1].end_s : 0.0);
    };
    const std::size_t n_ends = 2 * all.front()->size();
    double sum_s = 0.0;
    for (std::size_t end = 0; end < n_ends; ++end) {
        double least = distance(*all.front(), end), most = least;
        for (const auto* marks : all) {
            least = std::min(least, distance(*marks, end));
            most = std::max(most, distance(*marks, end));
        }
        sum_s += (most - least) / k_range[all.size() - 1];
    }
    return n_ends > 0 ? sum_s / static_cast<double>(n_ends) / std::sqrt(2.0) : 0.0;
}

IterationRecord typical(const std::deque<IterationRecord>& records) {
    const IterationRecord* model = &records.back();
    std::ptrdiff_t most = 0;
    for (auto it = records.rbegin(); it != records.rend(); ++it) {
        const auto votes = std::count_if(records.begin(), records.end(),
                                         [&](const auto& other) { return alike(*it, other); });
        if (votes > most) model = &*it;
        most = std::max(most, votes);
    }
    std::vector<const std::vector<Interval>*> compress, write;
    std::vector<double> lengths;
    for (const IterationRecord& record : records) {
        if (!alike(record, *model)) continue;
        compress.push_back(&record.obstacles.compress);
        write.push_back(&record.obstacles.write);
        lengths.push_back(record.length_s);
    }
    const double spread_s = std::max(spread_of(compress), spread_of(write));
    return {{median_of(compress), median_of(write), spread_s}, median(lengths)};
}

}  // namespace

const IterationHistory::Kind* IterationHistory::find(std::string_view label,
                                                     bool after_dump) const {
    for (const Kind& kind : kinds_)
        if (kind.label == label && kind.after_dump == after_dump) return &kind;
    return nullptr;
}

void IterationHistory::add(std::string_view label, bool after_dump, IterationRecord record) {
    labels_.emplace_back(label);
    if (labels_.size() > k_history) labels_.pop_front();
    if (const Kind* known = find(label, after_dump)) {
        last_kind_ = static_cast<std::size_t>(known - kinds_.data());
    } else {
        if (kinds_.size() == k_kinds)
            kinds_.erase(
                std::min_element(kinds_.begin(), kinds_.end(),
                                 [](const Kind& a, const Kind& b) { return a.seen < b.seen; }));
        last_kind_ = kinds_.size();
        kinds_.push_back({std::string(label), after_dump, {}, {}, 0});
    }
    Kind& kind = kinds_[last_kind_];
    kind.seen = ++count_;
    kind.records.push_back({});
    if (kind.records.size() > k_kept) kind.records.pop_front();
    update_last(std::move(record));
}

void IterationHistory::update_last(IterationRecord record) {
    Kind& kind = kinds_[last_kind_];
    kind.records.back() = std::move(record);
    kind.expected = typical(kind.records);
}

std::string_view IterationHistory::after(std::string_view then) const {
    if (labels_.empty()) return {};
    std::vector<std::string_view> past(labels_.begin(), labels_.end());
    if (then.data() != nullptr) past.push_back(then);
    const std::size_t n = past.size();
    std::size_t best = 0, longest = 0;
    for (std::size_t at = 1; at < n; ++at) {
        std::size_t length = 0;
        while (length < at && past[at - 1 - length] == past[n - 1 - length]) ++length;
        if (length > 0 && length >= longest) {
            longest = length;
            best = at;
        }
    }
    if (longest > 0) return past[best];
    std::map<std::string_view, std::size_t> times;
    for (const std::string_view label : past) ++times[label];
    std::string_view most = past.back();
    for (std::size_t at = n; at-- > 0;)
        if (times[past[at]] > times[most]) most = past[at];
    return most;
}

const IterationRecord* IterationHistory::expect(std::string_view label, bool after_dump) const {
    const Kind* kind = find(label, after_dump);
    if (!kind) kind = find(label, !after_dump);
    if (!kind)
        for (const Kind& other : kinds_)
            if (!kind || std::pair(other.after_dump == after_dump, other.seen) >
                             std::pair(kind->after_dump == after_dump, kind->seen))
                kind = &other;
    return kind ? &kind->expected : nullptr;
}

}  // namespace caesura::plan
