// BlockIo: reads of what became blocks, and what a call's dataspaces select.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "vol/block_io.hpp"
#include "vol/memory_values.hpp"
#include "vol/transformed.hpp"
#include "writer/chunk_grid.hpp"

namespace caesura::vol {
namespace {

using Extents = std::array<hsize_t, H5S_MAX_RANK>;

/// What a selection has of one axis in whole chunks.
struct WholeChunks {
    std::uint64_t chunks, inside;  ///< and values inside the dataset
};

WholeChunks whole_chunks(std::uint64_t offset, std::uint64_t extent, std::uint64_t chunk,
                         std::uint64_t dim) {
    const std::uint64_t first = offset / chunk, end = (offset + extent - 1) / chunk + 1;
    return {end - first, std::min(end * chunk, dim) - first * chunk};
}

}  // namespace

Status no_memory(const BlockDataset& dataset) {
    return {StatusCode::invalid_argument,
            dataset.path + ": values are selected, and the address in memory is null"};
}

// Copy what a piece has of a selection. @return  does it have all of it?
bool BlockIo::take_from(const Dataset& dataset, const PutBox& piece, const Selected& selected,
                        std::byte* values) {
    ValueBytes bytes = ValueBytes::whole(dataset.element.bytes());
    if (dataset.element.has_axis()) {
        const int last = piece.box.extent.rank() - 1;
        bytes.begin = piece.box.offset[last] * dataset.value_bytes();
        bytes.count = piece.box.extent[last] * dataset.value_bytes();
    }
    return selected.picked.take_from(dataset.elements(piece.box), piece.values, values, bytes) ==
               selected.count &&
           bytes.count == bytes.all;
}

// Which of the selected elements' numbers of one member are in the file for certain, or ours?
bool BlockIo::knows_member(const Dataset& dataset, const Selected& selected,
                           std::span<const std::uint32_t> near, std::size_t member) {
    std::vector<char> known(selected.count, 0);
    const Shape settled = dataset.elements(dataset.settled);
    if (!dataset.others_may_have_written && settled.count() > 0)
        selected.picked.mark({Shape::filled(settled.rank(), 0), settled}, known);
    for (const std::uint32_t number : near) {
        const Box& box = dataset.pieces[number].box;
        const int last = box.extent.rank() - 1;
        if (!dataset.element.has_axis() ||
            (box.offset[last] <= member && member < box.offset[last] + box.extent[last]))
            selected.picked.mark(dataset.elements(box), known);
    }
    return std::memchr(known.data(), 0, known.size()) == nullptr;
}

// What this rank has not written itself it reads from the file, where others' values may be missing
// still.
Status BlockIo::check_settled(const Dataset& dataset, const Selected& selected,
                              std::span<const std::uint32_t> near) const {
    const bool all = !dataset.others_may_have_written && dataset.settled == dataset.dims;
    if (all || selected.together || place_.communicator->size() == 1) return {};
    bool known = true;
    for (std::size_t i = 0; known && i < dataset.element.numbers(); ++i)
        known = knows_member(dataset, selected, near, i);
    if (known) return {};
    return {StatusCode::unsupported,
            fmt::format("{}: a rank reads by itself what others may have written since the last "
                        "H5Fflush; read it collectively, or let all ranks call H5Fflush before, or "
                        "write it collectively with commit_writes = true for the dataset in "
                        "Caesura's configuration",
                        dataset.path)};
}

std::vector<std::uint32_t> BlockIo::pieces_near(Dataset& dataset, const Selected& selected) {
    Box around = selected.picked.around();
    if (dataset.element.has_axis())
        around = {with_axis(around.offset, 0), with_axis(around.extent, dataset.element.numbers())};
    return dataset.index.near(around, dataset.pieces.size(),
                              [&](std::size_t i) -> const Box& { return dataset.pieces[i].box; });
}

Status BlockIo::read(Dataset& dataset, const NativeObject& through, const Selected& selected,
                     void* memory, hid_t memory_type, hid_t transfer) {
    if (selected.count == 0) return {};
    if (memory == nullptr) return no_memory(dataset);
    place_.tree.go_through(through);
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    const auto near = pieces_near(dataset, selected);
    // HDF5 transforms some of what it reads and not all (read_blocks()).
    const bool by_chunks = (selected.transforms_all || !has_transform(transfer)) &&
                           is_part_of_chunks(dataset, selected);
    if (near.empty() && !selected.transforms_all && !by_chunks) {  // all of it lies in the file
        if (Status status = check_settled(dataset, selected, near); !status.ok()) return status;
        if (dataset.native.read(memory_type, selected.memory_space, selected.file_space, transfer,
                                memory) < 0)
            return store::hdf5_error(StatusCode::io, dataset.path);
        return {};
    }
    const MemoryValues target{memory_type, selected.memory_space, selected.memory, transfer};
    base::Buffer own;
    const std::size_t bytes = selected.count * dataset.element.bytes();
    std::byte* values = dense_in_memory(memory, target, dataset.type.get());
    const bool in_place = values != nullptr;
    if (!in_place) {
        auto taken = pool_.take(bytes);
        if (!taken.ok()) return taken.status().with_context(dataset.path);
        own = std::move(*taken);
        values = own.data();
    }
    // The newest piece that has all of it saves the look into the file.
    std::size_t first = near.size();
    bool covered = false;
    while (first > 0 && !covered)
        covered = take_from(dataset, dataset.pieces[near[--first]], selected, values);
    if (!covered) {
        if (Status status = check_settled(dataset, selected, near); !status.ok()) return status;
        if (Status status = read_file(dataset, selected, by_chunks, values); !status.ok())
            return status;
        first = 0;
    }
    for (; first < near.size(); ++first)
        take_from(dataset, dataset.pieces[near[first]], selected, values);
    if (in_place) return {};
    return scatter(pool_, {values, bytes}, dataset.type.get(), memory, target)
        .with_context(dataset.path);
}

// Does it leave out values of chunks that it touches, so that they are worth keeping? Not of more
// than are kept.
bool BlockIo::is_part_of_chunks(const Dataset& dataset, const Selected& selected) {
    const Shape dims = dataset.elements(dataset.dims), chunk = dataset.elements(dataset.chunk);
    const Box& around = selected.picked.around();
    std::uint64_t chunks = 1, inside = 1;
    for (int axis = 0; axis < dims.rank(); ++axis) {
        const WholeChunks whole =
            whole_chunks(around.offset[axis], around.extent[axis], chunk[axis], dims[axis]);
        chunks *= whole.chunks;
        inside *= whole.inside;
    }
    return inside > selected.count &&
           chunks * chunk.count() * dataset.element.bytes() <= DecodedChunks::k_most_bytes;
}

// From chunks as they were read last, which are read whole where they are not there.
// @param values  dense, in the order of transfer.
Status BlockIo::read_chunks(Dataset& dataset, const Selected& selected, std::byte* values) {
    const writer::ChunkGrid grid(dataset.elements(dataset.dims), dataset.elements(dataset.chunk));
    Status status;
    grid.for_chunks(selected.picked.around(), [&](std::uint64_t number, const Box& box) {
        const Box part{box.offset, grid.inside(box)};
        if (!status.ok() || !selected.picked.touches(part)) return;
        const std::byte* chunk = decoded_.find(dataset.version, number);
        if (chunk == nullptr) {
            auto taken = pool_.take(part.extent.count() * dataset.element.bytes());
            status = taken.ok() ? read_part(dataset, part, taken->bytes()) : taken.status();
            if (!status.ok()) return;
            chunk = decoded_.keep(dataset.version, number, std::move(*taken));
        }
        selected.picked.take_from(part, chunk, values, ValueBytes::whole(dataset.element.bytes()));
    });
    return status;
}

// @param values  dense, in the order of transfer, of the type in the file.
Status BlockIo::read_file(Dataset& dataset, const Selected& selected, bool by_chunks,
                          std::byte* values) {
    if (by_chunks) return read_chunks(dataset, selected, values);
    const hsize_t n = selected.count;
    const store::Handle dense(H5Screate_simple(1, &n, nullptr), H5Sclose);
    // The library keeps the list it is given until the application's call ends.
    if (dataset.native.read(dataset.type.get(), dense.get(), selected.file_space,
                            H5P_DATASET_XFER_DEFAULT, values) < 0)
        return store::hdf5_error(StatusCode::io, dataset.path);
    return {};
}

// A part of one chunk, from the tree. @return  false: it has no such chunk.
Result<bool> BlockIo::read_stored(Dataset& dataset, const Box& part, std::span<std::byte> values) {
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    const auto offset = native_offset(dataset, part.offset);
    auto there = dataset.native.has_chunk(offset.data());
    if (!there.ok() || !*there) return there;
    Status status = read_part(dataset, dataset.elements(part), values);
    if (!status.ok()) return status.with_context("what a block held before");
    return true;
}

// @param part  of one chunk, in elements. Where nothing was written, it has the fill value.
Status BlockIo::read_part(Dataset& dataset, const Box& part, std::span<std::byte> values) {
    const auto offset = native_offset(dataset, part.offset);
    const auto extent = native_extent(dataset, part.extent);
    auto dims = native_extent(dataset, dataset.dims);
    const store::Handle in_file(H5Screate_simple(dataset.rank, dims.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, offset.data(), nullptr, extent.data(),
                        nullptr);
    const hsize_t n = part.extent.count();
    const store::Handle dense(H5Screate_simple(1, &n, nullptr), H5Sclose);
    if (dataset.native.read(dataset.type.get(), dense.get(), in_file.get(),
                            H5P_DATASET_XFER_DEFAULT, values.data()) < 0)
        return store::hdf5_error(StatusCode::io, "reading a block of " + dataset.path);
    return {};
}

// ------------------------------------------------------------------------------- selections

namespace {

Status misfit(const BlockIo::Dataset& dataset, std::string_view why) {
    return {StatusCode::invalid_argument, fmt::format("{}: {}", dataset.path, why)};
}

/// The file's dataspace. As the library does, one is taken whose extents are those of another time,
/// as long as what is selected lies inside the dataset.
Result<Selection> select_in_file(const BlockIo::Dataset& dataset, hid_t space,
                                 std::span<const hsize_t> dims) {
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank != dataset.rank)
        return misfit(dataset, fmt::format("the file's dataspace has {} axes, and the dataset {}",
                                           rank, dataset.rank));
    if (H5Sselect_valid(space) <= 0)
        return misfit(dataset, "the selection in the file leaves its dataspace");
    auto selection = selection_of(space);
    if (!selection.ok() || selection->count == 0) return selection;
    if (std::equal(dims.begin(), dims.end(), selection->dims.begin())) return selection;
    Extents low{}, high{};
    if (H5Sget_select_bounds(space, low.data(), high.data()) < 0)
        return store::hdf5_error(StatusCode::internal, dataset.path);
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
        if (high[axis] >= dims[axis])
            return misfit(dataset,
                          fmt::format("{} is selected along axis {}, and the dataset has {} there",
                                      high[axis], axis, dims[axis]));
    return selection;
}

}  // namespace

Result<Selected> select(const BlockIo::Dataset& dataset, hid_t memory_space, hid_t file_space) {
    using store::Handle;
    if (memory_space == H5S_PLIST || file_space == H5S_PLIST || file_space == H5S_BLOCK)
        return Status{StatusCode::unsupported,
                      dataset.path +
                          ": H5S_PLIST, and H5S_BLOCK in the file, are not taken for "
                          "data that become blocks; give a dataspace"};
    Selected selected;
    const Extents all_dims = native_extent(dataset, dataset.dims);
    const std::span dims = std::span(all_dims).first(static_cast<std::size_t>(dataset.rank));
    selected.file_space = file_space;
    if (file_space == H5S_ALL) {
        selected.own_file = Handle(H5Screate_simple(dataset.rank, dims.data(), nullptr), H5Sclose);
        selected.file_space = selected.own_file.get();
    }
    auto in_file = select_in_file(dataset, selected.file_space, dims);
    if (!in_file.ok()) return in_file.status();
    selected.count = in_file->count;
    selected.memory_space = memory_space;
    if (memory_space == H5S_ALL) {
        selected.memory_space = selected.file_space;
        selected.memory = *in_file;
    } else {
        if (memory_space == H5S_BLOCK) {
            const hsize_t n = selected.count;
            selected.own_memory =
                Handle(n > 0 ? H5Screate_simple(1, &n, nullptr) : H5Screate(H5S_NULL), H5Sclose);
            selected.memory_space = selected.own_memory.get();
        }
        if (H5Sselect_valid(selected.memory_space) <= 0)
            return misfit(dataset, "the selection in memory leaves its dataspace");
        auto in_memory = selection_of(selected.memory_space);
        if (!in_memory.ok()) return in_memory.status();
        selected.memory = std::move(*in_memory);
    }
    if (selected.memory.count != selected.count)
        return misfit(dataset, fmt::format("{} values are selected in the file, and {} in memory",
                                           selected.count, selected.memory.count));
    selected.picked =
        Picked(*in_file, {reinterpret_cast<const std::uint64_t*>(dims.data()), dims.size()},
               dataset.elements(dataset.dims), dataset.axes);
    return selected;
}

}  // namespace caesura::vol
