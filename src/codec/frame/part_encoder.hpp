// One slab's values become a part of a frame.
//
// Invariants:
//  - decode(encode(x)) keeps the request's bound for every finite value; all else comes back bit
//    for bit.
//  - The part is the smallest of lossy, lossless and raw, as far as samples tell; never more than
//    the raw bytes and one.
#pragma once

#include <memory>
#include <optional>

#include "codec/bound/resolve_bound.hpp"
#include "codec/estimate/tune.hpp"
#include "codec/frame/frame.hpp"
#include "codec/frame/part_decoder.hpp"

namespace caesura::codec {

struct EncodeRequest {
    FrameHeader header;
    ResolvedBound bound;
    Mode mode = Mode::automatic;
    const TableSet* tables = nullptr;  ///< never null
    bool drift_check = true;
    /// Null, or predictor and settings that were chosen before; else a sample chooses them.
    const Choice* chosen = nullptr;
    /// Of predict: it will be asked again, with what it says as `chosen`.
    bool is_first_look = false;
};

/// Keeps its working memory from part to part. One thread at a time.
class PartEncoder {
  public:
    /// @param scratch  used during encode() only; must outlive this.
    /// @param decoder  to verify with; likewise, and may use the same scratch.
    PartEncoder(PredictorScratch& scratch, PartDecoder& decoder);
    ~PartEncoder();
    PartEncoder(const PartEncoder&) = delete;
    PartEncoder& operator=(const PartEncoder&) = delete;

    /// Append the part of one slab to `out`.
    /// @param values      the slab's bytes, any alignment.
    /// @param statistics  null, or to add to what the part coded.
    /// Errors: internal. Throws std::bad_alloc. The caller holds a FloatEnvironment.
    Status encode(std::span<const std::byte> values, const Shape& shape,
                  const EncodeRequest& request, TableStatistics* statistics, Output& out);
    /// What encode would append and how, from a sample. `bytes` counts the best of all kinds; kind
    /// may be raw, lossless or constant. Throws std::bad_alloc.
    Choice predict(std::span<const std::byte> values, const Shape& shape,
                   const EncodeRequest& request);

    /// The same of a block in an array, which begins at `first`; nullopt where only all its values
    /// would tell.
    std::optional<Choice> predict_in_place(const std::byte* first, const Shape& shape,
                                           const Shape& array, const EncodeRequest& request);

  private:
    struct Work;
    std::unique_ptr<Work> work_;
};

}  // namespace caesura::codec
