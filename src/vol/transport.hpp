// The service that a configuration names. It writes the files that are captured, and compresses
// their blocks.
//
// Invariants:
//  - One connection of this process for all its files. It lives as long as the process: files may
//    be written until HDF5 closes itself.
//  - Application's thread only.
#pragma once

#include <memory>

#include "base/file.hpp"
#include "vol/config.hpp"
#include "writer/transport.hpp"

namespace caesura::vol {

/// Connects at the first call, and again after one that failed. A service that was lost is looked
/// for, as often as Transport::mend() does: a file that is made may be the next one's. Null: the
/// configuration names none, and this process writes its files.
/// Errors: those of writer::make_transport().
Result<std::shared_ptr<writer::Transport>> transport_of(const Config& config);

/// Of this process, or the service's, which has its own rule for locks.
base::FileSystem& files_of(const std::shared_ptr<writer::Transport>& transport,
                           base::FileLocking locking);

}  // namespace caesura::vol
