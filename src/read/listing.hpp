// What a Reader lists: the datasets of a file as fields of dumps, as openPMD names them, each with
// the way in which its values are read.
#pragma once

#include <functional>
#include <unordered_map>

#include "caesura/reader.hpp"
#include "read/source.hpp"

namespace caesura::read {

/// How the values of a field are read.
struct Way {
    enum class Kind : std::uint8_t {
        chunks,    ///< by the Source
        hdf5,      ///< by HDF5, under a lock
        constant,  ///< one value
    };
    Kind kind = Kind::chunks;
    std::size_t dataset = 0;            ///< chunks: of the Source
    std::size_t file = 0;               ///< of several files, the number of the Source
    std::vector<std::byte> value = {};  ///< constant
};

struct Listing {
    std::vector<FieldInfo> fields;
    std::vector<Way> ways;  ///< of each of them
    std::vector<DumpInfo> dumps;
    std::vector<std::string> unreadable;
    std::unordered_map<std::string, std::size_t> by_path;

    Result<std::size_t> find(const std::string& file, const std::string& name,
                             std::uint64_t iteration) const;
    Result<std::size_t> find(const std::string& file, const std::string& path) const;
    /// Only the fields for which keep(field) is true.
    void filter(const std::function<bool(const FieldInfo&)>& keep);
};

Listing list_fields(const Source& source);

/// What one file of several lists. Without openPMD's iterations its dump gets the file's number.
struct ListedFile {
    std::string path;
    std::uint64_t number = 0;
    bool has_iterations = true;
    Listing listing;
};
/// As one; the number of a Source is the place in `files`. Errors: invalid_argument (an iteration
/// that two of them have).
Result<Listing> join(std::vector<ListedFile> files);

}  // namespace caesura::read
