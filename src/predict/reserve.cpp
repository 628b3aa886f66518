// How many bytes to reserve for a rank's region of one dump.
//
// Invariants:
//  - 0 <= reserve <= raw bytes, whatever the predictions say.
#include <algorithm>
#include <cmath>

#include "caesura/predict.hpp"

namespace caesura::predict {

// Source: S1 §III-D (extra space). Differs: one margin per region and from the measured spread, so
// that errors of different blocks average out (S1: a factor of 1.1 to 1.43 on every block).
std::uint64_t reserve_bytes(std::span<const Bytes> blocks, std::uint64_t raw_bytes, double sigmas) {
    double mean = 0.0, own_var = 0.0, shared = 0.0;
    for (const Bytes& block : blocks) {
        mean += block.mean;
        shared += block.shared_sigma;
        own_var +=
            std::max(0.0, block.sigma * block.sigma - block.shared_sigma * block.shared_sigma);
    }
    const double wanted = std::ceil(mean + sigmas * std::sqrt(own_var + shared * shared));
    if (!(wanted < static_cast<double>(raw_bytes))) return raw_bytes;  // also NaN
    return wanted > 0.0 ? static_cast<std::uint64_t>(wanted) : 0;
}

}  // namespace caesura::predict
