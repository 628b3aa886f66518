// A sequence of calls from a seed: drawn, made, compared; and made again without some of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge.hpp"
#include "world.hpp"

namespace stand_in {

/// What a process is started with.
struct Options {
    std::uint64_t seed = 1;
    int sequences = 1;
    int calls = 30;
    std::string directory;
    std::string side;  ///< "native" or "ours": that one alone, chosen by the environment
    std::vector<std::vector<std::uint64_t>> kept;  ///< steps of each attempt to shrink the sequence
    std::vector<std::string> without;              ///< names of operations that are left out
    std::string planted;                           ///< a fault that is put into the connector
    bool shows = false;                            ///< prints the C program
    bool leaves_open = false;                      ///< ends with all that is open
    unsigned limit_s = 60;                         ///< of a sequence
};

/// What a sequence came to, on this rank.
struct Verdict {
    std::optional<std::string> difference;
    std::string operation, facts;
    std::uint64_t step = 0;
    std::vector<std::uint64_t> steps;  ///< those that applied
    std::string program;
    int calls = 0;
};

/// What the sequence of a seed runs with.
Setting setting_of(std::uint64_t seed, const World& world);
/// Writes the connector's configurations that setting_of() names.
void write_configurations(const std::string& directory);

Verdict run_sequence(World& world, const Options& options, std::uint64_t seed,
                     const std::vector<std::uint64_t>* kept, Judge* judge);

/// Where the process is, for those who ask why it ended: a few words, always valid.
extern char where_it_is[512];

}  // namespace stand_in
