// The choice is made from a sample of about 1 % of the values. First every setting that stands on
// its own is ranked by a rough measure over sampled rows (which axis is best interpolated last, how
// much feedback; along which axes to difference). What depends on other settings is rehearsed on
// two small pieces with the real predictors. The size is what the encoder's own classes and tables
// give for the sampled rows.
#include "codec/tune.hpp"

#include <algorithm>

#include "codec/rehearsal.hpp"
#include "codec/sampler.hpp"

namespace caesura::codec {
namespace {

constexpr int k_explored_places = 6;
constexpr int k_measured_places = 48;
constexpr double k_weight_scale = 16;  // weights are sixteenths of a value
constexpr std::uint64_t k_head_bytes = 64;

/// The pass along one axis at its best.
struct AxisChoice {
    PassSettings pass;
    double rough = 0;
};

template <class T>
AxisChoice explore_axis(Sampler<T>& sampler, int axis) {
    std::vector<PassSettings> choices;
    for (const bool cubic : {true, false}) {
        for (const unsigned feedback : {0U, 4U, 8U, 12U}) {
            if (!cubic && feedback == 12) continue;
            choices.push_back({axis, cubic, feedback});
        }
    }
    std::vector<double> rough;
    sampler.explore_pass(axis, k_explored_places, choices, rough);
    const auto best = std::min_element(rough.begin(), rough.end()) - rough.begin();
    return {choices[static_cast<std::size_t>(best)], rough[static_cast<std::size_t>(best)]};
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
double rehearse(Rehearsal<T>& rehearsal, int rank, InterpolationSettings& settings) {
    constexpr int k_pieces = Rehearsal<T>::k_pieces;
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
        one.bits = rehearsal.bits(one.settings, 0, 1);
        tried.push_back(one);
    }
    std::stable_sort(tried.begin(), tried.end(),
                     [](const Tried& a, const Tried& b) { return a.bits < b.bits; });
    // The two best meet on the other pieces too.
    tried.resize(std::min<std::size_t>(tried.size(), 2));
    for (Tried& one : tried) one.bits += rehearsal.bits(one.settings, 1, k_pieces);
    Tried best = tried.size() > 1 && tried[1].bits < tried[0].bits ? tried[1] : tried[0];
    const auto consider = [&](auto change) {
        InterpolationSettings other = best.settings;
        change(other);
        if (other == best.settings) return;
        const double bits = rehearsal.bits(other, 0, k_pieces);
        if (bits < best.bits) best = {other, bits};
    };
    // Sampled rows overrate noise, against which cubic and feedback are worse: ask the encoder.
    using Settings = InterpolationSettings;
    consider([&](Settings& other) { other.cubic = linear_where_sampled; });
    consider([](Settings& other) {
        for (auto& feedback : other.feedback) feedback /= 2;
    });
    consider([&](Settings& other) {
        other.feedback[other.order[static_cast<std::size_t>(rank) - 1]] /= 2;
    });
    consider([](Settings& other) { other.alpha = other.beta = 16; });
    settings = best.settings;
    return best.bits;
}

template <class T>
InterpolationSettings explore_interpolation(Sampler<T>& sampler) {
    const int first = sampler.shape().first_axis;
    std::vector<AxisChoice> axes;
    for (int axis = first; axis < 4; ++axis) {
        if (sampler.has_pass(axis)) {
            axes.push_back(explore_axis(sampler, axis));
        } else {
            axes.push_back({{axis, true, 0}, 1e30});  // no pass: its place does not matter
        }
    }
    // The axis that is predicted best comes last, where half of the values are. Of equals, x comes
    // first: its rows then lie whole.
    std::stable_sort(axes.begin(), axes.end(), [](const AxisChoice& a, const AxisChoice& b) {
        return a.rough != b.rough ? a.rough > b.rough : a.pass.axis > b.pass.axis;
    });
    InterpolationSettings settings;
    settings.cubic = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const PassSettings& pass = axes[i].pass;
        const auto axis = static_cast<std::size_t>(pass.axis - first);
        settings.order[i] = static_cast<std::uint8_t>(axis);
        settings.feedback[axis] = static_cast<std::uint8_t>(pass.feedback);
        if (pass.cubic) settings.cubic |= static_cast<std::uint8_t>(1U << axis);
    }
    return settings;
}

template <class T>
LorenzoSettings explore_lorenzo(Sampler<T>& sampler) {
    const auto rough = sampler.explore_lorenzo(k_explored_places);
    // Of equals the one along more axes: zeros that hang together cost nothing.
    unsigned best = 0;
    for (unsigned axes = 1; axes < 16; ++axes) {
        if (rough[axes] <= rough[best]) best = axes;
    }
    LorenzoSettings settings;
    settings.axes = static_cast<std::uint8_t>(best >> sampler.shape().first_axis);
    return settings;
}

}  // namespace

template <class T>
Choice choose(std::span<const T> values, const Shape& shape, const Quantiser<T>& quantiser,
              Mode mode, Coding coding, const TableSet& tables) {
    Choice choice;
    Sampler<T> sampler(values.data(), shape, quantiser);
    choice.lorenzo = explore_lorenzo(sampler);
    choice.kind = PartKind::lorenzo;
    double share = 1.0;
    if (mode == Mode::strong || mode == Mode::automatic) {
        constexpr int k_pieces = Rehearsal<T>::k_pieces;
        Rehearsal<T> rehearsal(values.data(), shape, quantiser);
        choice.interpolation = explore_interpolation(sampler);
        const double bits = rehearse(rehearsal, shape.rank(), choice.interpolation);
        const double lorenzo_bits = rehearsal.bits(choice.lorenzo, 0, k_pieces);
        if (mode == Mode::strong || bits < lorenzo_bits) {
            choice.kind = PartKind::interpolation;
            if (lorenzo_bits > 0) share = bits / lorenzo_bits;
        }
    }
    // What Lorenzo costs can be told exactly from single rows; interpolation costs, of that, the
    // share that it cost of the pieces.
    CodeCost cost(tables);
    const unsigned axes = static_cast<unsigned>(choice.lorenzo.axes) << sampler.shape().first_axis;
    sampler.measure_lorenzo(axes, k_measured_places, coding == Coding::planes, cost);
    const double bits = cost.bits() / k_weight_scale * share;
    choice.bytes = k_head_bytes + static_cast<std::uint64_t>(bits / 8);
    return choice;
}

template Choice choose(std::span<const float>, const Shape&, const Quantiser<float>&, Mode, Coding,
                       const TableSet&);
template Choice choose(std::span<const double>, const Shape&, const Quantiser<double>&, Mode,
                       Coding, const TableSet&);

}  // namespace caesura::codec
