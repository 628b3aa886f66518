// First every setting that stands on its own is ranked by a rough measure over sampled rows (which
// axis is best interpolated last, how much feedback; along which axes to difference). What depends
// on other settings is rehearsed on a few small pieces with the real predictors.
#include "codec/estimate/tune.hpp"

#include <algorithm>

#include "codec/entropy/code_cost.hpp"
#include "codec/estimate/lorenzo_sample.hpp"
#include "codec/estimate/pass_sample.hpp"
#include "codec/estimate/rehearsal.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_explored_places = 12;
// A finer lattice on coarser levels makes for better predictions where most residuals are zero; of
// more bits per value than this, it only costs. To rehearse both tells less than the bits do: a
// piece has more values on coarser levels than the block. But of hardly any bits either may be
// twice as good.
constexpr double k_even_lattice_bits = 1.5;
constexpr double k_hardly_any_bits = 0.03;

/// The pass along one axis at its best.
struct AxisChoice {
    int axis = 0;  ///< of the block's
    PassSettings pass;
    double rough = 0;
};

/// What a little more or less of something costs changes one way only on either side of the best:
/// start in the middle and go on where it gets better.
template <class T>
AxisChoice explore_axis(PassSample<T>& sample, int axis) {
    AxisChoice best{axis, {true, 4}, sample.cost({true, 4})};
    const auto consider = [&](const PassSettings& pass) {
        const double rough = sample.cost(pass);
        if (!(rough < best.rough)) return false;
        best.pass = pass;
        best.rough = rough;
        return true;
    };
    if (consider({true, 8})) {
        consider({true, 12});
    } else {
        consider({true, 0});
    }
    consider({false, best.pass.feedback / 2});
    return best;
}

/// Orders to try: each axis last, where half of the values are, the others as they were ranked.
std::vector<std::array<std::uint8_t, k_max_rank>> orders_of(
    const std::array<std::uint8_t, k_max_rank>& base, int rank) {
    std::vector<std::array<std::uint8_t, k_max_rank>> orders{base};
    for (int last = 0; last + 1 < rank; ++last) {
        auto order = base;
        std::rotate(order.begin() + last, order.begin() + last + 1, order.begin() + rank);
        orders.push_back(order);
    }
    return orders;
}

/// Improve on settings that were made pass by pass, by rehearsing them. Returns the rough bits of
/// all pieces with what came out.
template <class T>
double rehearse(Rehearsal<T>& rehearsal, int rank, std::size_t n_pieces,
                InterpolationSettings& settings) {
    struct Tried {
        InterpolationSettings settings;
        double bits;
    };
    const std::uint8_t linear_where_sampled = settings.cubic;
    settings.cubic = InterpolationSettings{}.cubic;
    std::vector<Tried> tried;
    for (const auto& order : orders_of(settings.order, rank)) {
        Tried one{settings, 0};
        one.settings.order = order;
        one.bits = rehearsal.cost(one.settings, 0, 1);
        tried.push_back(one);
    }
    std::stable_sort(tried.begin(), tried.end(),
                     [](const Tried& a, const Tried& b) { return a.bits < b.bits; });
    // The two best meet on the other pieces too.
    tried.resize(std::min<std::size_t>(tried.size(), 2));
    for (Tried& one : tried) one.bits += rehearsal.cost(one.settings, 1, n_pieces);
    Tried best = tried.size() > 1 && tried[1].bits < tried[0].bits ? tried[1] : tried[0];
    const auto consider = [&](auto change) {
        InterpolationSettings other = best.settings;
        change(other);
        if (other == best.settings) return;
        const double bits = rehearsal.cost(other, 0, n_pieces);
        if (bits < best.bits) best = {other, bits};
    };
    // Sampled rows overrate noise, against which cubic is worse: ask the encoder.
    using Settings = InterpolationSettings;
    consider([&](Settings& other) { other.cubic = linear_where_sampled; });
    const double bits = best.bits / static_cast<double>(n_pieces);
    const auto even_lattice = [](Settings& other) { other.alpha = other.beta = 16; };
    if (bits > k_even_lattice_bits) even_lattice(best.settings);
    if (bits < k_hardly_any_bits) consider(even_lattice);
    settings = best.settings;
    return best.bits;
}

template <class T>
InterpolationSettings explore_interpolation(const Spots<T>& spots, int rank,
                                            const Quantiser<T>& quantiser,
                                            const std::vector<Pick>& picks) {
    std::vector<AxisChoice> axes;
    std::vector<bool> has_pass(static_cast<std::size_t>(rank), false);
    PassSample<T> sample(spots, quantiser);
    for (std::size_t a = 0; a < 4; ++a) {
        const int axis = spots.axes().axis[a];
        if (axis < 0) continue;
        has_pass[static_cast<std::size_t>(axis)] = true;
        sample.load(a, picks);
        axes.push_back(explore_axis(sample, axis));
    }
    // The axis that is predicted best comes last, where half of the values are. Of equals, x comes
    // first: its rows then lie whole. An axis without a pass may come anywhere.
    for (int axis = 0; axis < rank; ++axis) {
        if (!has_pass[static_cast<std::size_t>(axis)]) axes.push_back({axis, {true, 0}, 1e30});
    }
    std::stable_sort(axes.begin(), axes.end(), [](const AxisChoice& a, const AxisChoice& b) {
        return a.rough != b.rough ? a.rough > b.rough : a.axis > b.axis;
    });
    InterpolationSettings settings;
    settings.cubic = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<std::size_t>(axes[i].axis);
        settings.order[i] = static_cast<std::uint8_t>(axis);
        settings.feedback[axis] = static_cast<std::uint8_t>(axes[i].pass.feedback);
        if (axes[i].pass.cubic) settings.cubic |= static_cast<std::uint8_t>(1U << axis);
    }
    return settings;
}

/// As many as the block is worth: a dozen encodings of four pieces would be as long as that of a
/// block of 64^3 itself.
template <class T>
std::size_t tuning_pieces(const Shape& shape) {
    constexpr std::uint64_t k_values_per_piece = 1U << 18;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(shape.count() / k_values_per_piece, 2,
                                                              Rehearsal<T>::k_most_pieces));
}

struct LorenzoChoice {
    LorenzoSettings settings;
    double bits = 0;  ///< rough, of the block
};

template <class T>
LorenzoChoice explore_lorenzo(const Spots<T>& spots, const Quantiser<T>& quantiser,
                              const std::vector<Pick>& picks) {
    const FourAxes& axes = spots.axes();
    unsigned possible = 0;
    for (unsigned a = 0; a < 4; ++a) possible |= (axes.axis[a] < 0 ? 0U : 1U) << a;
    LorenzoSample<T> sample(spots, quantiser, LorenzoSample<T>::k_few_codes);
    alignas(64) std::uint32_t codes[LorenzoSample<T>::k_most_codes + k_code_slack];
    std::array<double, 16> rough{};
    for (std::size_t p = 0; p < picks.size(); ++p) {
        if (p == 0) sample.prefetch(picks[0].at);
        if (p + 1 < picks.size()) sample.prefetch(picks[p + 1].at);
        sample.load(picks[p].at);
        for (unsigned subset = 1; subset < 16; ++subset) {
            if ((subset & ~possible) != 0) continue;
            const std::size_t n = sample.codes(subset, codes);
            rough[subset] += picks[p].weight / static_cast<double>(n) *
                             static_cast<double>(rough_cost(codes, n));
        }
    }
    // Of equals the one along more axes: zeros that hang together cost nothing.
    unsigned best = 8;
    for (unsigned subset = 1; subset < 16; ++subset) {
        if ((subset & ~possible) == 0 && rough[subset] <= rough[best]) best = subset;
    }
    LorenzoChoice choice;
    choice.settings.axes = 0;
    for (unsigned a = 0; a < 4; ++a) {
        if ((best >> a & 1U) == 0 || axes.axis[a] < 0) continue;
        choice.settings.axes |= static_cast<std::uint8_t>(1U << axes.axis[a]);
    }
    choice.bits =
        rough[best] / 128 / static_cast<double>(picks.size()) * static_cast<double>(axes.count());
    return choice;
}

}  // namespace

template <class T>
Choice choose(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser, Mode mode,
              Rehearsal<T>& rehearsal) {
    const std::vector<Pick> picks = spots.pick(k_explored_places, k_even_quarters);
    const LorenzoChoice lorenzo = explore_lorenzo(spots, quantiser, picks);
    Choice choice;
    choice.kind = PartKind::lorenzo;
    choice.lorenzo = lorenzo.settings;
    double bits = lorenzo.bits;
    if (mode != Mode::fast && mode != Mode::planes) {
        const std::size_t n_pieces = tuning_pieces<T>(shape);
        choice.interpolation = explore_interpolation(spots, shape.rank(), quantiser, picks);
        const double interpolation_bits =
            rehearse(rehearsal, shape.rank(), n_pieces, choice.interpolation);
        const double lorenzo_bits = rehearsal.cost(choice.lorenzo, 0, n_pieces);
        if (mode == Mode::strong || interpolation_bits < lorenzo_bits) {
            choice.kind = PartKind::interpolation;
            if (lorenzo_bits > 0) bits *= interpolation_bits / lorenzo_bits;
        }
    }
    constexpr std::uint64_t k_head_bytes = 512;
    choice.bytes = choice.rough_bytes = k_head_bytes + static_cast<std::uint64_t>(bits / 8);
    return choice;
}

template Choice choose(const Spots<float>&, const Shape&, const Quantiser<float>&, Mode,
                       Rehearsal<float>&);
template Choice choose(const Spots<double>&, const Shape&, const Quantiser<double>&, Mode,
                       Rehearsal<double>&);

}  // namespace caesura::codec
