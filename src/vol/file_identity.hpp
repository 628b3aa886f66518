// Which file a name leads to. Names change: files are renamed, linked, replaced, and relative names
// mean another file after chdir().
//
// Invariants:
//  - Two identities of one process are equal if they are of one file, as long as that file is open:
//    a number of a file that is gone may be used again.
//  - Between nodes they say nothing: devices have other numbers there. A file's run id does.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace caesura::vol {

struct FileIdentity {
    std::uint64_t device = 0, inode = 0;
    std::string name = {};  ///< absolute; of a file that this process does not see
    auto operator<=>(const FileIdentity&) const = default;
    bool seen() const { return name.empty(); }
};

/// Of the file that the name leads to now; of one that is not there, by its name.
FileIdentity identity_of(const std::string& name);
/// Of the file behind an open descriptor.
FileIdentity identity_of(int descriptor);

}  // namespace caesura::vol
