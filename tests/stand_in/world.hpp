// The two sides of a sequence: the same files natively and under the connector, and the identifiers
// that the sequence holds of them.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "draw.hpp"

namespace stand_in {

enum Which : int { native = 0, ours = 1 };

enum class Kind { file, group, dataset, type, attribute };

/// How the files of a sequence are opened and what the connector is told.
struct Setting {
    std::string config;      ///< path of the connector's TOML file
    bool mpio = true;        ///< else each rank has files of its own, by the ordinary driver
    double bound = 0;        ///< of the datasets whose names begin with "lossy"
    bool blocks = true;      ///< small datasets become blocks
    bool completes = false;  ///< a file is complete when H5Fclose returns
};

/// One identifier on both sides.
struct Handle {
    Kind kind = Kind::group;
    std::uint64_t serial = 0;  ///< of the step that made it
    std::string name;          ///< in the C program of a failing sequence
    std::array<hid_t, 2> id = {H5I_INVALID_HID, H5I_INVALID_HID};
    int file = 0;            ///< number of the file, where that is known
    H5O_token_t owner = {};  ///< of an attribute, on the leader's side: its object
};

struct World {
    MPI_Comm communicator = MPI_COMM_WORLD;
    int rank = 0, ranks = 1;
    std::array<bool, 2> runs = {true, true};  ///< one side alone, if processes are compared
    std::string base, directory;              ///< of all sequences; of the one that runs
    hid_t connector = H5I_INVALID_HID;
    void* info = nullptr;  ///< for H5Pset_vol
    bool by_environment = false;
    Setting setting;
    std::vector<std::unique_ptr<Handle>> handles;
    bool has_aliases = false;  ///< what has a bound may have another name, too
    bool unflushed = false;    ///< ranks may not see what others wrote
    // By number of the file: it was made by an earlier open; something has been copied into it.
    std::array<bool, 3> opened_again = {}, has_copies = {};
    bool has_virtual = false;  ///< a virtual dataset was made

    /// The side that is asked for extents and the like.
    Which leader() const { return runs[native] ? native : ours; }
    bool alone() const { return ranks == 1 || !setting.mpio; }
    std::string directory_of(Which side) const;
    std::string path(Which side, int file) const;
    void forget(const Handle* handle);
};

/// How one open of a file is asked for; the same on both sides.
struct Access {
    H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
    H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
    bool has_bounds = false;
    bool evicts = false;
    hsize_t alignment = 1;
    hsize_t meta_block = 0;
};

/// To be closed by the caller.
hid_t access_list(const World& world, Which side, const Access& access);
/// Of a transfer; to be closed by the caller.
hid_t transfer_list(const World& world, bool collective);

}  // namespace stand_in
