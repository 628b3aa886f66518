// Decoded reading: the values of any box of a dataset of an HDF5 file, checked against the
// checksums of their chunks, decoded and put together.
//
// intro      A Source is one file, as it was committed when it was opened: ours (also one that a
//            Writer goes on with, or that a killed run left), or any HDF5 file.
// simple     open, datasets, find, read.
// advanced   blocks: what chunks say of themselves without being decoded. value_range.
//
// What can be read: chunked and contiguous datasets of float32, float64, integers of 8 to 64 bits,
// or a compound type of one kind of float (its members beside each other, or one of them), whose
// filters are ours, deflate, shuffle, fletcher32, or plugins that HDF5 would find. Other filters
// that are built into HDF5 (nbit, scale-offset, szip) have no plugin.
//
// Invariants:
//  - Only chunks that a box touches are read and decoded, each once; a chunk that lies whole in
//    the box and whose values follow each other in the caller's memory is decoded right there.
//  - Memory that a call takes: for each thread one chunk as stored and one as decoded, and what its
//    decoder takes (a filter plugin: both of them once more; our codec: see decompress()), twice
//    the decoded one for value_range. A contiguous dataset is read in pieces of at most 8 MiB,
//    which are what is called its chunks here.
//  - Committed chunks are never overwritten: a Source stays right while its Writer goes on. What
//    is committed later is seen by who opens the file again (decision D14).
#pragma once

#include <functional>
#include <limits>

#include "caesura/codec.hpp"
#include "caesura/store.hpp"

namespace caesura::base {
class File;
class FileSystem;
}  // namespace caesura::base

namespace caesura::read {

struct ReadOptions {
    int threads = 1;  ///< that decode chunks side by side, this one included; 0: one for each core
    /// Compare each chunk's stored bytes with their checksum, where the file has one (ours has).
    /// Without, damage is only found by our own codec, and some plugins do not survive it (SZ3 and
    /// ZFP read past the end).
    bool verify = true;
    /// One member of a compound type, by its place in DatasetInfo::members; none: all of them,
    /// value by value.
    std::optional<std::size_t> member = {};
};

/// Smallest and largest of the finite values; NaN and infinities do not count. Integers beyond
/// 2^53 are rounded to the nearest double.
struct ValueRange {
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -std::numeric_limits<double>::infinity();
    bool empty() const { return !(lowest <= highest); }  ///< no value is finite
    friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

/// Of any values, as many as fit.
ValueRange range_of(std::span<const std::byte> values, DType dtype);

/// What is known of a chunk that has not been decoded.
struct Block {
    std::uint64_t chunk = 0;  ///< row-major number in the dataset's chunk grid
    Box box;                  ///< what it has of the dataset
    bool written = false;     ///< else all of it is the fill value, and the following is 0
    std::uint64_t stored_bytes = 0;
    std::uint32_t filter_mask = 0;
    struct Frame {
        std::uint32_t component = 0;  ///< of a bundle: which quantity it is
        FrameInfo info;               ///< bound, mode, shape, ...
    };
    std::vector<Frame> frames;        ///< of our own codec: one, or those of a bundle; raw: none
    std::optional<ValueRange> range;  ///< if value_range() has met the chunk before
};

struct ChunkLayout;
struct StridedArray;

class Source {
  public:
    /// Lists the file and looks for the plugins of its filters; one that is not there is an error
    /// of the datasets that need it. Calls HDF5: on the thread that may. Errors: those of
    /// read_info().
    static Result<std::unique_ptr<Source>> open(const std::string& path);
    static Result<std::unique_ptr<Source>> open(base::FileSystem& files, const std::string& path);
    /// A file whose datasets the caller knows: of a dump that no commit has made part of the file's
    /// tree. @param datasets  chunked; chunks that are not listed hold the fill value.
    /// Calls HDF5 as open() does. Errors: io.
    static Result<std::unique_ptr<Source>> over(std::unique_ptr<base::File> file,
                                                const std::string& path,
                                                std::vector<store::DatasetInfo> datasets);
    ~Source();
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    /// What the file is; its lists of datasets are empty.
    const store::FileInfo& info() const;
    /// All that can be read: chunked ones by iteration and path, then contiguous ones likewise.
    std::span<const store::DatasetInfo> datasets() const;
    /// Its place in datasets(). Errors: invalid_argument (no such dataset), unsupported (one of
    /// strings, enumerations, ...: see FileInfo::others).
    Result<std::size_t> find(const std::string& path) const;

    // The following make no HDF5 call that touches a file or id, and may come from any threads at
    // once. Errors of all of them: invalid_argument (dataset, box, member, each with its value),
    // corrupt (dataset, chunk and what is wrong), unsupported (a filter that is not there, and
    // which), no_space (memory), io. Of several errors that of the lowest chunk.

    /// The values of a box, dense, C order, in the dataset's type as this machine has it.
    ///
    /// @param box     inside the dataset; an extent may be 0.
    /// @param values  exactly its bytes. After an error nothing is to be read there.
    Status read(std::size_t dataset, const Box& box, std::span<std::byte> values,
                const ReadOptions& options = {}) const;

    /// The same into an array of any strides, which have been checked (check_strides).
    /// @param only  of the chunks that the box touches, ascending: the rest is left alone.
    Status read_strided(std::size_t dataset, const Box& box, const StridedArray& target,
                        const ReadOptions& options,
                        const std::vector<std::uint64_t>* only = nullptr) const;

    struct ChunkOf {
        std::size_t dataset = 0;
        std::uint64_t number = 0;
    };
    /// Hands each of these chunks' values to `take`, dense in the box that it is given, which may
    /// go beyond the dataset's end. Side by side: any thread calls it, in any order.
    Status each_chunk(std::span<const ChunkOf> chunks, const ReadOptions& options,
                      const std::function<void(std::size_t i, const Box& box,
                                               const std::byte* values)>& take) const;
    /// How a dataset is cut into chunks.
    const ChunkLayout& layout(std::size_t dataset) const;
    /// Any thread.
    base::File& file() const;

    /// What is known of the chunks that a box touches, in their order. Frames are read, and not
    /// decoded; `options.threads` is not used.
    Result<std::vector<Block>> blocks(std::size_t dataset, const Box& box,
                                      const ReadOptions& options = {}) const;

    /// Smallest and largest finite value of a box. Decodes, and remembers for each chunk (16 bytes
    /// and the hash table's) what it found in all of it: a chunk is decoded again only if the box
    /// has a part of it and its range does not lie in that of the others.
    /// Errors: also invalid_argument (a compound type, and no member).
    Result<ValueRange> value_range(std::size_t dataset, const Box& box,
                                   const ReadOptions& options = {}) const;

  private:
    struct Impl;
    explicit Source(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace caesura::read
