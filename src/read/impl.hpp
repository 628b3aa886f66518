// What a Source holds. Nothing of it changes after open() but what value_range() remembers.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/file.hpp"
#include "read/chunk_reader.hpp"
#include "read/source.hpp"

namespace caesura::read {

/// Ranges of whole chunks: by their number, and member.
class KnownRanges {
  public:
    std::optional<ValueRange> find(std::uint64_t chunk, const ReadOptions& options) const;
    void keep(std::uint64_t chunk, const ReadOptions& options, const ValueRange& range);

  private:
    using ByMember = std::unordered_map<std::size_t, ValueRange>;
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, ByMember> ranges_;
};

struct Source::Impl {
    std::unique_ptr<base::File> file;
    store::FileInfo info;
    std::vector<store::DatasetInfo> datasets;
    std::vector<ChunkReader> readers;  // one for each
    std::vector<KnownRanges> ranges;   // likewise
    std::unordered_map<std::string, std::size_t> by_path;

    /// Datasets of `info` to `datasets`, with what reads them. Calls HDF5.
    void take_datasets();
    /// Errors: invalid_argument (no such dataset or member; a box that is not inside), corrupt.
    Status check(std::size_t dataset, const Box& box, const ReadOptions& options) const;
};

}  // namespace caesura::read
