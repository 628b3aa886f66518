// The names of a series of files, one for each number: "out/run_%06T.h5" is run_000000.h5,
// run_000100.h5, ... (openPMD's file-based encoding). "%T" is the number as it is, "%0NT" fills it
// with zeros to N digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::base {

class SeriesName {
  public:
    /// nullopt: a path as any other. Errors: invalid_argument (two marks, one in a directory's
    /// name, more than 20 digits), naming the path.
    static Result<std::optional<SeriesName>> parse(const std::string& path);

    std::string path_of(std::uint64_t number) const;
    /// The number of a file's name without directory; nullopt: not one of these. As openPMD-api
    /// has it, "%0NT" wants N digits or, of a larger number, more.
    std::optional<std::uint64_t> number_of(const std::string& file_name) const;
    /// The name with its mark, without directory: openPMD's iterationFormat.
    std::string format() const;
    /// Of all its files: "out", "." for a path without one.
    std::string directory() const;

    struct Found {
        std::uint64_t number = 0;
        std::string path;
    };
    /// The files that are there, by number. Errors: io (the directory), invalid_argument (two have
    /// the same number: "run_7.h5" and "run_07.h5").
    Result<std::vector<Found>> find() const;

  private:
    std::string directory_;  ///< with its last '/'; empty: none
    std::string before_, mark_, after_;
    std::size_t digits_ = 0;
};

}  // namespace caesura::base
