// One slab's part becomes values again.
//
// Invariants:
//  - Safe on any part: memory is bounded by the slab's shape, every section is read within itself.
#pragma once

#include <array>
#include <memory>

#include "codec/bound/exact_values.hpp"
#include "codec/frame/frame.hpp"
#include "codec/integers/integer_decoder.hpp"

namespace caesura::codec {

/// Keeps its working memory from part to part. One thread at a time.
class PartDecoder {
  public:
    /// @param scratch  used during decode() only; must outlive this.
    explicit PartDecoder(PredictorScratch& scratch);
    ~PartDecoder();

    /// @param tables  the set the caller has, or null.
    /// @param values  the slab's bytes, any alignment.
    /// Errors: corrupt, unsupported, invalid_argument (tables missing or wrong), no_space. Throws
    /// std::bad_alloc. The caller holds a FloatEnvironment.
    Status decode(std::span<const std::byte> part, const FrameHeader& header, const Shape& shape,
                  const TableSet* tables, std::span<std::byte> values);

  private:
    template <class T>
    struct Typed;

    Status decode_region(std::span<const std::byte> part, const FrameHeader& header,
                         const Shape& shape, const TableSet* tables, std::span<std::byte> values);

    template <class T>
    Status decode_lossy(const Part& part, const Shape& shape, const TableSet& tables,
                        Typed<T>& typed, std::span<std::byte> values);
    template <class T>
    Status decode_codes(const Part& part, const Shape& shape, const TableSet& tables,
                        Typed<T>& typed, T* values);
    template <class T>
    Status undo_logarithm(const Part& part, Typed<T>& typed, std::span<T> values);
    template <class T>
    Status put_overrides(const Part& part, Typed<T>& typed, std::span<T> values);

    Status decode_integers(std::span<const std::byte> part, const FrameHeader& header,
                           const Shape& shape, const TableSet* tables, std::span<std::byte> values);

    LosslessUnpacker unpacker_;
    PredictorScratch& scratch_;
    std::array<std::unique_ptr<EntropyDecoder>, k_codings> decoders_;
    std::vector<std::uint32_t> positions_;
    std::vector<std::byte> region_;  // of a slab, where its values do not follow each other
    IntegerDecoder integers_;
    std::unique_ptr<Typed<float>> float_;
    std::unique_ptr<Typed<double>> double_;
};

}  // namespace caesura::codec
