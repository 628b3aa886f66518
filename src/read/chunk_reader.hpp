// Chunks of one dataset: from the file, through its filters, to where their values belong.
#pragma once

#include <memory>

#include "caesura/store.hpp"
#include "hdf5/pipeline_decoder.hpp"
#include "read/chunk_layout.hpp"
#include "read/source.hpp"
#include "read/strided.hpp"

namespace caesura::read {

/// Memory that is used again and not cleared.
class Room {
  public:
    /// So many bytes of any content, valid until the next call. Throws std::bad_alloc.
    std::span<std::byte> bytes(std::size_t n) {
        if (n > room_bytes_) {
            memory_.reset();
            memory_ = std::make_unique_for_overwrite<std::byte[]>(n);
            room_bytes_ = n;
        }
        return {memory_.get(), n};
    }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t room_bytes_ = 0;
};

/// Working memory of one thread.
struct Scratch {
    Room stored, chunk, values;
};

class ChunkReader {
  public:
    /// @param dataset  outlives it. @param file_bytes  chunks beyond are damaged.
    ChunkReader(base::File& file, std::uint64_t file_bytes, const store::DatasetInfo& dataset,
                bool contiguous, hdf5::PluginsByFilter& plugins);

    /// Can its chunks be what HDF5 has? Errors: corrupt.
    const Status& usable() const { return usable_; }
    const ChunkLayout& layout() const { return layout_; }
    /// What read() gives: one value, or one of a compound type's.
    std::size_t value_bytes(const ReadOptions& options) const;

    /// The values of `part`, which lies in one chunk, into a dense array that holds `box`.
    Status read(std::uint64_t number, const Box& part, const Box& box, std::byte* target,
                const ReadOptions& options, Scratch& scratch) const;
    /// The same into an array of any strides, whose first value is that of `box`.
    Status read(std::uint64_t number, const Box& part, const Box& box, const StridedArray& target,
                const ReadOptions& options, Scratch& scratch) const;
    struct Values {
        const std::byte* bytes;
        Box box;  ///< what they are, dense
    };
    /// Values of which `part` is right, in the scratch memory.
    Result<Values> values_of(std::uint64_t number, const Box& part, const ReadOptions& options,
                             Scratch& scratch) const;
    /// What is known of a chunk without decoding it, but for its range.
    Result<Block> describe(std::uint64_t number, bool verify, Scratch& scratch) const;

  private:
    const store::ChunkRecord* find(std::uint64_t number) const;
    Status read_stored(const store::ChunkRecord& record, bool verify,
                       std::span<std::byte> bytes) const;
    Status load(const store::ChunkRecord& record, const Box& part, bool verify,
                std::span<std::byte> values, Scratch& scratch) const;
    Status decode(const store::ChunkRecord& record, const Box& part, const ReadOptions& options,
                  std::span<std::byte> values, Scratch& scratch) const;
    Values fill(const Box& part, const ReadOptions& options, Scratch& scratch) const;
    std::size_t decoded_bytes(std::uint64_t number) const;
    Status damaged(std::uint64_t number, std::string what) const;
    Status in_context(std::uint64_t number, const Status& status) const;

    base::File& file_;
    std::uint64_t file_bytes_;
    const store::DatasetInfo& dataset_;
    bool contiguous_;
    ChunkLayout layout_;
    std::size_t value_bytes_;  // all members
    std::uint64_t chunk_bytes_ = 0;
    Status usable_;
    hdf5::PipelineDecoder decoder_;
};

}  // namespace caesura::read
