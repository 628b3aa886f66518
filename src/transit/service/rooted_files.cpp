#include "transit/service/rooted_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

Result<std::unique_ptr<base::File>> RootedFiles::open(const std::string& path, Mode mode) {
    // A pipe without a writer would be waited for, by all clients of the lane.
    int flags = (mode == Mode::read ? O_RDONLY : O_RDWR) | O_NONBLOCK;
    if (mode == Mode::create) flags |= O_CREAT;
    const auto found = open_beneath(path, flags);
    if (!found.ok()) return found.status();
    struct stat about {};
    if (::fstat(*found, &about) != 0 || !S_ISREG(about.st_mode)) {
        ::close(*found);
        return base::invalid(fmt::format("{}: is no plain file", path));
    }
    // The same file again, whatever has become of its name meanwhile.
    auto file = posix().open(fmt::format("/proc/self/fd/{}", *found),
                             mode == Mode::create ? Mode::read_write : mode);
    ::close(*found);
    if (!file.ok()) return file.status().with_context(path);
    return file;
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
