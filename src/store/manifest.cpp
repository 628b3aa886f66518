// The manifest as JSON: text, so that a file can be understood without this library.
//
// Invariant: decode(encode(m)) == m for every manifest (NaN keeps being NaN). Doubles that JSON
// cannot say, and strings that are not UTF-8, have forms of their own.
#include "store/manifest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/little_endian.hpp"
#include "store/region_format.hpp"

namespace caesura::store {
namespace {

using nlohmann::json;

/// Readers that know nothing of application's trees would make a tree of their own: they see a
/// version that they do not know instead.
constexpr std::uint32_t k_application_version = 2;
/// Likewise those that would miss the chunks that are not there.
constexpr std::uint32_t k_partial_version = 3;
/// Likewise those that know no types of numbers after uint64.
constexpr std::uint32_t k_types_version = 4;

json from_double(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    return v;
}

double to_double(const json& j) {
    if (!j.is_string()) return j.get<double>();
    const auto text = j.get<std::string>();
    if (text == "nan") return std::nan("");
    if (text == "inf") return HUGE_VAL;
    if (text == "-inf") return -HUGE_VAL;
    throw std::invalid_argument("'" + text + "' is not a number");
}

bool is_utf8(const std::string& text) {
    try {
        json(text).dump();
        return true;
    } catch (const json::exception&) {
        return false;
    }
}

json from_string(const std::string& text) {
    if (is_utf8(text)) return text;
    json bytes = json::array();
    for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
}

std::string to_text(const json& j) {
    if (j.is_string()) return j.get<std::string>();
    std::string out;
    for (const json& byte : j) out.push_back(static_cast<char>(byte.get<unsigned char>()));
    return out;
}

template <class T, class Convert>
json from_list(const std::vector<T>& values, Convert convert) {
    json out = json::array();
    for (const T& value : values) out.push_back(convert(value));
    return out;
}

// Integers go as numbers: nlohmann-json keeps all 64 bits of either sign.
struct ToJson {
    json operator()(std::int64_t v) const { return {{"int64", v}}; }
    json operator()(std::uint64_t v) const { return {{"uint64", v}}; }
    json operator()(std::uint32_t v) const { return {{"uint32", v}}; }
    json operator()(double v) const { return {{"float64", from_double(v)}}; }
    json operator()(float v) const { return {{"float32", from_double(v)}}; }
    json operator()(const std::string& v) const { return {{"string", from_string(v)}}; }
    json operator()(const std::vector<double>& v) const {
        return {{"float64s", from_list(v, from_double)}};
    }
    json operator()(const std::vector<std::uint64_t>& v) const { return {{"uint64s", v}}; }
    json operator()(const std::vector<std::int64_t>& v) const { return {{"int64s", v}}; }
    json operator()(const std::vector<std::string>& v) const {
        return {{"strings", from_list(v, from_string)}};
    }
};

AttributeValue to_value(const json& j) {
    const auto only = j.begin();
    const std::string type = only.key();  // throws if j is no object
    const json& v = only.value();
    if (type == "int64") return v.get<std::int64_t>();
    if (type == "uint64") return v.get<std::uint64_t>();
    if (type == "uint32") return v.get<std::uint32_t>();
    if (type == "float64") return to_double(v);
    if (type == "float32") return static_cast<float>(to_double(v));
    if (type == "string") return to_text(v);
    if (type == "uint64s") return v.get<std::vector<std::uint64_t>>();
    if (type == "int64s") return v.get<std::vector<std::int64_t>>();
    if (type == "float64s") {
        std::vector<double> out;
        for (const json& one : v) out.push_back(to_double(one));
        return out;
    }
    if (type != "strings") throw std::invalid_argument("attribute type '" + type + "'");
    std::vector<std::string> out;
    for (const json& one : v) out.push_back(to_text(one));
    return out;
}

json from_attributes(const std::vector<Attribute>& attributes) {
    json out = json::array();
    for (const Attribute& attribute : attributes)
        out.push_back({from_string(attribute.name), std::visit(ToJson{}, attribute.value)});
    return out;
}

std::vector<Attribute> to_attributes(const json& j) {
    std::vector<Attribute> out;
    for (const json& one : j) {
        if (one.at(1).size() != 1) throw std::invalid_argument("attribute without a value");
        out.push_back({to_text(one.at(0)), to_value(one.at(1))});
    }
    return out;
}

json from_shape(const Shape& shape) {
    return std::vector<std::uint64_t>(shape.data(), shape.data() + shape.rank());
}

Shape to_shape(const json& j) {
    const auto extents = j.get<std::vector<std::uint64_t>>();
    if (extents.size() > k_max_rank) throw std::invalid_argument("more than four axes");
    return Shape(std::span(extents));
}

/// The bits of a fill value as a number: NaN has many.
json from_fill(const DatasetSpec& dataset) {
    return base::get_native(dataset.fill.data(), size_of(dataset.dtype));
}

std::vector<std::byte> to_fill(const json& j, DType dtype) {
    std::vector<std::byte> fill(size_of(dtype));
    base::put_native(fill.data(), j.get<std::uint64_t>(), fill.size());
    return fill;
}

json from_dataset(const DatasetSpec& dataset) {
    json pipeline = json::array();
    for (const FilterSpec& filter : dataset.pipeline)
        pipeline.push_back({{"id", filter.id},
                            {"optional", filter.optional},
                            {"cd_values", filter.cd_values},
                            {"name", from_string(filter.name)}});
    json out = {
        {"path", from_string(dataset.path)},  {"dtype", to_string(dataset.dtype)},
        {"shape", from_shape(dataset.shape)}, {"chunk", from_shape(dataset.chunk)},
        {"pipeline", std::move(pipeline)},    {"attributes", from_attributes(dataset.attributes)}};
    if (dataset.partial_chunks) out["partial_chunks"] = *dataset.partial_chunks;
    if (!dataset.fill.empty()) out["fill"] = from_fill(dataset);
    return out;
}

DType to_dtype(const std::string& name) {
    for (auto dtype = float32; is_known(dtype); dtype = static_cast<DType>(int(dtype) + 1))
        if (to_string(dtype) == name) return dtype;
    throw std::invalid_argument("dtype '" + name + "'");
}

DatasetSpec to_dataset(const json& j) {
    DatasetSpec out;
    out.path = to_text(j.at("path"));
    out.dtype = to_dtype(j.at("dtype").get<std::string>());
    out.shape = to_shape(j.at("shape"));
    out.chunk = to_shape(j.at("chunk"));
    for (const json& filter : j.at("pipeline"))
        out.pipeline.push_back({filter.at("id").get<unsigned>(), filter.at("optional").get<bool>(),
                                filter.at("cd_values").get<std::vector<unsigned>>(),
                                to_text(filter.at("name"))});
    out.attributes = to_attributes(j.at("attributes"));
    if (const auto chunks = j.find("partial_chunks"); chunks != j.end())
        out.partial_chunks = chunks->get<std::uint64_t>();
    if (const auto fill = j.find("fill"); fill != j.end()) out.fill = to_fill(*fill, out.dtype);
    return out;
}

/// Readers that know none make the dump without them.
json from_array(const ArraySpec& array) {
    return {{"path", from_string(array.path)},
            {"values", std::visit(ToJson{}, array.values)},
            {"attributes", from_attributes(array.attributes)}};
}

/// Of a dataset in HDF5.
constexpr int k_most_axes = 32;

json from_place(const PlacedIn& place) {
    return {{"header", place.header},
            {"blocks", place.blocks},
            {"rank", place.rank},
            {"axes", place.axes}};
}

/// Every axis once, ascending, of those that there are.
PlacedIn to_place(const json& j) {
    PlacedIn out{j.at("header").get<std::uint64_t>(), j.at("blocks").get<std::uint64_t>(),
                 j.at("rank").get<int>(), j.at("axes").get<std::vector<int>>()};
    int next = 0;
    for (const int axis : out.axes) {
        if (axis < next || axis >= out.rank) throw std::invalid_argument("axes of a dataset");
        next = axis + 1;
    }
    if (out.rank < 1 || out.rank > k_most_axes) throw std::invalid_argument("axes of a dataset");
    return out;
}

/// Readers that know no "zero_of" make the group without "value".
json from_group(const GroupSpec& group) {
    json out = {{"path", from_string(group.path)},
                {"attributes", from_attributes(group.attributes)}};
    if (group.zero_of) out["zero_of"] = to_string(*group.zero_of);
    return out;
}

GroupSpec to_group(const json& j) {
    GroupSpec out{to_text(j.at("path")), to_attributes(j.at("attributes"))};
    if (const auto type = j.find("zero_of"); type != j.end())
        out.zero_of = to_dtype(type->get<std::string>());
    return out;
}

DumpManifest to_manifest(const json& j, std::uint32_t version) {
    DumpManifest out;
    if (version == k_application_version) {
        if (j.at("tree").get<std::string>() != "application")
            throw std::invalid_argument("tree of an unknown owner");
        out.tree = TreeOwner::application;
    }
    out.dump = j.at("dump").get<std::uint64_t>();
    out.iteration = j.at("iteration").get<std::uint64_t>();
    out.root = to_attributes(j.at("root"));
    if (const auto set = j.find("root_set"); set != j.end()) out.root_set = to_attributes(*set);
    for (const json& group : j.at("groups")) out.groups.push_back(to_group(group));
    for (const json& dataset : j.at("datasets")) out.datasets.push_back(to_dataset(dataset));
    if (const auto arrays = j.find("arrays"); arrays != j.end())
        for (const json& array : *arrays)
            out.arrays.push_back({to_text(array.at("path")), to_value(array.at("values")),
                                  to_attributes(array.at("attributes"))});
    if (const auto places = j.find("placed_in"); places != j.end())
        for (const json& place : *places) out.placed_in.push_back(to_place(place));
    if (!out.placed_in.empty() && out.placed_in.size() != out.datasets.size())
        throw std::invalid_argument("places of other datasets");
    return out;
}

}  // namespace

std::string encode_manifest(const DumpManifest& manifest) {
    json groups = json::array(), datasets = json::array();
    for (const GroupSpec& group : manifest.groups) groups.push_back(from_group(group));
    for (const DatasetSpec& dataset : manifest.datasets) datasets.push_back(from_dataset(dataset));
    json out = {{"version", k_format_version},     {"dump", manifest.dump},
                {"iteration", manifest.iteration}, {"root", from_attributes(manifest.root)},
                {"groups", std::move(groups)},     {"datasets", std::move(datasets)}};
    if (!manifest.root_set.empty()) out["root_set"] = from_attributes(manifest.root_set);
    if (manifest.tree == TreeOwner::application) {
        out["version"] = k_application_version;
        out["tree"] = "application";
    }
    const bool partial = std::any_of(manifest.datasets.begin(), manifest.datasets.end(),
                                     [](const auto& one) { return one.partial_chunks; });
    if (partial && manifest.tree == TreeOwner::caesura) out["version"] = k_partial_version;
    const bool later = std::any_of(manifest.datasets.begin(), manifest.datasets.end(),
                                   [](const auto& one) { return one.dtype > uint64; });
    if (later && manifest.tree == TreeOwner::caesura) out["version"] = k_types_version;
    for (const ArraySpec& array : manifest.arrays) out["arrays"].push_back(from_array(array));
    for (const PlacedIn& place : manifest.placed_in) out["placed_in"].push_back(from_place(place));
    return out.dump();
}

Result<DumpManifest> decode_manifest(std::string_view text) {
    try {
        const json j = json::parse(text);
        const auto version = j.at("version").get<std::uint32_t>();
        if (version != k_format_version && version != k_application_version &&
            version != k_partial_version && version != k_types_version)
            return Status{StatusCode::unsupported,
                          "manifest: unknown version; use a newer Caesura"};
        return to_manifest(j, version);
    } catch (const std::exception& error) {
        return Status{StatusCode::corrupt, std::string("manifest: ") + error.what()};
    }
}

}  // namespace caesura::store
