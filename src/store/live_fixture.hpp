// Test support: ranks of one run as LiveImages in one process, each with its HDF5 file open, all
// making the same calls.
#pragma once

#include <fmt/format.h>

#include "store/committer.hpp"
#include "store/hdf5_handle.hpp"
#include "store/live_image.hpp"
#include "store/store_fixture.hpp"

namespace caesura::store {

/// Throws what a Status says, so that a test stops at it.
void require(const Status& status);

/// One rank: image, HDF5 file, and the file's own descriptor.
struct LiveRank {
    std::unique_ptr<SharedFile> shared;
    std::unique_ptr<LiveImage> image;
    Handle file;
};

struct LiveOptions {
    H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
    std::function<void(hid_t fcpl)> creation;
};

/// Chunks of one deflated dataset in a region of rank 0, and what a reader must see.
struct PlacedDataset {
    std::string path;
    std::vector<float> values;
};

class LiveRun {
  public:
    static constexpr hsize_t k_values = 4000, k_chunk = 1000;

    /// Makes the file and commits nothing; throws std::runtime_error.
    LiveRun(base::FileSystem& file_system, const std::string& path, int n_ranks, const RunId& run,
            const LiveOptions& options = {});
    /// Opens a file that is there.
    static LiveRun reopen(base::FileSystem& file_system, const std::string& path, int n_ranks,
                          const RunId& run, const LiveOptions& options = {});

    std::vector<LiveRank>& ranks() { return ranks_; }
    hid_t file(std::size_t rank = 0) const { return ranks_[rank].file.get(); }
    LiveImage& image(std::size_t rank = 0) { return *ranks_[rank].image; }

    /// The same call on every rank; -1 throws.
    void all(const std::function<hid_t(hid_t file, int rank)>& call);
    /// The same int64 attribute everywhere.
    void attribute(const std::string& object, const std::string& name, std::int64_t value);
    void group(const std::string& path);
    /// An int32 dataset of k_values values, early allocation.
    /// @param chunk  0: contiguous.  @param fill  its fill value; nullopt: the default.
    void integers(const std::string& path, hsize_t chunk, std::optional<int> fill = std::nullopt);
    /// Each rank writes its part of the values: begin, n, base + index.
    void write_integers(const std::string& path, int base);
    /// A deflated float dataset; its chunks lie in a region written now, and are placed everywhere.
    /// With the same path: its chunks are replaced.
    PlacedDataset placed(const std::string& path, int seed);
    /// What comes next lies so far behind, as blocks that had no room do.
    void leave_hole(std::uint64_t bytes) { regions_end_ = align_up(regions_end_ + bytes); }
    /// The same as a dump of its own whose blocks lie in the file and are in no image.
    /// @param blocks  of the four, so many are written.
    PlacedDataset unplaced(const std::string& path, int seed, hsize_t blocks = k_values / k_chunk);
    /// Raw data and H5Fflush of all ranks; then rank 0 writes down what it has of the tree. Dumps
    /// since `first_dump` are not committed.
    void close_before_commit(std::uint64_t first_dump);
    /// Room for a region beyond the image, and the image's end moved beyond it.
    std::uint64_t reserve(std::uint64_t bytes);

    /// Raw data of all ranks to the file, H5Fflush, commit on all, rank 0's image flushed.
    Status commit(bool trim = false);
    Status flush_raw();
    Result<CommitImage> build(bool trim = false);
    std::uint64_t next_dump() const { return next_dump_; }

  private:
    LiveRun() = default;
    /// Deflated, by rank 0, with the manifest of an application's dump.
    std::vector<ChunkRecord> write_region(const PlacedDataset& data,
                                          hsize_t blocks = k_values / k_chunk,
                                          std::uint64_t header = 0);
    void make_deflated(const std::string& path);
    void open(base::FileSystem& file_system, const std::string& path, int n_ranks, const RunId& run,
              const LiveOptions& options, bool create);
    std::vector<LiveRank> ranks_;
    std::uint64_t next_dump_ = 0, regions_end_ = 0;
    std::uint32_t n_regions_ = 0;
};

/// Values of an int32 dataset through stock HDF5; throws.
std::vector<int> stock_integers(const std::string& path, const std::string& dataset);
std::vector<int> integers_of(hid_t file, const std::string& dataset);
std::int64_t stock_attribute(const std::string& path, const std::string& object,
                             const std::string& name);

}  // namespace caesura::store
