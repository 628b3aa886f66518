// Lorenzo's codes at a place do not depend on how the rest of the block is coded: those of sampled
// tiles, weighted, are the block's.
//
// Interpolation's do, and pieces for the real encoder are few. But what it costs of what Lorenzo
// costs there is much the same all over a block (it varies by 1 to 2 % from piece to piece where
// the cost itself varies by 5 %): the pieces' cost is corrected by what Lorenzo costs in all tiles
// and in the pieces.
#include "codec/measure.hpp"

#include <algorithm>

#include "codec/code_cost.hpp"
#include "codec/lorenzo_sample.hpp"

namespace caesura::codec {
namespace {

constexpr std::uint64_t k_even_quarters = 16;
constexpr double k_weight_scale = 1024;

/// How much of a block must be seen to tell its bytes.
struct Effort {
    std::size_t tiles;
    std::size_t pieces;
    bool closer;  ///< at more spots than settings were chosen by
};

/// Where as much goes on everywhere a few places tell. With the spots' unevenness grow the errors
/// of the fewest here: measured over 34 fields at five bounds, they are at most about 2 % below the
/// first limit, up to 20 % below the last and up to 40 % past it, where a burst may lie between all
/// spots.
Effort effort_for(double unevenness) {
    constexpr std::size_t k_pieces = Rehearsal<float>::k_fewest_pieces;
    if (unevenness < 0.02) return {96, k_pieces, false};
    if (unevenness < 0.1) return {192, 2 * k_pieces, false};
    return {384, 4 * k_pieces, unevenness >= 1};
}

/// Hand each tile's codes, differenced along `axes` (of the block), to `use`.
template <class T, class Use>
void for_each_tile(const Spots<T>& spots, const Quantiser<T>& quantiser, unsigned axes,
                   std::size_t tiles, bool inside, Use use) {
    unsigned of_four = 0;
    for (unsigned a = 0; a < 4; ++a) {
        const int axis = spots.axes().axis[a];
        if (axis >= 0 && (axes >> axis & 1U) != 0) of_four |= 1U << a;
    }
    LorenzoSample<T> sample(spots, quantiser, inside);
    alignas(64) std::uint32_t codes[LorenzoSample<T>::k_most_codes + k_code_slack];
    const std::vector<Pick> picks = spots.pick(tiles, k_even_quarters);
    constexpr std::size_t k_ahead = 2;
    for (std::size_t p = 0; p < picks.size() + k_ahead; ++p) {
        if (p < picks.size()) sample.prefetch(picks[p].at);
        if (p < k_ahead) continue;
        const Pick& pick = picks[p - k_ahead];
        sample.load(pick.at);
        const std::size_t n = sample.codes(of_four, codes);
        use(codes, n, sample.exact(), pick.weight / static_cast<double>(picks.size()));
    }
}

template <class T>
double measure_lorenzo(const Spots<T>& spots, const Quantiser<T>& quantiser, unsigned axes,
                       const Effort& effort, bool planes, CodeCost& cost) {
    const double scale = k_weight_scale * static_cast<double>(spots.axes().count());
    for_each_tile(spots, quantiser, axes, effort.tiles, false,
                  [&](std::uint32_t* codes, std::size_t n, std::size_t exact, double share) {
                      const auto weight = static_cast<std::uint64_t>(
                          std::max(1.0, scale * share / static_cast<double>(n)));
                      if (planes) {
                          cost.add_planes(codes, n, weight);
                      } else {
                          cost.add(codes, n, weight);
                      }
                      cost.add_exact(exact, sizeof(T), weight);
                  });
    return cost.bytes(k_weight_scale);
}

template <class T>
double measure_interpolation(const Spots<T>& spots, const Quantiser<T>& quantiser,
                             Rehearsal<T>& rehearsal, const Choice& choice, const Effort& effort,
                             CodeCost& cost) {
    double everywhere = 0;  // bits per value of Lorenzo
    for_each_tile(spots, quantiser, choice.lorenzo.axes, effort.tiles, true,
                  [&](std::uint32_t* codes, std::size_t n, std::size_t, double share) {
                      everywhere += share / 128 / static_cast<double>(n) *
                                    static_cast<double>(rough_cost(codes, n));
                  });
    const double in_pieces =
        rehearsal.cost(choice.lorenzo, 0, effort.pieces) / static_cast<double>(effort.pieces);
    const double more = (in_pieces > 0 ? std::clamp(everywhere / in_pieces, 0.1, 10.0) : 1.0) *
                        rehearsal.without_warm_up(choice.interpolation);
    rehearsal.measure(choice.interpolation, effort.pieces, k_weight_scale * more, cost);
    return cost.bytes(k_weight_scale);
}

}  // namespace

template <class T>
std::uint64_t measure(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                      Rehearsal<T>& rehearsal, const Choice& choice, Coding coding,
                      const TableSet& tables, bool drift_check) {
    constexpr double k_part_head_bytes = 48;
    CodeCost cost(tables, drift_check);
    const Effort effort = effort_for(spots.unevenness());
    const auto bytes_by = [&](const Spots<T>& by, Rehearsal<T>& pieces) {
        return choice.kind == PartKind::interpolation
                   ? measure_interpolation(by, quantiser, pieces, choice, effort, cost)
                   : measure_lorenzo(by, quantiser, choice.lorenzo.axes, effort,
                                     coding == Coding::planes, cost);
    };
    double bytes = k_part_head_bytes;
    if (effort.closer) {
        Spots<T> closer = spots.closer();
        closer.rate(quantiser);
        Rehearsal<T> pieces(closer, shape, quantiser);
        bytes += bytes_by(closer, pieces);
    } else {
        bytes += bytes_by(spots, rehearsal);
    }
    return static_cast<std::uint64_t>(bytes);
}

template std::uint64_t measure(const Spots<float>&, const Shape&, const Quantiser<float>&,
                               Rehearsal<float>&, const Choice&, Coding, const TableSet&, bool);
template std::uint64_t measure(const Spots<double>&, const Shape&, const Quantiser<double>&,
                               Rehearsal<double>&, const Choice&, Coding, const TableSet&, bool);

}  // namespace caesura::codec
