// Test support: small dumps, written the way the writer does it, and read with stock HDF5.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "store/committer.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {

/// A dump of two datasets, one raw and one deflated, 2-D, whose values follow from dump and index.
struct SmallDump {
    static constexpr std::uint64_t k_rows = 12, k_columns = 50, k_chunk_rows = 4;
    explicit SmallDump(std::uint64_t dump);

    /// Chunks of rank `rank` out of `ranks`, as stored bytes (they live in this object).
    std::vector<BlockView> blocks(int rank, int ranks) const;

    DumpManifest manifest;
    /// What a reader must see, per dataset.
    std::vector<std::vector<float>> values;

  private:
    std::vector<std::vector<std::vector<std::byte>>> stored_;  // [dataset][chunk]
};

/// zlib, as the deflate filter of HDF5 expects it.
std::vector<std::byte> deflate(std::span<const std::byte> raw);

/// All values of a dataset through stock HDF5 and its default driver; throws std::runtime_error
/// with a reason if the file or dataset does not open.
std::vector<float> stock_read(const std::string& path, const std::string& dataset);
/// Open once with stock HDF5 and compare every value of these dumps. Returns what is wrong, empty
/// when nothing is.
std::string stock_difference(const std::string& path, std::span<const SmallDump* const> dumps);
/// True if stock HDF5 opens the file read-only.
bool stock_opens(const std::string& path);

/// A name in the test's temporary directory, removed at the end.
class TemporaryPath {
  public:
    explicit TemporaryPath(const std::string& name);
    ~TemporaryPath();
    TemporaryPath(const TemporaryPath&) = delete;
    TemporaryPath& operator=(const TemporaryPath&) = delete;
    const std::string& str() const { return path_; }

  private:
    std::string path_;
};

/// Writes dumps as a run of `ranks` ranks would, one after the other in one thread.
class SmallRun {
  public:
    SmallRun(base::FileSystem& file_system, const std::string& path, int ranks, RunId run,
             bool for_readers = false);

    /// Take room for the dump's regions, beyond everything else.
    void reserve(const SmallDump& dump);
    /// Regions of the dump, synced; reserved now if they are not. The records stay here until
    /// commit().
    Status write_regions(const SmallDump& dump);
    /// build and flush of everything written so far. After an error it may be called again.
    Status commit(bool trim = false);
    Status dump_and_commit(const SmallDump& dump);
    std::uint64_t end() const { return end_; }
    SharedFile& file() { return *files_.front(); }
    Committer& committer() { return *committer_; }
    const Status& opened() const { return opened_; }

  private:
    int ranks_;
    Status opened_;
    std::vector<std::unique_ptr<SharedFile>> files_;  // one per rank
    std::unique_ptr<Committer> committer_;
    std::optional<CommitImage> pending_;  // built, but its flush failed
    std::vector<DumpManifest> manifests_;
    std::vector<ChunkRecord> records_;
    std::vector<std::uint64_t> previous_;
    std::map<std::uint64_t, std::vector<RegionWriter::Place>> reserved_;  // by dump, per rank
    std::uint64_t end_ = 0;
};

}  // namespace caesura::store
