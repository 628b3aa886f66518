#include "vol/block_calls.hpp"

#include <fmt/format.h>

#include "vol/block_shape.hpp"
#include "vol/chunk_calls.hpp"
#include "vol/filtered.hpp"
#include "vol/found_datasets.hpp"
#include "vol/transformed.hpp"

namespace caesura::vol {
namespace {

using store::Handle;
using Extents = std::array<hsize_t, H5S_MAX_RANK>;

Status refused(const std::string& path, std::string_view doing) {
    return store::hdf5_error(StatusCode::internal, fmt::format("{}: {}", path, doing));
}

/// Dims and axes of a dataset to be. @param most  axes that blocks may have of it.
Status read_dims(hid_t space, BlockIo::Dataset& made, std::size_t most, Shape& most_dims) {
    Extents now{}, largest{};
    made.rank = H5Sget_simple_extent_dims(space, now.data(), largest.data());
    if (made.rank < 1) return refused(made.path, "dataspace");
    const auto n = static_cast<std::size_t>(made.rank);
    made.extents.assign(now.begin(), now.begin() + made.rank);
    auto axes = writer::fold_axes(
        made.extents, {reinterpret_cast<const std::uint64_t*>(largest.data()), n}, most);
    if (!axes.ok()) return axes.status().with_context(made.path);
    made.axes = std::move(*axes);
    made.dims = joined_extents(made, now);
    most_dims = made.dims;
    for (std::size_t i = 0; i < made.axes.size(); ++i) {
        const auto axis = static_cast<std::size_t>(made.axes[i]);
        if (largest[axis] == now[axis]) continue;
        const std::uint64_t inner = now[axis] > 0 ? made.dims[static_cast<int>(i)] / now[axis] : 1;
        most_dims[static_cast<int>(i)] =
            largest[axis] == H5S_UNLIMITED ? H5S_UNLIMITED : largest[axis] * inner;
    }
    return {};
}

/// The chunk that the application asked for; rank 0: none.
Shape own_chunk(const BlockIo::Dataset& made) {
    const hid_t creation = made.creation.get();
    Extents chunk{};
    const bool chunked = H5Pget_layout(creation) == H5D_CHUNKED &&
                         H5Pget_chunk(creation, made.rank, chunk.data()) == made.rank;
    return chunked ? joined_extents(made, chunk) : Shape{};
}

/// The chunk of a dataset that is no sequence of arrays. Quantities that lie along an axis have
/// chunks of their own.
Shape chunk_of(ShapeFacts facts, int component_axis) {
    if (component_axis >= 0)
        for (Shape* shape :
             {&facts.dims, &facts.most_dims, &facts.chunk, &facts.wanted, &facts.learned})
            if (shape->rank() > 0) (*shape)[component_axis] = 1;
    return block_shape(facts);
}

herr_t set_pipeline(hid_t creation, const BlockIo::Dataset& made, const BlockIo& blocks) {
    const Extents chunk = native_extent(made, made.chunk);
    // Parts that nobody has written can be read beside others that were, as where HDF5 makes all
    // space at once.
    H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
    const std::vector<std::byte> zeros(H5Tget_size(made.type.get()));
    if (H5Pfill_value_defined(creation, &defined) < 0 ||
        (defined == H5D_FILL_VALUE_UNDEFINED &&
         H5Pset_fill_value(creation, made.type.get(), zeros.data()) < 0))
        return -1;
    if (H5Premove_filter(creation, H5Z_FILTER_ALL) < 0 ||
        H5Pset_chunk(creation, made.rank, chunk.data()) < 0 ||
        H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR) < 0)
        return -1;
    const auto pipeline = blocks.pipeline(made);
    const auto& values = blocks.creation_values(made);
    for (std::size_t i = 0; i < pipeline.size(); ++i)
        if (H5Pset_filter(creation, static_cast<H5Z_filter_t>(pipeline[i].id),
                          pipeline[i].optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY,
                          values[i].size(), values[i].data()) < 0)
            return -1;
    return 0;
}

/// One that fits what its like was written in; rank 0: none is known.
Shape learned_chunk(const BlockIo& blocks, const BlockIo::Dataset& made, const Element& element) {
    if (!element.has_axis()) return blocks.fitting_chunk(made.path, made.dims);
    const Shape chunk = blocks.fitting_chunk(made.path, with_axis(made.dims, element.numbers()));
    const int last = made.dims.rank();
    // Members that were written one by one say nothing of chunks, which have all of them.
    if (chunk.rank() != last + 1 || chunk[last] != element.numbers()) return {};
    return Shape(std::span(chunk.data(), static_cast<std::size_t>(last)));
}

/// What a filter made of its parameters when the dataset was created.
Status check_pipeline(const Object& made, std::span<const FilterSpec> wanted) {
    H5VL_dataset_get_args_t args{};
    args.op_type = H5VL_DATASET_GET_DCPL;
    if (H5VLdataset_get(made.under, made.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return refused(made.dataset->block->path, "creation list");
    const Handle creation(args.args.get_dcpl.dcpl_id, H5Pclose);
    for (unsigned i = 0; i < wanted.size(); ++i) {
        std::vector<unsigned> values(k_most_parameters);
        std::size_t n = values.size();
        unsigned flags = 0, config = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(creation.get(), i, &flags, &n, values.data(), 0, nullptr, &config);
        values.resize(std::min(n, values.size()));
        if (id != static_cast<H5Z_filter_t>(wanted[i].id) || values != wanted[i].cd_values)
            return {StatusCode::unsupported,
                    fmt::format("{}: filter {} makes other parameters of this dataset's chunk, so "
                                "that blocks could not be read; use codec caesura",
                                made.dataset->block->path, wanted[i].id)};
    }
    return {};
}

/// A dataset that was there as blocks before: from now on it is one of ours.
Status find_stored(Object& opened, const NativeObject& native) {
    const KeepErrors keep;
    const auto token = token_of(native);
    if (!token.ok()) return token.status();
    auto found = describe_stored(opened.under, path_of(native), opened.file->shared());
    if (!found.ok()) return found.status();
    (*found)->token = *token;
    (*found)->commit_writes = settings_of(*opened.file->config(), (*found)->path).commit_writes;
    opened.file->local_blocks().keep(*found);
    opened.dataset->block = std::move(*found);
    return {};
}

}  // namespace

Status prepare_blocks(CapturedFile& file, const DatasetFacts& facts, const Quantities& quantities,
                      hid_t type, hid_t space, PreparedDataset& prepared) {
    auto blocks = file.blocks();
    if (!blocks.ok()) return blocks.status();
    const Settings settings = settings_of(*file.config(), facts.path);
    auto made = std::make_shared<BlockIo::Dataset>();
    made->path = facts.path;
    made->commit_writes = settings.commit_writes;
    const Element& element = *facts.element;
    if (Status status = keep_type(*made, type); !status.ok()) return status;
    made->creation = Handle(H5Pcopy(prepared.creation.get()), H5Pclose);
    if (!made->creation.ok()) return refused(facts.path, "lists");
    Shape most_dims;
    if (Status status = read_dims(space, *made, most_axes(element), most_dims); !status.ok())
        return status;
    const bool fixed = made->dims == most_dims;
    auto composed = compose(*file.config(), facts, quantities, made->axes, fixed);
    if (!composed.ok()) return composed.status().with_context(file.name());
    writer::DatasetDefinition definition;
    definition.bound = composed->bound;
    definition.bound_map = std::move(composed->bound_map);
    definition.for_fields = made->for_fields = composed->for_fields;
    prepared.why_exact = std::move(composed->exact_because);
    prepared.by_part = composed->by_part;
    definition.composition = made->composition = std::move(composed->composition);
    const writer::Composition* const parts = definition.composition.get();
    if (parts != nullptr && parts->axis() < 0) {
        made->chunk = {sequence_chunk(quantities.boxes, parts->components().size(),
                                      size_of(element.dtype), settings.chunk_bytes, file.ranks())};
    } else {
        definition.chunk_bytes = settings.chunk_bytes;
        made->chunk = chunk_of(
            {made->dims, most_dims, own_chunk(*made), facts.value_bytes, settings.chunk_bytes,
             file.ranks(), settings.chunk, learned_chunk(**blocks, *made, element)},
            parts == nullptr || parts->is_interleaved() ? -1 : parts->axis());
        made->chunk = joined_chunk(*made, made->chunk);
    }
    set_element(*made, element);
    definition.codec.name = settings.codec;
    definition.extendable = !fixed;
    if (Status status = read_fill(made->creation.get(), made->type.get(), definition); !status.ok())
        return status.with_context(made->path);
    if (Status status = (*blocks)->define(*made, std::move(definition)); !status.ok())
        return status;
    if (set_pipeline(prepared.creation.get(), *made, **blocks) < 0)
        return refused(facts.path, "creation list of blocks");
    prepared.dataset->block = std::move(made);
    return {};
}

Status adopt_blocks(const Object& made, hid_t space,
                    const std::optional<writer::DatasetDefinition>& filtered) {
    if (filtered)
        if (Status status = define_filtered(made, *filtered); !status.ok()) return status;
    auto blocks = made.file->blocks();
    if (!blocks.ok()) return blocks.status();
    const auto& block = made.dataset->block;
    if (Status status = check_pipeline(made, (*blocks)->pipeline(*block)); !status.ok())
        return status;
    make_asked_chunks(made, space);
    return (*blocks)->adopt(block, {made.under, H5I_DATASET});
}

Status find_blocks(Object& opened) {
    const NativeObject native{opened.under, H5I_DATASET};
    CapturedDataset& dataset = *opened.dataset;
    if (BlockIo* const blocks = opened.file->blocks_or_null(); blocks != nullptr)
        dataset.block = blocks->find(native);
    if (dataset.block == nullptr && opened.file->may_hold_blocks())
        if (Status status = find_stored(opened, native); !status.ok()) return status;
    if (dataset.block != nullptr && dataset.block->creation.ok() && !dataset.creation().ok())
        dataset.open->creation = Handle(H5Pcopy(dataset.block->creation.get()), H5Pclose);
    return {};
}

Status write_blocks(const Object& object, hid_t memory_type, hid_t memory_space, hid_t file_space,
                    hid_t transfer, const void* memory, bool together) {
    BlockIo::Dataset& dataset = *object.dataset->block;
    auto selected = select(dataset, memory_space, file_space);
    if (!selected.ok()) return selected.status();
    selected->together = together;
    Status status = object.file->blocks_or_null()->write(dataset, {object.under, H5I_DATASET},
                                                         *selected, memory, memory_type, transfer);
    if (status.ok() && dataset.asked != nullptr) dataset.asked->note_written(selected->file_space);
    return status;
}

Status read_blocks(const Object& object, hid_t memory_type, hid_t memory_space, hid_t file_space,
                   hid_t transfer, void* memory, bool together) {
    BlockIo::Dataset& dataset = *object.dataset->block;
    auto selected = select(dataset, memory_space, file_space);
    if (!selected.ok()) return selected.status();
    selected->together = together;
    // HDF5 transforms what lies in chunks, fill values too, and nothing where there is no chunk.
    if (dataset.asked != nullptr && has_transform(transfer)) {
        selected->transforms_all = dataset.asked->count() > 0;
        if (!selected->transforms_all) {
            Handle plain = without_transform(transfer);
            transfer = plain.get();
            object.file->keep_transfer(std::move(plain));
        }
    }
    return object.file->blocks_or_null()->read(dataset, {object.under, H5I_DATASET}, *selected,
                                               memory, memory_type, transfer);
}

}  // namespace caesura::vol
