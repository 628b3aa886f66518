// Which dump a path of a file lies in, as openPMD's basePath says.
#pragma once

#include "caesura/store.hpp"

namespace caesura::store {

class DumpPath {
  public:
    /// @param root  the file's attributes; without a basePath in them it is "/data/%T/".
    explicit DumpPath(const std::vector<Attribute>& root);

    struct Dump {
        std::uint64_t iteration = 0;
        std::size_t bytes = 0;  ///< of its group's path, with the slash behind it
    };
    /// Of the group that has all dumps, "/data" or "/": no slash behind it but the root's own.
    std::string parent() const;
    /// None: the path lies in no dump.
    std::optional<Dump> of(const std::string& path) const;

  private:
    std::string before_ = "/data/", after_ = "/";  // of the iteration's number
};

}  // namespace caesura::store
