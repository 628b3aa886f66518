#include "store/recover_closed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "store/commit_parts.hpp"
#include "store/hdf5_handle.hpp"
#include "store/hdf5_write.hpp"
#include "store/live_image.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {
namespace {

using Offset = std::array<hsize_t, H5S_MAX_RANK>;

/// Where a chunk begins along the dataset's own axes. An axis that blocks have may be several of
/// them: from the one that the manifest names to before the next.
Offset offset_of(const DatasetSpec& spec, const PlacedIn& place, std::uint64_t chunk,
                 const Offset& dims) {
    const Shape begin = chunk_begin(spec, chunk);
    Offset out{};
    for (std::size_t i = 0; i < place.axes.size(); ++i) {
        const auto first = static_cast<std::size_t>(place.axes[i]);
        auto axis =
            static_cast<std::size_t>(i + 1 < place.axes.size() ? place.axes[i + 1] : place.rank);
        hsize_t rest = begin[static_cast<int>(i)];
        while (--axis > first) {
            out[axis] = rest % std::max<hsize_t>(1, dims[axis]);
            rest /= std::max<hsize_t>(1, dims[axis]);
        }
        out[first] = rest;
    }
    return out;
}

/// An axis of its own for each that blocks see; the last one may be the members of a compound type,
/// all of which lie in each block.
bool axes_fit(const DatasetSpec& spec, const PlacedIn& place) {
    const int last = spec.shape.rank() - 1;
    const auto axes = static_cast<int>(place.axes.size());
    return axes == last + 1 || (axes > 0 && axes == last && spec.chunk[last] == spec.shape[last]);
}

/// As the manifest says: a dataset of so many axes.
Result<Handle> open_dataset(hid_t file, const DatasetSpec& spec, const PlacedIn& place,
                            Offset& dims) {
    const bool fits = axes_fit(spec, place);
    Handle dataset(
        place.header == 0 || !fits ? H5I_INVALID_HID : H5Oopen_by_addr(file, place.header),
        H5Oclose);
    if (!dataset.ok()) return hdf5_error(StatusCode::internal, "opening " + spec.path);
    const Handle space(
        H5Iget_type(dataset.get()) == H5I_DATASET ? H5Dget_space(dataset.get()) : H5I_INVALID_HID,
        H5Sclose);
    if (!space.ok() || H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) != place.rank)
        return Status{StatusCode::internal, spec.path + " is another object"};
    return dataset;
}

Status place_dump(LiveImage& image, hid_t file, const ClosedDump& dump) {
    std::vector<ChunkRecord> sorted(dump.blocks.begin(), dump.blocks.end());
    std::sort(sorted.begin(), sorted.end(), record_order);
    Handle dataset;
    Offset dims{};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const ChunkRecord& record = sorted[i];
        const DatasetSpec& spec = dump.manifest.datasets[record.dataset];
        const PlacedIn& place = dump.manifest.placed_in[record.dataset];
        if (i == 0 || sorted[i - 1].dataset != record.dataset) {
            auto opened = open_dataset(file, spec, place, dims);
            if (!opened.ok()) return opened.status();
            dataset = std::move(*opened);
            const LiveImage::Describing describing(image);
            if (Status s = set_attributes(dataset.get(), spec.path, spec.attributes); !s.ok())
                return s;
        }
        const Offset offset = offset_of(spec, place, record.chunk, dims);
        const Status placed =
            image.place(record.address, record.bytes, [&](const void* buffer, std::size_t bytes) {
                return H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, record.filter_mask, offset.data(),
                                      bytes, buffer);
            });
        if (!placed.ok()) return Status(placed).with_context(spec.path);
    }
    return {};
}

Result<CommitImage> build_at(SharedFile& shared, const ClosedTree& tree,
                             std::span<const ClosedDump> dumps, std::uint64_t regions_end,
                             std::uint64_t floor) {
    const QuietErrors quiet;
    auto image = LiveImage::make(shared);
    if (!image.ok()) return image.status();
    if (Status s = (*image)->restore(tree, floor); !s.ok()) return s;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (!access.ok()) return hdf5_error(StatusCode::internal, "access list");
    if (Status s = (*image)->set_driver(access.get()); !s.ok()) return s;
    const Handle file(H5Fopen("caesura", H5F_ACC_RDWR, access.get()), H5Fclose);
    if (!file.ok()) return hdf5_error(StatusCode::internal, "opening the closed tree");
    (*image)->move_end(align_up(floor));
    std::vector<std::uint64_t> numbers;
    for (const ClosedDump& dump : dumps) {
        numbers.push_back(dump.manifest.dump);
        if (Status s = place_dump(**image, file.get(), dump); !s.ok()) return s;
    }
    if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0)
        return hdf5_error(StatusCode::internal, "flushing the closed tree");
    return (*image)->commit(numbers, regions_end, true);
}

}  // namespace

Result<CommitImage> build_closed(SharedFile& shared, const ClosedTree& tree,
                                 std::span<const ClosedDump> dumps, std::uint64_t regions_end) {
    auto image = build_at(shared, tree, dumps, regions_end, regions_end);
    // The pages must outlive the commit: recovery may be killed too.
    if (!image.ok() || image->file_end() <= tree.address) return image;
    const auto bytes = shared.file().size();
    if (!bytes.ok()) return bytes.status();
    return build_at(shared, tree, dumps, regions_end, *bytes);
}

}  // namespace caesura::store
