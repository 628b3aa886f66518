// How many bytes to reserve for a rank's region of one dump, and for a slot of S1.
//
// Invariants:
//  - 0 <= reserve <= raw bytes, whatever the predictions say.
#include <algorithm>
#include <cmath>
#include <map>

#include "predict/predict.hpp"

namespace caesura::predict {

// Source: S1 §III-D (extra space). Differs: one margin per region and from the measured spread, so
// that errors of different blocks average out (S1: a factor of 1.1 to 1.43 on every block).
std::uint64_t reserve_bytes(std::span<const Bytes> blocks, std::uint64_t raw_bytes, double sigmas) {
    double mean = 0.0, var = 0.0;
    std::map<std::uint32_t, double> shared;  // by field
    for (const Bytes& block : blocks) {
        mean += block.mean;
        shared[block.field] += block.shared_sigma;
        var += std::max(0.0, block.sigma * block.sigma - block.shared_sigma * block.shared_sigma);
    }
    for (const auto& [field, sigma] : shared) var += sigma * sigma;
    const double wanted = std::ceil(mean + sigmas * std::sqrt(var));
    if (!(wanted < static_cast<double>(raw_bytes))) return raw_bytes;  // also NaN
    return wanted > 0.0 ? static_cast<std::uint64_t>(wanted) : 0;
}

// The comparisons are false for NaN too.
Bytes scaled(const Bytes& block, double factor, std::uint64_t raw_bytes) {
    const double raw = static_cast<double>(raw_bytes);
    const Bytes product{block.mean * factor, block.sigma * factor, block.shared_sigma * factor};
    if (!(product.mean >= 0.0 && product.mean < raw)) return {raw, 0.0, 0.0, block.field};
    if (!(product.sigma >= 0.0 && product.sigma < raw))
        return {product.mean, raw, 0.0, block.field};
    const bool sane = product.shared_sigma >= 0.0 && product.shared_sigma <= product.sigma;
    return {product.mean, product.sigma, sane ? product.shared_sigma : product.sigma, block.field};
}

std::uint64_t slot_bytes(const Bytes& block, std::uint64_t raw_bytes, double space) {
    const double raw = static_cast<double>(raw_bytes);
    constexpr double k_high_ratio = 32.0;
    if (block.mean * k_high_ratio < raw) space = std::min(2.0, 1.0 + 4.0 * (space - 1.0));
    const double wanted = std::ceil(block.mean * space);
    if (!(wanted < raw)) return raw_bytes;  // also NaN
    return wanted > 0.0 ? static_cast<std::uint64_t>(wanted) : 0;
}

// S1 gives the cost of little space in one sentence: at R_space 1.1, 32.4 % of the partitions
// overflow, and that takes 65.6 % more time. If their prediction errors are normal, 32.4 % beyond
// 10 % means sigma = 0.1 / 0.4565; a share q of overflowing blocks costs 0.656 / 0.324 * q. So with
// z = (R - 1) / sigma, time is 2.025 * (1 - Phi(z)) and space R - 1; weighed they are least where
// w * 2.025 * phi(z) / sigma = 1 - w. The default 1.25 belongs to a weight of 0.34.
double slot_space_for_weight(double speed_weight) {
    constexpr double k_sigma = 0.1 / 0.4565, k_time_per_share = 0.656 / 0.324;
    const double weight = speed_weight > 0.0 ? std::min(speed_weight, 1.0) : 0.0;  // also NaN
    if (weight == 0.0) return k_least_slot_space;
    const double density = (1.0 - weight) * k_sigma / (weight * k_time_per_share);
    const double peak = 0.3989422804014327;  // phi(0)
    if (density >= peak) return k_least_slot_space;
    if (density <= 0.0) return k_most_slot_space;
    const double z = std::sqrt(-2.0 * std::log(density / peak));
    return std::clamp(1.0 + k_sigma * z, k_least_slot_space, k_most_slot_space);
}

}  // namespace caesura::predict
