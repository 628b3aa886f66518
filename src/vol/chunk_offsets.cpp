#include "vol/chunk_offsets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "vol/found_datasets.hpp"

namespace caesura::vol {
namespace {

using store::Handle;
using Args = H5VL_native_dataset_optional_args_t;
using Extents = std::vector<hsize_t>;

struct Chunk {
    Extents offset;
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    bool operator<(const Chunk& other) const { return offset < other.offset; }
};

herr_t ask(const Object& dataset, int operation, Args& args) {
    H5VL_optional_args_t call{operation, &args};
    return H5VLdataset_optional(dataset.under, native_connector(), &call, H5P_DATASET_XFER_DEFAULT,
                                nullptr);
}

H5D_chunk_index_t index_of(const Object& dataset) {
    H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
    Args args{};
    args.get_chunk_idx_type.idx_type = &index;
    return ask(dataset, H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE, args) < 0 ? H5D_CHUNK_IDX_BTREE
                                                                            : index;
}

/// The array of chunks that goes along axis `unlimited`.
struct Array {
    std::size_t unlimited = 0;
    Extents chunk;  ///< in elements
    Extents most;   ///< chunks along each limited axis

    /// Of a dataset whose chunks are in such an array along another axis than the first.
    static std::optional<Array> of(const Object& dataset) {
        const Handle creation = ask_dataset(dataset.under, H5VL_DATASET_GET_DCPL);
        const Handle space = ask_dataset(dataset.under, H5VL_DATASET_GET_SPACE);
        const int rank = H5Sget_simple_extent_ndims(space.get());
        if (rank < 2 || H5Pget_layout(creation.get()) != H5D_CHUNKED) return std::nullopt;
        Array array;
        array.chunk.resize(static_cast<std::size_t>(rank));
        array.most.resize(array.chunk.size());
        H5Pget_chunk(creation.get(), rank, array.chunk.data());
        H5Sget_simple_extent_dims(space.get(), nullptr, array.most.data());
        if (std::count(array.most.begin(), array.most.end(), H5S_UNLIMITED) != 1)
            return std::nullopt;
        for (std::size_t i = 0; i < array.most.size(); ++i)
            if (array.most[i] == H5S_UNLIMITED)
                array.unlimited = i;
            else
                array.most[i] = (array.most[i] + array.chunk[i] - 1) / array.chunk[i];
        if (array.unlimited == 0 || index_of(dataset) != H5D_CHUNK_IDX_EARRAY) return std::nullopt;
        return array;
    }

    /// By what HDF5 says.
    Extents real(const hsize_t* told) const {
        hsize_t place = 0;
        for (std::size_t i = unlimited; i < chunk.size(); ++i)
            place = i == unlimited ? told[i] / chunk[i] : place * most[i] + told[i] / chunk[i];
        Extents offset(chunk.size());
        for (std::size_t i = chunk.size(); i-- > 0;) {
            if (i == unlimited) continue;
            offset[i] = place % most[i] * chunk[i];
            place /= most[i];
        }
        offset[unlimited] = place * chunk[unlimited];
        return offset;
    }

    /// What HDF5 says of it.
    Extents told(const hsize_t* real) const {
        hsize_t place = real[unlimited] / chunk[unlimited];
        for (std::size_t i = 0; i < chunk.size(); ++i)
            if (i != unlimited) place = place * most[i] + real[i] / chunk[i];
        Extents offset(chunk.size());
        for (std::size_t i = chunk.size(); i-- > unlimited + 1;) {
            offset[i] = place % most[i] * chunk[i];
            place /= most[i];
        }
        offset[unlimited] = place * chunk[unlimited];
        return offset;
    }
};

struct Listing {
    const Array& array;
    std::vector<Chunk> chunks;
};

int note(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes, void* to) {
    return guarded([&] {
        auto& listing = *static_cast<Listing*>(to);
        listing.chunks.push_back({listing.array.real(offset), mask, address, bytes});
        return int{H5_ITER_CONT};
    });
}

/// Row by row.
std::optional<std::vector<Chunk>> list(const Object& dataset, const Array& array) {
    Listing listing{array, {}};
    Args args{};
    args.chunk_iter.op = note;
    args.chunk_iter.op_data = &listing;
    if (ask(dataset, H5VL_NATIVE_DATASET_CHUNK_ITER, args) < 0) return std::nullopt;
    std::sort(listing.chunks.begin(), listing.chunks.end());
    return std::move(listing.chunks);
}

herr_t tell_nth(const std::vector<Chunk>& chunks, Args& args) {
    auto& info = args.get_chunk_info_by_idx;
    if (info.chk_index >= chunks.size())
        return fail({StatusCode::invalid_argument,
                     fmt::format("chunk {} of {}", info.chk_index, chunks.size())});
    const Chunk& chunk = chunks[info.chk_index];
    if (info.offset != nullptr) std::copy(chunk.offset.begin(), chunk.offset.end(), info.offset);
    if (info.filter_mask != nullptr) *info.filter_mask = chunk.mask;
    if (info.addr != nullptr) *info.addr = chunk.address;
    if (info.size != nullptr) *info.size = chunk.bytes;
    return 0;
}

herr_t visit(const std::vector<Chunk>& chunks, const Args& args) {
    for (const Chunk& chunk : chunks) {
        const int said = args.chunk_iter.op(chunk.offset.data(), chunk.mask, chunk.address,
                                            chunk.bytes, args.chunk_iter.op_data);
        if (said != H5_ITER_CONT) return said;
    }
    return 0;
}

}  // namespace

bool has_wrong_offsets(const Object& dataset, int operation) {
    return (operation == H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX ||
            operation == H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD ||
            operation == H5VL_NATIVE_DATASET_CHUNK_ITER) &&
           Array::of(dataset).has_value();
}

bool has_single_chunk(const Object& dataset) {
    const Handle creation = ask_dataset(dataset.under, H5VL_DATASET_GET_DCPL);
    return H5Pget_layout(creation.get()) == H5D_CHUNKED &&
           index_of(dataset) == H5D_CHUNK_IDX_SINGLE;
}

bool has_wrong_copies(const Object& dataset) { return Array::of(dataset).has_value(); }

herr_t answer_with_offsets(const Object& dataset, const H5VL_optional_args_t& call) {
    const auto array = Array::of(dataset);
    Args& args = *static_cast<Args*>(call.args);
    if (!array) return ask(dataset, call.op_type, args);
    if (call.op_type == H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD) {
        const Extents offset = array->told(args.get_chunk_info_by_coord.offset);
        Args there = args;
        there.get_chunk_info_by_coord.offset = offset.data();
        return ask(dataset, call.op_type, there);
    }
    const auto chunks = list(dataset, *array);
    if (!chunks) return -1;
    return call.op_type == H5VL_NATIVE_DATASET_CHUNK_ITER ? visit(*chunks, args)
                                                          : tell_nth(*chunks, args);
}

}  // namespace caesura::vol
