// The choice is made from a sample of about 1 % of the values. First every setting that stands on
// its own is ranked by a rough measure (which axis is best interpolated last, cubic or linear, how
// much feedback; along which axes to difference), then the best of each predictor is costed by the
// encoder's own classes and tables.
#include "codec/tune.hpp"

#include <algorithm>
#include <cmath>

#include "codec/sampler.hpp"

namespace caesura::codec {
namespace {

constexpr int k_explored_places = 12;
constexpr int k_measured_places = 48;
constexpr int k_deepest_level = 2;
constexpr double k_weight_scale = 16;  // weights are sixteenths of a value
constexpr std::uint64_t k_head_bytes = 64;

/// The pass along one axis at its best.
struct AxisChoice {
    PassSettings pass;
    double rough = 0;
};

template <class T>
AxisChoice explore_axis(Sampler<T>& sampler, int axis, T step) {
    std::vector<PassSettings> choices;
    for (const bool cubic : {true, false}) {
        for (const unsigned feedback : {0U, 4U, 8U, 12U}) {
            if (!cubic && feedback == 12) continue;
            choices.push_back({axis, 0, cubic, feedback});
        }
    }
    std::vector<double> rough;
    sampler.explore_pass(axis, 0, k_explored_places, step, choices, rough);
    const auto best = std::min_element(rough.begin(), rough.end()) - rough.begin();
    return {choices[static_cast<std::size_t>(best)], rough[static_cast<std::size_t>(best)]};
}

template <class T>
T step_at(const Quantiser<T>& quantiser, const InterpolationSettings& settings, int level) {
    const double finer = std::min(std::pow(settings.alpha / 16.0, level), settings.beta / 16.0);
    return static_cast<T>(static_cast<double>(quantiser.step) / finer);
}

template <class T>
void tune_interpolation(Sampler<T>& sampler, const Quantiser<T>& quantiser, CodeCost& cost,
                        InterpolationSettings& settings) {
    const int first = sampler.shape().first_axis;
    std::vector<AxisChoice> axes;
    for (int axis = first; axis < 4; ++axis) {
        if (sampler.has_pass(axis, 0)) {
            axes.push_back(explore_axis(sampler, axis, quantiser.step));
        } else {
            axes.push_back({{axis, 0, true, 0}, 1e30});  // no pass: its place does not matter
        }
    }
    // The axis that is predicted best comes last, where half of the values are. Of equals, x comes
    // first: its rows then lie whole.
    std::stable_sort(axes.begin(), axes.end(), [](const AxisChoice& a, const AxisChoice& b) {
        return a.rough != b.rough ? a.rough > b.rough : a.pass.axis > b.pass.axis;
    });
    settings = {};
    settings.cubic = 0;
    unsigned doubled = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        PassSettings pass = axes[i].pass;
        const int axis = pass.axis - first;
        settings.order[i] = static_cast<std::uint8_t>(axis);
        settings.feedback[static_cast<std::size_t>(axis)] =
            static_cast<std::uint8_t>(pass.feedback);
        if (pass.cubic) settings.cubic |= static_cast<std::uint8_t>(1U << axis);
        for (pass.level = 0; pass.level <= k_deepest_level; ++pass.level) {
            if (!sampler.has_pass(pass.axis, pass.level)) continue;
            double values = sampler.pass_values(pass.axis, pass.level, doubled);
            // Deeper levels look like the deepest one sampled.
            if (pass.level == k_deepest_level) values *= 8.0 / 7.0;
            const double share = values / static_cast<double>(sampler.shape().count());
            const int places = std::max(4, static_cast<int>(k_measured_places * share));
            sampler.measure_pass(pass, places, step_at(quantiser, settings, pass.level), values,
                                 cost);
        }
        doubled |= 1U << pass.axis;
    }
}

template <class T>
void tune_lorenzo(Sampler<T>& sampler, bool planes, CodeCost& cost, LorenzoSettings& settings) {
    const auto rough = sampler.explore_lorenzo(k_explored_places);
    // Of equals the one along more axes: zeros that hang together cost nothing.
    unsigned best = 0;
    for (unsigned axes = 1; axes < 16; ++axes) {
        if (rough[axes] <= rough[best]) best = axes;
    }
    settings.axes = static_cast<std::uint8_t>(best >> sampler.shape().first_axis);
    sampler.measure_lorenzo(best, k_measured_places / 2, planes, cost);
}

std::uint64_t bytes_of(const CodeCost& cost) {
    return k_head_bytes + static_cast<std::uint64_t>(cost.bits().best / k_weight_scale / 8);
}

}  // namespace

template <class T>
Choice choose(std::span<const T> values, const Shape& shape, const Quantiser<T>& quantiser,
              Mode mode, Coding coding, const TableSet& tables) {
    Choice choice;
    Sampler<T> sampler(values.data(), shape, quantiser);
    std::uint64_t lorenzo_bytes = ~std::uint64_t{0}, interpolation_bytes = ~std::uint64_t{0};
    if (mode != Mode::strong) {
        CodeCost cost(tables);
        tune_lorenzo(sampler, coding == Coding::planes, cost, choice.lorenzo);
        lorenzo_bytes = bytes_of(cost);
    }
    if (mode == Mode::strong || mode == Mode::automatic) {
        CodeCost cost(tables);
        tune_interpolation(sampler, quantiser, cost, choice.interpolation);
        interpolation_bytes = bytes_of(cost);
    }
    choice.kind = interpolation_bytes < lorenzo_bytes ? PartKind::interpolation : PartKind::lorenzo;
    choice.bytes = std::min(interpolation_bytes, lorenzo_bytes);
    return choice;
}

template Choice choose(std::span<const float>, const Shape&, const Quantiser<float>&, Mode, Coding,
                       const TableSet&);
template Choice choose(std::span<const double>, const Shape&, const Quantiser<double>&, Mode,
                       Coding, const TableSet&);

}  // namespace caesura::codec
