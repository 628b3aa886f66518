#include "vol/members.hpp"

#include <algorithm>
#include <cstring>

namespace caesura::vol {
namespace {

using store::Handle;

/// The members in a memory type, as a type of their own.
Handle dense_type(hid_t file_type, const std::vector<std::string>& members,
                  const PresentMembers& present) {
    const std::size_t bytes = member_bytes(file_type, members);
    const hid_t number = bytes == sizeof(float) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    Handle type(H5Tcreate(H5T_COMPOUND, present.count * bytes), H5Tclose);
    std::size_t at = 0;
    for (const MemberRun& run : present.runs)
        for (std::size_t i = run.first; i < run.first + run.count; ++i, at += bytes)
            if (!type.ok() || H5Tinsert(type.get(), members[i].c_str(), at, number) < 0) return {};
    return type;
}

}  // namespace

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

Result<PresentMembers> members_in(hid_t memory_type, hid_t file_type,
                                  const std::vector<std::string>& members) {
    const store::QuietErrors quiet;
    PresentMembers present;
    const bool compound = H5Tget_class(memory_type) == H5T_COMPOUND;
    for (std::size_t i = 0; i < members.size(); ++i) {
        // What is no compound HDF5 refuses to convert into all of them.
        if (compound && H5Tget_member_index(memory_type, members[i].c_str()) < 0) continue;
        if (present.runs.empty() || present.runs.back().first + present.runs.back().count < i)
            present.runs.push_back({i, 0});
        ++present.runs.back().count;
        ++present.count;
    }
    if (present.count == 0) return present;
    present.type = present.count == members.size() ? Handle(H5Tcopy(file_type), H5Tclose)
                                                   : dense_type(file_type, members, present);
    if (!present.type.ok())
        return store::hdf5_error(StatusCode::internal, "members of a compound type");
    return present;
}

}  // namespace caesura::vol
