#include "transit/service/rooted_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/invalid.hpp"

namespace caesura::transit {
namespace {

int open_below(int directory, const char* path, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOCTTY);
    how.mode = (flags & O_CREAT) != 0 ? 0666 : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    long found = -1;
    do {
        found = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
    } while (found < 0 && (errno == EINTR || errno == EAGAIN));
    return static_cast<int>(found);
}

Status refused(const std::string& path, const char* operation, int error) {
    const bool full = error == ENOSPC || error == EDQUOT || error == ENOMEM;
    return {full ? StatusCode::no_space : StatusCode::io,
            fmt::format("{}: {}: {}", path, operation, std::strerror(error))};
}

}  // namespace

Result<std::unique_ptr<RootedFiles>> RootedFiles::make(std::vector<std::string> roots) {
    if (roots.empty()) return base::invalid("no directory is given that clients may write in");
    // It closes what is open of them when one fails.
    std::unique_ptr<RootedFiles> files(new RootedFiles({}));
    for (std::string& path : roots) {
        if (path.empty() || path.front() != '/')
            return base::invalid(fmt::format("directory '{}': not an absolute path", path));
        if (path.back() != '/') path += '/';
        const int descriptor = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0)
            return base::invalid(fmt::format("directory '{}': {}", path, std::strerror(errno)));
        files->roots_.push_back({std::move(path), descriptor});
    }
    const int probe = open_below(files->roots_[0].descriptor, ".", O_PATH);
    if (probe < 0 && errno == ENOSYS)
        return Status{StatusCode::unsupported,
                      "this kernel has no openat2 (Linux 5.6), which keeps clients in their "
                      "directories"};
    if (probe >= 0) ::close(probe);
    return files;
}

bool RootedFiles::is_current() const {
    return std::all_of(roots_.begin(), roots_.end(), [](const Root& root) {
        struct stat named {
        }, held{};
        return ::stat(root.path.c_str(), &named) == 0 && ::fstat(root.descriptor, &held) == 0 &&
               named.st_dev == held.st_dev && named.st_ino == held.st_ino;
    });
}

RootedFiles::~RootedFiles() {
    for (const Root& root : roots_) ::close(root.descriptor);
}

Result<int> RootedFiles::open_beneath(const std::string& path, int flags) const {
    std::string known;
    for (const Root& root : roots_) {
        if (path.starts_with(root.path) && path.size() > root.path.size()) {
            const int found = open_below(root.descriptor, path.c_str() + root.path.size(), flags);
            if (found >= 0) return found;
            if (errno == EXDEV)
                return base::invalid(fmt::format("{}: leads out of {}, where this client may write",
                                                 path, root.path));
            return refused(path, (flags & O_CREAT) != 0 ? "create" : "open", errno);
        }
        known += (known.empty() ? "" : ", ") + root.path;
    }
    return base::invalid(fmt::format("{}: this client may write below {} only", path, known));
}

Result<std::unique_ptr<base::File>> RootedFiles::open_for(base::FileLocking asked,
                                                          const std::string& path, Mode mode) {
    int flags = O_NONBLOCK | (mode == Mode::read ? O_RDONLY : O_RDWR);
    if (mode == Mode::create) flags |= O_CREAT;
    const auto found = open_beneath(path, flags);
    if (!found.ok()) return found.status();
    // A lane waits for nobody: not for the other end of a pipe, nor for a device.
    struct stat info {};
    if (::fstat(*found, &info) != 0 || !S_ISREG(info.st_mode)) {
        ::close(*found);
        return base::invalid(path + ": is not a regular file");
    }
    return base::file_of_descriptor(*found, path, asked);
}

Status RootedFiles::sync_directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return base::invalid(path + ": not an absolute path");
    // Of a root itself too: "." is below it.
    const auto found = open_beneath(path.substr(0, slash) + "/.", O_RDONLY | O_DIRECTORY);
    if (!found.ok()) return found.status();
    const int failed = ::fsync(*found) == 0 ? 0 : errno;
    ::close(*found);
    const bool unknown = failed == EINVAL || failed == ENOTSUP || failed == ENOSYS;
    return failed == 0 || unknown ? Status{} : refused(path, "fsync", failed);
}

}  // namespace caesura::transit
