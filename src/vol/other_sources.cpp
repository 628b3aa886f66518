#include "vol/other_sources.hpp"

#include "vol/captured_dataset.hpp"
#include "vol/native_dataset.hpp"
#include "vol/pending_files.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

/// The application's access list, for the file system.
Handle plain_access(const CapturedFile& file) {
    Handle list(H5Pcopy(file.access()), H5Pclose);
    if (!list.ok() || H5Pset_fapl_sec2(list.get()) < 0 ||
        H5Pset_vol(list.get(), native_connector(), nullptr) < 0 ||
        // We have it open ourselves, and locked.
        H5Pset_file_locking(list.get(), false, true) < 0)
        return {};
    return list;
}

/// The dataset as it lies in the file system, with the access list of the one in the image.
struct OnDisk {
    explicit OnDisk(const Object& on) {
        H5VL_dataset_get_args_t args{};
        args.op_type = H5VL_DATASET_GET_DAPL;
        if (H5VLdataset_get(on.under, on.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
            return;
        const Handle view(args.args.get_dapl.dapl_id, H5Pclose);
        const std::string path = path_of({on.under, H5I_DATASET});
        const Handle access = plain_access(*on.file);
        if (!access.ok()) return;
        file = Handle(H5Fopen(on.file->name().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
        if (file.ok()) dataset = Handle(H5Dopen2(file.get(), path.c_str(), view.get()), H5Dclose);
    }
    Handle file, dataset;  ///< the dataset is closed first
};

Status commit_everything() {
    pending_files::complete_own();
    return CapturedFile::flush_own();
}

}  // namespace

bool has_other_sources(const Object& on) {
    return on.dataset != nullptr && on.dataset->has_other_sources && !on.file->shared();
}

Status read_other_sources(const Object& on, hid_t memory_type, hid_t memory_space, hid_t file_space,
                          void* memory) {
    if (Status status = commit_everything(); !status.ok()) return status;
    const OnDisk there(on);
    if (there.dataset.ok() && H5Dread(there.dataset.get(), memory_type, memory_space, file_space,
                                      H5P_DEFAULT, memory) >= 0)
        return {};
    return store::hdf5_error(StatusCode::io, on.file->name() + ": a virtual dataset");
}

hid_t space_of_other_sources(const Object& on) {
    if (const Status status = commit_everything(); !status.ok()) return fail<herr_t>(status);
    const OnDisk there(on);
    return there.dataset.ok() ? H5Dget_space(there.dataset.get()) : H5I_INVALID_HID;
}

}  // namespace caesura::vol
