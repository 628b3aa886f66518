// What a user tells the planners: the algorithm that plans when each compression and each write of
// a dump runs, and what a run of many checkpoints is expected to be like.
#pragma once

#include "caesura/base.hpp"

#pragma GCC visibility push(default)

namespace caesura::plan {

/// What else the papers have, lists that fill no gaps and greedy ones, is in lab/planners.
enum class Algorithm {
    ext_johnson_backfill,      ///< Johnson's order, each task in the earliest gap that holds it
    generation_list_backfill,  ///< order of generation, filling gaps likewise
    insertion_backfill,        ///< S1's order, filling gaps likewise
    search,                    ///< the best of these orders, improved within a budget
};
inline constexpr Algorithm k_algorithms[] = {
    Algorithm::ext_johnson_backfill,
    Algorithm::generation_list_backfill,
    Algorithm::insertion_backfill,
    Algorithm::search,
};
/// What "default" means everywhere: here, in the Writer, in C, in Python and on the command line.
inline constexpr Algorithm k_default_algorithm = Algorithm::search;
std::string_view to_string(Algorithm algorithm);
/// The algorithm of that name; "default" is k_default_algorithm. Errors: invalid_argument, listing
/// the names there are.
Result<Algorithm> algorithm_named(std::string_view name);

/// How long compressing takes by the size of what is compressed at once.
struct CompressPoint {
    double bytes = 0.0;
    double seconds = 0.0;
};

/// What is known, or expected, of a run.
struct CheckpointProfile {
    std::uint64_t checkpoint_bytes = 0;           ///< of each
    std::vector<double> intervals_s;              ///< [n] the application's own time before each
    std::vector<std::uint64_t> compressed_bytes;  ///< [n]
    /// At least one point, ascending bytes. Between points linear; below the first its seconds,
    /// beyond the last its speed.
    std::vector<CompressPoint> compress_curve;
    double link_bytes_per_s = 0.0;
    std::uint64_t cache_bytes = 0;
    std::uint64_t header_bytes = 0;  ///< of a temporary buffer, beside its input's size
    /// Inside the GPU, of a result to a buffer of its own size. 0: it takes no time.
    double copy_bytes_per_s = 0.0;
};

/// Seconds to compress so many bytes at once. The curve is as CheckpointProfile wants it.
double compress_s(std::span<const CompressPoint> curve, double bytes);

/// A profile as a small JSON file: what the first member of an ensemble was like, for the others.
///
/// `caesura together` reads it too. Members: "format" "caesura-checkpoints", "version" 1, and those
/// of CheckpointProfile; compress_curve as [bytes, seconds] pairs.
/// @return  Errors of parsing: corrupt (no JSON, missing or wrong members, naming the first, or
///          numbers that cannot be), unsupported (another format or version). Never throws.
inline constexpr int k_checkpoint_profile_version = 1;
std::string to_json(const CheckpointProfile& profile);
Result<CheckpointProfile> parse_checkpoint_profile(std::string_view json);

}  // namespace caesura::plan

#pragma GCC visibility pop
