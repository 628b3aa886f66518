// A SharedFile around a file that is open already, for recover (which holds the exclusive lock).
#pragma once

#include "base/file.hpp"
#include "store/shared_file.hpp"

namespace caesura::store {

struct SharedFileAccess {
    static SharedFile make(const std::string& path, const RunId& run,
                           std::shared_ptr<base::File> file) {
        SharedFile shared;
        shared.path_ = path;
        shared.run_ = run;
        shared.file_ = std::move(file);
        return shared;
    }
};

}  // namespace caesura::store
