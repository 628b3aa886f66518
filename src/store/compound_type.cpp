#include "store/compound_type.hpp"

#include <algorithm>

#include "store/hdf5_handle.hpp"

namespace caesura::store {
namespace {

struct Member {
    std::size_t offset;
    std::string name;
};

bool is_native_float(hid_t type) {
    return H5Tequal(type, H5T_NATIVE_FLOAT) > 0 || H5Tequal(type, H5T_NATIVE_DOUBLE) > 0;
}

}  // namespace

std::string member_name(hid_t type, unsigned member) {
    char* const name = H5Tget_member_name(type, member);
    const std::string copy = name == nullptr ? "" : name;
    H5free_memory(name);
    return copy;
}

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
        members.push_back({H5Tget_member_offset(type, i), member_name(type, i)});
    }
    // Members do not overlap: where they take all bytes there is no gap.
    if (H5Tget_size(type) != members.size() * bytes) return {};
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.offset < b.offset; });
    std::vector<std::string> names;
    for (Member& member : members) names.push_back(std::move(member.name));
    return names;
}

}  // namespace caesura::store
