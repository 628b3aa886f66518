// The store's calls on the operating system's files: what programs outside the library use.
#include "base/file.hpp"
#include "store/recover.hpp"

namespace caesura::store {

Result<RecoverReport> recover(const std::string& path, bool dry_run) {
    return recover(base::FileSystem::posix(), path, dry_run);
}

Result<FileInfo> read_info(const std::string& path) {
    return read_info(base::FileSystem::posix(), path);
}

Result<std::shared_ptr<base::File>> open_for_reading(const std::string& path) {
    auto file = base::FileSystem::posix().open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return file.status();
    return std::shared_ptr<base::File>(std::move(*file));
}

}  // namespace caesura::store
