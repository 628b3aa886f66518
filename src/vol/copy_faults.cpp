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

/// The links of a group that would be copied.
struct Links {
    struct Soft {
        SoftLink link;
        bool is_short = false;  ///< its message in the group's header, beside a hard link's
        bool has_order = false;
    };
    std::string group;
    bool expands;
    std::vector<std::string> hard;
    std::vector<Soft> soft;  ///< if they are expanded
};

herr_t note_link(hid_t, const char* name, const H5L_info2_t* link, void* data) {
    // Of a path there are two bytes of length and one of the link's kind.
    constexpr std::size_t k_beside_path = 3, k_address = 8;
    return guarded([&] {
        Links& links = *static_cast<Links*>(data);
        const std::string path = fmt::format("{}/{}", links.group, name);
        if (link->type == H5L_TYPE_HARD) links.hard.push_back(path);
        if (link->type == H5L_TYPE_SOFT && links.expands)
            links.soft.push_back({{path, std::string(link->u.val_size - 1, ' '), link->cset},
                                  link->u.val_size - 1 + k_beside_path < k_address,
                                  link->corder_valid});
        return 0;
    });
}

H5VL_loc_params_t by_name(const H5VL_loc_params_t& at, const std::string& path) {
    H5VL_loc_params_t location = at;
    location.type = H5VL_OBJECT_BY_NAME;
    location.loc_data.loc_by_name = {path.c_str(), H5P_LINK_ACCESS_DEFAULT};
    return location;
}

Status damaged(const std::string& path) {
    return {StatusCode::unsupported,
            fmt::format("H5Ocopy that expands soft links: HDF5 damages the copy of {}, because its "
                        "path is short, and it cannot be written anew; give the link a path of 5 "
                        "characters or more",
                        path)};
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

    std::vector<SoftLink> short_links;  ///< that it expands

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
            for (Links::Soft& soft : links.soft) {
                if (!find(soft.link.path)) continue;  // it stays as it is
                next.push_back(soft.link.path);
                if (!soft.is_short) continue;
                if (soft.has_order || !read_target(soft.link)) return damaged(soft.link.path);
                short_links.push_back(std::move(soft.link));
            }
            next.insert(next.end(), links.hard.begin(), links.hard.end());
        }
        return {};
    }

  private:
    std::optional<H5O_info2_t> find(const std::string& path) const {
        const H5VL_loc_params_t where = by_name(at_, path);
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
        const H5VL_loc_params_t where = by_name(at_, group);
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

    bool read_target(SoftLink& link) const {
        const H5VL_loc_params_t where = by_name(at_, link.path);
        std::vector<char> text(link.target.size() + 1);
        H5VL_link_get_args_t args{};
        args.op_type = H5VL_LINK_GET_VAL;
        args.args.get_val = {text.size(), text.data()};
        if (H5VLlink_get(from_.under, &where, from_.connector, &args, H5P_DATASET_XFER_DEFAULT,
                         nullptr) < 0)
            return false;
        link.target = text.data();
        return true;
    }

    const Object& from_;
    const H5VL_loc_params_t& at_;
    bool is_shallow_ = false, expands_ = false;
    std::set<std::string> seen_;  ///< objects, by token
};

}  // namespace

Status CopyOfSource::say(const SoftLink& link, const std::string& target) const {
    const H5VL_loc_params_t where = by_name(at_, link.path);
    H5VL_link_specific_args_t gone{};
    gone.op_type = H5VL_LINK_DELETE;
    H5VL_link_create_args_t made{};
    made.op_type = H5VL_LINK_CREATE_SOFT;
    made.args.soft.target = target.c_str();
    const store::Handle list(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    if (H5Pset_char_encoding(list.get(), link.characters) < 0 ||
        H5VLlink_specific(from_.under, &where, from_.connector, &gone, H5P_DATASET_XFER_DEFAULT,
                          nullptr) < 0 ||
        H5VLlink_create(&made, from_.under, &where, from_.connector, list.get(),
                        H5P_LINK_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return damaged(link.path);
    return {};
}

Status CopyOfSource::prepare(const char* name, hid_t copying) {
    const KeepErrors keep;
    const store::QuietErrors quiet;  // what is not there is H5Ocopy's own matter
    Copied copied(from_, at_, copying);
    if (Status status = copied.check(name); !status.ok()) return status;
    for (SoftLink& link : copied.short_links) {
        const bool absolute = link.target.starts_with('/');
        const std::string longer =
            (absolute ? "/" : "") + std::string("./././") + link.target.substr(absolute ? 1 : 0);
        if (Status status = say(link, longer); !status.ok()) return status;
        longer_.push_back(std::move(link));
    }
    return {};
}

CopyOfSource::~CopyOfSource() {
    const KeepErrors keep;
    const store::QuietErrors quiet;
    for (const SoftLink& link : longer_) (void)say(link, link.target);
}

}  // namespace caesura::vol
