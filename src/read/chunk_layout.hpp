// How a dataset is cut into chunks, and which of them a box touches. Plain numbers.
#pragma once

#include "caesura/base.hpp"

namespace caesura::read {

struct ChunkLayout {
    Shape shape;
    Shape chunk;  ///< as many axes, each extent >= 1
    Shape grid;   ///< chunks along each axis

    static ChunkLayout of(const Shape& shape, const Shape& chunk);
    /// The box of the chunk with this row-major number, also what of it lies beyond the dataset.
    Box whole(std::uint64_t number) const;
    /// What of it lies inside.
    Box inside(std::uint64_t number) const;
};

/// Numbers of the chunks that a box touches, ascending, without a list of them.
class TouchedChunks {
  public:
    /// @param box  inside the dataset.
    TouchedChunks(const ChunkLayout& layout, const Box& box);
    std::uint64_t count() const { return count_; }
    std::uint64_t operator[](std::uint64_t i) const;

  private:
    Shape grid_, first_, extent_;
    std::uint64_t count_ = 0;
};

/// Chunks of at most so many bytes (or of one value) that cut a dense array of this shape into
/// stretches that follow each other: one index along the slowest axes, all of the fastest.
Shape chunk_of_dense(const Shape& shape, std::size_t value_bytes, std::uint64_t most_bytes);

/// Bytes of an array; nullopt: more than any memory has.
std::optional<std::uint64_t> array_bytes(const Shape& shape, std::size_t value_bytes);

}  // namespace caesura::read
