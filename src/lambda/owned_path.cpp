#include "lambda/owned_path.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/invalid.hpp"

namespace caesura::lambda {
namespace {

/// Why somebody else could change it; empty: nobody can.
std::string who_else(const struct stat& about, bool sticky_will_do) {
    if (about.st_uid != ::geteuid() && about.st_uid != 0)
        return fmt::format("belongs to user {}; it has to be yours (user {}) or root's",
                           about.st_uid, ::geteuid());
    const bool sticky = sticky_will_do && (about.st_mode & S_ISVTX) != 0;
    if ((about.st_mode & 022) != 0 && !sticky)
        return fmt::format("has mode {:o}; others may write it: chmod go-w", about.st_mode & 07777);
    return {};
}

Status system_error(const std::string& path) {
    return {StatusCode::io, fmt::format("{}: {}", path, std::strerror(errno))};
}

}  // namespace

Result<std::string> owned_directory(const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (error) return Status(StatusCode::io, fmt::format("{}: {}", path, error.message()));
    for (auto place = real;; place = place.parent_path()) {
        struct stat about {};
        if (::lstat(place.c_str(), &about) != 0) return system_error(place.string());
        if (!S_ISDIR(about.st_mode))
            return base::invalid(fmt::format("{} is no directory", place.string()));
        if (const std::string why = who_else(about, place != real); !why.empty())
            return base::invalid(
                fmt::format("{} is not taken from: {} {}", path, place.string(), why));
        if (place == place.root_path()) return real.string();
    }
}

Result<OwnedFile> open_owned_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return system_error(path);
    OwnedFile opened(path, file);
    struct stat about {};
    if (::fstat(file, &about) != 0) return system_error(path);
    if (!S_ISREG(about.st_mode)) return base::invalid(fmt::format("{} is no plain file", path));
    if (const std::string why = who_else(about, false); !why.empty())
        return base::invalid(fmt::format("{} is not loaded: it {}", path, why));
    return opened;
}

Result<std::vector<std::string>> files_ending(const std::string& directory,
                                              std::string_view ending) {
    std::error_code error;
    std::vector<std::string> found;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (!name.starts_with('.') && name.ends_with(ending)) found.push_back(name);
    }
    if (error) return Status(StatusCode::io, fmt::format("{}: {}", directory, error.message()));
    std::sort(found.begin(), found.end());
    return found;
}

OwnedFile::OwnedFile(OwnedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OwnedFile::~OwnedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::string OwnedFile::descriptor_path() const {
    return fmt::format("/proc/self/fd/{}", descriptor_);
}

int OwnedFile::release() { return std::exchange(descriptor_, -1); }

}  // namespace caesura::lambda
