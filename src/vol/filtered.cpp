#include "vol/filtered.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hdf5/filter/filter.hpp"
#include "hdf5/pipeline_codec.hpp"
#include "vol/found_datasets.hpp"
#include "vol/found_quantities.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

Status unfit(std::string reason) { return {StatusCode::unsupported, std::move(reason)}; }

Result<std::vector<FilterSpec>> filters_in(hid_t creation) {
    std::vector<FilterSpec> filters;
    const int count = std::max(0, H5Pget_nfilters(creation));
    for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
        std::vector<unsigned> values(k_most_parameters);
        std::size_t n = values.size();
        unsigned flags = 0, config = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(creation, i, &flags, &n, values.data(), 0, nullptr, &config);
        if (id < 0) return store::hdf5_error(StatusCode::internal, "the filters of a dataset");
        if (n > values.size())
            return unfit(
                fmt::format("filter {} has {} parameters; {} are possible", id, n, values.size()));
        values.resize(n);
        filters.push_back({.id = static_cast<unsigned>(id),
                           .optional = (flags & H5Z_FLAG_OPTIONAL) != 0,
                           .cd_values = std::move(values)});
    }
    return filters;
}

Status check_filters(std::span<const FilterSpec> filters) {
    for (const FilterSpec& filter : filters) {
        if (filter.id == hdf5::k_filter_id)
            return unfit("Caesura's filter is one of several, or with parameters of its own");
        if (Status status = hdf5::can_run(filter.id); !status.ok()) return status;
    }
    return {};
}

Status check_elements(hid_t type, hid_t creation, const Element& element) {
    if (has_heap_values(type)) return unfit("values of variable length or region references");
    if (element.has_axis() && !fills_alike(creation, type, element))
        return unfit("a fill value whose bytes differ");
    return {};
}

bool may_lose(std::span<const FilterSpec> filters) {
    return !std::all_of(filters.begin(), filters.end(), hdf5::is_lossless);
}

/// Does HDF5 leave out the filters at the edges? The lanes know no such chunks.
Status check_edges(hid_t creation) {
    unsigned options = 0;
    if (H5Pget_layout(creation) == H5D_CHUNKED && H5Pget_chunk_opts(creation, &options) >= 0 &&
        (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0)
        return unfit("chunks at its edges have no filters");
    return {};
}

}  // namespace

bool filters_are_lossless(hid_t creation) {
    const auto filters = filters_in(creation);
    return filters.ok() && !may_lose(*filters);
}

Status keeps_filters(const DatasetFacts& facts, hid_t type, hid_t creation) {
    const auto filters = filters_in(creation);
    if (!filters.ok()) return filters.status();
    if (Status status = check_filters(*filters); !status.ok()) return status;
    if (facts.layout != H5D_CHUNKED) return unfit("it is not chunked");
    if (Status status = check_edges(creation); !status.ok()) return status;
    if (facts.corners) return unfit("the corners of boxes must be there at once");
    const Element element = opaque_element_of(type);
    if (Status status = check_elements(type, creation, element); !status.ok()) return status;
    const int most = element.has_axis() ? k_max_rank - 1 : k_max_rank;
    if (facts.rank >= 1 && facts.rank <= most) return {};
    return unfit(fmt::format("{} axes; 1 to {} are possible{}", facts.rank, most,
                             element.has_axis() ? " of such a type" : ""));
}

Status prepare_filtered(CapturedFile& file, const DatasetFacts& facts, hid_t type, hid_t space,
                        PreparedDataset& prepared) {
    if (auto blocks = file.blocks(); !blocks.ok()) return blocks.status();
    auto made = std::make_shared<BlockIo::Dataset>();
    made->path = facts.path;
    made->commit_writes = settings_of(*file.config(), facts.path).commit_writes;
    made->filtered = made->has_masks = true;
    made->creation = Handle(H5Pcopy(prepared.creation.get()), H5Pclose);
    if (!made->creation.ok() || H5Pset_alloc_time(prepared.creation.get(), H5D_ALLOC_TIME_INCR) < 0)
        return store::hdf5_error(StatusCode::internal, facts.path + ": lists");
    if (Status status = keep_type(*made, type); !status.ok()) return status;
    bool extendable = false;
    const Element element = opaque_element_of(type);
    if (Status status =
            read_shape(space, made->creation.get(), most_axes(element), *made, extendable);
        !status.ok())
        return status.with_context(facts.path);
    set_element(*made, element);
    writer::DatasetDefinition definition;
    definition.extendable = extendable;
    if (Status status = read_fill(made->creation.get(), made->type.get(), definition); !status.ok())
        return status.with_context(facts.path);
    prepared.filtered = std::move(definition);
    prepared.dataset->block = std::move(made);
    return {};
}

Status define_filtered(const Object& made, writer::DatasetDefinition definition) {
    BlockIo::Dataset& block = *made.dataset->block;
    const Handle creation = ask_dataset(made.under, H5VL_DATASET_GET_DCPL);
    if (!creation.ok())
        return store::hdf5_error(StatusCode::internal, block.path + ": creation list");
    const auto filters = filters_in(creation.get());
    if (!filters.ok()) return filters.status().with_context(block.path);
    definition.codec = hdf5::pipeline_spec(*filters);
    block.lossy = may_lose(*filters);
    auto blocks = made.file->blocks();
    return blocks.ok() ? (*blocks)->define(block, std::move(definition)) : blocks.status();
}

Result<BlockIo::DatasetPtr> describe_filtered(void* under, std::string path) {
    const Handle creation = ask_dataset(under, H5VL_DATASET_GET_DCPL);
    const Handle type = ask_dataset(under, H5VL_DATASET_GET_TYPE);
    const Handle space = ask_dataset(under, H5VL_DATASET_GET_SPACE);
    if (!creation.ok() || !type.ok() || !space.ok())
        return store::hdf5_error(StatusCode::internal, path + ": type, dataspace and filters");
    const auto filters = filters_in(creation.get());
    if (!filters.ok()) return filters.status();
    if (filters->empty()) return unfit("it has no filter");
    // Its codec has looked at what came out of each block.
    if (said_bounds({under, H5I_DATASET}))
        return unfit("it has a bound, which another codec than caesura keeps");
    if (Status status = check_filters(*filters); !status.ok()) return status;
    if (Status status = check_edges(creation.get()); !status.ok()) return status;
    auto found = std::make_shared<BlockIo::Dataset>();
    found->path = std::move(path);
    found->filtered = true;
    if (Status status = keep_type(*found, type.get()); !status.ok()) return status;
    const Element element = opaque_element_of(type.get());
    if (Status status = check_elements(type.get(), creation.get(), element); !status.ok())
        return status;
    writer::DatasetDefinition definition;
    if (Status status = read_shape(space.get(), creation.get(), most_axes(element), *found,
                                   definition.extendable);
        !status.ok())
        return status;
    set_element(*found, element);
    definition.codec = hdf5::pipeline_spec(*filters);
    if (Status status = read_fill(creation.get(), type.get(), definition); !status.ok())
        return status.with_context(found->path);
    found->lossy = may_lose(*filters);
    found->definition = std::move(definition);
    found->settled = found->dims;
    found->has_masks = true;
    return found;
}

}  // namespace caesura::vol
