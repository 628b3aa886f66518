#include "store/shared_file.hpp"

#include <fmt/format.h>

#include "base/file.hpp"
#include "store/region_format.hpp"

namespace caesura::store {

Result<SharedFile> SharedFile::create(base::FileSystem& file_system, const std::string& path,
                                      const RunId& run, bool durable) {
    auto file = file_system.open(path, base::FileSystem::Mode::create);
    if (!file.ok()) return file.status();
    SharedFile shared;
    shared.path_ = path;
    shared.run_ = run;
    shared.file_ = std::move(*file);
    // Alone with it before it is emptied: another run may still write it, or make it just now.
    if (const Status status = shared.file_->lock(true); !status.ok())
        return status.with_context("cannot replace the file");
    if (Status status = shared.file_->truncate(0); !status.ok()) return status;
    const FileHeaderBytes header = encode_file_header(run);
    if (Status status = shared.file_->write_at(k_file_header_address, header); !status.ok())
        return status;
    if (Status status = shared.file_->truncate(k_first_region_address); !status.ok()) return status;
    // Without header or name nothing of the file can be recovered; two syncs a run are cheap.
    if (durable) {
        if (Status status = shared.file_->sync(); !status.ok()) return status;
        if (Status status = file_system.sync_directory_of(path); !status.ok()) return status;
    }
    // Not every file system goes from one lock to the other in one step, and some know no locks:
    // what another run made of the file meanwhile shows in its header.
    if (const Status status = shared.file_->lock(false); !status.ok()) return status;
    Status status = shared.check_run();
    if (status.code() == StatusCode::corrupt)
        return Status{StatusCode::io, path + ": another process has just created it, too"};
    if (!status.ok()) return status;
    return shared;
}

Status SharedFile::check_run() const {
    const auto found = read_file_header(*file_, path_);
    if (!found.ok()) return found.status();
    if (*found == run_) return {};
    return {StatusCode::corrupt,
            fmt::format("{}: belongs to another run; all ranks must open the file that this run "
                        "created",
                        path_)};
}

Result<SharedFile> SharedFile::open(base::FileSystem& file_system, const std::string& path,
                                    const RunId& run) {
    auto file = file_system.open(path, base::FileSystem::Mode::read_write);
    if (!file.ok()) return file.status();
    return take(std::move(*file), path, run);
}

Result<SharedFile> SharedFile::take(std::unique_ptr<base::File> file, const std::string& path,
                                    const RunId& run) {
    SharedFile shared;
    shared.path_ = path;
    shared.run_ = run;
    shared.file_ = std::move(file);
    if (const Status status = shared.file_->lock(false); !status.ok()) return status;
    if (Status status = shared.check_run(); !status.ok()) return status;
    return shared;
}

Result<SharedFile> SharedFile::of_open(std::shared_ptr<base::File> file, const std::string& path) {
    const auto run = read_file_header(*file, path);
    if (!run.ok() && run.status().code() == StatusCode::corrupt)
        return Status{StatusCode::unsupported,
                      fmt::format("{}: was not made by Caesura (it has no header of ours)", path)};
    if (!run.ok()) return run.status();
    SharedFile shared;
    shared.path_ = path;
    shared.run_ = *run;
    shared.file_ = std::move(file);
    return shared;
}

}  // namespace caesura::store
