// Mapped values as bit planes, each left out, kept or compressed.
//
// Invariants:
//  - Bit i of a plane is a bit of value i; plane b holds bits of weight 2^b.
//  - A reader's memory is bounded by the values' bytes.
#pragma once

#include <vector>

#include "codec/frame/aligned_buffer.hpp"
#include "codec/frame/lossless.hpp"
#include "codec/integers/integer_part.hpp"

namespace caesura::codec {

/// Collects n values, pieces of k_planes_piece in their order. Keeps its memory.
class PlanesWriter {
  public:
    void begin(std::size_t n, std::size_t value_bytes);
    /// @param values  k_planes_piece, or what is left; room for k_planes_piece.
    template <class U>
    void put(U* values, std::size_t n);
    /// Append the content of a part.
    void finish(LosslessPacker& packer, Output& out);

  private:
    void put_byte(const std::uint8_t* bytes, std::size_t n, std::size_t byte);
    std::uint8_t* plane(std::size_t p) { return planes_.data() + p * plane_bytes(n_); }

    std::size_t n_ = 0;
    std::size_t value_bytes_ = 0;
    std::size_t done_ = 0;
    AlignedBuffer<std::uint8_t> planes_;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(8 * k_planes_piece);
};

class PlanesReader {
  public:
    /// Errors: corrupt. `content` must outlive the reading.
    Status open(std::span<const std::byte> content, std::size_t n, std::size_t value_bytes,
                LosslessUnpacker& unpacker);
    /// values[first .. first + n). first: a multiple of k_planes_piece. values: room for
    /// k_planes_piece.
    template <class U>
    void take(std::size_t first, std::size_t n, U* values);

  private:
    std::size_t n_ = 0;
    std::array<const std::uint8_t*, 64> planes_{};  // null: zeros
    std::vector<std::byte> packed_;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(8 * k_planes_piece);
};

}  // namespace caesura::codec
