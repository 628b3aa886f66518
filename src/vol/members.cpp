#include "vol/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "store/number_types.hpp"

namespace caesura::vol {

using store::Handle;

namespace {

/// A member of a compound type with the bytes behind it that belong to none; those before the first
/// one are its own too.
struct Stretch {
    std::string name;
    std::size_t begin = 0, bytes = 0;  ///< in the type
    std::size_t member_at = 0;         ///< from begin on
    Handle type;
};

/// In the order in which they lie.
std::vector<Stretch> stretches_of(hid_t type) {
    std::vector<Stretch> all;
    const int n = H5Tget_nmembers(type);
    for (unsigned i = 0; n > 0 && i < static_cast<unsigned>(n); ++i)
        all.push_back({store::member_name(type, i), H5Tget_member_offset(type, i), 0, 0,
                       Handle(H5Tget_member_type(type, i), H5Tclose)});
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t begin = i == 0 ? 0 : all[i].begin;
        const std::size_t end = i + 1 < all.size() ? all[i + 1].begin : H5Tget_size(type);
        all[i].member_at = std::exchange(all[i].begin, begin) - begin;
        all[i].bytes = end - begin;
    }
    return all;
}

DType word_of(std::size_t bytes) {
    return bytes % 8 == 0 ? uint64 : bytes % 4 == 0 ? uint32 : bytes % 2 == 0 ? uint16 : uint8;
}

/// The widest words for which no member begins inside one.
Element words_of(hid_t type) {
    std::size_t common = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_COMPOUND)
        for (const Stretch& one : stretches_of(type)) common = std::gcd(common, one.bytes);
    Element element{word_of(common)};
    element.words = H5Tget_size(type) / size_of(element.dtype);
    return element;
}

/// Has a memory type all members of compounds inside the file's?
bool has_all_of(hid_t memory, hid_t file) {
    const H5T_class_t kind = H5Tget_class(file);
    if (kind != H5Tget_class(memory)) return true;  // HDF5 refuses to convert it
    if (kind == H5T_ARRAY) {
        const Handle here(H5Tget_super(memory), H5Tclose), there(H5Tget_super(file), H5Tclose);
        return has_all_of(here.get(), there.get());
    }
    if (kind != H5T_COMPOUND) return true;
    for (const Stretch& one : stretches_of(file)) {
        const int at = H5Tget_member_index(memory, one.name.c_str());
        if (at < 0) return false;
        const Handle here(H5Tget_member_type(memory, static_cast<unsigned>(at)), H5Tclose);
        if (!has_all_of(here.get(), one.type.get())) return false;
    }
    return true;
}

}  // namespace

int axes_of_boxes(hid_t type) {
    if (H5Tget_class(type) != H5T_COMPOUND) return 0;
    const int members = H5Tget_nmembers(type);
    if (members < 2 || members % 2 != 0 || members > 2 * k_max_rank) return 0;
    for (int i = 0; i < members; ++i)
        if (H5Tget_member_class(type, static_cast<unsigned>(i)) != H5T_INTEGER ||
            !store::member_name(type, static_cast<unsigned>(i))
                 .starts_with(i < members / 2 ? "lo_" : "hi_"))
            return 0;
    return members / 2;
}

bool has_heap_values(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_VLEN) return true;
    if (kind == H5T_STRING) return H5Tis_variable_str(type) > 0;
    // Object references of old are plain addresses; all others lie in a heap.
    if (kind == H5T_REFERENCE) return H5Tequal(type, H5T_STD_REF_OBJ) <= 0;
    if (kind == H5T_ARRAY) {
        const Handle element(H5Tget_super(type), H5Tclose);
        return has_heap_values(element.get());
    }
    const int members = kind == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    for (int i = 0; i < members; ++i) {
        const Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)), H5Tclose);
        if (has_heap_values(member.get())) return true;
    }
    return false;
}

std::optional<Element> element_of(hid_t type) {
    const auto number = store::number_of(type);
    if (number && store::is_native(type, *number)) return Element{*number};
    if (H5Tget_class(type) != H5T_COMPOUND) return std::nullopt;
    if (auto members = members_of(type); !members.empty())
        return Element{H5Tget_size(type) == members.size() * size_of(float32) ? float32 : float64,
                       std::move(members)};
    Element element = words_of(type);
    if (has_heap_values(type) || element.words > k_most_members) return std::nullopt;
    return element;
}

Element opaque_element_of(hid_t type) {
    const std::size_t bytes = H5Tget_size(type);
    auto element = element_of(type);
    const bool is_word = element && element->members.empty() && element->dtype <= uint64;
    if (is_word) return *element;
    const bool compound = H5Tget_class(type) == H5T_COMPOUND;
    if (!compound && size_of(word_of(bytes)) == bytes) return Element{word_of(bytes)};
    return words_of(type);
}

Handle type_of(DType dtype, const std::vector<std::string>& members) {
    const Handle numbers = store::native_type(dtype);
    const hid_t number = numbers.get();
    if (members.empty()) return Handle(H5Tcopy(number), H5Tclose);
    Handle type(H5Tcreate(H5T_COMPOUND, members.size() * size_of(dtype)), H5Tclose);
    for (std::size_t i = 0; i < members.size(); ++i)
        if (!type.ok() || H5Tinsert(type.get(), members[i].c_str(), i * size_of(dtype), number) < 0)
            return {};
    return type;
}

bool fills_alike(hid_t creation, hid_t type, const Element& element) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(creation, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED)
        return true;  // zeros, or none
    const std::size_t bytes = size_of(element.dtype);
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

Result<PresentMembers> words_in(hid_t memory_type, hid_t type, DType word) {
    const store::QuietErrors quiet;
    const std::size_t word_bytes = size_of(word), all = H5Tget_size(type) / word_bytes;
    std::vector<Stretch> present;
    bool complete = true;
    // What is no compound HDF5 converts as a whole, or refuses.
    if (H5Tget_class(type) == H5T_COMPOUND && H5Tget_class(memory_type) == H5T_COMPOUND)
        for (Stretch& one : stretches_of(type)) {
            const int at = H5Tget_member_index(memory_type, one.name.c_str());
            complete = complete && at >= 0;
            if (at < 0) continue;
            const Handle here(H5Tget_member_type(memory_type, static_cast<unsigned>(at)), H5Tclose);
            if (!has_all_of(here.get(), one.type.get()))
                return Status(StatusCode::unsupported,
                              fmt::format("member {} is a compound itself, of which the memory "
                                          "type lacks a part; write all of it",
                                          one.name));
            present.push_back(std::move(one));
        }
    if (complete) return PresentMembers{{{0, all}}, all, Handle(H5Tcopy(type), H5Tclose)};
    PresentMembers some;
    for (const Stretch& one : present) {
        const MemberRun own{one.begin / word_bytes, one.bytes / word_bytes};
        if (!some.runs.empty() && some.runs.back().first + some.runs.back().count == own.first)
            some.runs.back().count += own.count;
        else
            some.runs.push_back(own);
        some.count += own.count;
    }
    if (some.count == 0) return some;
    some.type = Handle(H5Tcreate(H5T_COMPOUND, some.count * word_bytes), H5Tclose);
    std::size_t at = 0;
    for (const Stretch& one : present) {
        if (!some.type.ok() ||
            H5Tinsert(some.type.get(), one.name.c_str(), at + one.member_at, one.type.get()) < 0)
            return store::hdf5_error(StatusCode::internal, "members of a compound type");
        at += one.bytes;
    }
    return some;
}

}  // namespace caesura::vol
