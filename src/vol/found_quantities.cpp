#include "vol/found_quantities.hpp"

#include <limits>

#include "vol/bound_map_text.hpp"
#include "vol/native_attribute.hpp"
#include "vol/object.hpp"

namespace caesura::vol {
namespace {

using writer::Component;
using writer::Composition;

/// Of a dataset that may grow, as far as it can.
Shape reach_of(const BlockDataset& found) {
    return found.definition->extendable
               ? Shape::filled(found.dims.rank(), std::numeric_limits<std::uint64_t>::max())
               : found.dims;
}

std::optional<ErrorBound> bound_of(const std::string& kind, double value) {
    for (const ErrorBound& bound :
         {lossless(), absolute(value), relative(value), pointwise_relative(value), psnr(value)})
        if (kind_name(bound) == kind && validate(bound).ok()) return bound;
    return std::nullopt;
}

/// As if it were made by this configuration.
Result<Composed> made_now(const BlockDataset& found, const Config& config,
                          const Quantities& quantities) {
    DatasetFacts facts;
    facts.path = found.path;
    facts.element = found.element;
    facts.rank = found.rank;
    facts.most_dims = reach_of(found);
    return compose(config, facts, quantities, found.axes, !found.definition->extendable);
}

/// Of a dataset that cannot become longer.
std::shared_ptr<const Composition> of_boxes(const BlockDataset& found,
                                            const Quantities& quantities) {
    if (quantities.boxes.empty() || found.definition->extendable) return nullptr;
    std::vector<Component> components;
    if (found.said && found.said->components.size() > 1)
        components = found.said->components;
    else  // one, or several with one bound
        for (const std::string& name : quantities.names)
            components.push_back({name, found.definition->bound, false});
    if (components.size() != quantities.names.size()) return nullptr;
    auto made = Composition::arrays(std::move(components), quantities.boxes, quantities.whole);
    return made->count() == found.dims.count() ? made : nullptr;
}

}  // namespace

std::optional<SaidBounds> said_bounds(const NativeObject& dataset) {
    const store::QuietErrors quiet;
    const KeepErrors keep;
    const auto attribute = [&dataset](const char* name) {
        return NativeAttribute(dataset, ".", name);
    };
    const auto kinds = attribute("caesura_bound_kind").texts();
    const auto requested = attribute("caesura_bound_requested").numbers();
    auto loosest = attribute("caesura_bound").numbers();
    if (!kinds || !requested || !loosest || kinds->size() != requested->size() ||
        kinds->size() != loosest->size())
        return std::nullopt;
    auto names = attribute("caesura_components").texts();
    if (!names) names = std::vector<std::string>(1);
    if (names->size() != kinds->size()) return std::nullopt;
    SaidBounds said;
    for (std::size_t i = 0; i < names->size(); ++i) {
        const auto bound = bound_of((*kinds)[i], (*requested)[i]);
        if (!bound || !((*loosest)[i] >= 0.0)) return std::nullopt;
        said.components.push_back({std::move((*names)[i]), *bound, false});
    }
    said.loosest = std::move(*loosest);
    if (const auto text = attribute("caesura_bound_map").text(); text && names->size() == 1)
        if (auto map = bound_map_in(*text)) {
            said.bound_map = std::move(map->first);
            said.loosest = {map->second};
        }
    said.axis = static_cast<int>(attribute("caesura_component_axis").integer().value_or(-1));
    return said;
}

std::shared_ptr<const Composition> composition_said_by(const BlockDataset& found) {
    const bool said = found.said && found.said->components.size() > 1;
    const int inner_axis = found.dims.rank() - 1;
    if (found.element.words > 0)
        return Composition::interleaved(std::vector<Component>(found.element.words), inner_axis);
    if (found.element.has_axis()) {
        std::vector<Component> components;
        for (const std::string& member : found.element.members)
            components.push_back({member, found.definition->bound, false});
        const auto& named = found.said ? found.said->components : components;
        if (std::equal(named.begin(), named.end(), components.begin(), components.end(),
                       [](const auto& a, const auto& b) { return a.name == b.name; }))
            components = named;
        return Composition::interleaved(std::move(components), inner_axis);
    }
    if (!said || found.said->axis < 0) return nullptr;
    const auto at = std::find(found.axes.begin(), found.axes.end(), found.said->axis);
    const int axis = static_cast<int>(at - found.axes.begin());
    if (at == found.axes.end() || found.dims[axis] != found.said->components.size() ||
        found.chunk[axis] != 1)
        return nullptr;
    return Composition::along_axis(found.said->components, axis, found.said->axis);
}

std::shared_ptr<const Composition> composition_of(const BlockDataset& found, const Config& config,
                                                  const Quantities& quantities) {
    if (found.said || found.stored) return of_boxes(found, quantities);
    // Nobody has been promised anything.
    auto composed = made_now(found, config, quantities);
    if (!composed.ok() || composed->composition == nullptr ||
        composed->bound != found.definition->bound)
        return of_boxes(found, quantities);
    const int axis = composed->composition->axis();
    const bool fits =
        axis < 0 ? composed->composition->count() == found.dims.count() : found.chunk[axis] == 1;
    return fits ? std::move(composed->composition) : nullptr;
}

void find_map(BlockDataset& found, const Config& config, const Quantities& quantities) {
    writer::DatasetDefinition& definition = *found.definition;
    if (found.composition != nullptr || found.element.has_axis()) return;
    Composed asked;
    if (found.said) {
        asked.bound = found.said->components.front().bound;
        asked.bound_map = found.said->bound_map;
    } else if (!found.stored) {
        if (auto composed = made_now(found, config, quantities); composed.ok())
            asked = std::move(*composed);
    }
    const bool fits = asked.bound_map.rules() > 0 &&
                      writer::tightest_bound(asked.bound_map, asked.bound) == definition.bound &&
                      writer::check_bound_map(found.path, reach_of(found), asked.bound,
                                              definition.codec, asked.bound_map)
                          .ok();
    if (!fits) {
        // Blocks that are there may be looser than all that is known.
        constexpr double k_unknown = std::numeric_limits<double>::infinity();
        if (asked.bound_map.rules() > 0 && found.said) found.said->loosest = {k_unknown};
        return;
    }
    definition.bound = asked.bound;
    definition.bound_map = std::move(asked.bound_map);
}

void note_rules(const BlockDataset& found, const Config& config) {
    if (found.composition == nullptr) return;
    std::vector<std::string> names;
    for (const Component& one : found.composition->components()) names.push_back(one.name);
    (void)components_of(config, found.path, names);
}

std::vector<double> loosest_so_far(const BlockDataset& found) {
    constexpr double k_unknown = std::numeric_limits<double>::infinity();
    const Composition* const parts = found.definition->composition.get();
    const std::size_t quantities = parts == nullptr ? 1 : parts->components().size();
    if (found.said)
        return found.said->loosest.size() == quantities ? found.said->loosest
                                                        : std::vector<double>{k_unknown};
    if (!found.stored) return {};
    const ErrorBound& bound = found.definition->bound;
    return std::vector<double>(quantities, writer::needs_range(bound) ? k_unknown : bound.value);
}

}  // namespace caesura::vol
