#include <fmt/format.h>

#include "base/file.hpp"
#include "store/region_format.hpp"

namespace caesura::store {

Result<SharedFile> SharedFile::create(base::FileSystem& file_system, const std::string& path,
                                      const RunId& run) {
    // Mode::create truncates before a lock can be asked for: ask on the old file first, so that a
    // second run does not empty the file of a first one that still writes.
    if (auto old = file_system.open(path, base::FileSystem::Mode::read_write); old.ok())
        if (const Status status = (*old)->lock(true); !status.ok())
            return status.with_context("cannot replace the file");
    auto file = file_system.open(path, base::FileSystem::Mode::create);
    if (!file.ok()) return file.status();
    SharedFile shared;
    shared.path_ = path;
    shared.run_ = run;
    shared.file_ = std::move(*file);
    if (const Status status = shared.file_->lock(false); !status.ok()) return status;
    const FileHeaderBytes header = encode_file_header(run);
    if (Status status = shared.file_->write_at(k_file_header_address, header); !status.ok())
        return status;
    if (Status status = shared.file_->truncate(k_first_region_address); !status.ok()) return status;
    // Without its header nothing of the file can be recovered; one sync a run is cheap.
    if (Status status = shared.file_->sync(); !status.ok()) return status;
    return shared;
}

Result<SharedFile> SharedFile::open(base::FileSystem& file_system, const std::string& path,
                                    const RunId& run) {
    auto file = file_system.open(path, base::FileSystem::Mode::read_write);
    if (!file.ok()) return file.status();
    SharedFile shared;
    shared.path_ = path;
    shared.run_ = run;
    shared.file_ = std::move(*file);
    if (const Status status = shared.file_->lock(false); !status.ok()) return status;
    auto found = read_file_header(*shared.file_, path);
    if (!found.ok()) return found.status();
    if (*found != run)
        return Status{StatusCode::corrupt,
                      fmt::format("{}: belongs to another run; all ranks must open the file that "
                                  "this run created",
                                  path)};
    return shared;
}

Result<RunId> SharedFile::run_of(base::FileSystem& file_system, const std::string& path) {
    auto file = file_system.open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return file.status();
    auto run = read_file_header(**file, path);
    if (!run.ok() && run.status().code() == StatusCode::corrupt)
        return Status{StatusCode::unsupported,
                      fmt::format("{}: was not made by Caesura (it has no header of ours)", path)};
    return run;
}

}  // namespace caesura::store
