// A chain of transforms, "shuffle | zstd | aead", on the values of a region, and its way back.
//
//     "CLX1", stages u8, raw bytes u64, then for each stage
//         name (length u8, bytes), settings (length u8, bytes), bytes it was given u64
//     and what the last stage made
//
// Invariants:
//  - What a chain made says which stages made it: the way back needs the functions, the operator's
//    key where a stage asks for one, and the region it belongs to, nothing else.
//  - restore() takes any bytes: every length is held against what the region allows before memory
//    is taken for it, so it takes at most twice the region's bytes, an eighth and 64 KiB.
//  - The stages before an aead stage, and the region's identity, are authenticated by it.
// Source: S4 §III-B.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lambda/registry.hpp"

namespace caesura::lambda {

/// Any thread.
class Chain {
  public:
    /// Errors: invalid_argument (no transform, arguments, a stage in the wrong place; an aead stage
    /// without a key).
    static Result<Chain> make(const Registry& registry, std::string_view text, const Operator& by);

    /// @param region  its values; or a frame of theirs, where the chain begins with `decompress`.
    /// Errors: those of validate() and of the stages, naming the stage; no_space.
    Result<std::vector<std::byte>> apply(const RegionView& region) const;
    const std::string& text() const { return text_; }

  private:
    struct Stage {
        std::string name;
        std::unique_ptr<Transform> transform;
    };
    std::string text_;
    std::vector<Stage> stages_;
};

/// The values of a region from what a chain made of them.
///
/// @param place  the region, without values: as much of it as is known from elsewhere. All that
///               identity() names has to be as it was, where a stage of the chain binds it.
/// @return  the values, in memory that is aligned for them.
/// Errors: insufficient_data, corrupt (broken, or of another region), unsupported (a later version,
/// a function that is not here), invalid_argument (missing or wrong key), no_space.
/// Calls: independent, thread-safe.
Result<std::vector<std::byte>> restore(const Registry& registry, std::span<const std::byte> bytes,
                                       const RegionView& place, const Operator& by);

/// What the bytes say of themselves. Errors: as restore(), without looking at what stages made.
struct ChainInfo {
    std::uint64_t raw_bytes = 0;
    std::vector<std::string> stages;  ///< names, in the order they were applied
};
Result<ChainInfo> read_chain_info(std::span<const std::byte> bytes);

}  // namespace caesura::lambda
