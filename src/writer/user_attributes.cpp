#include "writer/user_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::writer {
namespace {

using store::Attribute;

constexpr std::string_view k_record_names[] = {"geometry",         "dataOrder",  "axisLabels",
                                               "gridSpacing",      "gridUnitSI", "unitDimension",
                                               "gridGlobalOffset", "timeOffset"};
// Readers find the data by these.
constexpr std::string_view k_layout_names[] = {"openPMD",           "openPMDextension",
                                               "basePath",          "meshesPath",
                                               "iterationEncoding", "iterationFormat"};

}  // namespace

void set_attribute(std::vector<Attribute>& attributes, const Attribute& wanted) {
    const auto known =
        std::find_if(attributes.begin(), attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == wanted.name; });
    if (known == attributes.end())
        attributes.push_back(wanted);
    else
        known->value = wanted.value;
}

bool is_of_record(std::string_view attribute) {
    return std::find(std::begin(k_record_names), std::end(k_record_names), attribute) !=
           std::end(k_record_names);
}

Status check_attributes(const std::string& field, const FieldOptions& options) {
    for (const Attribute& attribute : options.attributes)
        if (attribute.name.starts_with("caesura_"))
            return {StatusCode::invalid_argument,
                    fmt::format("field '{}': attribute '{}': names that begin with caesura_ are "
                                "the library's; use another",
                                field, attribute.name)};
    return {};
}

Status check_same_record(const std::string& field, const FieldOptions& options,
                         const std::string& other_field, const FieldOptions& other) {
    const std::string record = field.substr(0, field.find('/') + 1);
    if (record.empty() || !other_field.starts_with(record)) return {};
    for (const Attribute& mine : options.attributes)
        for (const Attribute& theirs : other.attributes)
            if (mine.name == theirs.name && is_of_record(mine.name) && mine.value != theirs.value)
                return {StatusCode::invalid_argument,
                        fmt::format("field '{}': attribute '{}' belongs to the record, and '{}' "
                                    "has another value of it; give all components the same",
                                    field, mine.name, other_field)};
    return {};
}

Status check_root_attributes(const WriterOptions& options) {
    for (const std::string_view name : k_layout_names)
        if (options.root_attributes.count(std::string(name)) > 0)
            return {StatusCode::invalid_argument,
                    fmt::format("root_attributes has '{}', which says how the file is laid out "
                                "and cannot be changed",
                                name)};
    return {};
}

}  // namespace caesura::writer
