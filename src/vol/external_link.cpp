#include "vol/external_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "vol/capture.hpp"
#include "vol/captured_file.hpp"
#include "vol/native_files.hpp"

namespace caesura::vol {
namespace {

namespace fs = std::filesystem;
using store::Handle;

struct Link {
    const char* file = nullptr;
    const char* object = nullptr;
};

/// The file that has a link.
struct Parent {
    std::shared_ptr<CapturedFile> captured;  ///< or null, and then:
    Handle file;
    std::string name;
    std::string path;  ///< absolute, as it was when the file was opened
};

Parent parent_of(hid_t group) {
    Parent parent;
    H5O_info2_t info{};
    if (H5Oget_info3(group, &info, H5O_INFO_BASIC) >= 0)
        parent.captured = CapturedFile::find(info.fileno);
    if (parent.captured != nullptr) {
        parent.name = parent.captured->name();
        parent.path = parent.captured->path();
        return parent;
    }
    parent.file = Handle(H5Iget_file_id(group), H5Fclose);
    if (const ssize_t length = H5Fget_name(parent.file.get(), nullptr, 0); length > 0) {
        parent.name.resize(static_cast<std::size_t>(length));
        H5Fget_name(parent.file.get(), parent.name.data(), parent.name.size() + 1);
    }
    parent.path = native_files::path_of(info.fileno);
    if (parent.path.empty()) parent.path = absolute_path(parent.name);
    return parent;
}

std::string prefix_in(hid_t access) {
    const ssize_t length = H5Pget_elink_prefix(access, nullptr, 0);
    if (length <= 0) return {};
    std::string prefix(static_cast<std::size_t>(length), '\0');
    H5Pget_elink_prefix(access, prefix.data(), prefix.size() + 1);
    return prefix;
}

/// Where the library looks for a target, in its order.
std::vector<std::string> candidates_of(const Link& link, const std::string& parent, hid_t access) {
    std::vector<std::string> out;
    fs::path name = link.file;
    if (name.is_absolute()) {
        out.push_back(name.string());
        name = name.filename();
    }
    if (const char* const prefixes = std::getenv("HDF5_EXT_PREFIX"); prefixes != nullptr) {
        std::string_view rest = prefixes;
        while (!rest.empty()) {
            const std::string_view one = rest.substr(0, rest.find(':'));
            rest.remove_prefix(std::min(rest.size(), one.size() + 1));
            if (!one.empty()) out.push_back((fs::path(one) / name).string());
        }
    }
    if (const std::string prefix = prefix_in(access); !prefix.empty())
        out.push_back((fs::path(prefix) / name).string());
    std::error_code error;
    out.push_back((fs::path(parent).parent_path() / name).string());
    out.push_back(name.string());
    if (const fs::path real = fs::canonical(parent, error); !error)
        out.push_back((real.parent_path() / name).string());
    return out;
}

/// A target that is captured and open is used once more, with its own list: what lies in the file
/// system is not what it holds. One that one process has must fit the link's `list`, as HDF5 wants.
Handle access_of(const CapturedFile& open, hid_t list) {
    Handle copy(H5Pcopy(open.access()), H5Pclose);
    hbool_t evicts = 0;
    if (open.alone() &&
        (H5Pset_fclose_degree(copy.get(), H5F_CLOSE_WEAK) < 0 ||
         H5Pget_evict_on_close(list, &evicts) < 0 || H5Pset_evict_on_close(copy.get(), evicts) < 0))
        return {};
    return copy;
}

/// Does `from` hold `to` open, because its links led there? Then a link back must not hold `from`:
/// files that hold each other would never be closed.
bool leads_to(const CapturedFile& from, const CapturedFile& to) {
    return std::any_of(from.linked.begin(), from.linked.end(), [&](const auto& link) {
        const auto next = CapturedFile::find(link.first);
        return next != nullptr && (next.get() == &to || leads_to(*next, to));
    });
}

/// One of the application's identifiers of an open file; negative: there are only objects.
hid_t identifier_of(const CapturedFile& open) {
    std::vector<hid_t> files(static_cast<std::size_t>(
        std::max<ssize_t>(0, H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_FILE))));
    H5Fget_obj_ids(H5F_OBJ_ALL, H5F_OBJ_FILE, files.size(), files.data());
    for (const hid_t file : files) {
        H5O_info2_t info{};
        if (H5Oget_info3(file, &info, H5O_INFO_BASIC) >= 0 &&
            CapturedFile::find(info.fileno).get() == &open)
            return file;
    }
    return H5I_INVALID_HID;
}

/// To leave a target of several ranks is a commit of all of them: one that comes from a file of its
/// own can not be let in.
Status may_enter(const Parent& parent, const CapturedFile& open) {
    if (!open.shared()) return {};
    if (parent.captured != nullptr) {
        if (!parent.captured->alone()) return {};
    } else {
        const Handle list(H5Fget_access_plist(parent.file.get()), H5Pclose);
        if (H5Pget_driver(list.get()) == H5FD_MPIO) return {};
    }
    return {StatusCode::unsupported,
            fmt::format("{}: an external link leads to {}, which {} ranks have open together; "
                        "follow it from a file that they have opened through MPI-IO, or close "
                        "that one before",
                        parent.name, open.name(), open.ranks())};
}

/// How the target is opened: as the link's access list says, else as its parent was. The close
/// degree is the library's for such files.
Handle access_for(const Parent& parent, hid_t access) {
    Handle list(H5Pget_elink_fapl(access), H5Pclose);
    if (list.get() == H5P_DEFAULT) {
        list = Handle(parent.captured != nullptr ? H5Pcopy(parent.captured->access())
                                                 : H5Fget_access_plist(parent.file.get()),
                      H5Pclose);
        // HDF5's list of an open file does not tell it.
        if (list.ok()) H5Pset_evict_on_close(list.get(), false);
    }
    if (!list.ok() || H5Pset_fclose_degree(list.get(), H5F_CLOSE_WEAK) < 0) return {};
    return list;
}

/// The application may choose flags for each link.
herr_t choose_flags(const Link& link, const Parent& parent, hid_t group, hid_t access, hid_t list,
                    unsigned& flags) {
    if (H5Pget_elink_acc_flags(access, &flags) < 0) return -1;
    if (flags == H5F_ACC_DEFAULT && parent.captured != nullptr)
        flags = H5F_ACC_RDWR;
    else if (flags == H5F_ACC_DEFAULT && H5Fget_intent(parent.file.get(), &flags) < 0)
        return -1;
    H5L_elink_traverse_t chooses = nullptr;
    void* data = nullptr;
    if (H5Pget_elink_cb(access, &chooses, &data) < 0) return -1;
    if (chooses != nullptr) {
        const ssize_t length = H5Iget_name(group, nullptr, 0);
        std::string name(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
        if (length > 0) H5Iget_name(group, name.data(), name.size() + 1);
        if (chooses(parent.name.c_str(), name.c_str(), link.file, link.object, &flags, list, data) <
            0)
            return -1;
    }
    flags &= H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE | H5F_ACC_SWMR_READ;
    return 0;
}

Handle open_quietly(const std::string& path, unsigned flags, hid_t list) {
    const store::QuietErrors quiet;
    return {H5Fopen(path.c_str(), flags, list), H5Fclose};
}

Result<hid_t> open_object(hid_t file, const Link& link, hid_t access) {
    const hid_t object = H5Oopen(file, link.object, access);
    if (object < 0)
        return store::hdf5_error(
            StatusCode::invalid_argument,
            fmt::format("an external link leads to {} in {}", link.object, link.file));
    CapturedFile::note_crossing();
    return object;
}

/// The target is open already, because a link led there before. Negative: it is not.
hid_t known_file(const Parent& parent, const std::vector<std::string>& candidates) {
    if (parent.captured == nullptr) return H5I_INVALID_HID;
    for (const std::string& path : candidates)
        if (const auto known = parent.captured->linked.find(identity_of(path));
            known != parent.captured->linked.end())
            return known->second;
    return H5I_INVALID_HID;
}

/// The error is pushed by the caller: handles that close here clear the stack.
Result<hid_t> follow(const Link& link, hid_t group, hid_t access) {
    const Parent parent = parent_of(group);
    const std::vector<std::string> candidates = candidates_of(link, parent.path, access);
    if (const hid_t known = known_file(parent, candidates); known >= 0)
        return open_object(known, link, access);
    const Handle list = access_for(parent, access);
    unsigned flags = 0;
    if (!list.ok() || choose_flags(link, parent, group, access, list.get(), flags) < 0)
        return store::hdf5_error(StatusCode::internal, parent.name + ": following a link");
    // What a file that is not captured leads to is held by HDF5 alone, which could not commit it.
    // What one process's file leads to is held while it is used: files may lead to each other.
    const bool holds = parent.captured != nullptr && !parent.captured->alone();
    for (const std::string& path : candidates) {
        const auto open = CapturedFile::find(identity_of(path));
        if (open != nullptr && holds &&
            (open == parent.captured || leads_to(*open, *parent.captured)))
            return open_object(identifier_of(*open), link, access);
        if (open != nullptr)
            if (Status status = may_enter(parent, *open); !status.ok()) return status;
        // The connector stays in the list: HDF5 takes all files of one name for the first's.
        const NothingCaptured natively(!holds);
        Handle file = open != nullptr
                          ? open_quietly(path, flags, access_of(*open, list.get()).get())
                          : open_quietly(path, flags, list.get());
        if (!file.ok()) continue;
        H5O_info2_t info{};
        const bool captured = H5Oget_info3(file.get(), &info, H5O_INFO_BASIC) >= 0 &&
                              CapturedFile::find(info.fileno) != nullptr;
        if (!captured || !holds) return open_object(file.get(), link, access);
        // Held before the object is looked for, as that may lead back.
        auto& linked = parent.captured->linked;
        const auto held = linked.emplace(identity_of(path), file.get()).first;
        auto object = open_object(file.get(), link, access);
        if (object.ok())
            file.release();
        else
            linked.erase(held);
        return object;
    }
    return Status{StatusCode::io, fmt::format("{}: an external link leads to {} in {}, and no file "
                                              "of that name can be opened",
                                              parent.name, link.object, link.file)};
}

/// Links that lead to links are counted: the library's own count does not go from file to file.
struct Depth {
    Depth() { ++now; }
    ~Depth() { --now; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    inline static std::size_t now = 0;
};

hid_t traverse(const char*, hid_t group, const void* value, std::size_t bytes, hid_t access,
               hid_t) {
    return guarded([&]() -> hid_t {
        const Depth depth;
        std::size_t most = 0;
        Link link;
        if (H5Pget_nlinks(access, &most) < 0 ||
            H5Lunpack_elink_val(value, bytes, nullptr, &link.file, &link.object) < 0)
            return -1;
        if (Depth::now > most)
            return fail<hid_t>({StatusCode::invalid_argument,
                                fmt::format("more than {} links lead to each other", most)});
        const auto object = follow(link, group, access);
        return object.ok() ? *object : fail<hid_t>(object.status());
    });
}

ssize_t query(const char*, const void* value, std::size_t bytes, void* buffer,
              std::size_t buffer_bytes) {
    if (buffer != nullptr) std::memcpy(buffer, value, std::min(bytes, buffer_bytes));
    return static_cast<ssize_t>(bytes);
}

bool g_followed = false;  // the library's own lock guards it

}  // namespace

void forget_external_links() { g_followed = false; }

void follow_external_links() {
    if (std::exchange(g_followed, true)) return;
    const KeepErrors keep;
    H5L_class_t links{};
    links.version = H5L_LINK_CLASS_T_VERS;
    links.id = H5L_TYPE_EXTERNAL;
    links.comment = "external";
    links.trav_func = traverse;
    links.query_func = query;
    H5Lregister(&links);
}

herr_t close_linked(CapturedFile& file) {
    while (!file.linked.empty()) {
        if (H5Fclose(file.linked.begin()->second) < 0) return -1;
        file.linked.erase(file.linked.begin());
    }
    return 0;
}

}  // namespace caesura::vol
