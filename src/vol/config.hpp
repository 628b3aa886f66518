// What the user may say to the connector, in a small TOML file. docs/reference/connector.md has the
// table of keys.
//
// Invariants:
//  - Every key has a default: no file at all is a good configuration.
//  - An unknown key, a wrong type or a value that cannot be right is an error that names the key
//    (and the nearest that there is), never a warning.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caesura/writer.hpp"

namespace caesura::vol {

/// What H5Fclose and H5Fflush promise when they return.
enum class Durability : std::uint8_t {
    close,     ///< H5Fclose: the file will be complete; H5Fflush: as with `complete`
    complete,  ///< the end of the process loses nothing
    durable    ///< the end of the machine loses nothing
};
std::string_view to_string(Durability durability);

/// Has a rule ever matched? Any thread: on_term.cpp asks.
struct Use {
    mutable std::atomic<bool> matched{false};
    Use() = default;
    Use(const Use& other) : matched(other.matched.load()) {}
    Use& operator=(const Use& other) {
        matched = other.matched.load();
        return *this;
    }
    friend bool operator==(const Use&, const Use&) { return true; }
};

/// Said of the files whose paths match.
struct FileRule {
    std::string path;  ///< pattern, held against the absolute path, or without a "/" the name
    Durability durability = Durability::close;
    Use use = {};
    friend bool operator==(const FileRule&, const FileRule&) = default;
};

/// Said of the datasets whose paths match; what is not said stays as it was.
struct Rule {
    std::string path;  ///< pattern: see matches()
    std::optional<bool> capture;
    std::optional<std::string> codec;
    std::optional<ErrorBound> bound;
    std::optional<std::uint64_t> chunk_bytes;
    Shape chunk = {};  ///< of blocks; rank 0: not said. Passed over where the rank is another
    Shape box = {};    ///< the arrays that a dataset of one axis holds, one after the other
    std::optional<bool> commit_writes;
    /// Of which of a dataset's quantities the rule speaks; pattern, "*": any run. Unset: of the
    /// dataset. With it a rule has nothing but bound and capture.
    std::optional<std::string> component = {};
    std::vector<std::string> components = {};  ///< the dataset's quantities; box or component_axis
    std::optional<int> component_axis = {};    ///< the axis along which they lie
    std::optional<std::vector<FillValue>> missing = {};  ///< values; an empty list takes back
    /// Tighter or looser in places. One without rules takes back what an earlier rule said.
    std::optional<BoundMap> bound_map = {};
    Use use = {};  ///< by a dataset, or by one of its quantities
    friend bool operator==(const Rule&, const Rule&) = default;
};

struct Config {
    std::string path;     ///< of the file; empty: the defaults
    bool capture = true;  ///< false: every file is handed on to HDF5's native connector
    std::string codec = "caesura";
    ErrorBound bound = lossless();
    std::vector<FillValue> missing = {};  ///< of all datasets whose types have them
    std::uint64_t chunk_bytes = 8u << 20;
    std::uint64_t threshold_bytes = 64u << 10;  ///< smaller datasets are stored as they are
    std::uint64_t memory_bytes = 0;             ///< of a rank, as in WriterOptions
    Durability durability = Durability::close;
    /// A collective H5Dwrite returns when its values are committed, so that every rank reads them.
    bool commit_writes = false;
    double max_delay_s = 0.0;     ///< as in WriterOptions; see max_delay_s()
    bool closing_line = true;     ///< on rank 0's stderr, when HDF5 closes; a loss is always said
    bool commit_on_term = false;  ///< SIGTERM: write what is in flight, see on_term.hpp
    double term_s = 30.0;         ///< and then so long at most until the process ends
    std::string transport;        ///< as in WriterOptions; empty: this process writes
    std::string report;           ///< path; "%r" becomes the rank; empty: none
    std::vector<FileRule> file_rules;  ///< the last one that matches wins
    std::vector<Rule> rules;           ///< the same, key by key
    friend bool operator==(const Config&, const Config&) = default;
};

/// Of a file. @param path  absolute.
Durability durability_of(const Config& config, std::string_view path);
/// Errors: invalid_argument, naming file, line and key.
Result<Config> parse_config(std::string_view text, const std::string& path);
/// The same path after chdir(); empty stays empty. Links are not followed.
std::string absolute_path(const std::string& path);
/// Read once for each path; the same object for the same path. What is relative, also the report's
/// path, means the directory in which the process is then. Errors: also io.
Result<std::shared_ptr<const Config>> load_config(const std::string& path);
/// WriterOptions::max_delay_s for the blocks of a file.
/// @param alone  one process has it for itself, with the ordinary driver. Then other processes may
///               be waiting for it (other_process.hpp), and not for intervals that are the
///               application's.
inline double max_delay_s(const Config& config, bool alone) {
    constexpr double k_alone_s = 10.0;
    return alone && config.max_delay_s == 0.0 ? k_alone_s : config.max_delay_s;
}
/// "absolute", as `bound_kind` has it.
std::string_view kind_name(const ErrorBound& bound);
/// All of it, rules included, as TOML that parse_config reads back.
std::string to_toml(const Config& config);

/// Does a dataset's absolute path match? "*" is any run of characters but "/", "**" any run, "?"
/// one character but "/". A pattern without "/" is held against the last name of the path.
bool matches(std::string_view pattern, std::string_view path);
/// The same of a name: "*" and "**" are any run of characters.
bool matches_name(std::string_view pattern, std::string_view name);

}  // namespace caesura::vol
