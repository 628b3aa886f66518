#include "vol/chunk_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "hdf5/filter/kept_chunk.hpp"
#include "vol/asked_chunks.hpp"
#include "vol/block_calls.hpp"

namespace caesura::vol {
namespace {

using store::Handle;
using Extents = AskedChunks::Extents;
using Args = H5VL_native_dataset_optional_args_t;

Status refused(const BlockIo::Dataset& dataset, std::string_view what) {
    return {StatusCode::invalid_argument, fmt::format("{}: {}", dataset.path, what)};
}

int rank_of(const AskedChunks& asked) { return static_cast<int>(asked.dims().size()); }

/// What of a chunk lies inside the dataset.
Extents inside(const AskedChunks& asked, const hsize_t* offset) {
    Extents count(asked.dims().size());
    for (std::size_t i = 0; i < count.size(); ++i)
        count[i] = std::min(asked.chunk()[i], asked.dims()[i] - offset[i]);
    return count;
}

/// A dataset of one chunk, made as the application made its own.
class Twin {
  public:
    Twin(const BlockIo::Dataset& dataset, const AskedChunks& asked) : type_(dataset.type.get()) {
        constexpr std::size_t k_increment = 1u << 20;
        const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
        if (H5Pset_fapl_core(access.get(), k_increment, false) < 0 ||
            H5Pset_vol(access.get(), native_connector(), nullptr) < 0)
            return;
        file_ = Handle(H5Fcreate("caesura: one chunk", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                       H5Fclose);
        space_ = Handle(H5Screate_simple(rank_of(asked), asked.chunk().data(), nullptr), H5Sclose);
        if (file_.ok() && space_.ok())
            dataset_ = Handle(H5Dcreate2(file_.get(), "chunk", type_, space_.get(), H5P_DEFAULT,
                                         dataset.creation.get(), H5P_DEFAULT),
                              H5Dclose);
    }
    bool ok() const { return dataset_.ok(); }
    hid_t creation() const { return H5Dget_create_plist(dataset_.get()); }

    /// Values of a part of the chunk, dense. @param count  of the part, which begins where it does.
    bool write(const Extents& count, const std::vector<std::byte>& values) {
        const Handle part(H5Scopy(space_.get()), H5Sclose);
        const Handle dense(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                           H5Sclose);
        return select(part.get(), count) && H5Dwrite(dataset_.get(), type_, dense.get(), part.get(),
                                                     H5P_DEFAULT, values.data()) >= 0;
    }
    bool read(const Extents& count, std::vector<std::byte>& values) {
        const Handle part(H5Scopy(space_.get()), H5Sclose);
        const Handle dense(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                           H5Sclose);
        return select(part.get(), count) && H5Dread(dataset_.get(), type_, dense.get(), part.get(),
                                                    H5P_DEFAULT, values.data()) >= 0;
    }
    bool write_stored(std::uint32_t mask, std::size_t bytes, const void* stored) {
        return H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, mask, none_.data(), bytes, stored) >= 0;
    }
    bool read_stored(std::uint32_t& mask, void* stored) {
        return H5Dread_chunk(dataset_.get(), H5P_DEFAULT, none_.data(), &mask, stored) >= 0;
    }
    hsize_t stored_bytes() {
        hsize_t bytes = 0;
        H5Dget_chunk_storage_size(dataset_.get(), none_.data(), &bytes);
        return bytes;
    }

  private:
    bool select(hid_t space, const Extents& count) const {
        return H5Sselect_hyperslab(space, H5S_SELECT_SET, none_.data(), nullptr, count.data(),
                                   nullptr) >= 0;
    }
    hid_t type_;
    std::array<hsize_t, H5S_MAX_RANK> none_{};
    Handle file_, space_, dataset_;  ///< the dataset is closed first
};

/// The calls on one dataset.
class Chunks {
  public:
    explicit Chunks(const Object& on)
        : on_(on), dataset_(*on.dataset->block), asked_(*dataset_.asked) {}

    bool are_there() const { return H5Pget_layout(dataset_.creation.get()) == H5D_CHUNKED; }
    bool have_filters() const { return H5Pget_nfilters(dataset_.creation.get()) > 0; }
    hsize_t raw_bytes() const {
        hsize_t bytes = dataset_.element.bytes();
        for (const hsize_t extent : asked_.chunk()) bytes *= extent;
        return bytes;
    }

    Status check_begin(const hsize_t* offset) const {
        for (std::size_t i = 0; i < asked_.dims().size(); ++i)
            if (offset[i] % asked_.chunk()[i] != 0 || offset[i] >= asked_.dims()[i])
                return refused(dataset_, "no chunk begins there");
        return {};
    }

    /// As HDF5 would have stored it.
    Result<std::unique_ptr<Twin>> stored(const hsize_t* offset) const {
        const Extents count = inside(asked_, offset);
        auto values = values_at(offset, count);
        if (!values.ok()) return values.status();
        auto twin = std::make_unique<Twin>(dataset_, asked_);
        if (!twin->ok() || !twin->write(count, *values))
            return store::hdf5_error(StatusCode::internal, dataset_.path + ": a chunk");
        return twin;
    }

    Result<hsize_t> stored_bytes(const hsize_t* offset) const {
        if (!asked_.has(offset)) return hsize_t{0};
        if (!have_filters()) return raw_bytes();
        auto twin = stored(offset);
        return twin.ok() ? Result<hsize_t>((*twin)->stored_bytes()) : twin.status();
    }

    Status read(const hsize_t* offset, std::uint32_t& mask, void* buffer) const {
        if (Status status = check_begin(offset); !status.ok()) return status;
        if (!asked_.has(offset)) return refused(dataset_, "the chunk has not been written");
        auto twin = stored(offset);
        if (!twin.ok()) return twin.status();
        if ((*twin)->read_stored(mask, buffer)) return {};
        return store::hdf5_error(StatusCode::internal, dataset_.path + ": reading a chunk");
    }

    Status write(const hsize_t* offset, std::uint32_t mask, std::size_t bytes, const void* from) {
        if (Status status = check_begin(offset); !status.ok()) return status;
        if (!have_filters() && bytes != raw_bytes())
            return refused(dataset_, fmt::format("H5Dwrite_chunk: {} bytes, and a chunk has {}",
                                                 bytes, raw_bytes()));
        Twin twin(dataset_, asked_);
        const Extents count = inside(asked_, offset);
        std::vector<std::byte> values(bytes_of(count));
        if (!twin.ok() || !twin.write_stored(mask, bytes, from) || !twin.read(count, values))
            return store::hdf5_error(
                StatusCode::invalid_argument,
                dataset_.path + ": H5Dwrite_chunk: what was given is no chunk");
        const Handle part = part_of_file(offset, count);
        const Handle dense(H5Screate_simple(rank_of(asked_), count.data(), nullptr), H5Sclose);
        return write_blocks(on_, dataset_.type.get(), dense.get(), part.get(),
                            H5P_DATASET_XFER_DEFAULT, values.data(), false);
    }

    Status info(const hsize_t* offset, unsigned* mask, haddr_t* address, hsize_t* bytes) const {
        const auto stored = stored_bytes(offset);
        if (mask != nullptr) *mask = 0;
        // Those bytes lie nowhere in the file.
        if (address != nullptr) *address = HADDR_UNDEF;
        if (bytes != nullptr) *bytes = stored.ok() ? *stored : 0;
        return stored.status();
    }

    herr_t iterate(H5D_chunk_iter_op_t visit, void* data) const {
        for (hsize_t n = 0; n < asked_.count(); ++n) {
            const Extents offset = asked_.nth(n);
            const auto bytes = stored_bytes(offset.data());
            if (!bytes.ok()) return fail(bytes.status());
            const int said = visit(offset.data(), 0, HADDR_UNDEF, *bytes, data);
            if (said != H5_ITER_CONT) return said;
        }
        return 0;
    }

    const AskedChunks& asked() const { return asked_; }
    const BlockIo::Dataset& dataset() const { return dataset_; }

  private:
    std::size_t bytes_of(const Extents& count) const {
        std::size_t bytes = dataset_.element.bytes();
        for (const hsize_t extent : count) bytes *= extent;
        return bytes;
    }
    Handle part_of_file(const hsize_t* offset, const Extents& count) const {
        Handle part(H5Screate_simple(rank_of(asked_), asked_.dims().data(), nullptr), H5Sclose);
        H5Sselect_hyperslab(part.get(), H5S_SELECT_SET, offset, nullptr, count.data(), nullptr);
        return part;
    }
    Result<std::vector<std::byte>> values_at(const hsize_t* offset, const Extents& count) const {
        std::vector<std::byte> values(bytes_of(count));
        const Handle part = part_of_file(offset, count);
        const Handle dense(H5Screate_simple(rank_of(asked_), count.data(), nullptr), H5Sclose);
        if (Status status = read_blocks(on_, dataset_.type.get(), dense.get(), part.get(),
                                        H5P_DATASET_XFER_DEFAULT, values.data(), false);
            !status.ok())
            return status;
        return values;
    }

    const Object& on_;
    const BlockIo::Dataset& dataset_;
    const AskedChunks& asked_;
};

/// Outputs that HDF5's own calls leave as they were are set first.
void clear_outputs(int operation, Args& args) {
    const auto set = [](auto* where, auto value) {
        if (where != nullptr) *where = value;
    };
    switch (operation) {
        case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE:
            return set(args.get_chunk_storage_size.size, hsize_t{0});
        case H5VL_NATIVE_DATASET_GET_NUM_CHUNKS:
            return set(args.get_num_chunks.nchunks, hsize_t{0});
        case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX:
            set(args.get_chunk_info_by_idx.filter_mask, 0u);
            set(args.get_chunk_info_by_idx.addr, HADDR_UNDEF);
            return set(args.get_chunk_info_by_idx.size, hsize_t{0});
        case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD:
            set(args.get_chunk_info_by_coord.filter_mask, 0u);
            set(args.get_chunk_info_by_coord.addr, HADDR_UNDEF);
            return set(args.get_chunk_info_by_coord.size, hsize_t{0});
        case H5VL_NATIVE_DATASET_CHUNK_READ:
            args.chunk_read.filters = 0;
            return;
        default:
            return;
    }
}

Status info_by_index(const Chunks& chunks, Args& args) {
    auto& info = args.get_chunk_info_by_idx;
    if (info.chk_index >= chunks.asked().count())
        return refused(chunks.dataset(),
                       fmt::format("chunk {} of {}", info.chk_index, chunks.asked().count()));
    const Extents offset = chunks.asked().nth(info.chk_index);
    if (info.offset != nullptr) std::copy(offset.begin(), offset.end(), info.offset);
    return chunks.info(offset.data(), info.filter_mask, info.addr, info.size);
}

herr_t answer(Chunks& chunks, int operation, Args& args) {
    switch (operation) {
        case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE: {
            const auto bytes = chunks.stored_bytes(args.get_chunk_storage_size.offset);
            if (bytes.ok()) *args.get_chunk_storage_size.size = *bytes;
            return done(bytes.status());
        }
        case H5VL_NATIVE_DATASET_GET_NUM_CHUNKS:
            *args.get_num_chunks.nchunks = chunks.asked().count();
            return 0;
        case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX:
            return done(info_by_index(chunks, args));
        case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD: {
            auto& info = args.get_chunk_info_by_coord;
            return done(chunks.info(info.offset, info.filter_mask, info.addr, info.size));
        }
        case H5VL_NATIVE_DATASET_CHUNK_READ:
            return done(
                chunks.read(args.chunk_read.offset, args.chunk_read.filters, args.chunk_read.buf));
        case H5VL_NATIVE_DATASET_CHUNK_WRITE:
            return done(chunks.write(args.chunk_write.offset, args.chunk_write.filters,
                                     args.chunk_write.size, args.chunk_write.buf));
        case H5VL_NATIVE_DATASET_CHUNK_ITER:
            return chunks.iterate(args.chunk_iter.op, args.chunk_iter.op_data);
        default:
            return fail(
                {StatusCode::unsupported, fmt::format("{}: operation {} on chunks is not known",
                                                      chunks.dataset().path, operation)});
    }
}

}  // namespace

bool is_about_chunks(int operation) {
    return operation == H5VL_NATIVE_DATASET_CHUNK_ITER ||
           (operation >= H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE &&
            operation <= H5VL_NATIVE_DATASET_CHUNK_WRITE);
}

void make_asked_chunks(const Object& made, hid_t space) {
    BlockIo::Dataset& dataset = *made.dataset->block;
    const hid_t creation = dataset.creation.get();
    Extents dims(static_cast<std::size_t>(dataset.rank));
    H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    Extents chunk(dims);
    for (hsize_t& extent : chunk) extent = std::max(extent, hsize_t{1});
    H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;
    H5Pget_alloc_time(creation, &time);
    const bool chunked = H5Pget_layout(creation) == H5D_CHUNKED;
    if (chunked) H5Pget_chunk(creation, dataset.rank, chunk.data());
    // Parallel HDF5 makes all space of a dataset without filters when it is made.
    const bool early =
        time == H5D_ALLOC_TIME_EARLY ||
        (H5Pget_nfilters(creation) == 0 && H5Pget_driver(made.file->access()) == H5FD_MPIO);
    const auto when = early ? AskedChunks::Space::at_once
                      : time == H5D_ALLOC_TIME_INCR || (chunked && time == H5D_ALLOC_TIME_DEFAULT)
                          ? AskedChunks::Space::one_by_one
                          : AskedChunks::Space::at_first_write;
    dataset.asked = std::make_shared<AskedChunks>(std::move(dims), std::move(chunk), when);
}

hid_t creation_list_of_twin(const BlockDataset& dataset) {
    return Twin(dataset, *dataset.asked).creation();
}

bool answers_for_chunks(const Object& on) {
    const BlockIo::Dataset* const block = block_of(on);
    return block != nullptr && block->asked != nullptr && !block->filtered;
}

herr_t answer_for_chunks(const Object& on, const H5VL_optional_args_t& call) {
    Chunks chunks(on);
    if (!chunks.are_there())
        return fail(refused(chunks.dataset(), "the application made it without chunks"));
    return answer(chunks, call.op_type, *static_cast<Args*>(call.args));
}

Status mark_written_values(BlockDataset& found, const H5VL_optional_args_t& call) {
    auto& chunk = static_cast<Args*>(call.args)->chunk_write;
    const auto* const bytes = static_cast<const std::byte*>(chunk.buf);
    if (chunk.filters != 0 || hdf5::stored_frame_info({bytes, chunk.size}).ok()) return {};
    if (chunk.size != found.chunk.count() * size_of(found.dtype()))
        return refused(found, fmt::format("{} bytes are neither a frame of its filter nor the {} "
                                          "values of a chunk",
                                          chunk.size, found.chunk.count()));
    chunk.filters = 1;
    found.has_masks = true;
    return {};
}

void forget_mask_of_written(const Object& on, const H5VL_optional_args_t& call) {
    if (block_of(on)->has_masks)
        forget_last_mask(on.under, static_cast<const Args*>(call.args)->chunk_write.offset);
}

void clear_chunk_outputs(const H5VL_optional_args_t& call) {
    clear_outputs(call.op_type, *static_cast<Args*>(call.args));
}

H5D_space_status_t asked_space_status(const AskedChunks& asked) {
    const hsize_t there = asked.count();
    if (there == 0) return H5D_SPACE_STATUS_NOT_ALLOCATED;
    return there == asked.all() ? H5D_SPACE_STATUS_ALLOCATED : H5D_SPACE_STATUS_PART_ALLOCATED;
}

}  // namespace caesura::vol
