// A slab of integers becomes a part.
//
// Invariants:
//  - The part is at most the raw bytes and one.
#pragma once

#include <memory>

#include "codec/entropy/entropy.hpp"
#include "codec/integers/integer_choice.hpp"

namespace caesura::codec {

/// Keeps its working memory from part to part. One thread at a time.
class IntegerEncoder {
  public:
    /// Append the part of a slab that is not constant.
    /// @param values      n values of value_bytes each, any alignment; n < 2^31.
    /// @param statistics  null, or to add to what the part coded. Throws std::bad_alloc.
    void encode(std::span<const std::byte> values, std::size_t value_bytes, const IntegerTask& task,
                TableStatistics* statistics, Output& out);
    /// The same in a given way, with nothing to fall back on.
    void encode_as_told(std::span<const std::byte> values, std::size_t value_bytes,
                        const IntegerTask& task, const IntegerChoice& choice, Output& out);
    /// About how many bytes that would be.
    std::uint64_t predict(std::span<const std::byte> values, std::size_t value_bytes,
                          const IntegerTask& task);

  private:
    template <class U>
    void encode_as(std::span<const std::byte> values, const IntegerTask& task,
                   TableStatistics* statistics, Output& out);
    template <class U>
    void write(std::span<const U> values, const IntegerTask& task, const IntegerChoice& choice,
               TableStatistics* statistics, Output& out);
    template <class U>
    void write_codes(std::span<const U> values, const IntegerTask& task, const Forward<U>& forward,
                     double expected_bytes, TableStatistics* statistics, LeftOut<U>& left_out,
                     IntegerHead& head, Output& out);
    template <class U>
    void write_planes(std::span<const U> values, const Forward<U>& forward, LeftOut<U>& left_out,
                      Output& out);

    // Integers' bytes repeat themselves where floating-point ones are noise: a closer look pays.
    static constexpr int k_zstd_level = 3;
    LosslessPacker packer_{k_zstd_level};
    PlanesWriter planes_;
    std::unique_ptr<EntropyEncoder> codes_ = make_entropy_encoder(Coding::rans);
    std::vector<std::uint64_t> aligned_;
    std::vector<std::byte> low_;
};

}  // namespace caesura::codec
