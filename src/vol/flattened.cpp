#include "vol/flattened.hpp"

#include "vol/block_shape.hpp"
#include "vol/captured_file.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

constexpr std::string_view k_amrex_data = "data:datatype=";

/// A dataset that exists, opened natively.
class Opened {
  public:
    Opened(const Object& at, const H5VL_loc_params_t* location, const std::string& name)
        : under_(H5VLdataset_open(at.under, location, native_connector(), name.c_str(),
                                  H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr)) {}
    ~Opened() {
        if (ok()) H5VLdataset_close(under_, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    bool ok() const { return under_ != nullptr; }

    Handle type() const {
        H5VL_dataset_get_args_t args{};
        args.op_type = H5VL_DATASET_GET_TYPE;
        return Handle(get(args) ? args.args.get_type.type_id : H5I_INVALID_HID, H5Tclose);
    }
    std::uint64_t count() const {
        H5VL_dataset_get_args_t args{};
        args.op_type = H5VL_DATASET_GET_SPACE;
        const Handle space(get(args) ? args.args.get_space.space_id : H5I_INVALID_HID, H5Sclose);
        const hssize_t n = space.ok() ? H5Sget_simple_extent_npoints(space.get()) : 0;
        return n > 0 ? static_cast<std::uint64_t>(n) : 0;
    }
    bool read(hid_t type, void* values) const {
        void* dataset = under_;
        hid_t all = H5S_ALL;
        return H5VLdataset_read(1, &dataset, native_connector(), &type, &all, &all,
                                H5P_DATASET_XFER_DEFAULT, &values, nullptr) >= 0;
    }

  private:
    bool get(H5VL_dataset_get_args_t& args) const {
        return H5VLdataset_get(under_, native_connector(), &args, H5P_DATASET_XFER_DEFAULT,
                               nullptr) >= 0;
    }
    void* under_;
};

std::string member_name(hid_t type, int member) {
    char* const name = H5Tget_member_name(type, static_cast<unsigned>(member));
    const std::string copy = name == nullptr ? "" : name;
    H5free_memory(name);
    return copy;
}

/// Axes of a compound of integers lo_i, lo_j, ..., hi_i, hi_j, ...; 0: it is another.
int axes_of_boxes(hid_t type) {
    if (H5Tget_class(type) != H5T_COMPOUND) return 0;
    const int members = H5Tget_nmembers(type);
    if (members < 2 || members % 2 != 0 || members > 2 * k_max_rank) return 0;
    for (int i = 0; i < members; ++i)
        if (H5Tget_member_class(type, static_cast<unsigned>(i)) != H5T_INTEGER ||
            !member_name(type, i).starts_with(i < members / 2 ? "lo_" : "hi_"))
            return 0;
    return members / 2;
}

/// The members of a type, as a compound of ints without gaps.
Handle dense_type(hid_t type) {
    const int members = H5Tget_nmembers(type);
    Handle dense(H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(members) * sizeof(std::int32_t)),
                 H5Tclose);
    for (int i = 0; i < members; ++i)
        if (H5Tinsert(dense.get(), member_name(type, i).c_str(),
                      static_cast<std::size_t>(i) * sizeof(std::int32_t), H5T_NATIVE_INT32) < 0)
            return {};
    return dense;
}

Shape read_box(const Opened& boxes, hid_t type, int axes, std::uint64_t count) {
    const std::uint64_t n = boxes.count();
    if (n == 0 || n > count) return {};
    const Handle dense = dense_type(type);
    std::vector<std::int32_t> corners(2 * static_cast<std::size_t>(axes) * n);
    if (!dense.ok() || !boxes.read(dense.get(), corners.data())) return {};
    return common_box(corners, axes, count);
}

struct Told {
    std::int32_t rank = 0;
    std::array<std::uint64_t, k_max_rank> extents{};
};

}  // namespace

Result<Shape> flattened_box(const Object& at, const H5VL_loc_params_t* location, const char* name,
                            const DatasetFacts& facts) {
    if (name == nullptr || facts.rank != 1) return Shape{};
    const Settings settings = settings_of(*at.file->config(), facts.path);
    if (settings.box.rank() > 0) return settings.box;
    if (settings.chunk.rank() == 1) return Shape{};  // somebody knows better
    const std::string_view path = name;
    const std::size_t begin = path.rfind('/') + 1;  // npos + 1 is 0
    if (!path.substr(begin).starts_with(k_amrex_data)) return Shape{};
    const store::QuietErrors quiet;
    const KeepErrors keep;
    const Opened boxes(at, location, std::string(path.substr(0, begin)) + "boxes");
    if (!boxes.ok()) return Shape{};  // on all ranks alike, as all that follows
    const Handle type = boxes.type();
    const int axes = type.ok() ? axes_of_boxes(type.get()) : 0;
    if (axes == 0) return Shape{};
    Told told;
    if (at.file->rank() == 0) {
        const Shape box = read_box(boxes, type.get(), axes, facts.count);
        told.rank = box.rank();
        for (int axis = 0; axis < box.rank(); ++axis)
            told.extents[static_cast<std::size_t>(axis)] = box[axis];
    }
    if (Status status = at.file->tell_all(std::as_writable_bytes(std::span(&told, 1)));
        !status.ok())
        return status;
    return Shape(std::span(told.extents).first(static_cast<std::size_t>(told.rank)));
}

}  // namespace caesura::vol
