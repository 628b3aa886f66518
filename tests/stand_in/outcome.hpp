// What one call said on one side: success or failure, and every output. Two outcomes of the same
// call are compared entry by entry.
//
// Invariant: an entry holds nothing that may differ between two native runs: no address, no time,
// no identifier, no gap of a compound.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stand_in {

/// A floating-point value inside an entry, which may be off by the bound.
struct FloatAt {
    std::size_t offset;
    std::size_t bytes;  ///< 4 or 8, of this machine
};

struct Entry {
    std::string what;
    std::string said;  ///< for people, or the bytes themselves
    std::vector<FloatAt> floats;
    bool is_data = false;
};

class Outcome {
  public:
    /// Success or failure alone. Whether it succeeded.
    bool result(std::string_view what, long long status);
    /// A truth value: yes, no, or a failure.
    bool truth(std::string_view what, long long status);
    void number(std::string_view what, long long value);
    void text(std::string_view what, std::string_view value);
    void bytes(std::string_view what, const void* data, std::size_t count);
    /// Elements as they lie in memory. References are compared by whether they are null.
    /// @param is_exact  no bound holds for them.
    void values(std::string_view what, hid_t type, const void* data, std::size_t count,
                bool is_exact = false);

    const std::vector<Entry>& entries() const { return entries_; }
    /// One line, for the logs of two processes.
    std::string line() const;

  private:
    std::vector<Entry> entries_;
};

/// The first entry that differs, said for people.
/// @param bound  floats may be off by so much; 0: none may.
std::optional<std::string> difference(const Outcome& native, const Outcome& ours, double bound);

/// A type in words, whatever version of the format it is stored in.
std::string description(hid_t type);

/// Elements without gaps, pointers and handles: what values() keeps.
/// @param floats  where the floats of this machine lie in it; null: not asked for.
std::string flat(hid_t type, const void* data, std::size_t count, std::vector<FloatAt>* floats);

}  // namespace stand_in
