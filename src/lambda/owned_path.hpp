// Files whose contents become code: are they the operator's alone?
//
// Invariants:
//  - Trusted is what belongs to this process's user or root and what nobody else may write, up to
//    the root of the file system: who may rename a directory may put another in its place. Above
//    the directory itself, one with the sticky bit, as that for temporary files, will do.
#pragma once

#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::lambda {

/// An open file that was checked; what is read through it is what was checked.
class OwnedFile {
  public:
    OwnedFile(OwnedFile&& other) noexcept;
    OwnedFile& operator=(OwnedFile&&) = delete;
    ~OwnedFile();
    /// Where the dynamic linker, or whoever else, finds it, as long as this object lives.
    std::string descriptor_path() const;
    const std::string& path() const { return path_; }
    /// The descriptor stays open for good.
    int release();

  private:
    friend Result<OwnedFile> open_owned_file(const std::string& path);
    OwnedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    std::string path_;
    int descriptor_;
};

/// @return  the directory without symbolic links: what was checked.
/// Errors: io (not there), invalid_argument (no directory; or who may write it, and what to do).
Result<std::string> owned_directory(const std::string& path);
/// A plain file in a directory that was checked; no symbolic link. Errors: as above.
Result<OwnedFile> open_owned_file(const std::string& path);
/// Names of the files with this ending in a directory that was checked, sorted; hidden ones are
/// passed over. Errors: io.
Result<std::vector<std::string>> files_ending(const std::string& directory,
                                              std::string_view ending);

}  // namespace caesura::lambda
