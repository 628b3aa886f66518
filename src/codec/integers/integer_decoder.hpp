// A part of integers becomes values again.
//
// Invariants:
//  - Safe on any part: memory is bounded by the slab's values, sections are read within themselves.
#pragma once

#include <memory>

#include "codec/entropy/entropy.hpp"
#include "codec/integers/bit_planes.hpp"
#include "codec/integers/integer_part.hpp"

namespace caesura::codec {

/// Keeps its working memory from part to part. One thread at a time.
class IntegerDecoder {
  public:
    /// @param tables  those of the part. @param values  the slab's, any alignment.
    /// Errors: corrupt, no_space. Throws std::bad_alloc.
    Status decode(const IntegerPart& part, std::size_t value_bytes, const TableSet& tables,
                  LosslessUnpacker& unpacker, std::span<std::byte> values);

  private:
    template <class U>
    struct Work;
    template <class U>
    Status decode_as(const IntegerPart& part, const TableSet& tables, LosslessUnpacker& unpacker,
                     std::span<std::byte> bytes);

    PlanesReader planes_;
    std::unique_ptr<EntropyDecoder> codes_ = make_entropy_decoder(Coding::rans);
    std::vector<std::uint64_t> aligned_;
    std::vector<std::byte> low_;
};

}  // namespace caesura::codec
