// What the models that learn from finished blocks share.
#pragma once

namespace caesura::predict {

inline constexpr double k_least_gain = 0.1;     // the last ten or so blocks count
inline constexpr double k_max_log_ratio = 4.2;  // a factor of 66: what one block may claim
inline constexpr double k_remembered_dumps = 8.0;

constexpr double square(double x) { return x * x; }

}  // namespace caesura::predict
