// What HDF5 would copy wrongly from a captured file. Natively an old format is the default, where
// these copies are whole; ours is a newer one.
#pragma once

#include <string>
#include <vector>

#include "vol/object.hpp"

namespace caesura::vol {

/// A soft link of the source.
struct SoftLink {
    std::string path;                        ///< of the link
    std::string target;                      ///< what it says
    H5T_cset_t characters = H5T_CSET_ASCII;  ///< of its name
};

/// Around an H5Ocopy. HDF5 1.14.5 and 2.0.0
///  - put the chunks of some datasets in wrong places of the copy: that is refused;
///  - write a group that nothing can read where they put a hard link in the place of a soft link
///    whose path is shorter than an address (H5O_COPY_EXPAND_SOFT_LINK_FLAG). Meanwhile such links
///    say the same in more characters ("/././d" for "/d").
/// All ranks alike.
class CopyOfSource {
  public:
    /// @param at, name  the source; outlives it.
    CopyOfSource(const Object& from, const H5VL_loc_params_t& at) : from_(from), at_(at) {}
    ~CopyOfSource();
    CopyOfSource(const CopyOfSource&) = delete;
    CopyOfSource& operator=(const CopyOfSource&) = delete;
    /// @param copying  the copy's property list.
    /// Errors: unsupported, with the path of what would be wrong: also a short link that cannot be
    /// written anew, in a file for reading or a group that keeps the order of its links.
    Status prepare(const char* name, hid_t copying);

  private:
    Status say(const SoftLink& link, const std::string& target) const;
    const Object& from_;
    const H5VL_loc_params_t& at_;
    std::vector<SoftLink> longer_;  ///< as they were
};

}  // namespace caesura::vol
