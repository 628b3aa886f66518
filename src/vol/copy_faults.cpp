#include "vol/copy_faults.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vol/captured_dataset.hpp"
#include "vol/chunk_offsets.hpp"
#include "vol/errors.hpp"
#include "vol/native_dataset.hpp"

namespace caesura::vol {
namespace {

/// A soft link in a group that would be copied.
struct SoftLink {
    std::string path;
    bool shorter_than_an_address;  ///< its message in the group's header, than a hard link's
};

struct Links {
    std::string group;
    bool expands;
    std::vector<std::string> hard;
    std::vector<SoftLink> soft;  ///< if they are expanded
};

herr_t note_link(hid_t, const char* name, const H5L_info2_t* link, void* data) {
    // Of a path there are two bytes of length and one of the link's kind.
    constexpr std::size_t k_beside_path = 3, k_address = 8;
    return guarded([&] {
        Links& links = *static_cast<Links*>(data);
        const std::string path = fmt::format("{}/{}", links.group, name);
        if (link->type == H5L_TYPE_HARD) links.hard.push_back(path);
        if (link->type == H5L_TYPE_SOFT && links.expands)
            links.soft.push_back({path, link->u.val_size - 1 + k_beside_path < k_address});
        return 0;
    });
}

/// All that one H5Ocopy copies.
class Copied {
  public:
    Copied(const Object& from, const H5VL_loc_params_t& at, hid_t copying) : from_(from), at_(at) {
        unsigned flags = 0;
        H5Pget_copy_object(copying, &flags);
        is_shallow_ = (flags & H5O_COPY_SHALLOW_HIERARCHY_FLAG) != 0;
        expands_ = (flags & H5O_COPY_EXPAND_SOFT_LINK_FLAG) != 0;
    }

    Status check(const std::string& source) {
        std::vector<std::string> next{source};
        while (!next.empty()) {
            const std::string path = std::move(next.back());
            next.pop_back();
            const auto object = find(path);
            if (!object || !seen_.insert(key_of_token(object->token)).second) continue;
            if (object->type == H5O_TYPE_DATASET)
                if (Status status = check_dataset(path); !status.ok()) return status;
            if (object->type != H5O_TYPE_GROUP || (is_shallow_ && path != source)) continue;
            Links links = links_of(path);
            for (const SoftLink& link : links.soft) {
                if (!find(link.path)) continue;  // it stays as it is
                if (link.shorter_than_an_address) return refuse(link.path);
                next.push_back(link.path);
            }
            next.insert(next.end(), links.hard.begin(), links.hard.end());
        }
        return {};
    }

  private:
    H5VL_loc_params_t location(const std::string& path) const {
        H5VL_loc_params_t by_name = at_;
        by_name.type = H5VL_OBJECT_BY_NAME;
        by_name.loc_data.loc_by_name = {path.c_str(), H5P_LINK_ACCESS_DEFAULT};
        return by_name;
    }

    std::optional<H5O_info2_t> find(const std::string& path) const {
        const H5VL_loc_params_t where = location(path);
        H5O_info2_t info{};
        H5VL_object_get_args_t args{};
        args.op_type = H5VL_OBJECT_GET_INFO;
        args.args.get_info = {H5O_INFO_BASIC, &info};
        if (H5VLobject_get(from_.under, &where, from_.connector, &args, H5P_DATASET_XFER_DEFAULT,
                           nullptr) < 0)
            return std::nullopt;
        return info;
    }

    Links links_of(const std::string& group) const {
        Links links{group, expands_, {}, {}};
        const H5VL_loc_params_t where = location(group);
        hsize_t begin = 0;
        H5VL_link_specific_args_t args{};
        args.op_type = H5VL_LINK_ITER;
        args.args.iterate = {false, H5_INDEX_NAME, H5_ITER_NATIVE, &begin, note_link, &links};
        H5VLlink_specific(from_.under, &where, from_.connector, &args, H5P_DATASET_XFER_DEFAULT,
                          nullptr);
        return links;
    }

    Status check_dataset(const std::string& path) const {
        auto source = object_near(from_, H5I_DATASET);
        source->under =
            H5VLdataset_open(from_.under, &at_, from_.connector, path.c_str(),
                             H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr);
        if (source->under == nullptr) return {};
        const bool wrong = has_wrong_copies(*source);
        H5VLdataset_close(source->under, from_.connector, H5P_DATASET_XFER_DEFAULT, nullptr);
        if (!wrong) return {};
        return {StatusCode::unsupported,
                fmt::format("H5Ocopy of {}: its only axis without limit is not the first, and "
                            "HDF5 loses chunks of such a dataset in a copy; use H5Dcreate, "
                            "H5Dread and H5Dwrite in its place",
                            path)};
    }

    static Status refuse(const std::string& path) {
        return {StatusCode::unsupported,
                fmt::format("H5Ocopy that expands soft links: HDF5 damages the copy of {}, "
                            "because its path is short; give the link a path of 5 characters or "
                            "more",
                            path)};
    }

    const Object& from_;
    const H5VL_loc_params_t& at_;
    bool is_shallow_ = false, expands_ = false;
    std::set<std::string> seen_;  ///< objects, by token
};

}  // namespace

Status check_copy(const Object& from, const H5VL_loc_params_t& at, const char* name,
                  hid_t copying) {
    const KeepErrors keep;
    const store::QuietErrors quiet;  // what is not there is H5Ocopy's own matter
    return Copied(from, at, copying).check(name);
}

}  // namespace caesura::vol
