#include "vol/image_tree.hpp"

#include <algorithm>
#include <cstring>

#include "store/commit_parts.hpp"
#include "store/committer.hpp"
#include "vol/bound_attributes.hpp"

namespace caesura::vol {
Shape with_axis(const Shape& shape, std::uint64_t extent) {
    std::vector<std::uint64_t> extents(shape.data(), shape.data() + shape.rank());
    extents.push_back(extent);
    return Shape(extents);
}

Status ImageTree::open(BlockDataset& dataset) {
    if (dataset.native.ok()) return {};
    auto opened = NativeDataset::open(through_, dataset.token);
    if (!opened.ok()) return opened.status().with_context(dataset.path);
    dataset.native = std::move(*opened);
    return {};
}

void ImageTree::describe(store::DumpManifest& manifest, std::span<const writer::DumpedField> fields,
                         std::span<const writer::SpeciesState> species,
                         const writer::DumpMetadata& said) const {
    Tree::describe(manifest, fields, species, said);
    for (const writer::DumpedField& dumped : fields) {
        const BlockDataset& dataset = *datasets_.at(dumped.field.name);
        store::PlacedIn place;
        // Natively a token is the header's address, little-endian.
        std::memcpy(&place.header, &dataset.token, sizeof place.header);
        place.blocks = dumped.field.layout->n_touched;
        place.rank = dataset.rank;
        place.axes = dataset.axes;
        manifest.placed_in.push_back(std::move(place));
    }
}

Status ImageTree::place(const store::DatasetSpec& spec, const store::ChunkRecord& record) {
    BlockDataset& dataset = *datasets_.at(spec.path);
    if (Status status = open(dataset); !status.ok()) return status;
    const auto native = native_offset(dataset, store::chunk_begin(spec, record.chunk));
    const Status placed =
        image_.place(record.address, record.bytes, [&](const void* buffer, std::size_t bytes) {
            return dataset.native.write_chunk(native.data(), record.filter_mask, buffer, bytes);
        });
    dataset.change();
    dataset.has_masks |= record.filter_mask != 0;
    return Status(placed).with_context(dataset.path);
}

Status ImageTree::place_all(std::span<const store::ChunkRecord> sorted,
                            const store::DumpManifest& dump) {
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const store::ChunkRecord& record = sorted[i];
        const store::DatasetSpec& spec = dump.datasets[record.dataset];
        if (Status s = place(spec, record); !s.ok()) return s;
        if (i + 1 < sorted.size() && sorted[i + 1].dataset == record.dataset) continue;
        const BlockDataset& dataset = *datasets_.at(spec.path);
        const auto last = native_offset(dataset, store::chunk_begin(spec, record.chunk));
        if (dataset.has_masks) forget_last_mask(dataset.native.under(), last.data());
    }
    return {};
}

Status ImageTree::say_bounds(const store::DatasetSpec& spec) {
    BlockDataset& dataset = *datasets_.at(spec.path);
    if (dataset.bounds == spec.attributes || !can_set_attributes()) return {};
    if (Status status = open(dataset); !status.ok()) return status;
    // An attribute more may move all of them into a heap.
    const store::LiveImage::Describing describing(image_);
    if (Status status = set_attributes(dataset.native, spec.attributes); !status.ok())
        return status.with_context(dataset.path);
    dataset.bounds = spec.attributes;
    return {};
}

ledger::Tree::Built ImageTree::build(const Dumps& dumps, std::uint64_t file_end, bool trim) {
    std::vector<store::ChunkRecord> sorted(dumps.records.begin(), dumps.records.end());
    std::sort(sorted.begin(), sorted.end(), store::record_order);
    std::vector<std::uint64_t> numbers;
    const auto by_dump = [](const auto& a, const auto& b) { return a.dump < b.dump; };
    for (const store::DumpManifest& dump : dumps.manifests) {
        numbers.push_back(dump.dump);
        for (const store::DatasetSpec& dataset : dump.datasets)
            if (Status s = say_bounds(dataset); !s.ok()) return s;
        store::ChunkRecord any;
        any.dump = dump.dump;
        const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), any, by_dump);
        if (Status s = place_all({first, last}, dump); !s.ok()) return s;
    }
    if (flush_native(through_) < 0)
        return store::hdf5_error(StatusCode::internal, "flushing the image of the file");
    auto image = image_.commit(numbers, file_end, trim);
    if (!image.ok()) return image.status();
    changed_ = false;
    if (rank_ != 0) return std::optional<store::CommitImage>();
    return std::optional<store::CommitImage>(std::move(*image));
}

}  // namespace caesura::vol
