// Which dump a path of a file lies in, as openPMD's basePath says, or the layout that a user chose.
#pragma once

#include "caesura/store.hpp"
#include "store/path_template.hpp"

namespace caesura::store {

class DumpPath {
  public:
    /// The root attribute that names a layout other than openPMD's.
    static constexpr const char* k_layout = "caesura_layout";
    /// And the one of a dataset or group in it that says which species it is a record of.
    static constexpr const char* k_species = "caesura_species";
    /// @param root  the file's attributes; without a basePath in them it is "/data/%T/".
    explicit DumpPath(const std::vector<Attribute>& root);

    struct Dump {
        std::uint64_t iteration = 0;
        std::size_t bytes = 0;   ///< of its group's path, with the slash behind it; 0: it has none
        std::string field = {};  ///< its name, where the layout is not openPMD's
    };
    /// Has each dump a group for itself? Not in every layout that a user may choose.
    bool has_groups() const;
    /// As WriterOptions::layout; empty: openPMD's.
    std::string layout() const;
    /// Of a dump's group: the iteration. Nothing: it is none.
    std::optional<std::uint64_t> of_group(const std::string& group) const;
    /// Does the group lie in a dump, or is it one's own?
    bool is_in_dump(const std::string& group) const;
    /// Of the group that has all dumps, "/data" or "/": no slash behind it but the root's own.
    std::string parent() const;
    /// None: the path lies in no dump.
    std::optional<Dump> of(const std::string& path) const;

  private:
    std::optional<PathTemplate> layout_;
    std::string before_ = "/data/", after_ = "/";  // of the iteration's number
};

}  // namespace caesura::store
