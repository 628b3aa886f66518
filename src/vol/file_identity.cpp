#include "vol/file_identity.hpp"

#include <sys/stat.h>

#include <filesystem>

namespace caesura::vol {
namespace {

FileIdentity identity_in(const struct stat& info) {
    return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

}  // namespace

FileIdentity identity_of(const std::string& name) {
    namespace fs = std::filesystem;
    struct stat info {};
    if (::stat(name.c_str(), &info) == 0) return identity_in(info);
    std::error_code error;
    // Absolute first: a relative name of a file that is not there yet would stay relative.
    const fs::path path = fs::weakly_canonical(fs::absolute(name, error), error);
    return {0, 0, error ? name : path.string()};
}

FileIdentity identity_of(int descriptor) {
    struct stat info {};
    return ::fstat(descriptor, &info) == 0 ? identity_in(info) : FileIdentity{0, 0, "?"};
}

}  // namespace caesura::vol
