#include "vol/transformed.hpp"

#include "vol/errors.hpp"
#include "vol/object.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

/// A dataset of its own file in memory, which nobody else sees.
struct Scratch {
    Scratch(std::uint64_t count, hid_t type) {
        constexpr std::size_t k_increment = 1u << 20;
        const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
        if (H5Pset_fapl_core(access.get(), k_increment, false) < 0 ||
            H5Pset_vol(access.get(), native_connector(), nullptr) < 0)
            return;
        file = Handle(H5Fcreate("caesura: values on their way through a data transform",
                                H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                      H5Fclose);
        const hsize_t n = count;
        const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose);
        if (file.ok())
            dataset = Handle(H5Dcreate2(file.get(), "values", type, space.get(), H5P_DEFAULT,
                                        H5P_DEFAULT, H5P_DEFAULT),
                             H5Dclose);
    }
    Handle file, dataset;  ///< the dataset is closed first
};

/// The application's list without what only a parallel file understands.
Handle plain(hid_t transfer) {
    Handle list(H5Pcopy(transfer), H5Pclose);
    if (list.ok()) H5Pset_dxpl_mpio(list.get(), H5FD_MPIO_INDEPENDENT);
    return list;
}

Status refused() {
    return store::hdf5_error(StatusCode::internal, "values through a data transform");
}

}  // namespace

bool has_transform(hid_t transfer) {
    if (transfer == H5P_DATASET_XFER_DEFAULT || transfer == H5P_DEFAULT) return false;
    const KeepErrors keep;
    const store::QuietErrors quiet;
    return H5Pget_data_transform(transfer, nullptr, 0) > 0;
}

Handle without_transform(hid_t transfer) {
    Handle list(H5Pcopy(transfer), H5Pclose);
    // The property has no value that means none.
    if (list.ok() && H5Pset_data_transform(list.get(), "x") < 0) list.reset();
    return list;
}

Status transform_in(const void* memory, hid_t memory_type, hid_t space, std::uint64_t count,
                    hid_t type, hid_t transfer, std::span<std::byte> values) {
    const Scratch scratch(count, type);
    const Handle list = plain(transfer);
    if (!scratch.dataset.ok() || !list.ok() ||
        H5Dwrite(scratch.dataset.get(), memory_type, space, H5S_ALL, list.get(), memory) < 0 ||
        H5Dread(scratch.dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
        return refused();
    return {};
}

Status transform_out(std::span<const std::byte> values, std::uint64_t count, hid_t type,
                     void* memory, hid_t memory_type, hid_t space, hid_t transfer) {
    const Scratch scratch(count, type);
    const Handle list = plain(transfer);
    if (!scratch.dataset.ok() || !list.ok() ||
        H5Dwrite(scratch.dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0 ||
        H5Dread(scratch.dataset.get(), memory_type, space, H5S_ALL, list.get(), memory) < 0)
        return refused();
    return {};
}

}  // namespace caesura::vol
