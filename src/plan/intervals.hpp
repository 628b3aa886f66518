// Sets of moments, as sorted, disjoint intervals: together, and one without the other.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/schedule.hpp"

namespace caesura::plan {

using Intervals = std::vector<Interval>;

/// What lies in either; intervals that touch become one. O(n log n).
inline Intervals unite(Intervals a, const Intervals& b) {
    a.insert(a.end(), b.begin(), b.end());
    std::sort(a.begin(), a.end(),
              [](const Interval& x, const Interval& y) { return x.begin_s < y.begin_s; });
    Intervals all;
    for (const Interval& next : a) {
        if (!all.empty() && next.begin_s <= all.back().end_s)
            all.back().end_s = std::max(all.back().end_s, next.end_s);
        else
            all.push_back(next);
    }
    return all;
}

/// What lies in `a` and not in `b`. O(n).
inline Intervals without(const Intervals& a, const Intervals& b) {
    Intervals rest;
    auto first = b.begin();
    for (const Interval& interval : a) {
        double begin_s = interval.begin_s;
        while (first != b.end() && first->end_s <= begin_s) ++first;
        for (auto cut = first; cut != b.end() && cut->begin_s < interval.end_s; ++cut) {
            if (cut->begin_s > begin_s) rest.push_back({begin_s, cut->begin_s});
            begin_s = std::max(begin_s, cut->end_s);
        }
        if (begin_s < interval.end_s) rest.push_back({begin_s, interval.end_s});
    }
    return rest;
}

inline double length_s(const Intervals& intervals) {
    double sum_s = 0.0;
    for (const Interval& interval : intervals) sum_s += interval.end_s - interval.begin_s;
    return sum_s;
}

}  // namespace caesura::plan
