#include "read/listing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/invalid.hpp"
#include "hdf5/filter/filter.hpp"
#include "store/dump_path.hpp"

namespace caesura::read {
namespace {

using base::invalid;
using store::Attribute;
using Attributes = std::vector<Attribute>;

const Attribute* find_in(const Attributes& attributes, std::string_view name) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const Attribute& one) { return one.name == name; });
    return found == attributes.end() ? nullptr : &*found;
}

/// Numbers of an attribute; none if it has others.
std::vector<double> numbers_of(const Attribute* attribute) {
    if (attribute == nullptr) return {};
    return std::visit(
        [](const auto& value) -> std::vector<double> {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_arithmetic_v<T>)
                return {static_cast<double>(value)};
            else if constexpr (std::is_same_v<T, std::vector<double>> ||
                               std::is_same_v<T, std::vector<std::uint64_t>> ||
                               std::is_same_v<T, std::vector<std::int64_t>>)
                return std::vector<double>(value.begin(), value.end());
            else
                return {};
        },
        attribute->value);
}

/// Extents in an attribute; none if it has others. Integers stay integers: a double above 2^53 is
/// not every number.
std::vector<std::uint64_t> extents_of(const Attribute* attribute) {
    if (attribute == nullptr) return {};
    return std::visit(
        [](const auto& value) -> std::vector<std::uint64_t> {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>)
                return value;
            else if constexpr (std::is_integral_v<T>)
                return std::in_range<std::uint64_t>(value)
                           ? std::vector<std::uint64_t>{static_cast<std::uint64_t>(value)}
                           : std::vector<std::uint64_t>{};
            else
                return {};
        },
        attribute->value);
}

double number_of(const Attribute* attribute, double otherwise) {
    const auto numbers = numbers_of(attribute);
    return numbers.size() == 1 ? numbers[0] : otherwise;
}

std::string text_of(const Attribute* attribute, const std::string& otherwise) {
    const auto* const text = attribute ? std::get_if<std::string>(&attribute->value) : nullptr;
    return text ? *text : otherwise;
}

/// Where openPMD has things in this file.
struct Layout {
    const store::DumpPath dumps;
    const std::string meshes, particles;

    explicit Layout(const Attributes& root)
        : dumps(root),
          meshes(text_of(find_in(root, "meshesPath"), "meshes/")),
          particles(text_of(find_in(root, "particlesPath"), "particles/")) {}
};

struct Lists {
    const Source& source;
    const Layout layout;
    std::map<std::string, const Attributes*> groups;
    Listing out;
};

void name_field(const Layout& layout, FieldInfo& field) {
    field.name = field.path.substr(field.path.find_first_not_of('/'));
    const auto dump = layout.dumps.of(field.path);
    if (!dump) return;
    if (!dump->field.empty()) {
        field.name = dump->field;
        field.kind = find_in(field.attributes, store::DumpPath::k_species) == nullptr
                         ? FieldInfo::Kind::mesh
                         : FieldInfo::Kind::particles;
        return;
    }
    const std::string below = field.path.substr(dump->bytes);
    for (const auto& [folder, kind] : {std::pair(layout.meshes, FieldInfo::Kind::mesh),
                                       std::pair(layout.particles, FieldInfo::Kind::particles)}) {
        if (folder.empty() || !below.starts_with(folder)) continue;
        field.kind = kind;
        field.name = below.substr(folder.size());
        return;
    }
}

std::optional<ErrorBound> bound_of(const FieldInfo& field) {
    using Kind = ErrorBound::Kind;
    const std::string kind = text_of(find_in(field.attributes, "caesura_bound_kind"), "");
    const double value = number_of(find_in(field.attributes, "caesura_bound_requested"), -1.0);
    if (kind == "lossless") return lossless();
    for (const auto& [name, known] :
         {std::pair("absolute", Kind::absolute), std::pair("relative", Kind::relative),
          std::pair("pointwise_relative", Kind::pointwise_relative), std::pair("psnr", Kind::psnr)})
        if (kind == name && value >= 0.0) return ErrorBound{known, value};
    if (find_in(field.attributes, "caesura_bound_kind") != nullptr) return std::nullopt;
    if (field.pipeline.empty()) return lossless();
    if (field.pipeline.size() != 1 || field.pipeline[0].id != hdf5::k_filter_id)
        return std::nullopt;
    const auto settings = hdf5::parse_cd_values(field.pipeline[0].cd_values);
    return settings.ok() ? std::optional(settings->bound) : std::nullopt;
}

std::string codec_of(const FieldInfo& field) {
    const std::string named = text_of(find_in(field.attributes, "caesura_codec"), "");
    if (!named.empty()) return named;
    std::string filters;
    for (const FilterSpec& filter : field.pipeline) {
        if (!filters.empty()) filters += "+";
        filters += filter.id == hdf5::k_filter_id ? "caesura"
                   : filter.name.empty()          ? fmt::format("filter:{}", filter.id)
                                                  : filter.name;
    }
    return filters.empty() ? "none" : filters;
}

/// The group of its record, if a component lies in one.
const Attributes* record_of(const Lists& lists, const FieldInfo& field) {
    const auto slashes = std::count(field.name.begin(), field.name.end(), '/');
    const std::ptrdiff_t own = field.kind == FieldInfo::Kind::particles ? 1 : 0;
    if (field.kind == FieldInfo::Kind::other || slashes <= own) return nullptr;
    const auto found = lists.groups.find(field.path.substr(0, field.path.rfind('/')));
    return found == lists.groups.end() ? nullptr : found->second;
}

void add(Lists& lists, FieldInfo field, Way way) {
    name_field(lists.layout, field);
    if (field.codec.empty()) field.codec = codec_of(field);
    field.bound = way.kind == Way::Kind::constant ? std::optional(lossless()) : bound_of(field);
    field.raw_bytes = field.shape.count() * field.type.value_bytes();
    if (const Attributes* record = record_of(lists, field)) field.record_attributes = *record;
    field.unit_si = number_of(find_attribute(field, "unitSI"), 1.0);
    field.grid_spacing = numbers_of(find_attribute(field, "gridSpacing"));
    field.grid_offset = numbers_of(find_attribute(field, "gridGlobalOffset"));
    field.grid_unit_si = number_of(find_attribute(field, "gridUnitSI"), 1.0);
    if (const Attribute* labels = find_attribute(field, "axisLabels")) {
        if (const auto* const list = std::get_if<std::vector<std::string>>(&labels->value))
            field.axis_labels = *list;
        if (const auto* const one = std::get_if<std::string>(&labels->value))
            field.axis_labels = {*one};
    }
    if (text_of(find_attribute(field, "dataOrder"), "C") == "F") {  // the fastest axis first
        std::reverse(field.grid_spacing.begin(), field.grid_spacing.end());
        std::reverse(field.grid_offset.begin(), field.grid_offset.end());
        std::reverse(field.axis_labels.begin(), field.axis_labels.end());
    }
    lists.out.fields.push_back(std::move(field));
    lists.out.ways.push_back(std::move(way));
}

/// Filters that are HDF5's alone: nbit, scale-offset, szip.
bool needs_hdf5(const std::vector<FilterSpec>& pipeline) {
    return std::any_of(pipeline.begin(), pipeline.end(),
                       [](const FilterSpec& filter) { return filter.id >= 4 && filter.id < 256; });
}

ValueType::Kind kind_of(DType dtype) {
    if (dtype == boolean) return ValueType::Kind::logical;
    if (dtype == bfloat16) return ValueType::Kind::brain_floating;
    if (!is_integer(dtype)) return ValueType::Kind::floating;
    return is_signed_integer(dtype) ? ValueType::Kind::signed_integer
                                    : ValueType::Kind::unsigned_integer;
}

void add_datasets(Lists& lists) {
    const auto datasets = lists.source.datasets();
    for (std::size_t i = 0; i < datasets.size(); ++i) {
        const store::DatasetInfo& dataset = datasets[i];
        FieldInfo field;
        field.path = dataset.spec.path;
        field.iteration = dataset.iteration;
        field.type = {kind_of(dataset.spec.dtype), size_of(dataset.spec.dtype), dataset.members};
        field.shape = dataset.spec.shape;
        field.chunk = dataset.spec.chunk;
        field.pipeline = dataset.spec.pipeline;
        field.stored_bytes = dataset.stored_bytes;
        field.attributes = dataset.spec.attributes;
        const Way::Kind kind = needs_hdf5(field.pipeline) ? Way::Kind::hdf5 : Way::Kind::chunks;
        add(lists, std::move(field), {.kind = kind, .dataset = i, .value = {}});
    }
    for (const store::OtherDataset& other : lists.source.info().other_datasets) {
        FieldInfo field;
        field.path = other.path;
        field.iteration = other.iteration;
        field.type = {
            static_cast<ValueType::Kind>(other.kind == store::OtherDataset::Kind::floating ? 0
                                         : other.kind == store::OtherDataset::Kind::signed_integer
                                             ? 1
                                             : 2),
            other.value_bytes / std::max<std::size_t>(1, other.members.size()), other.members};
        field.shape = other.shape;
        field.chunk = other.chunk;
        field.pipeline = other.pipeline;
        field.stored_bytes = other.stored_bytes;
        field.attributes = other.attributes;
        add(lists, std::move(field), {.kind = Way::Kind::hdf5, .value = {}});
    }
}

/// openPMD's component whose values are all the same: a group that says which, and how many.
void add_constant(Lists& lists, const store::GroupInfo& group) {
    const auto extents = extents_of(find_in(group.attributes, "shape"));
    if (!group.value_dtype || extents.empty() || extents.size() > k_max_rank) return;
    FieldInfo field;
    field.path = group.path;
    const auto dump = lists.layout.dumps.of(group.path);
    if (!dump) return;
    field.iteration = dump->iteration;
    field.type = {kind_of(*group.value_dtype), size_of(*group.value_dtype), group.members};
    field.shape = Shape(extents);
    field.chunk = field.shape;
    field.codec = "constant";
    field.attributes = group.attributes;
    add(lists, std::move(field), {.kind = Way::Kind::constant, .value = group.value});
}

/// By iteration, then path; dumps with their times.
void put_in_order(Lists& lists) {
    Listing& out = lists.out;
    std::vector<std::size_t> order(out.fields.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(out.fields[a].iteration, out.fields[a].path) <
               std::tie(out.fields[b].iteration, out.fields[b].path);
    });
    std::vector<FieldInfo> fields;
    std::vector<Way> ways;
    for (const std::size_t i : order) {
        fields.push_back(std::move(out.fields[i]));
        ways.push_back(std::move(out.ways[i]));
    }
    out.fields = std::move(fields);
    out.ways = std::move(ways);
    for (std::size_t i = 0; i < out.fields.size(); ++i) {
        const FieldInfo& field = out.fields[i];
        out.by_path.emplace(field.path, i);
        if (out.dumps.empty() || out.dumps.back().iteration != field.iteration) {
            out.dumps.push_back({.iteration = field.iteration, .attributes = {}, .fields = {}});
        }
        // The first field that lies in the dump's group: others may be of iteration 0, too.
        const auto dump = lists.layout.dumps.of(field.path);
        if (dump && dump->bytes == 0 && find_in(field.attributes, "time") != nullptr) {
            // Each field has its time with it.
            out.dumps.back().attributes.clear();
            for (const char* const name : {"time", "dt", "timeUnitSI"})
                if (const Attribute* const one = find_in(field.attributes, name))
                    out.dumps.back().attributes.push_back(*one);
        } else if (dump && dump->bytes > 0 && out.dumps.back().attributes.empty()) {
            const auto group = lists.groups.find(field.path.substr(0, dump->bytes - 1));
            if (group != lists.groups.end()) out.dumps.back().attributes = *group->second;
        }
        out.dumps.back().fields.push_back(i);
    }
    for (DumpInfo& dump : out.dumps) {
        dump.time = number_of(find_in(dump.attributes, "time"), 0.0);
        dump.dt = number_of(find_in(dump.attributes, "dt"), 0.0);
        dump.time_unit_si = number_of(find_in(dump.attributes, "timeUnitSI"), 1.0);
    }
}

}  // namespace

Listing list_fields(const Source& source) {
    const store::FileInfo& info = source.info();
    Lists lists{source, Layout(info.root), {}, {}};
    for (const store::GroupInfo& group : info.groups) lists.groups[group.path] = &group.attributes;
    add_datasets(lists);
    for (const store::GroupInfo& group : info.groups) add_constant(lists, group);
    put_in_order(lists);
    std::set<std::string> readable;
    for (const store::OtherDataset& other : info.other_datasets) readable.insert(other.path);
    for (const std::string& path : info.others)
        if (!readable.contains(path)) lists.out.unreadable.push_back(path);
    return std::move(lists.out);
}

Result<Listing> join(std::vector<ListedFile> files) {
    struct Place {
        std::uint64_t iteration = 0;
        std::size_t file = 0, dump = 0;
    };
    std::vector<Place> order;
    for (std::size_t f = 0; f < files.size(); ++f) {
        auto& dumps = files[f].listing.dumps;
        if (!files[f].has_iterations && dumps.size() == 1) dumps[0].iteration = files[f].number;
        for (std::size_t d = 0; d < dumps.size(); ++d) order.push_back({dumps[d].iteration, f, d});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Place& a, const Place& b) { return a.iteration < b.iteration; });
    Listing out;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Place& at = order[i];
        if (i > 0 && order[i - 1].iteration == at.iteration)
            return invalid(fmt::format("iteration {} is in {} and in {}; open one of them",
                                       at.iteration, files[order[i - 1].file].path,
                                       files[at.file].path));
        Listing& from = files[at.file].listing;
        DumpInfo dump = std::move(from.dumps[at.dump]);
        for (std::size_t& number : dump.fields) {
            FieldInfo& field = from.fields[number];
            field.iteration = dump.iteration;
            from.ways[number].file = at.file;
            out.by_path.emplace(field.path, out.fields.size());
            out.fields.push_back(std::move(field));
            out.ways.push_back(std::move(from.ways[number]));
            number = out.fields.size() - 1;
        }
        out.dumps.push_back(std::move(dump));
    }
    for (ListedFile& file : files)
        for (std::string& path : file.listing.unreadable) out.unreadable.push_back(std::move(path));
    return out;
}

void Listing::filter(const std::function<bool(const FieldInfo&)>& keep) {
    Listing kept;
    kept.unreadable = std::move(unreadable);
    for (DumpInfo& dump : dumps) {
        std::vector<std::size_t> numbers;
        for (const std::size_t i : dump.fields) {
            if (!keep(fields[i])) continue;
            numbers.push_back(kept.fields.size());
            kept.by_path.emplace(fields[i].path, kept.fields.size());
            kept.fields.push_back(std::move(fields[i]));
            kept.ways.push_back(std::move(ways[i]));
        }
        if (numbers.empty()) continue;
        dump.fields = std::move(numbers);
        kept.dumps.push_back(std::move(dump));
    }
    *this = std::move(kept);
}

Result<std::size_t> Listing::find(const std::string& file, const std::string& name,
                                  std::uint64_t iteration) const {
    const auto dump = std::find_if(dumps.begin(), dumps.end(),
                                   [&](const DumpInfo& one) { return one.iteration == iteration; });
    if (dump == dumps.end()) {
        std::vector<std::uint64_t> there;
        for (const DumpInfo& one : dumps) there.push_back(one.iteration);
        constexpr std::size_t k_most = 20;
        const bool cut = there.size() > k_most;
        if (cut) there.erase(there.begin(), there.end() - k_most);
        return invalid(fmt::format("{}: there is no dump of iteration {}; there are {}{}", file,
                                   iteration, cut ? "..., " : "", fmt::join(there, ", ")));
    }
    std::vector<std::size_t> found;
    std::vector<std::string> names;
    for (const std::size_t i : dump->fields) {
        if (fields[i].name == name || fields[i].path == name) found.push_back(i);
        names.push_back(fields[i].name);
    }
    if (found.size() == 1) return found[0];
    if (found.empty())
        return invalid(fmt::format("{}: iteration {} has no field '{}'; it has {}", file, iteration,
                                   name, fmt::join(names, ", ")));
    return invalid(fmt::format("{}: iteration {} has '{}' more than once; say {} or {}", file,
                               iteration, name, fields[found[0]].path, fields[found[1]].path));
}

Result<std::size_t> Listing::find(const std::string& file, const std::string& path) const {
    if (const auto found = by_path.find(path); found != by_path.end()) return found->second;
    if (std::find(unreadable.begin(), unreadable.end(), path) == unreadable.end())
        return invalid(fmt::format("{}: there is no dataset {}", file, path));
    return Status(StatusCode::unsupported,
                  fmt::format("{}: dataset {} is not one of numbers with 1 to {} axes", file, path,
                              k_max_rank));
}

}  // namespace caesura::read

namespace caesura {

std::string to_string(const ValueType& type) {
    constexpr const char* k_names[] = {"float", "int", "uint", "bool", "bfloat"};
    const char* const name = k_names[static_cast<std::size_t>(type.kind)];
    const std::string number = type.kind == ValueType::Kind::logical
                                   ? std::string(name)
                                   : fmt::format("{}{}", name, 8 * type.bytes);
    return type.members.empty() ? number : fmt::format("{} {}", type.members.size(), number);
}

const store::Attribute* find_attribute(const FieldInfo& field, std::string_view name) {
    const auto* const own = read::find_in(field.attributes, name);
    return own != nullptr ? own : read::find_in(field.record_attributes, name);
}

}  // namespace caesura
