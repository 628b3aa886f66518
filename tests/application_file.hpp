// Test support: an application's HDF5 file as the VOL connector would keep it, without the
// connector: one object a rank, an image in memory, and the tree that an OpenWriter commits to.
//
// Ranks are threads here, and this HDF5 may not be thread-safe: all HDF5 calls hold one lock.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "store/commit_parts.hpp"
#include "store/hdf5_handle.hpp"
#include "store/live_image.hpp"
#include "store/shared_file.hpp"
#include "writer/open_writer.hpp"

namespace caesura::testing {

/// Held around every HDF5 call.
std::mutex& hdf5_lock();

/// Throws what a Status says.
void require(const Status& status);

/// Run `body` as so many ranks; it gets a communicator for making files, and one for a Writer. What
/// it throws is a failure of the test.
void run_application(int size,
                     const std::function<void(std::unique_ptr<Communicator> of_file,
                                              std::unique_ptr<Communicator> of_writer)>& body);

class ApplicationFile final : public writer::Tree {
  public:
    /// Collective: rank 0 creates the file (or all open one that is there), the others open it.
    /// Throws std::runtime_error.
    ApplicationFile(base::FileSystem& files, const std::string& path, Communicator& comm,
                    bool create);
    ~ApplicationFile() override;

    /// For one OpenWriter after the other. @param comm  the Writer's; @param tree  null: this one.
    writer::TargetFile target(Communicator& comm, writer::Tree* tree = nullptr);
    std::uint64_t next_dump() const { return image_->next_dump(); }
    /// What an application does on all ranks, in the same order. Throws.
    void create_dataset(const writer::DatasetDefinition& dataset, const Shape& most_dims,
                        std::span<const FilterSpec> pipeline);
    void resize(const std::string& dataset, const Shape& dims);
    void attribute(const std::string& name, double value);
    /// Values of a part, and whether its chunk has any: what a Background gives.
    Result<bool> read(const std::string& dataset, const Box& part, std::span<std::byte> values);
    void close();

    bool records_on_all_ranks() const override { return true; }
    std::uint64_t end() const override { return image_->end(); }
    void regions_end(std::uint64_t end) override { image_->move_end(end); }
    bool changed() const override { return changed_; }
    Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) override;
    Status flushed() override { return image_->committed(); }
    int builds() const { return builds_; }  ///< calls of build()

  private:
    Status place(const store::DatasetSpec& dataset, const store::ChunkRecord& record);
    hid_t open(const std::string& dataset);

    int rank_;
    std::unique_ptr<store::SharedFile> shared_;
    std::unique_ptr<store::LiveImage> image_;
    std::unique_ptr<ledger::Ledger> ledger_;
    store::Handle file_;
    std::map<std::string, store::Handle> datasets_;
    bool changed_ = true;
    int builds_ = 0;
};

}  // namespace caesura::testing
