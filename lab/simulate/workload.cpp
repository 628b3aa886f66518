#include "simulate/workload.hpp"

#include <algorithm>

namespace caesura::simulate {
namespace {

// Far out in a normal distribution there is nothing that exists: a throughput below a fifth of
// what was predicted, a ratio below a tenth.
constexpr double k_least_speed = 0.2, k_least_ratio = 0.1;

bool covers(const std::vector<plan::Interval>& obstacles, double time_s) {
    return std::any_of(obstacles.begin(), obstacles.end(), [time_s](const plan::Interval& o) {
        return o.begin_s <= time_s && time_s < o.end_s;
    });
}

std::vector<double> boundaries(const Pattern& pattern) {
    std::vector<double> at_s{0.0, pattern.iteration_s};
    for (const auto* lane : {&pattern.obstacles.compress, &pattern.obstacles.write})
        for (const plan::Interval& o : *lane) at_s.insert(at_s.end(), {o.begin_s, o.end_s});
    std::sort(at_s.begin(), at_s.end());
    at_s.erase(std::unique(at_s.begin(), at_s.end()), at_s.end());
    return at_s;
}

double compress_s(const CompressSpeed& speed, double raw_bytes, double ratio) {
    const double bits = speed.bits_per_raw_value / ratio;
    const double span = speed.max_bytes_per_s - speed.min_bytes_per_s;
    // S1-Eq1, clamped: unclamped it exceeds C_max below 3 bits a value.
    const double curve = span * std::pow(3.0, -speed.exponent) * std::pow(bits, speed.exponent);
    return raw_bytes /
           std::clamp(curve + speed.min_bytes_per_s, speed.min_bytes_per_s, speed.max_bytes_per_s);
}

}  // namespace

Workload::Workload(const Scenario& scenario) : scenario_(scenario), random_(scenario.seed) {
    for (const Pattern& pattern : scenario.patterns) {
        Plan plan;
        const std::vector<double> at_s = boundaries(pattern);
        for (std::size_t i = 1; i < at_s.size(); ++i) {
            plan.ends_s.push_back(at_s[i]);
            plan.phases.push_back({at_s[i] - at_s[i - 1],
                                   covers(pattern.obstacles.compress, at_s[i - 1]),
                                   covers(pattern.obstacles.write, at_s[i - 1])});
        }
        plans_.push_back(std::move(plan));
    }
    spread_ratios();
}

// S0 §5.2: the ratios of a node's processes are normal, and their largest and smallest differ by a
// given number. Drawn, then shifted and scaled so that mean and difference are exact.
void Workload::spread_ratios() {
    ratio_scale_.assign(scenario_.ranks, 1.0);
    if (scenario_.ratio_spread == 0.0) return;
    for (std::uint32_t first = 0; first < scenario_.ranks; first += scenario_.ranks_per_node) {
        const std::uint32_t end = std::min(scenario_.ranks, first + scenario_.ranks_per_node);
        std::vector<double> z;
        double sum = 0.0;
        for (std::uint32_t r = first; r < end; ++r) {
            z.push_back(random_.normal(Draw::rank, r));
            sum += z.back();
        }
        const auto [low, high] = std::minmax_element(z.begin(), z.end());
        if (*high <= *low) continue;  // a node of one rank
        for (std::uint32_t r = first; r < end; ++r) {
            const auto& blocks = scenario_.blocks[r % scenario_.blocks.size()];
            double ratio = 0.0;
            for (const Block& block : blocks) ratio += block.ratio;
            ratio /= std::max(1.0, static_cast<double>(blocks.size()));
            const double from_mean =
                (z[r - first] - sum / static_cast<double>(z.size())) / (*high - *low);
            ratio_scale_[r] = std::max(0.0, 1.0 + scenario_.ratio_spread * from_mean / ratio);
        }
    }
}

void Workload::phases(std::uint32_t rank, std::uint32_t iteration,
                      std::vector<Phase>& phases) const {
    const std::size_t cycle = scenario_.patterns_per_rank;
    const std::size_t which = rank % (plans_.size() / cycle) * cycle + iteration % cycle;
    const Plan& plan = plans_[which];
    const double sigma_s = scenario_.noise.interval_sigma * scenario_.patterns[which].iteration_s;
    phases = plan.phases;
    if (sigma_s == 0.0) return;
    double at_s = 0.0;
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const double end_s =
            plan.ends_s[i] + sigma_s * random_.normal(Draw::boundary, rank, iteration, i);
        phases[i].length_s = std::max(0.0, end_s - at_s);
        at_s = std::max(at_s, end_s);
    }
}

std::vector<Piece> Workload::pieces(std::uint32_t rank, std::uint32_t iteration) const {
    const auto& blocks = scenario_.blocks[rank % scenario_.blocks.size()];
    const Noise& noise = scenario_.noise;
    std::vector<Piece> pieces(blocks.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const Block& block = blocks[b];
        Piece& piece = pieces[b];
        const double lasting =
            noise.block_sigma == 0.0
                ? 1.0
                : std::exp(noise.block_sigma * random_.normal(Draw::block, rank, b));
        const double ratio = std::max(1.0, block.ratio * ratio_scale_[rank] * lasting);
        const double real_ratio =
            std::max(1.0, ratio * random_.factor(noise.ratio_sigma, k_least_ratio, Draw::ratio,
                                                 rank, iteration, b));
        piece.raw_bytes = block.raw_bytes;
        piece.predicted_bytes = block.raw_bytes / ratio;
        piece.bytes = block.raw_bytes / real_ratio;
        piece.predicted_compress_s = block.compress_s >= 0.0
                                         ? block.compress_s
                                         : compress_s(scenario_.compress, block.raw_bytes, ratio);
        piece.compress_s =
            piece.predicted_compress_s /
            random_.factor(noise.compress_sigma, k_least_speed, Draw::compress, rank, iteration, b);
        piece.write_factor =
            1.0 / random_.factor(noise.write_sigma, k_least_speed, Draw::write, rank, iteration, b);
        if (noise.jitter_sigma > 0.0)
            piece.write_factor *=
                std::exp(noise.jitter_sigma * random_.normal(Draw::jitter, rank, iteration, b));
    }
    return pieces;
}

double Workload::system_bytes_per_s(std::uint64_t period) const {
    const double sigma = scenario_.noise.contention_sigma;
    if (sigma == 0.0) return scenario_.storage.system_bytes_per_s;
    return scenario_.storage.system_bytes_per_s *
           std::exp(sigma * random_.normal(Draw::system, period) - 0.5 * sigma * sigma);
}

bool Workload::dumps(std::uint32_t iteration) const {
    return iteration % scenario_.dump_every == 0 &&
           iteration + scenario_.tail_iterations < scenario_.iterations;
}

double Workload::raw_bytes(std::uint32_t rank) const {
    double bytes = 0.0;
    for (const Block& block : scenario_.blocks[rank % scenario_.blocks.size()])
        bytes += block.raw_bytes;
    return bytes;
}

}  // namespace caesura::simulate
