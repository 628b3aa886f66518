#include "writer/user_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/invalid.hpp"

namespace caesura::writer {
namespace {

using base::invalid;
using store::Attribute;
using store::AttributeValue;
using Kind = AttributeOwner::Kind;

/// What openPMD wants of the values of a name.
enum class Want : std::uint8_t { text, texts_per_axis, number, numbers_per_axis, powers };

/// Where a name is openPMD's.
enum class Where : std::uint8_t { record, component, iteration, file, anywhere };

struct Known {
    std::string_view name;
    Want want;
    Where where;
};

constexpr Known k_known[] = {
    {"geometry", Want::text, Where::record},
    {"geometryParameters", Want::text, Where::record},
    {"dataOrder", Want::text, Where::record},
    {"axisLabels", Want::texts_per_axis, Where::record},
    {"gridSpacing", Want::numbers_per_axis, Where::record},
    {"gridGlobalOffset", Want::numbers_per_axis, Where::record},
    {"gridUnitSI", Want::number, Where::record},
    {"unitDimension", Want::powers, Where::record},
    {"timeOffset", Want::number, Where::record},
    {"unitSI", Want::number, Where::component},
    {"position", Want::numbers_per_axis, Where::component},
    {"timeUnitSI", Want::number, Where::iteration},
    {"software", Want::text, Where::file},
    {"softwareVersion", Want::text, Where::file},
    {"softwareDependencies", Want::text, Where::file},
    {"machine", Want::text, Where::file},
    {"author", Want::text, Where::file},
    {"date", Want::text, Where::file},
    {"comment", Want::text, Where::anywhere},
};
// Readers find the data by these.
constexpr std::string_view k_layout_names[] = {
    "openPMD",       "openPMDextension",  "basePath",       "meshesPath",
    "particlesPath", "iterationEncoding", "iterationFormat"};

/// Null: the name is the user's there.
const Known* known(std::string_view name, Kind kind) {
    const auto* const found = std::find_if(std::begin(k_known), std::end(k_known),
                                           [&](const Known& one) { return one.name == name; });
    if (found == std::end(k_known)) return nullptr;
    const bool of_field = kind == Kind::record || kind == Kind::field;
    const bool is_there =
        found->where == Where::anywhere || (found->where == Where::file && kind == Kind::file) ||
        (found->where == Where::iteration && kind == Kind::iteration) ||
        ((found->where == Where::record || found->where == Where::component) && of_field);
    return is_there ? found : nullptr;
}

std::string who(const AttributedObject& object, const std::string& name) {
    return fmt::format("attribute '{}' of {}", name, to_string(object));
}

/// Names that nobody but the library may set there. @return why; empty: it may be set.
std::string reserved(const AttributedObject& object, const std::string& name) {
    if (name.starts_with("caesura_"))
        return "names that begin with caesura_ are the library's; use another";
    if (object.kind == Kind::file && std::find(std::begin(k_layout_names), std::end(k_layout_names),
                                               name) != std::end(k_layout_names))
        return "it says how the file is laid out and cannot be changed";
    if (object.kind == Kind::iteration && (name == "time" || name == "dt"))
        return "begin_dump() is given it";
    if (is_of_particles(object)) return {};
    if (object.kind == Kind::record && (name == "unitSI" || name == "position"))
        return "it belongs to each component; set it on the fields";
    if (object.kind == Kind::record && (name == "value" || name == "shape"))
        return "it would make the record one constant; use another name";
    return {};
}

/// Numbers as openPMD has them; nothing if they are none.
std::optional<std::vector<double>> numbers_of(const AttributeValue& value) {
    return std::visit(
        [](const auto& of) -> std::optional<std::vector<double>> {
            using T = std::decay_t<decltype(of)>;
            if constexpr (std::is_arithmetic_v<T>)
                return std::vector<double>{static_cast<double>(of)};
            else if constexpr (std::is_same_v<T, std::string> ||
                               std::is_same_v<T, std::vector<std::string>>)
                return std::nullopt;
            else
                return std::vector<double>(of.begin(), of.end());
        },
        value);
}

bool is_list(const AttributeValue& value) {
    return std::visit(
        [](const auto& of) {
            using T = std::decay_t<decltype(of)>;
            return !std::is_arithmetic_v<T> && !std::is_same_v<T, std::string>;
        },
        value);
}

bool is_text(const AttributeValue& value) { return std::holds_alternative<std::string>(value); }

/// Empty: it is what openPMD wants, now at the latest. Else what it wants.
std::string_view make_fit(Want want, AttributeValue& value) {
    auto numbers = numbers_of(value);
    const bool list = is_list(value);
    const bool finite = numbers && std::all_of(numbers->begin(), numbers->end(),
                                               [](double v) { return std::isfinite(v); });
    switch (want) {
        case Want::text:
            return is_text(value) ? "" : "a string";
        case Want::texts_per_axis:
            return std::holds_alternative<std::vector<std::string>>(value)
                       ? ""
                       : "a list of strings, one for each axis";
        case Want::number:
            if (!finite || list) return "one finite number";
            // A float is openPMD's as it is.
            if (!std::holds_alternative<float>(value)) value = (*numbers)[0];
            return "";
        case Want::powers:
            if (!finite || !list || numbers->size() != 7)
                return "7 powers (L, M, T, I, theta, N, J)";
            break;
        case Want::numbers_per_axis:
            if (!finite || !list) return "a list of finite numbers, one for each axis";
            break;
    }
    value = std::move(*numbers);
    return "";
}

std::string check_words(const std::string& name, const AttributeValue& value) {
    if (name == "geometry") {
        const auto& text = std::get<std::string>(value);
        for (const char* geometry : {"cartesian", "thetaMode", "cylindrical", "spherical", "other"})
            if (text == geometry) return {};
        if (text.starts_with("other:")) return {};
        return "cartesian, thetaMode, cylindrical, spherical, other or other:<name>";
    }
    if (name == "dataOrder") {
        const auto& text = std::get<std::string>(value);
        return text == "C" || text == "F" ? "" : "C or F";
    }
    if (name == "position") {
        const auto& in_cell = std::get<std::vector<double>>(value);
        const bool inside = std::all_of(in_cell.begin(), in_cell.end(),
                                        [](double p) { return p >= 0.0 && p < 1.0; });
        return inside ? "" : "numbers from 0 to below 1";
    }
    return {};
}

/// Metadata of every dump: what is larger is data.
constexpr std::size_t k_most_bytes = std::size_t{1} << 20;

struct StoredBytes {
    template <class T>
    std::size_t operator()(const T& value) const {
        if constexpr (std::is_arithmetic_v<T>)
            return sizeof value;
        else if constexpr (std::is_same_v<T, std::string>)
            return value.size();
        else
            return value.size() * sizeof(typename T::value_type);
    }
    std::size_t operator()(const std::vector<std::string>& texts) const {
        std::size_t longest = 1;
        for (const std::string& text : texts) longest = std::max(longest, text.size());
        return longest * texts.size();
    }
};

bool has_nul(const AttributeValue& value) {
    const auto in = [](const std::string& text) { return text.find('\0') != std::string::npos; };
    if (const auto* const text = std::get_if<std::string>(&value)) return in(*text);
    const auto* const texts = std::get_if<std::vector<std::string>>(&value);
    return texts && std::any_of(texts->begin(), texts->end(), in);
}

std::string text_in(const AttributeMap& attributes, const std::string& name,
                    const std::string& otherwise) {
    const auto found = attributes.find(name);
    return found != attributes.end() && is_text(found->second)
               ? std::get<std::string>(found->second)
               : otherwise;
}

/// What options say, and that it is said once.
class Collected {
  public:
    explicit Collected(AttributedObject object) : object_(std::move(object)) {}
    void add(const std::string& name, AttributeValue value) {
        const AttributedObject object =
            object_.kind == Kind::file ? object_ : object_of(Kind::field, object_.name, name);
        if (status.ok()) status = check_attribute(object, name, value);
        for (const Attribute& other : attributes)
            if (status.ok() && other.name == name) {
                if (other.value == value) return;
                status = invalid(fmt::format("{} is {} and {}; say it once", who(object, name),
                                             text_of(other.value), text_of(value)));
            }
        attributes.push_back({name, std::move(value)});
    }
    Result<Attributes> result() && {
        if (!status.ok()) return status;
        return std::move(attributes);
    }

    Attributes attributes;
    Status status;

  private:
    AttributedObject object_;
};

}  // namespace

void set_attribute(Attributes& attributes, const std::string& name, const AttributeValue& value) {
    const auto there =
        std::find_if(attributes.begin(), attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == name; });
    if (there == attributes.end())
        attributes.push_back({name, value});
    else
        there->value = value;
}

AttributedObject record_of(const std::string& field) {
    const std::size_t slash = field.find('/');
    if (slash == std::string::npos) return {Kind::field, field};
    return {Kind::record, field.substr(0, slash)};
}

AttributedObject object_of(Kind kind, const std::string& field, std::string_view attribute) {
    if (kind == Kind::record) return record_of(field);
    if (kind != Kind::field) return {kind};
    const Known* const openpmd = known(attribute, kind);
    return openpmd && openpmd->where == Where::record ? record_of(field)
                                                      : AttributedObject{kind, field};
}

Status check_attribute(const AttributedObject& object, const std::string& name,
                       AttributeValue& value) {
    constexpr std::size_t k_name_bytes = 255;
    if (name.empty() || name.size() > k_name_bytes || name.find('\0') != std::string::npos)
        return invalid(fmt::format("{}: a name has 1 to {} bytes, and no NUL",
                                   who(object, name.substr(0, name.find('\0')).substr(0, 40)),
                                   k_name_bytes));
    if (const std::string why = reserved(object, name); !why.empty())
        return invalid(fmt::format("{}: {}", who(object, name), why));
    if (has_nul(value))
        return invalid(
            fmt::format("{}: a string with a NUL in it cannot be kept", who(object, name)));
    const std::size_t bytes = std::visit(StoredBytes{}, value) + name.size();
    if (bytes > k_most_bytes)
        return invalid(
            fmt::format("{}: it takes {} bytes with its name; an attribute has room for "
                        "{}. Put it as a field",
                        who(object, name), bytes, k_most_bytes));
    const Known* const openpmd = known(name, object.kind);
    // Of particles openPMD's other names mean nothing.
    if (openpmd == nullptr || (is_of_particles(object) && openpmd->where != Where::anywhere))
        return {};
    const AttributeValue given = value;
    std::string wanted(make_fit(openpmd->want, value));
    if (wanted.empty()) wanted = check_words(name, value);
    if (wanted.empty()) return {};
    return invalid(
        fmt::format("{} is {}; openPMD wants {}", who(object, name), text_of(given), wanted));
}

Status check_particle_attribute(const AttributedObject& object, const std::string& name,
                                AttributeValue& value) {
    constexpr std::string_view k_options[] = {"value",         "shape",      "unitSI",
                                              "unitDimension", "timeOffset", "macroWeighted",
                                              "weightingPower"};
    if (std::find(std::begin(k_options), std::end(k_options), name) != std::end(k_options))
        return invalid(
            fmt::format("{}: it follows from the options of the record", who(object, name)));
    return check_attribute(object, name, value);
}

int grid_axes(int rank, const AttributeMap& record) {
    // The first axis counts modes.
    return text_in(record, "geometry", "") == "thetaMode" && rank == 3 ? 2 : rank;
}

Status check_axes(const std::string& field, int rank, const AttributeMap& record,
                  const AttributeMap& own) {
    const auto axes = static_cast<std::size_t>(grid_axes(rank, record));
    for (const auto* const attributes : {&record, &own})
        for (const auto& [name, value] : *attributes) {
            const Known* const openpmd = known(name, Kind::field);
            if (!openpmd ||
                (openpmd->want != Want::numbers_per_axis && openpmd->want != Want::texts_per_axis))
                continue;
            const auto* const texts = std::get_if<std::vector<std::string>>(&value);
            const std::size_t n = texts ? texts->size() : numbers_of(value)->size();
            if (n == axes) continue;
            return invalid(
                fmt::format("field '{}': attribute '{}' has {} entries; its grid has {} "
                            "axes (geometry {}): give one per axis or none",
                            field, name, n, axes, text_in(record, "geometry", "cartesian")));
        }
    return {};
}

Result<Attributes> attributes_of(const std::string& field, const FieldOptions& options) {
    Collected said({Kind::field, field});
    if (!options.geometry.empty()) said.add("geometry", options.geometry);
    if (!options.geometry_parameters.empty())
        said.add("geometryParameters", options.geometry_parameters);
    if (!options.data_order.empty()) said.add("dataOrder", options.data_order);
    if (!options.axis_labels.empty()) said.add("axisLabels", options.axis_labels);
    if (!options.grid_spacing.empty()) said.add("gridSpacing", options.grid_spacing);
    if (!options.grid_offset.empty()) said.add("gridGlobalOffset", options.grid_offset);
    if (options.grid_unit_si != 1.0) said.add("gridUnitSI", options.grid_unit_si);
    const auto& powers = options.unit_dimension;
    if (std::any_of(powers.begin(), powers.end(), [](double power) { return power != 0.0; }))
        said.add("unitDimension", std::vector<double>(powers.begin(), powers.end()));
    if (options.time_offset) said.add("timeOffset", *options.time_offset);
    if (options.unit_si != 1.0) said.add("unitSI", options.unit_si);
    if (!options.position.empty()) said.add("position", options.position);
    for (const Attribute& attribute : options.attributes) said.add(attribute.name, attribute.value);
    return std::move(said).result();
}

Result<Attributes> attributes_of(const WriterOptions& options) {
    Collected said({Kind::file, ""});
    if (!options.author.empty()) said.add("author", options.author);
    if (options.software != WriterOptions().software) said.add("software", options.software);
    for (const auto& [name, value] : options.root_attributes) said.add(name, value);
    return std::move(said).result();
}

Status define(Metadata& metadata, const std::string& field, int rank,
              const Attributes& attributes) {
    const AttributedObject record = record_of(field), own{Kind::field, field};
    AttributeMap of_record = metadata.of(record), of_own = metadata.of(own);
    for (const auto& [name, value] : attributes) {
        const AttributedObject object = object_of(Kind::field, field, name);
        AttributeMap& map = object == record ? of_record : of_own;
        const auto before = map.find(name);
        if (before != map.end() && before->second != value)
            return invalid(
                fmt::format("field '{}': {} is {} already, not {}; give all components "
                            "the same",
                            field, who(object, name), text_of(before->second), text_of(value)));
        map.insert_or_assign(name, value);
    }
    if (Status fits = check_axes(field, rank, of_record, of_own); !fits.ok()) return fits;
    for (const auto& [name, value] : attributes)
        metadata.set(object_of(Kind::field, field, name), name, value);
    return {};
}

}  // namespace caesura::writer
