// H5Dset_extent of data that are blocks.
//
// Where smaller dims cut through a chunk, the library reads it, sets what is cut off to the fill
// value, and stores it again through our filter: with a bound, what the chunk keeps would be moved
// a second time. So it is read before, and put again as it was.
//
// If an extent becomes 0, HDF5 1.14.5 drops the only chunk of a dataset in memory, and does not
// write that down: the values would be there again once the file was opened and the dataset had
// grown. So they become fill values before.
#include <fmt/format.h>

#include <cstring>

#include "vol/agree.hpp"
#include "vol/block_calls.hpp"
#include "vol/chunk_offsets.hpp"
#include "vol/found_datasets.hpp"
#include "writer/chunk_grid.hpp"

namespace caesura::vol {
namespace {

/// The dims of the array that blocks see. Errors: as before_resizing().
Result<Shape> new_dims(const BlockIo::Dataset& dataset, const hsize_t* size) {
    if (dataset.creation.ok() && H5Pget_layout(dataset.creation.get()) != H5D_CHUNKED)
        return Status{StatusCode::invalid_argument, dataset.path + ": its layout is contiguous"};
    Shape dims = dataset.dims;  // numbers of an element stay
    const Shape joined = joined_extents(dataset, {size, static_cast<std::size_t>(dataset.rank)});
    for (int axis = 0; axis < joined.rank(); ++axis) dims[axis] = joined[axis];
    for (std::size_t i = 0; i < dataset.extents.size(); ++i) {
        const bool joins = std::find(dataset.axes.begin(), dataset.axes.end(),
                                     static_cast<int>(i)) == dataset.axes.end();
        if (joins && size[i] != dataset.extents[i])
            return Status{
                StatusCode::unsupported,
                fmt::format("{}: axis {}, which cannot grow, cannot shrink either: blocks "
                            "have it joined with another",
                            dataset.path, i)};
    }
    const writer::Composition* const parts = dataset.composition.get();
    const int counting = parts == nullptr ? -1 : parts->axis();
    if (parts != nullptr && !parts->is_interleaved() &&
        (counting < 0 || dims[counting] != dataset.dims[counting]))
        return Status{
            StatusCode::unsupported,
            fmt::format(
                "{}: its extent {} is fixed: {}", dataset.path, to_string(dataset.dims),
                counting < 0 ? "it is a sequence of boxes" : "an axis counts its components")};
    return dims;
}

/// What stays of the chunks that smaller dims cut. The same on all ranks.
std::vector<Box> cut_chunks(const BlockIo::Dataset& dataset, const Shape& dims) {
    std::vector<Box> cut;
    const writer::ChunkGrid grid(dataset.dims, dataset.chunk);
    const Box whole{Shape::filled(dims.rank(), 0), dataset.dims};
    grid.for_chunks(whole, [&](std::uint64_t, const Box& box) {
        const Shape before = grid.inside(box);
        Box kept{box.offset, before};
        for (int axis = 0; axis < dims.rank(); ++axis)
            kept.extent[axis] = dims[axis] <= box.offset[axis]
                                    ? 0
                                    : std::min(before[axis], dims[axis] - box.offset[axis]);
        if (kept.extent != before && kept.extent.count() > 0) cut.push_back(kept);
    });
    return cut;
}

/// As of the file's datatype, for all of the values. Zeros if it is undefined (set_pipeline).
Status put_fill(hid_t creation, hid_t type, std::span<std::byte> values) {
    std::vector<std::byte> value(H5Tget_size(type));
    H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
    if (H5Pfill_value_defined(creation, &defined) < 0 ||
        (defined != H5D_FILL_VALUE_UNDEFINED &&
         H5Pget_fill_value(creation, type, value.data()) < 0))
        return store::hdf5_error(StatusCode::internal, "a fill value");
    for (std::size_t at = 0; at < values.size(); at += value.size())
        std::memcpy(&values[at], value.data(), value.size());
    return {};
}

}  // namespace

Result<std::vector<BlockIo::KeptPart>> BlockIo::read_cut_chunks(Dataset& dataset,
                                                                const NativeObject& through,
                                                                const Shape& dims) {
    place_.tree.go_through(through);
    std::vector<KeptPart> kept;
    const auto ranks = static_cast<std::size_t>(place_.communicator->size());
    const auto rank = static_cast<std::size_t>(place_.communicator->rank());
    const std::vector<Box> cut = cut_chunks(dataset, dims);
    for (std::size_t i = rank; i < cut.size(); i += ranks) {
        auto values = pool_.take(cut[i].extent.count() * dataset.value_bytes());
        if (!values.ok()) return values.status().with_context(dataset.path);
        const auto there = read_stored(dataset, cut[i], values->bytes());
        if (!there.ok()) return there.status();
        if (*there) kept.push_back({cut[i], std::move(*values)});
    }
    return kept;
}

Result<std::vector<BlockIo::KeptPart>> BlockIo::fill_of_only_chunk(Dataset& dataset,
                                                                   const NativeObject& through) {
    std::vector<KeptPart> fill;
    place_.tree.go_through(through);
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    const Box whole{Shape::filled(dataset.dims.rank(), 0), dataset.dims};
    const auto there = dataset.native.has_chunk(native_offset(dataset, whole.offset).data());
    if (!there.ok()) return there.status();
    if (!*there || place_.communicator->rank() != 0) return fill;
    auto values = pool_.take(whole.extent.count() * dataset.value_bytes());
    if (!values.ok()) return values.status().with_context(dataset.path);
    if (Status status = put_fill(dataset.creation.get(), dataset.type.get(), values->bytes());
        !status.ok())
        return status.with_context(dataset.path);
    fill.push_back({whole, std::move(*values)});
    return fill;
}

Status BlockIo::resize(Dataset& dataset, const Shape& dims) {
    dataset.dims = dims;
    dataset.change();
    for (int axis = 0; axis < dims.rank(); ++axis)
        dataset.settled[axis] = std::min(dataset.settled[axis], dims[axis]);
    if (!dataset.definition) return writer_->resize(dataset.field, dims);
    dataset.definition->extendable = true;
    return {};
}

Status BlockIo::put_back(Dataset& dataset, std::vector<KeptPart> kept) {
    for (KeptPart& part : kept) {
        copies_.push_back(
            {dataset.definition ? k_not_put : writer_->next_dump(), std::move(part.values)});
        PutBox piece{part.box, k_not_put, copies_.back().buffer.data(), writer::Loss::spent};
        if (Status status = add(dataset, std::move(piece)); !status.ok())
            return status.with_context(dataset.path);
    }
    return {};
}

/// Sequences lie elsewhere than in the chunk.
bool has_sequences(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_STRING) return H5Tis_variable_str(type) > 0;
    if (kind == H5T_ARRAY) {
        const store::Handle base(H5Tget_super(type), H5Tclose);
        return has_sequences(base.get());
    }
    if (kind != H5T_COMPOUND) return kind == H5T_VLEN || kind == H5T_REFERENCE;
    for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const store::Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)), H5Tclose);
        if (has_sequences(member.get())) return true;
    }
    return false;
}

Status before_emptying(const Object& object, const hsize_t* size) {
    const KeepErrors keep;
    if (!has_single_chunk(object)) return {};
    const store::Handle creation = ask_dataset(object.under, H5VL_DATASET_GET_DCPL),
                        space = ask_dataset(object.under, H5VL_DATASET_GET_SPACE),
                        type = ask_dataset(object.under, H5VL_DATASET_GET_TYPE);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    const auto count = H5Sget_simple_extent_npoints(space.get());
    if (rank < 1 || count <= 0 || std::find(size, size + rank, 0) == size + rank ||
        has_sequences(type.get()))
        return {};
    std::vector<std::byte> values(static_cast<std::size_t>(count) * H5Tget_size(type.get()));
    if (Status status = put_fill(creation.get(), type.get(), values); !status.ok()) return status;
    void* under = object.under;
    hid_t memory_type = type.get(), all = H5S_ALL;
    const void* buffer = values.data();
    if (H5VLdataset_write(1, &under, object.connector, &memory_type, &all, &all,
                          H5P_DATASET_XFER_DEFAULT, &buffer, nullptr) < 0 ||
        flush_native({object.under, H5I_DATASET}) < 0)  // or HDF5's cache forgets it
        return store::hdf5_error(StatusCode::internal, "writing fill values before H5Dset_extent");
    return {};
}

Result<Resizing> before_resizing(const Object& object, const hsize_t* size) {
    BlockIo::Dataset& dataset = *object.dataset->block;
    const NativeObject through{object.under, H5I_DATASET};
    auto dims = new_dims(dataset, size);
    if (!dims.ok()) return dims.status();
    Resizing resizing{*dims, {}};
    bool shrinks = false, full = true;
    for (int axis = 0; axis < dims->rank(); ++axis) {
        const std::uint64_t before = dataset.dims[axis];
        shrinks |= (*dims)[axis] < before;
        full &= (*dims)[axis] == before || before % dataset.chunk[axis] == 0;
    }
    if (Status status =
            shrinks ? object.file->settle(through) : object.file->before_growing(through, full);
        !status.ok())
        return status;
    if (shrinks && dims->count() == 0 && dataset.dims.count() > 0 && has_single_chunk(object)) {
        BlockIo& blocks = *object.file->blocks_or_null();
        auto fill = blocks.fill_of_only_chunk(dataset, through);
        Status put = fill.ok() ? blocks.put_back(dataset, std::move(*fill)) : fill.status();
        put = agree(object.file->communicator(), put);
        if (put.ok()) put = object.file->settle(through);
        if (!put.ok()) return put;
    }
    resizing.cuts = shrinks && dataset.lossy && !cut_chunks(dataset, *dims).empty();
    if (!resizing.cuts) return resizing;
    auto kept = object.file->blocks_or_null()->read_cut_chunks(dataset, through, *dims);
    if (Status all = agree(object.file->communicator(), kept.status()); !all.ok()) return all;
    resizing.kept = std::move(*kept);
    return resizing;
}

Status after_resizing(const Object& object, Resizing resizing) {
    BlockIo& blocks = *object.file->blocks_or_null();
    BlockIo::Dataset& dataset = *object.dataset->block;
    if (Status status = blocks.resize(dataset, resizing.dims); !status.ok()) return status;
    if (!resizing.cuts) return {};
    const Status put = blocks.put_back(dataset, std::move(resizing.kept));
    const Status settled = object.file->settle({object.under, H5I_DATASET});
    return put.ok() ? settled : put;
}

}  // namespace caesura::vol
