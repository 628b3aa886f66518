// Two files, read by the stock library, object by object: links, types, extents, fill values,
// attributes, values.
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "judge.hpp"
#include "outcome.hpp"

namespace stand_in {
namespace {

/// What a file holds, as lines of text and outputs that can be compared: one per path.
class Contents {
  public:
    Contents(hid_t file, double bound) : bound_(bound) { walk(file, ""); }

    std::map<std::string, Outcome> outcomes;

  private:
    void walk(hid_t group, const std::string& path);
    void look_at_link(hid_t group, const std::string& name, const std::string& path);
    void look_at_object(hid_t object, const std::string& path);
    void look_at_dataset(hid_t dataset, Outcome& out);
    void look_at_attributes(hid_t object, Outcome& out);

    double bound_;
    std::map<std::string, std::string> first_paths_;  ///< by token
};

herr_t note_name(hid_t, const char* name, const H5L_info2_t*, void* to) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
}

herr_t note_attribute(hid_t, const char* name, const H5A_info_t*, void* to) {
    static_cast<std::set<std::string>*>(to)->emplace(name);
    return 0;
}

void tell_extent(hid_t space, Outcome& out) {
    hsize_t now[H5S_MAX_RANK] = {}, most[H5S_MAX_RANK] = {};
    out.number("class of extent", H5Sget_simple_extent_type(space));
    const int axes = H5Sget_simple_extent_dims(space, now, most);
    for (int i = 0; i < axes; ++i) out.text("extent", fmt::format("{} of {}", now[i], most[i]));
}

void tell_type(hid_t type, Outcome& out) { out.text("type", description(type)); }

/// Elements in the type of this machine, read by `read`.
template <class Read>
void tell_values(hid_t file_type, hid_t space, Outcome& out, const Read& read) {
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    hid_t type = H5Tget_native_type(file_type, H5T_DIR_ASCEND);
    if (type < 0) type = H5Tcopy(file_type);
    std::vector<std::byte> values(H5Tget_size(type) * static_cast<std::size_t>(count) + 1);
    if (out.result("reading", read(type, values.data()))) {
        out.values("values", type, values.data(), static_cast<std::size_t>(count));
        H5Treclaim(type, space, H5P_DEFAULT, values.data());
    }
    H5Tclose(type);
}

void Contents::look_at_attributes(hid_t object, Outcome& out) {
    std::set<std::string> names;
    hsize_t position = 0;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &position, note_attribute, &names);
    for (const std::string& name : names) {
        // What the connector says of bounds is its own.
        if (bound_ > 0 && name.starts_with("caesura_")) continue;
        out.text("attribute", name);
        const hid_t attribute = H5Aopen(object, name.c_str(), H5P_DEFAULT);
        const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
        tell_type(type, out);
        tell_extent(space, out);
        tell_values(type, space, out,
                    [&](hid_t memory, void* values) { return H5Aread(attribute, memory, values); });
        H5Tclose(type);
        H5Sclose(space);
        H5Aclose(attribute);
    }
}

void Contents::look_at_dataset(hid_t dataset, Outcome& out) {
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    tell_type(type, out);
    tell_extent(space, out);
    const hid_t list = H5Dget_create_plist(dataset);
    H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
    H5Pfill_value_defined(list, &defined);
    out.number("fill value", defined);
    if (defined == H5D_FILL_VALUE_USER_DEFINED) {
        std::vector<std::byte> fill(H5Tget_size(type));
        if (out.result("fill value", H5Pget_fill_value(list, type, fill.data())))
            out.values("fill value", type, fill.data(), 1);
    }
    H5D_fill_time_t when = H5D_FILL_TIME_ERROR;
    H5Pget_fill_time(list, &when);
    // Without a fill value what was never written may be anything.
    const bool arbitrary = when == H5D_FILL_TIME_NEVER || defined == H5D_FILL_VALUE_UNDEFINED;
    H5Pclose(list);
    if (!arbitrary)
        tell_values(type, space, out, [&](hid_t memory, void* values) {
            return H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        });
    H5Tclose(type);
    H5Sclose(space);
}

void Contents::look_at_object(hid_t object, const std::string& path) {
    Outcome& out = outcomes[path];
    H5O_info2_t info;
    if (!out.result("H5Oget_info3", H5Oget_info3(object, &info, H5O_INFO_BASIC))) return;
    const std::string token(reinterpret_cast<const char*>(&info.token), sizeof info.token);
    const auto [known, is_new] = first_paths_.emplace(token, path);
    out.number("kind", info.type);
    if (info.type != H5O_TYPE_NAMED_DATATYPE) out.number("references", info.rc);
    out.text("first met as", known->second);
    if (!is_new) return;
    look_at_attributes(object, out);
    char comment[64] = "";
    H5Oget_comment(object, comment, sizeof comment);
    out.text("comment", comment);
    if (info.type == H5O_TYPE_DATASET) look_at_dataset(object, out);
    if (info.type == H5O_TYPE_NAMED_DATATYPE) tell_type(object, out);
    if (info.type == H5O_TYPE_GROUP) walk(object, path);
}

void Contents::look_at_link(hid_t group, const std::string& name, const std::string& path) {
    H5L_info2_t info;
    if (H5Lget_info2(group, name.c_str(), &info, H5P_DEFAULT) < 0) return;
    if (info.type == H5L_TYPE_HARD) {
        const hid_t object = H5Oopen(group, name.c_str(), H5P_DEFAULT);
        if (!outcomes[path].result("H5Oopen", object)) return;
        look_at_object(object, path);
        H5Oclose(object);
        return;
    }
    Outcome& out = outcomes[path];
    out.number("kind of link", info.type);
    std::vector<char> value(info.u.val_size + 1);
    H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT);
    out.bytes("target", value.data(), info.u.val_size);
}

void Contents::walk(hid_t group, const std::string& path) {
    if (path.empty()) {
        const hid_t root = H5Gopen2(group, "/", H5P_DEFAULT);
        if (outcomes["/"].result("root", root)) {
            // "//" cannot be the path of a member.
            look_at_object(root, "//");
            H5Gclose(root);
        }
        return;
    }
    std::vector<std::string> names;
    hsize_t position = 0;
    const herr_t done =
        H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, &position, note_name, &names);
    outcomes[path].result("H5Literate2", done);
    const std::string prefix = path == "//" ? "/" : path + "/";
    for (const std::string& name : names) look_at_link(group, name, prefix + name);
}

}  // namespace

std::string difference_of_files(const std::string& native, const std::string& ours, double bound) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const bool one = access(native.c_str(), F_OK) == 0, two = access(ours.c_str(), F_OK) == 0;
    if (!one && !two) return {};
    if (one != two) return fmt::format("the file exists {} alone", one ? "natively" : "in ours");
    const hid_t a = H5Fopen(native.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t b = H5Fopen(ours.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    std::string said;
    if ((a < 0) != (b < 0)) {
        said = fmt::format("H5Fopen: the file opens {} alone", a >= 0 ? "natively" : "in ours");
    } else if (a >= 0) {
        const Contents left(a, bound), right(b, bound);
        for (const auto& [path, outcome] : left.outcomes) {
            const auto other = right.outcomes.find(path);
            if (other == right.outcomes.end()) {
                said = path + ": there natively alone";
            } else if (const auto found = difference(outcome, other->second, bound)) {
                said = path + ": " + *found;
            }
            if (!said.empty()) break;
        }
        for (const auto& [path, outcome] : right.outcomes)
            if (said.empty() && !left.outcomes.contains(path))
                said = path + ": there in ours alone";
    }
    if (a >= 0) H5Fclose(a);
    if (b >= 0) H5Fclose(b);
    return said;
}

}  // namespace stand_in
