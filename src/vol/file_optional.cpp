#include "vol/file_optional.hpp"

#include <H5VLnative.h>
#include <fmt/format.h>

#include <algorithm>

#include "vol/block_io.hpp"
#include "vol/captured_file.hpp"

namespace caesura::vol {
namespace {

using Arguments = H5VL_native_file_optional_args_t;

Status refusal(const CapturedFile& file, std::string_view why) {
    return {StatusCode::unsupported, fmt::format("{}: {}", file.name(), why)};
}

/// Of a file that one rank has, all that was written. Where ranks share it, what waits for the next
/// call of all of them is refused, or left out, where `may_wait`: sizes and counts are as of the
/// last flush.
Result<Answered> after_settling(const Object& on, bool may_wait) {
    CapturedFile& file = *on.file;
    if (!file.shared()) {
        const Status settled = file.settle({on.under, on.kind});
        return settled.ok() ? Result<Answered>(Answered::natively) : settled;
    }
    const BlockIo* const blocks = file.blocks_or_null();
    if (may_wait || blocks == nullptr || !blocks->anything_pending_here())
        return Answered::natively;
    return refusal(file,
                   "blocks of this rank wait for the next call of all ranks; call H5Fflush "
                   "before");
}

/// To the native connector the image is no MPI-IO file; to the application it is one.
Result<Answered> mpi_atomicity(const CapturedFile& file, int operation, Arguments& below) {
    if (H5Pget_driver(file.access()) != H5FD_MPIO) return Answered::natively;
    if (operation == H5VL_NATIVE_FILE_GET_MPI_ATOMICITY) {
        *below.get_mpi_atomicity.flag = false;
        return Answered::here;
    }
    if (!below.set_mpi_atomicity.flag) return Answered::here;
    return refusal(file,
                   "writes reach the file at collective calls, so they cannot be atomic; H5Fflush "
                   "makes them seen");
}

/// As for a new file: what is made from now on may be older than HDF5 1.10's only where the
/// application insists on it, and then it cannot be made here.
Result<Answered> version_bounds(const CapturedFile& file, Arguments& below) {
    auto& [low, high] = below.set_libver_bounds;
    if (high < H5F_LIBVER_V110)
        return refusal(file,
                       "a format older than HDF5 1.10's cannot be had in a file that is "
                       "captured; ask for it in the access list with which the file is made");
    low = std::max(low, H5F_LIBVER_V110);
    return Answered::natively;
}

/// The image's driver is not one of those that HDF5 asks.
Result<Answered> end_of_allocated(const Object& on, Arguments& below) {
    if (H5Pget_driver(on.file->access()) != H5FD_SEC2) return Answered::natively;
    if (const auto settled = after_settling(on, true); !settled.ok()) return settled;
    *below.get_eoa.eoa = on.file->end_of_allocated();
    return Answered::here;
}

/// HDF5's ordinary driver gives the address of its descriptor, which the application may fsync().
/// Ours is that of another open of the same file.
Result<Answered> descriptor_of(const Object& on, Arguments& below) {
    const int* const descriptor = on.file->descriptor();
    if (H5Pget_driver(on.file->access()) != H5FD_SEC2 || descriptor == nullptr)
        return refusal(*on.file, "is written by Caesura, and HDF5's driver has no handle of it");
    if (const auto settled = after_settling(on, true); !settled.ok()) return settled;
    *below.get_vfd_handle.file_handle = const_cast<int*>(descriptor);
    return Answered::here;
}

}  // namespace

Result<Answered> answer_optional(const Object& on, const H5VL_optional_args_t& args) {
    auto& below = *static_cast<Arguments*>(args.args);
    const CapturedFile& file = *on.file;
    switch (args.op_type) {
        case H5VL_NATIVE_FILE_GET_FILE_IMAGE:
            return after_settling(on, false);
        case H5VL_NATIVE_FILE_GET_SIZE:
        case H5VL_NATIVE_FILE_GET_INFO:
        case H5VL_NATIVE_FILE_GET_FREE_SPACE:
        case H5VL_NATIVE_FILE_GET_FREE_SECTIONS:
            return after_settling(on, true);
        case H5VL_NATIVE_FILE_GET_EOA:
            return end_of_allocated(on, below);
        case H5VL_NATIVE_FILE_SET_LIBVER_BOUNDS:
            return version_bounds(file, below);
        case H5VL_NATIVE_FILE_GET_MPI_ATOMICITY:
        case H5VL_NATIVE_FILE_SET_MPI_ATOMICITY:
            return mpi_atomicity(file, args.op_type, below);
        case H5VL_NATIVE_FILE_GET_VFD_HANDLE:
            return descriptor_of(on, below);
        case H5VL_NATIVE_FILE_START_SWMR_WRITE:
            if (file.alone()) return after_settling(on, true);
            return refusal(file,
                           "readers beside a writer see it as of the last H5Fflush and open "
                           "it again; it cannot be switched to SWMR");
        case H5VL_NATIVE_FILE_FORMAT_CONVERT:
            return refusal(file,
                           "its format is HDF5 1.10's, which Caesura needs; convert it with "
                           "h5format_convert when it is closed");
        case H5VL_NATIVE_FILE_INCR_FILESIZE:
            return refusal(file,
                           "its end is where Caesura has reserved space, and cannot be moved");
        default:
            return Answered::natively;
    }
}

}  // namespace caesura::vol
