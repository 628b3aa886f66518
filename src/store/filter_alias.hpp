// Filter pipelines stored exactly as given, whatever filters the process has registered.
//
// H5Dcreate asks each filter's set_local to rewrite its client data, and refuses a mandatory
// filter that is not there. Registering a stub in its place would take the application's own
// filter away for good (the old class cannot be read back), and H5Zunregister flushes every open
// file, which is collective for MPI files. So a dataset is created with an *alias*: a stub under a
// number from HDF5's testing range (256..511), which the library never looks up elsewhere. When the
// metadata lies in the overlay, the real number is put into the dataset's pipeline message.
//
// Invariant: an alias's name is the real filter's and never changes while a file is open, because
// HDF5 takes the name when it encodes the message.
#pragma once

#include <map>

#include "store/hdf5_handle.hpp"
#include "store/overlay.hpp"

namespace caesura::store {

class FilterAliases {
  public:
    /// The number to create a dataset with; the filter's own if it is one of HDF5's (< 256).
    /// Errors: unsupported (more different filters in one commit than aliases; a built-in filter
    /// that this HDF5 lacks).
    Result<unsigned> alias(const FilterSpec& filter);
    /// Put the real numbers into the object header at `address`. Errors: internal.
    Status resolve(Overlay& overlay, std::uint64_t address) const;

  private:
    std::map<std::pair<unsigned, std::string>, unsigned> aliases_;
    std::map<unsigned, unsigned> real_;  // alias -> real number
};

}  // namespace caesura::store
