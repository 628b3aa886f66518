#include "vol/quantities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "store/compound_type.hpp"
#include "vol/block_shape.hpp"
#include "vol/coordinates.hpp"
#include "vol/native_attribute.hpp"
#include "vol/object.hpp"
#include "writer/field_state.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

constexpr std::string_view k_amrex_data = "data:datatype=";
/// Attributes of a dataset have 64 KiB each; what bounds are called takes 18 bytes a component.
constexpr std::size_t k_most_components = 2048, k_most_name_bytes = 60'000;

/// A dataset that exists, opened natively.
class Opened {
  public:
    Opened(const Asked& asked, const std::string& name)
        : under_(H5VLdataset_open(asked.at.under, asked.location, native_connector(), name.c_str(),
                                  H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr)) {}
    ~Opened() {
        if (ok()) H5VLdataset_close(under_, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    bool ok() const { return under_ != nullptr; }

    Handle type() const {
        H5VL_dataset_get_args_t args{};
        args.op_type = H5VL_DATASET_GET_TYPE;
        return Handle(get(args) ? args.args.get_type.type_id : H5I_INVALID_HID, H5Tclose);
    }
    std::uint64_t count() const {
        H5VL_dataset_get_args_t args{};
        args.op_type = H5VL_DATASET_GET_SPACE;
        const Handle space(get(args) ? args.args.get_space.space_id : H5I_INVALID_HID, H5Sclose);
        const hssize_t n = space.ok() ? H5Sget_simple_extent_npoints(space.get()) : 0;
        return n > 0 ? static_cast<std::uint64_t>(n) : 0;
    }
    bool read(hid_t type, void* values) const {
        void* dataset = under_;
        hid_t all = H5S_ALL;
        return H5VLdataset_read(1, &dataset, native_connector(), &type, &all, &all,
                                H5P_DATASET_XFER_DEFAULT, &values, nullptr) >= 0;
    }

  private:
    bool get(H5VL_dataset_get_args_t& args) const {
        return H5VLdataset_get(under_, native_connector(), &args, H5P_DATASET_XFER_DEFAULT,
                               nullptr) >= 0;
    }
    void* under_;
};

/// The members of a type, as a compound of ints without gaps.
Handle dense_type(hid_t type) {
    const int members = H5Tget_nmembers(type);
    Handle dense(H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(members) * sizeof(std::int32_t)),
                 H5Tclose);
    for (int i = 0; i < members; ++i)
        if (H5Tinsert(dense.get(), store::member_name(type, static_cast<unsigned>(i)).c_str(),
                      static_cast<std::size_t>(i) * sizeof(std::int32_t), H5T_NATIVE_INT32) < 0)
            return {};
    return dense;
}

std::vector<std::int32_t> read_corners(const Opened& boxes, hid_t type, std::size_t numbers) {
    const Handle dense = dense_type(type);
    std::vector<std::int32_t> corners(numbers);
    if (!dense.ok() || !boxes.read(dense.get(), corners.data())) corners.clear();
    return corners;
}

/// The boxes beside a dataset of AMReX's, as rank 0 reads them; empty: there are none. The same on
/// all ranks.
Result<std::vector<Shape>> boxes_beside(const Asked& asked, const std::string& name,
                                        std::uint64_t count) {
    const store::QuietErrors quiet;
    const KeepErrors keep;
    const Opened boxes(asked, name);
    if (!boxes.ok()) return std::vector<Shape>{};  // on all ranks alike, as all that follows
    const Handle type = boxes.type();
    const int axes = type.ok() ? axes_of_boxes(type.get()) : 0;
    const std::uint64_t n = boxes.count();
    if (axes == 0 || n == 0 || n > count) return std::vector<Shape>{};
    std::vector<std::int32_t> corners(2 * static_cast<std::size_t>(axes) * n);
    if (asked.communicator.rank() == 0) {
        const auto read = read_corners(boxes, type.get(), corners.size());
        std::copy(read.begin(), read.end(), corners.begin());
        if (read.empty()) corners[static_cast<std::size_t>(axes)] = -1;  // no box: low 0, high -1
    }
    if (Status status = asked.communicator.broadcast(std::as_writable_bytes(std::span(corners)), 0);
        !status.ok())
        return status;
    auto shapes = shapes_of(corners, axes, count);
    // Boxes that nobody has written yet are of one cell each.
    if (std::all_of(shapes.begin(), shapes.end(), [](const Shape& s) { return s.count() == 1; }))
        shapes.clear();
    return shapes;
}

/// What the components of arrays are called; empty: it cannot be so many.
/// @param number  N of "data:datatype=N", which is a component where each has a dataset of its own.
std::vector<std::string> name_them(std::vector<std::string> named, std::uint64_t components,
                                   const std::string& number) {
    if (components == named.size()) return named;
    if (components == 1) {
        for (std::size_t i = 0; i < named.size(); ++i)
            if (number == std::to_string(i)) return {named[i]};
        return {"component_" + number};
    }
    if (!named.empty() || components > k_most_components) return {};
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < components; ++i) names.push_back(fmt::format("component_{}", i));
    return names;
}

/// What the root group of an AMReX plotfile says of its components, in the order of their numbers;
/// empty: it is none.
std::vector<std::string> amrex_components(const NativeObject& at) {
    const auto root_attribute = [&at](const std::string& name) {
        return NativeAttribute(at, "/", name);
    };
    constexpr std::int64_t k_most = 1 << 16;
    const store::QuietErrors quiet;
    const KeepErrors keep;
    const std::int64_t n = root_attribute("num_components").integer().value_or(0);
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < std::min(n, k_most); ++i) {
        auto name = root_attribute(fmt::format("component_{}", i)).text();
        if (!name) return {};
        names.push_back(std::move(*name));
    }
    return names;
}

Result<Quantities> amrex_quantities(const Asked& asked, const std::string& name,
                                    const DatasetFacts& facts) {
    const std::size_t begin = name.rfind('/') + 1;  // npos + 1 is 0
    Quantities found;
    auto boxes = boxes_beside(asked, name.substr(0, begin) + "boxes", facts.count);
    if (!boxes.ok()) return boxes.status();
    std::uint64_t cells = 0;
    for (const Shape& box : *boxes) cells += box.count();
    std::vector<std::string> named = amrex_components(asked.at);
    std::vector<std::string> names;
    if (cells > 0 && facts.count % cells == 0)
        names = name_them(named, facts.count / cells, name.substr(begin + k_amrex_data.size()));
    if (!names.empty()) {
        found.names = std::move(names);
        found.boxes = std::move(*boxes);
        found.whole = "levels";
    } else if (named.size() > 1) {
        found.names = std::move(named);
        found.scattered = true;
    }
    return found;
}

Status misfit(const DatasetFacts& facts, std::string why) {
    return {StatusCode::invalid_argument, facts.path + ": a rule of the configuration " + why};
}

/// By a rule with component_axis.
Result<Quantities> along_axis(const Settings& settings, const DatasetFacts& facts,
                              std::span<const hsize_t> dims) {
    Quantities found;
    found.axis = settings.component_axis;
    if (found.axis >= facts.rank)
        return misfit(facts, fmt::format("says component_axis = {}, and it has {} axes, 0 first",
                                         found.axis, facts.rank));
    const auto extent = dims[static_cast<std::size_t>(found.axis)];
    if (extent > k_most_components)
        return misfit(facts, fmt::format("says component_axis = {}, which has extent {}; there may "
                                         "be {} components",
                                         found.axis, extent, k_most_components));
    found.names = settings.components;
    for (hsize_t i = 0; settings.components.empty() && i < extent; ++i)
        found.names.push_back(std::to_string(i));
    if (found.names.size() != extent || extent == 0)
        return misfit(facts, fmt::format("names {} components, and axis {} has extent {}",
                                         found.names.size(), found.axis, extent));
    return found;
}

/// By a rule with box.
Result<Quantities> in_boxes(const Settings& settings, const DatasetFacts& facts) {
    Quantities found;
    if (!settings.components.empty()) found.names = settings.components;
    const std::uint64_t values = settings.box.count() * found.names.size();
    if (facts.count % values == 0 && facts.count > 0) {
        found.boxes.assign(facts.count / values, settings.box);
        return found;
    }
    if (settings.components.empty()) return Quantities{};  // arrays of something else
    return misfit(facts, fmt::format("says {} components in boxes of {}, which do not make its {} "
                                     "values",
                                     found.names.size(), to_string(settings.box), facts.count));
}

/// Has the dataset one quantity in one array, of which alone a map of bounds can speak?
Status may_have_map(const DatasetFacts& facts, const Quantities& quantities) {
    const auto no_map = [&](std::string_view why) {
        return Status{StatusCode::unsupported,
                      fmt::format("{}: a rule of the configuration gives it a bound_map, and {}. A "
                                  "map is of one array of numbers: name this dataset in a later "
                                  "rule with bound_map = {{}}",
                                  facts.path, why)};
    };
    if (quantities.members)
        return no_map(
            fmt::format("it is a compound type of {}", fmt::join(quantities.names, ", ")));
    if (quantities.names.size() > 1)
        return no_map(fmt::format("it holds {} quantities ({})", quantities.names.size(),
                                  fmt::join(quantities.names, ", ")));
    if (facts.rank > k_max_rank)
        return no_map(
            fmt::format("it has {} axes, where a map has up to {}", facts.rank, k_max_rank));
    if (!quantities.boxes.empty())
        return no_map(fmt::format("it is a sequence of {} boxes", quantities.boxes.size()));
    return {};
}

}  // namespace

Result<Quantities> quantities_of(const Asked& asked, const char* name, const DatasetFacts& facts,
                                 std::span<const hsize_t> dims) {
    if (facts.has_axis()) {
        Quantities found;
        found.names = facts.element->members;
        const std::size_t bytes = size_of(facts.element->dtype);
        for (std::size_t i = 0; i < facts.element->words; ++i)
            found.names.push_back(fmt::format("bytes {} to {}", i * bytes, (i + 1) * bytes - 1));
        found.members = true;
        return found;
    }
    const Settings settings = settings_of(asked.config, facts.path);
    // A rule that names no dataset is not about one that it does not fit.
    const auto if_it_fits = [&](Result<Quantities> found) {
        const bool passed_over = !found.ok() && settings.arrays_for_all;
        return passed_over ? Result<Quantities>(Quantities{}) : std::move(found);
    };
    if (settings.component_axis >= 0) return if_it_fits(along_axis(settings, facts, dims));
    if (facts.rank != 1) return Quantities{};
    const bool in_boxes_of_a_rule = settings.box.rank() > 0;
    if (in_boxes_of_a_rule && !settings.components.empty())
        return if_it_fits(in_boxes(settings, facts));
    const std::string path = name == nullptr ? "" : name;
    // What the file says itself goes before a box: it knows of components.
    if (path.substr(path.rfind('/') + 1).starts_with(k_amrex_data)) {
        auto found = amrex_quantities(asked, path, facts);
        if (!found.ok() || !found->boxes.empty() || found->scattered) return found;
    }
    return in_boxes_of_a_rule ? if_it_fits(in_boxes(settings, facts)) : Quantities{};
}

namespace {

std::vector<writer::Component> named(const std::vector<std::string>& names) {
    std::vector<writer::Component> components;
    for (const std::string& name : names) components.push_back({name});
    return components;
}

/// What a bound that is said of no dataset by name comes to here.
struct ForAll {
    bool for_fields = false;
    std::string exact_because;
    bool by_part = false;
};

/// Why it does not hold for a dataset, or for all of its quantities; empty: it does.
std::string why_exact(const DatasetFacts& facts, const Quantities& quantities,
                      const Settings& settings) {
    if (std::string why = coordinate_by_path(facts.path, facts.rank); !why.empty())
        return "it looks like coordinates: " + why;
    const std::string name = facts.path.substr(facts.path.rfind('/') + 1);
    if (name.starts_with(k_amrex_data) && quantities.boxes.empty() && facts.rank == 1 &&
        settings.box.rank() == 0)
        return "which of its values are which quantity is not known, and positions of particles "
               "may be among them";
    const BoundMap& map = settings.bound_map;
    if (map.rules() > 0 && settings.map_for_all) {
        if (!may_have_map(facts, quantities).ok()) return "a bound map is of one array of numbers";
        if (!writer::check_bound_map(facts.path, facts.most_dims, settings.bound, {settings.codec},
                                     map)
                 .ok())
            return "the bound map does not fit it";
    }
    const std::size_t several = quantities.names.size();
    if (several > 1 && !may_be_shared(settings.bound) && !is_complex(quantities.names))
        return fmt::format("it holds {} quantities, and no rule gives each of them a bound",
                           several);
    return {};
}

/// Takes such a bound from the components for which it does not hold.
ForAll hold_for_fields(const Config& config, const DatasetFacts& facts,
                       const Quantities& quantities, Settings& settings,
                       std::vector<writer::Component>& components) {
    const auto has_loss = [](const ErrorBound& bound) {
        return bound.kind != ErrorBound::Kind::lossless;
    };
    ForAll found;
    if (!settings.bound_for_all || !has_loss(settings.bound) || facts.is_exact()) return found;
    std::string why = why_exact(facts, quantities, settings);
    for (writer::Component& one : components) {
        const bool is_place = quantities.members && !coordinate_by_path("/" + one.name, 1).empty();
        if ((!why.empty() || is_place) && !has_own_bound(config, facts.path, one.name))
            one.bound = lossless();
    }
    const bool all_exact = std::none_of(components.begin(), components.end(),
                                        [&](const auto& one) { return has_loss(one.bound); });
    if (all_exact && !why.empty()) {
        if (settings.map_for_all) settings.bound_map = {};
        found.exact_because = std::move(why);
    }
    found.for_fields = !all_exact;
    found.by_part = !all_exact && is_complex(quantities.names);
    return found;
}

Result<Composed> compose_by(const Settings& settings, const DatasetFacts& facts,
                            const Quantities& quantities, std::span<const int> axes, bool fixed,
                            std::vector<writer::Component> components) {
    const BoundMap& map = settings.bound_map;
    if (map.rules() > 0)
        if (Status status = may_have_map(facts, quantities); !status.ok()) return status;
    const bool several = components.size() > 1;
    std::size_t longest = 0;
    for (const auto& one : components) longest = std::max(longest, one.name.size());
    if (several &&
        (components.size() > k_most_components || longest * components.size() > k_most_name_bytes))
        return Status{
            StatusCode::unsupported,
            fmt::format("{}: {} components with names of up to {} bytes; there may be {}, "
                        "with {} bytes in all",
                        facts.path, components.size(), longest, k_most_components,
                        k_most_name_bytes)};
    const bool differ = std::any_of(components.begin(), components.end(), [&](const auto& one) {
        return one.bound != components.front().bound || one.as_it_is;
    });
    if (quantities.scattered && (differ || !may_be_shared(components.front().bound)))
        return Status{StatusCode::unsupported,
                      fmt::format("{}: where its {} components lie is not known, as its boxes "
                                  "cannot be read; give all of them the same bound_kind, lossless "
                                  "or pointwise_relative",
                                  facts.path, components.size())};
    // For readers, and for whoever opens the file again to write more.
    const bool shared = !differ && (!several || may_be_shared(components.front().bound));
    const ErrorBound bound = shared ? components.front().bound : lossless();
    if (quantities.members)
        return Composed{bound, writer::Composition::interleaved(std::move(components),
                                                                static_cast<int>(axes.size()))};
    const bool arrays = !quantities.boxes.empty() && fixed && is_ours(settings);
    if (arrays)
        return Composed{bound, writer::Composition::arrays(std::move(components), quantities.boxes,
                                                           quantities.whole)};
    const auto axis = std::find(axes.begin(), axes.end(), quantities.axis);
    const auto next = axis == axes.end() ? axis : std::next(axis);
    const bool alone = (next == axes.end() ? facts.rank : *next) == quantities.axis + 1;
    if (quantities.axis < 0 || !alone || axis == axes.end() || !several || !is_ours(settings)) {
        if (Status status =
                writer::check_bound_map(facts.path, facts.most_dims, bound, {settings.codec}, map);
            !status.ok())
            return status;
        if (shared) return Composed{bound, nullptr, map};
        return Status{StatusCode::unsupported,
                      fmt::format("{}: bounds of components need codec caesura and a dataset "
                                  "that cannot grow",
                                  facts.path)};
    }
    const int along = static_cast<int>(axis - axes.begin());
    return Composed{bound,
                    writer::Composition::along_axis(std::move(components), along, quantities.axis)};
}

}  // namespace

Result<Composed> compose(const Config& config, const DatasetFacts& facts,
                         const Quantities& quantities, std::span<const int> axes, bool fixed) {
    auto components = components_of(config, facts.path, quantities.names);
    if (!components.ok() && !facts.is_exact()) return components.status();
    Settings settings = settings_of(config, facts.path);
    if (facts.is_exact()) {  // bounds are of what is of floating point
        if (!components.ok()) components = named(quantities.names);
        for (auto& one : *components) one.bound = lossless();
        settings.bound_map = {};
    }
    const ForAll for_all = hold_for_fields(config, facts, quantities, settings, *components);
    auto composed = compose_by(settings, facts, quantities, axes, fixed, std::move(*components));
    if (!composed.ok()) return composed;
    composed->for_fields = for_all.for_fields;
    composed->exact_because = for_all.exact_because;
    composed->by_part = for_all.by_part;
    return composed;
}

}  // namespace caesura::vol
