#include "vol/members.hpp"

#include <algorithm>
#include <cstring>

namespace caesura::vol {
namespace {

using store::Handle;

struct Member {
    std::size_t offset;
    std::string name;
};

std::string name_of(hid_t type, unsigned member) {
    char* const name = H5Tget_member_name(type, member);
    const std::string copy = name == nullptr ? "" : name;
    H5free_memory(name);
    return copy;
}

bool is_native_float(hid_t type) {
    return H5Tequal(type, H5T_NATIVE_FLOAT) > 0 || H5Tequal(type, H5T_NATIVE_DOUBLE) > 0;
}

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

std::vector<std::string> members_of(hid_t type) {
    if (H5Tget_class(type) != H5T_COMPOUND) return {};
    const int n = H5Tget_nmembers(type);
    if (n < 1 || n > k_most_members) return {};
    std::vector<Member> members;
    const Handle first(H5Tget_member_type(type, 0), H5Tclose);
    const std::size_t bytes = H5Tget_size(first.get());
    for (unsigned i = 0; i < static_cast<unsigned>(n); ++i) {
        const Handle member(H5Tget_member_type(type, i), H5Tclose);
        if (!is_native_float(member.get()) || H5Tget_size(member.get()) != bytes) return {};
        members.push_back({H5Tget_member_offset(type, i), name_of(type, i)});
    }
    // Members do not overlap: where they take all bytes there is no gap.
    if (H5Tget_size(type) != members.size() * bytes) return {};
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.offset < b.offset; });
    std::vector<std::string> names;
    for (Member& member : members) names.push_back(std::move(member.name));
    return names;
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
