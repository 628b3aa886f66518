#include "run/iterations.hpp"

#include <algorithm>
#include <map>

namespace caesura::run {
namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

// Medians keep order: what is sorted and disjoint in every record is so in the result.
std::vector<plan::Interval> median_of(const std::vector<const std::vector<plan::Interval>*>& all) {
    std::vector<plan::Interval> out(all.front()->size());
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

IterationRecord typical(const std::deque<IterationRecord>& records) {
    const plan::Obstacles& last = records.back().obstacles;
    std::vector<const std::vector<plan::Interval>*> compress, write;
    std::vector<double> lengths;
    for (const IterationRecord& record : records) {
        if (record.obstacles.compress.size() != last.compress.size() ||
            record.obstacles.write.size() != last.write.size())
            continue;
        compress.push_back(&record.obstacles.compress);
        write.push_back(&record.obstacles.write);
        lengths.push_back(record.length_s);
    }
    return {{median_of(compress), median_of(write)}, median(lengths)};
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
    return kind ? &kind->expected : nullptr;
}

}  // namespace caesura::run
