// The median, once.
#pragma once

#include <algorithm>
#include <vector>

namespace caesura::base {

/// The middle one (of an even number the mean of both); 0 of none. O(n).
inline double median(std::vector<double> values) {
    if (values.empty()) return 0.0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

}  // namespace caesura::base
