// What a Writer's dumps become part of (ledger/tree.hpp), and what follows from whose tree it is:
// the Writer's own (openPMD) tree is one implementation, an application's HDF5 file another. What
// stands here is right for an application's file.
#pragma once

#include "ledger/tree.hpp"
#include "store/manifest.hpp"
#include "store/shared_file.hpp"
#include "writer/field_state.hpp"
#include "writer/openpmd.hpp"

namespace caesura::writer {

/// A field in a dump: those with a dataset in the order of its number, then records without values.
struct DumpedField {
    const FieldState& field;
    ErrorBound bound;  ///< resolved: absolute or lossless; of a map where it has no rule
    std::span<const FilterSpec> pipeline;
    std::span<const Composition::Range> places = {};  ///< of each rank's values, if says_where()
};

class Tree : public ledger::Tree {
  public:
    /// The manifest of a dump; its numbers are set.
    virtual void describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                          std::span<const SpeciesState> species, const DumpMetadata& said) const;
    /// Is a dump one whole? Then a put that fails, or none at all, is an error of the dump. Else
    /// every put stands for itself.
    virtual bool dump_is_whole() const { return false; }
    /// Are iterations those of other files too? Then another one's hand-over may begin them, and
    /// one is always open.
    virtual bool shares_iterations() const { return true; }
    /// Is what was learned from its blocks, and the memory they took, for files to come?
    virtual bool serves_next_file() const { return true; }
};

/// The tree of a file that nobody but the Writer makes.
class OpenPmdTree final : public Tree {
  public:
    /// @param file  outlives the tree.
    OpenPmdTree(store::SharedFile& file, int rank) : commits_(file, rank) {}
    void describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                  std::span<const SpeciesState> species, const DumpMetadata& said) const override;
    bool dump_is_whole() const override { return true; }
    bool shares_iterations() const override { return false; }
    bool serves_next_file() const override { return false; }
    bool records_on_all_ranks() const override { return commits_.records_on_all_ranks(); }
    std::uint64_t end() const override { return commits_.end(); }
    void regions_end(std::uint64_t end) override { commits_.regions_end(end); }
    Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) override {
        return commits_.build(dumps, file_end, trim);
    }

  private:
    ledger::CommitterTree commits_;
};

}  // namespace caesura::writer
