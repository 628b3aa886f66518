#include "world.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stand_in {

std::string World::directory_of(Which side) const {
    return directory + (side == native ? "/native" : "/ours");
}

std::string World::path(Which side, int file) const {
    const std::string own = setting.mpio ? "" : fmt::format("{}_", rank);
    return fmt::format("{}/{}{}.h5", directory_of(side), own, static_cast<char>('a' + file));
}

void World::forget(const Handle* handle) {
    std::erase_if(handles, [&](const auto& held) { return held.get() == handle; });
}

hid_t access_list(const World& world, Which side, const Access& access) {
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (world.setting.mpio) H5Pset_fapl_mpio(list, world.communicator, MPI_INFO_NULL);
    if (access.degree != H5F_CLOSE_DEFAULT) H5Pset_fclose_degree(list, access.degree);
    if (access.has_bounds) H5Pset_libver_bounds(list, access.low, access.high);
    if (access.evicts) H5Pset_evict_on_close(list, true);
    if (access.alignment > 1) H5Pset_alignment(list, 0, access.alignment);
    if (access.meta_block > 0) H5Pset_meta_block_size(list, access.meta_block);
    if (world.by_environment) return list;
    if (side == native)
        H5Pset_vol(list, H5VL_NATIVE, nullptr);
    else
        H5Pset_vol(list, world.connector, world.info);
    return list;
}

hid_t transfer_list(const World& world, bool collective) {
    const hid_t list = H5Pcreate(H5P_DATASET_XFER);
    if (collective && world.setting.mpio) H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE);
    return list;
}

}  // namespace stand_in
