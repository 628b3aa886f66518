#include "vol/members.hpp"

#include <algorithm>
#include <cstring>

namespace caesura::vol {

using store::Handle;

Handle type_of(DType dtype, const std::vector<std::string>& members) {
    const hid_t number = dtype == float32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    if (members.empty()) return Handle(H5Tcopy(number), H5Tclose);
    Handle type(H5Tcreate(H5T_COMPOUND, members.size() * size_of(dtype)), H5Tclose);
    for (std::size_t i = 0; i < members.size(); ++i)
        if (!type.ok() || H5Tinsert(type.get(), members[i].c_str(), i * size_of(dtype), number) < 0)
            return {};
    return type;
}

std::size_t member_bytes(hid_t type, const std::vector<std::string>& members) {
    return H5Tget_size(type) / std::max<std::size_t>(1, members.size());
}

bool fills_alike(hid_t creation, hid_t type, const std::vector<std::string>& members) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(creation, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED)
        return true;  // zeros, or none
    const std::size_t bytes = member_bytes(type, members);
    std::vector<std::byte> value(H5Tget_size(type));
    if (H5Pget_fill_value(creation, type, value.data()) < 0) return false;
    for (std::size_t at = bytes; at < value.size(); at += bytes)
        if (std::memcmp(value.data(), value.data() + at, bytes) != 0) return false;
    return true;
}

Result<PresentMembers> members_in(hid_t memory_type, DType dtype,
                                  const std::vector<std::string>& members) {
    const store::QuietErrors quiet;
    PresentMembers present;
    std::vector<std::string> names;
    const bool compound = H5Tget_class(memory_type) == H5T_COMPOUND;
    for (std::size_t i = 0; i < members.size(); ++i) {
        // What is no compound HDF5 refuses to convert into all of them.
        if (compound && H5Tget_member_index(memory_type, members[i].c_str()) < 0) continue;
        if (present.runs.empty() || present.runs.back().first + present.runs.back().count < i)
            present.runs.push_back({i, 0});
        ++present.runs.back().count;
        names.push_back(members[i]);
    }
    present.count = names.size();
    if (names.empty()) return present;
    present.type = type_of(dtype, names);
    if (!present.type.ok())
        return store::hdf5_error(StatusCode::internal, "members of a compound type");
    return present;
}

}  // namespace caesura::vol
