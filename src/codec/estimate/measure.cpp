// A block's codes are sampled where its rows lie, predictor by predictor, and their cost is told by
// the encoder's own tables. Lorenzo's codes at a place do not depend on how the rest of the block
// is coded: tiles of them are the block's. Interpolation's are made row by row, level by level
// (row_sample.hpp); the coarsest levels, where few values are left, are coded as they are.
//
// Places are spread evenly: a sequence without clumps errs much less than places picked by what
// goes on there, but where a burst is missed altogether.
#include "codec/estimate/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "codec/entropy/code_cost.hpp"
#include "codec/estimate/lorenzo_sample.hpp"
#include "codec/estimate/row_sample.hpp"
#include "codec/predictors/levels.hpp"

namespace caesura::codec {
namespace {

constexpr double k_weight_scale = 1024;

/// How much of a block must be seen to tell its bytes.
struct Effort {
    std::size_t tiles;   ///< of Lorenzo's codes
    std::size_t groups;  ///< of rows, of the finest level's last pass
    bool bursts;         ///< that may lie between all places
    bool everything = false;

    /// Enough to see what has changed since a whole look.
    Effort brief() const {
        constexpr std::size_t k_share = 4, k_fewest_tiles = 16, k_fewest_groups = 8;
        return {std::max(tiles / k_share, k_fewest_tiles),
                std::max(groups / k_share, k_fewest_groups), false};
    }

    std::size_t groups_at(int level) const {
        constexpr std::size_t k_fewest = 3;
        return level == 0 ? groups : std::max(groups >> (level + 1), k_fewest);
    }
};

/// Where as much goes on everywhere a few places tell; the spots' unevenness says.
Effort effort_for(double unevenness) {
    if (unevenness < 0.005) return {32, 16, false};
    if (unevenness < 0.02) return {44, 32, false};
    if (unevenness < 0.1) return {96, 48, false};
    if (unevenness < 1) return {200, 88, false};
    return {320, 88, true};
}

/// Codes as they come, each standing for `weight` of the block's.
class CodesToCost final : public CodeSink {
  public:
    CodesToCost(CodeCost& cost, std::uint64_t weight) : cost_(cost), weight_(weight) {}
    void put_chunk(const std::uint32_t* codes, std::size_t n) override {
        std::copy_n(codes, n, chunk_);
        cost_.add(chunk_, n, weight_);
    }

  private:
    CodeCost& cost_;
    std::uint64_t weight_;
    alignas(64) std::uint32_t chunk_[k_chunk_values + k_code_slack];
};

/// Places all over the block; where there are bursts, mostly in those.
template <class T>
std::vector<Pick> pick_tiles(const Spots<T>& spots, const LorenzoSample<T>& sample,
                             const Quantiser<T>& quantiser, const Effort& effort) {
    constexpr std::uint64_t k_even_quarters = 16;
    if (effort.bursts) {
        Spots<T> closer = spots.closer();
        closer.rate(quantiser);
        return closer.pick(effort.tiles, k_even_quarters);
    }
    std::vector<Pick> picks(effort.tiles);
    for (std::size_t i = 0; i < picks.size(); ++i) picks[i].at = sample.place_of(i, picks.size());
    return picks;
}

template <class T>
double measure_lorenzo(const Spots<T>& spots, const Quantiser<T>& quantiser, unsigned axes,
                       const Effort& effort, bool planes, CodeCost& cost) {
    unsigned of_four = 0;
    for (unsigned a = 0; a < 4; ++a) {
        const int axis = spots.axes().axis[a];
        if (axis >= 0 && (axes >> axis & 1U) != 0) of_four |= 1U << a;
    }
    LorenzoSample<T> sample(spots, quantiser, LorenzoSample<T>::k_most_codes);
    alignas(64) std::uint32_t codes[LorenzoSample<T>::k_most_codes + k_code_slack];
    const std::vector<Pick> picks = pick_tiles(spots, sample, quantiser, effort);
    const double scale = k_weight_scale * static_cast<double>(spots.axes().count()) /
                         static_cast<double>(picks.size());
    constexpr std::size_t k_ahead = 2;
    for (std::size_t p = 0; p < picks.size() + k_ahead; ++p) {
        if (p < picks.size()) sample.prefetch(picks[p].at);
        if (p < k_ahead) continue;
        const Pick& pick = picks[p - k_ahead];
        sample.load(pick.at);
        const std::size_t n = sample.codes(of_four, codes);
        const auto weight =
            static_cast<std::uint64_t>(std::max(1.0, scale * pick.weight / static_cast<double>(n)));
        if (planes) {
            cost.add_planes(codes, n, weight);
        } else {
            cost.add(codes, n, weight);
        }
        cost.add_exact(sample.exact(), sizeof(T), weight);
    }
    return cost.bytes(k_weight_scale);
}

/// Every 2^level-th value along every axis.
template <class T>
std::vector<T> grid_of(const Spots<T>& spots, int level) {
    const FourAxes& axes = spots.axes();
    std::array<std::uint64_t, 4> n{};
    for (std::size_t a = 0; a < 4; ++a) n[a] = ((axes.extent[a] - 1) >> level) + 1;
    std::vector<T> grid;
    grid.reserve(static_cast<std::size_t>(n[0] * n[1] * n[2] * n[3]));
    for (std::uint64_t i0 = 0; i0 < n[0]; ++i0) {
        for (std::uint64_t i1 = 0; i1 < n[1]; ++i1) {
            for (std::uint64_t i2 = 0; i2 < n[2]; ++i2) {
                const T* row =
                    spots.values() +
                    ((i0 * axes.stride[0] + i1 * axes.stride[1] + i2 * axes.stride[2]) << level);
                for (std::uint64_t x = 0; x < n[3]; ++x) grid.push_back(row[x << level]);
            }
        }
    }
    return grid;
}

/// All codes that `encode` makes.
template <class T, class Encode>
void count_all(CodeCost& cost, Encode encode) {
    CodesToCost sink(cost, static_cast<std::uint64_t>(k_weight_scale));
    CodeWriter codes(sink);
    ExactValues<T> exact;
    encode(codes, exact);
    codes.finish();
    cost.add_exact(exact.values.size(), sizeof(T), static_cast<std::uint64_t>(k_weight_scale));
}

template <class T>
double measure_all_of_lorenzo(const Spots<T>& spots, const Shape& shape,
                              const Quantiser<T>& quantiser, const LorenzoSettings& settings,
                              PredictorScratch& scratch, CodeCost& cost) {
    const std::vector<T> values = grid_of(spots, 0);
    count_all<T>(cost, [&](CodeWriter& codes, ExactValues<T>& exact) {
        encode_lorenzo(values.data(), shape, quantiser, settings, scratch, codes, exact);
    });
    return cost.bytes(k_weight_scale);
}

/// The grid of a level is a block of its own: its codes, all of them.
template <class T>
void measure_whole(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                   const InterpolationSettings& settings, int level, PredictorScratch& scratch,
                   CodeCost& cost) {
    const std::vector<T> grid = grid_of(spots, level);
    Shape of_level = shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        of_level[axis] = ((shape[axis] - 1) >> level) + 1;
    }
    // What is finer below this level, as nearly as sixteenths tell.
    Quantiser<T> lattice = quantiser;
    lattice.step = step_at_level(quantiser.step, settings, level);
    InterpolationSettings below = settings;
    const auto finer = [&](int by) {
        const double ratio =
            static_cast<double>(lattice.step) /
            static_cast<double>(step_at_level(quantiser.step, settings, level + by));
        return static_cast<std::uint8_t>(std::clamp(std::lround(16 * ratio), 16L, 64L));
    };
    constexpr int k_far = 20;
    below.alpha = finer(1);
    below.beta = finer(k_far);
    count_all<T>(cost, [&](CodeWriter& codes, ExactValues<T>& exact) {
        encode_interpolation(grid.data(), of_level, lattice, below, scratch, codes, exact);
    });
}

/// Of so many values a level's codes need not be sampled.
constexpr std::uint64_t k_few_values = 8192;
/// What is coarser is 1/512 of the block: like this level, but for some bits more, about 1.3 for
/// each level on.
constexpr int k_last_sampled_level = 2;
constexpr double k_coarser_bits = 1.5;

template <class T>
double measure_interpolation(const Spots<T>& spots, const Shape& shape,
                             const Quantiser<T>& quantiser, const Choice& choice,
                             const Effort& effort, PredictorScratch& scratch, CodeCost& cost) {
    // Where fewer bits are expected, most residuals are zero.
    constexpr double k_sparse_bits = 2.5;
    const double bits =
        8 * static_cast<double>(choice.rough_bytes) / static_cast<double>(shape.count());
    const std::uint64_t few = effort.everything ? shape.count() : k_few_values;
    RowSample<T> rows(spots, shape, quantiser, choice.interpolation, scratch);
    for (int level = 0;; ++level) {
        if (values_at_level(shape, level) <= few) {
            measure_whole(spots, shape, quantiser, choice.interpolation, level, scratch, cost);
            break;
        }
        const auto coarser = static_cast<double>(values_at_level(shape, level + 1));
        double scale = k_weight_scale;
        if (level == k_last_sampled_level) {
            const auto all = static_cast<double>(values_at_level(shape, level));
            scale *= all / (all - coarser);
        }
        rows.set_predicted_sources(level == 0 && bits < k_sparse_bits);
        rows.measure(level, effort.groups_at(level), scale, cost);
        if (level < k_last_sampled_level) continue;
        cost.add_bits(static_cast<std::uint64_t>(coarser * k_coarser_bits * k_weight_scale));
        break;
    }
    return cost.bytes(k_weight_scale);
}

}  // namespace

template <class T>
Measured measure(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                 const Choice& choice, const Measuring& how, PredictorScratch& scratch) {
    constexpr double k_part_head_bytes = 48;
    CodeCost cost(how.tables, how.drift_check);
    AdaptiveCost adaptive;
    if (how.adaptive_below > 0) cost.count_too(&adaptive);
    Effort effort = effort_for(spots.unevenness());
    effort.everything = how.all_codes;
    if (how.look == Look::brief) effort = effort.brief();
    const double bytes =
        choice.kind == PartKind::interpolation
            ? measure_interpolation(spots, shape, quantiser, choice, effort, scratch, cost)
        : effort.everything
            ? measure_all_of_lorenzo(spots, shape, quantiser, choice.lorenzo, scratch, cost)
            : measure_lorenzo(spots, quantiser, choice.lorenzo.axes, effort, how.planes, cost);
    Measured measured;
    measured.bytes = static_cast<std::uint64_t>(k_part_head_bytes + bytes);
    if (measured.bytes < how.adaptive_below) {
        measured.adaptive_bytes = static_cast<std::uint64_t>(
            k_part_head_bytes + adaptive.bytes(k_weight_scale, effort.everything) +
            cost.raw_bytes(k_weight_scale));
    }
    return measured;
}

template Measured measure(const Spots<float>&, const Shape&, const Quantiser<float>&, const Choice&,
                          const Measuring&, PredictorScratch&);
template Measured measure(const Spots<double>&, const Shape&, const Quantiser<double>&,
                          const Choice&, const Measuring&, PredictorScratch&);

}  // namespace caesura::codec
