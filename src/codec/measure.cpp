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

constexpr std::size_t k_tiles = 96;
constexpr std::uint64_t k_even_quarters = 16;
constexpr double k_weight_scale = 64;

/// Hand each tile's codes, differenced along `axes` (of the block), to `use`.
template <class T, class Use>
void for_each_tile(const Spots<T>& spots, const Quantiser<T>& quantiser, unsigned axes, bool inside,
                   Use use) {
    unsigned of_four = 0;
    for (unsigned a = 0; a < 4; ++a) {
        const int axis = spots.axes().axis[a];
        if (axis >= 0 && (axes >> axis & 1U) != 0) of_four |= 1U << a;
    }
    LorenzoSample<T> sample(spots, quantiser, inside);
    alignas(64) std::uint32_t codes[LorenzoSample<T>::k_most_codes + k_code_slack];
    const std::vector<Pick> picks = spots.pick(k_tiles, k_even_quarters);
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
                       bool planes, CodeCost& cost) {
    const double scale = k_weight_scale * static_cast<double>(spots.axes().count());
    for_each_tile(spots, quantiser, axes, false,
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
                             Rehearsal<T>& rehearsal, const Choice& choice, CodeCost& cost) {
    double everywhere = 0;  // bits per value of Lorenzo
    for_each_tile(spots, quantiser, choice.lorenzo.axes, true,
                  [&](std::uint32_t* codes, std::size_t n, std::size_t, double share) {
                      const std::size_t whole = (n + 63) / 64 * 64;
                      std::fill(codes + n, codes + whole, 0U);
                      everywhere +=
                          share / 128 / static_cast<double>(n) *
                          static_cast<double>(rough_cost(summarise_chunk(codes, whole), n));
                  });
    constexpr std::size_t k_pieces = Rehearsal<T>::k_pieces;
    const double in_pieces = rehearsal.cost(choice.lorenzo, 0, k_pieces) / k_pieces;
    const double more = (in_pieces > 0 ? std::clamp(everywhere / in_pieces, 0.1, 10.0) : 1.0) *
                        rehearsal.without_warm_up(choice.interpolation);
    rehearsal.measure(choice.interpolation, k_weight_scale * more, cost);
    return cost.bytes(k_weight_scale);
}

}  // namespace

template <class T>
std::uint64_t measure(const Spots<T>& spots, const Quantiser<T>& quantiser, Rehearsal<T>& rehearsal,
                      const Choice& choice, Coding coding, const TableSet& tables,
                      bool drift_check) {
    constexpr double k_part_head_bytes = 48;
    CodeCost cost(tables, drift_check);
    const double bytes = choice.kind == PartKind::interpolation
                             ? measure_interpolation(spots, quantiser, rehearsal, choice, cost)
                             : measure_lorenzo(spots, quantiser, choice.lorenzo.axes,
                                               coding == Coding::planes, cost);
    return static_cast<std::uint64_t>(bytes + k_part_head_bytes);
}

template std::uint64_t measure(const Spots<float>&, const Quantiser<float>&, Rehearsal<float>&,
                               const Choice&, Coding, const TableSet&, bool);
template std::uint64_t measure(const Spots<double>&, const Quantiser<double>&, Rehearsal<double>&,
                               const Choice&, Coding, const TableSet&, bool);

}  // namespace caesura::codec
