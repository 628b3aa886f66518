#include "writer/tree.hpp"

namespace caesura::writer {
namespace {

class OwnTree final : public Tree {
  public:
    OwnTree(store::SharedFile& file, int rank) {
        if (rank == 0) committer_.emplace(file);
    }
    bool records_on_all_ranks() const override { return false; }
    // The Writer keeps account of what a commit adds to the file: CommitImage::file_end().
    std::uint64_t end() const override { return 0; }
    void regions_end(std::uint64_t) override {}
    Result<std::optional<store::CommitImage>> build(std::span<const store::DumpManifest> dumps,
                                                    std::span<const store::ChunkRecord> records,
                                                    std::uint64_t file_end, bool trim) override {
        auto image = committer_->build(dumps, records, file_end, trim);
        if (!image.ok()) return image.status();
        return std::optional<store::CommitImage>(std::move(*image));
    }

  private:
    std::optional<store::Committer> committer_;  // rank 0
};

}  // namespace

std::unique_ptr<Tree> make_own_tree(store::SharedFile& file, int rank) {
    return std::make_unique<OwnTree>(file, rank);
}

}  // namespace caesura::writer
