// Which files are captured, and what becomes of a dataset in one: decisions on facts, without HDF5
// calls that change anything.
#pragma once

#include <hdf5.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.hpp"
#include "vol/members.hpp"
#include "vol/ranks.hpp"
#include "vol/settings.hpp"

namespace caesura::vol {

/// Does this process open a file for itself, with the ordinary driver?
inline bool is_alone(hid_t access) { return H5Pget_driver(access) == H5FD_SEC2; }

/// What HDF5 asks of locks for a file with this access list. MPI-IO asks for none.
base::FileLocking locking_of(hid_t access);

/// What an access list says about who opens a file.
struct Opener {
    /// Null: this process makes the call alone, or nothing is ever captured.
    std::unique_ptr<Communicator> communicator;
    Ranks ranks;
    std::string why_native;  ///< why the file is for the native connector; empty: it is captured
    bool captured() const { return why_native.empty(); }
};

/// Of a file to be created; `captures` is what the configuration says. MPI-IO files are captured,
/// and files that one process of an MPI job creates with the ordinary driver (they may be reopened
/// by all). Collective over the access list's communicator, which is duplicated (also for a file
/// that is not captured: it may be pending).
Opener opener_of_new_file(hid_t access, hid_t creation, bool captures);
/// Of a file to be opened: captured if opened for writing, by all through MPI-IO or by one process
/// with the ordinary driver.
Opener opener_of_old_file(hid_t access, unsigned flags, bool captures);
/// While one with `on` lives, files that are opened are not captured. The library's lock guards it.
class NothingCaptured {
  public:
    explicit NothingCaptured(bool on) : before_(std::exchange(now_, on)) {}
    ~NothingCaptured() { now_ = before_; }
    NothingCaptured(const NothingCaptured&) = delete;
    NothingCaptured& operator=(const NothingCaptured&) = delete;
    static bool now() { return now_; }

  private:
    inline static bool now_ = false;
    const bool before_;
};
/// Of a file that is not to be opened: it may be pending.
Opener opener_of_no_file(hid_t access);

/// What is known of a dataset when it is made.
struct DatasetFacts {
    std::string path;  ///< absolute; empty for one without a name
    H5T_class_t type_class = H5T_NO_CLASS;
    std::size_t value_bytes = 0;          ///< of an element
    std::optional<Element> element = {};  ///< what blocks of our codec take one for; or none
    bool fills_alike = true;              ///< its numbers have one fill value
    bool corners = false;                 ///< of boxes: axes_of_boxes()
    int rank = 0;
    Shape most_dims = {};  ///< that it may grow to; rank 0: of more axes than blocks have
    bool folds = true;     ///< blocks can have as few axes as they may
    std::uint64_t count = 0;
    /// With one chunk at least along each axis that can grow: what one write may append.
    std::uint64_t foreseen_count = 0;
    H5D_layout_t layout = H5D_CONTIGUOUS;
    int filters = 0;
    bool external = false;
    bool extendible = false;
    bool is_exact() const { return element && element->is_exact(); }
    bool has_axis() const { return element && element->has_axis(); }
};

/// Does it become blocks? ok, or unsupported with the reason.
Status qualifies(const Config& config, const DatasetFacts& facts);

/// Facts of a dataset from its type, space and creation list.
DatasetFacts facts_of(std::string path, hid_t type, hid_t space, hid_t creation);

}  // namespace caesura::vol
