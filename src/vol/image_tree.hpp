// The tree of a captured file: its image in memory, on every rank, in which blocks are placed and
// which commits take to the file.
//
// Invariants:
//  - Datasets are known by the name that the Writer has for them, until forget_datasets().
//  - What goes through HDF5 goes through an open object of the file, the one named last.
#pragma once

#include <map>

#include "store/live_image.hpp"
#include "vol/block_dataset.hpp"
#include "writer/tree.hpp"

namespace caesura::vol {

class ImageTree final : public writer::Tree {
  public:
    /// @param image  of this rank; outlives the tree.
    ImageTree(store::LiveImage& image, int rank) : image_(image), rank_(rank) {}

    store::LiveImage& image() { return image_; }
    /// From now on calls go through this object of the file; {}: through none.
    void go_through(const NativeObject& object) { through_ = object; }
    const NativeObject& through() const { return through_; }
    /// Are there metadata that no commit has taken, and is a commit to take them?
    void look_for_changes() { changed_ = image_.metadata_memory_bytes() > 0; }
    void pass_over_changes() { changed_ = false; }

    void add(BlockDataset& dataset) { datasets_[dataset.key] = &dataset; }
    /// Before they are destroyed: no dump that is still to be built names one.
    void forget_datasets() { datasets_.clear(); }
    /// Our own handle of it, if there is none yet. Errors: internal (the object is gone).
    Status open(BlockDataset& dataset);

    /// With what `recover` needs to place the blocks: it may have to, once the file is closed.
    void describe(store::DumpManifest& manifest, std::span<const writer::DumpedField> fields,
                  std::span<const writer::SpeciesState> species,
                  const writer::DumpMetadata& said) const override;
    bool records_on_all_ranks() const override { return true; }
    std::uint64_t end() const override { return image_.end(); }
    void regions_end(std::uint64_t end) override { image_.move_end(end); }
    bool changed() const override { return changed_; }
    Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) override;
    Status flushed() override { return image_.committed(); }

  private:
    Status say_bounds(const store::DatasetSpec& spec);
    Status place(const store::DatasetSpec& spec, const store::ChunkRecord& record);
    /// @param sorted  of the dump, by store::record_order().
    Status place_all(std::span<const store::ChunkRecord> sorted, const store::DumpManifest& dump);

    store::LiveImage& image_;
    int rank_;
    NativeObject through_;
    bool changed_ = false;
    std::map<std::string, BlockDataset*> datasets_;  ///< by key
};

}  // namespace caesura::vol
