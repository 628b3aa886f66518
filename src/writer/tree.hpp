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
    /// Has it nothing to which such an attribute could go? Then why, as the end of a sentence.
    virtual std::string cannot_have(AttributeOwner::Kind kind, const std::string& name) const {
        (void)kind, (void)name;
        return {};
    }
    /// Of what a definition says of a field or a record of particles. Errors: invalid_argument.
    Status check_attributes(const std::string& who,
                            std::span<const store::Attribute> attributes) const;
    /// Do fields and species lie in one group, so that they may not have one name?
    virtual bool has_one_space_of_names() const { return false; }
    /// Is what was learned from its blocks, and the memory they took, for files to come?
    virtual bool serves_next_file() const { return true; }
};

/// The tree of a file that nobody but the Writer makes.
class OwnTree : public Tree {
  public:
    /// @param file  outlives the tree. @param has_dumps  of a run before: what is said of the file
    /// takes the place of what that one has said.
    /// @param for_readers  as Committer's.
    OwnTree(store::SharedFile& file, int rank, bool has_dumps, bool for_readers)
        : has_dumps_(has_dumps), commits_(file, rank, for_readers) {}
    bool dump_is_whole() const override { return true; }
    bool shares_iterations() const override { return false; }
    bool serves_next_file() const override { return false; }
    bool records_on_all_ranks() const override { return commits_.records_on_all_ranks(); }
    std::uint64_t end() const override { return commits_.end(); }
    void regions_end(std::uint64_t end) override { commits_.regions_end(end); }
    Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) override {
        return commits_.build(dumps, file_end, trim);
    }
    bool runs_ahead() const override { return commits_.runs_ahead(); }

  protected:
    bool has_dumps_;

  private:
    ledger::CommitterTree commits_;
};

/// One that follows openPMD.
class OpenPmdTree final : public OwnTree {
  public:
    /// @param file_format  of a file for each dump: openPMD's iterationFormat; else empty.
    OpenPmdTree(store::SharedFile& file, int rank, bool has_dumps, bool for_readers,
                std::string file_format)
        : OwnTree(file, rank, has_dumps, for_readers), file_format_(std::move(file_format)) {}
    void describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                  std::span<const SpeciesState> species, const DumpMetadata& said) const override;

  private:
    std::string file_format_;
};

/// What every dataset of ours is told of itself: codec and bound.
std::vector<store::Attribute> told_of(const DumpedField& dumped);
/// In a file that had dumps before: what is said of it takes the place of what it has.
void say_root_again(store::DumpManifest& manifest, const DumpMetadata& said);
/// How much of a field is in the dump, and what the rest reads as.
void say_coverage(store::DatasetSpec& dataset, const FieldState& field);

}  // namespace caesura::writer
