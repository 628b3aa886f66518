// The tree of a file whose paths a user has chosen (WriterOptions::layout), for readers that were
// there before. It has plain groups and datasets, and no attributes of openPMD but those that
// somebody set; times, codecs and bounds are named as in other files.
//
// What openPMD keeps in groups of its own lies here with each dataset: what is said of a record
// with each component, and, where a dump has no group for itself, its time.
#pragma once

#include "store/path_template.hpp"
#include "writer/tree.hpp"

namespace caesura::writer {

class PlainTree final : public OwnTree {
  public:
    PlainTree(store::SharedFile& file, int rank, bool has_dumps, bool for_readers,
              store::PathTemplate layout)
        : OwnTree(file, rank, has_dumps, for_readers), layout_(std::move(layout)) {}
    void describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                  std::span<const SpeciesState> species, const DumpMetadata& said) const override;
    std::string cannot_have(AttributeOwner::Kind kind, const std::string& name) const override;
    bool has_one_space_of_names() const override { return true; }

  private:
    store::PathTemplate layout_;
};

}  // namespace caesura::writer
