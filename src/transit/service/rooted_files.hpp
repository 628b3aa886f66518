// The files that a client may have: those below the directories that the operator gave it, whatever
// its paths and links say.
//
// Invariants:
//  - A path is opened by the kernel's own rule (openat2, RESOLVE_BENEATH): no "..", no link, no
//  race
//    leads out of the directory. Everything else is done with the opened file, not with its path.
#pragma once

#include "base/file.hpp"

namespace caesura::transit {

class RootedFiles final : public base::FileSystem {
  public:
    /// @param roots  absolute directories.
    /// Errors: invalid_argument (not absolute, not there; no root at all), unsupported (a kernel
    /// before Linux 5.6), naming the directory.
    static Result<std::unique_ptr<RootedFiles>> make(std::vector<std::string> roots);
    ~RootedFiles() override;
    /// Do the names of the directories still lead to those that are open here?
    bool is_current() const;
    RootedFiles(const RootedFiles&) = delete;
    RootedFiles& operator=(const RootedFiles&) = delete;

    /// @param path  absolute, below a root. Errors: invalid_argument (it is not; names the roots),
    /// those of FileSystem::posix().
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        return open_for(base::FileLocking::best_effort, path, mode);
    }
    Result<std::unique_ptr<base::File>> open_for(base::FileLocking asked, const std::string& path,
                                                 Mode mode) override;
    Status sync_directory_of(const std::string& path) override;

  private:
    struct Root {
        std::string path;  ///< ends in '/'
        int descriptor = -1;
    };
    explicit RootedFiles(std::vector<Root> roots) : roots_(std::move(roots)) {}
    /// A descriptor of the path. Errors as open().
    Result<int> open_beneath(const std::string& path, int flags) const;

    std::vector<Root> roots_;
};

}  // namespace caesura::transit
