// What a LiveImage asks of the application's property lists. On each the reason stands beside it.
#include <fmt/format.h>

#include <algorithm>

#include "store/live_image.hpp"

namespace caesura::store {
namespace {

Status unsupported(std::string reason) { return {StatusCode::unsupported, std::move(reason)}; }

Status set_version_bounds(hid_t fapl) {
    H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
    if (H5Pget_libver_bounds(fapl, &low, &high) < 0)
        return hdf5_error(StatusCode::internal, "version bounds");
    if (high < H5F_LIBVER_V110)
        return unsupported("the application keeps the file to what HDF5 1.8 can read");
    // Superblocks before version 2 have no checksum, chunk indexes before v110 are larger and
    // slower. A low bound beyond it is what the application wants.
    if (H5Pset_libver_bounds(fapl, std::max(low, H5F_LIBVER_V110), high) < 0)
        return hdf5_error(StatusCode::internal, "version bounds");
    return {};
}

/// Unfiltered chunks go through the chunk cache only if they fit into it; what it writes are whole
/// chunks, with bytes that this process has not been given and that another rank may have written.
bool set_no_chunk_cache(hid_t fapl) {
    int unused = 0;
    std::size_t slots = 0, bytes = 0;
    double preemption = 0;
    return H5Pget_cache(fapl, &unused, &slots, &bytes, &preemption) >= 0 &&
           H5Pset_cache(fapl, unused, slots, 0, preemption) >= 0;
}

}  // namespace

Status LiveImage::supports(hid_t fcpl, bool exists) {
    hsize_t user_block = 0, threshold = 0;
    std::size_t address_bytes = 0, size_bytes = 0;
    H5F_fspace_strategy_t strategy{};
    hbool_t persist = 0;
    if (H5Pget_userblock(fcpl, &user_block) < 0 ||
        H5Pget_sizes(fcpl, &address_bytes, &size_bytes) < 0 ||
        H5Pget_file_space_strategy(fcpl, &strategy, &persist, &threshold) < 0)
        return hdf5_error(StatusCode::internal, "a file creation list");
    if (user_block > 0)
        return unsupported(
            fmt::format("a user block of {} bytes: our own header lies there", user_block));
    if (address_bytes != 8 || size_bytes != 8)
        return unsupported(fmt::format("addresses of {} and sizes of {} bytes; only 8 are possible",
                                       address_bytes, size_bytes));
    if (strategy == H5F_FSPACE_STRATEGY_PAGE)
        return unsupported("file space strategy PAGE: chunks cannot be placed inside its pages");
    if (persist) return unsupported("persistent free space: it would name bytes of placed chunks");
    if (exists && strategy == H5F_FSPACE_STRATEGY_FSM_AGGR)
        return unsupported(
            "the file was made with a free-space manager, which hands out the place of a chunk "
            "that has moved; files made through Caesura have none");
    return {};
}

Status LiveImage::prepare_creation(hid_t fcpl) {
    if (H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_NONE, 0, 1) < 0)
        return hdf5_error(StatusCode::internal, "file space strategy");
    return {};
}

Status LiveImage::set_properties(hid_t fapl) {
    if (Status status = set_version_bounds(fapl); !status.ok()) return status;
    // Aligned or paged, a chunk would not be asked for with its own size.
    bool ok = H5Pset_alignment(fapl, 1, 1) >= 0 && H5Pset_page_buffer_size(fapl, 0, 0, 0) >= 0 &&
              set_no_chunk_cache(fapl);
#ifdef H5_HAVE_PARALLEL
    ok = ok && H5Pset_all_coll_metadata_ops(fapl, 0) >= 0 &&
         H5Pset_coll_metadata_write(fapl, 0) >= 0;
#endif
    return ok ? Status{} : hdf5_error(StatusCode::internal, "the access list of a live image");
}

}  // namespace caesura::store
