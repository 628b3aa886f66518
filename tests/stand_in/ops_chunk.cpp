// Chunks: counted, asked, iterated over, read and written as they are stored.
#include <algorithm>
#include <cstring>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

/// What is known of a dataset with chunks.
struct Chunked {
    Handle* dataset;
    Dims dims, chunk;
    int filters;
    std::size_t bytes;  ///< of a chunk

    Dims some_offset(Draw& draw) const {
        Dims at;
        for (std::size_t axis = 0; axis < dims.size(); ++axis)
            at.push_back(chunk[axis] *
                         draw.below((std::max<hsize_t>(dims[axis], 1) - 1) / chunk[axis] + 1));
        return at;
    }
};

std::optional<Chunked> pick(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return std::nullopt;
    // What other ranks wrote is not there before a flush, and a rank by itself cannot bring it.
    if (step.world.unflushed && !step.world.alone()) {
        step.applies = false;
        return std::nullopt;
    }
    const hid_t id = dataset->id[step.world.leader()];
    const hid_t list = step.own(H5Dget_create_plist(id)), space = step.own(H5Dget_space(id));
    const int rank = H5Sget_simple_extent_ndims(space);
    step.applies = rank > 0 && H5Pget_layout(list) == H5D_CHUNKED;
    if (!step.applies) return std::nullopt;
    step.tell_of_file(*dataset);
    Chunked found{dataset, Dims(static_cast<std::size_t>(rank)),
                  Dims(static_cast<std::size_t>(rank)), H5Pget_nfilters(list), 0};
    Dims most(found.dims);
    H5Sget_simple_extent_dims(space, found.dims.data(), most.data());
    if (!std::equal(most.begin() + 1, most.end(), found.dims.begin() + 1)) step.fact("grows later");
    H5Pget_chunk(list, rank, found.chunk.data());
    const hid_t type = step.own(H5Dget_type(id));
    found.bytes = H5Tget_size(type);
    for (const hsize_t length : found.chunk) found.bytes *= length;
    return found;
}

/// Blocks have chunks of their own; numbers of chunks are compared where there are none.
bool alike(const Step& step) { return !step.world.setting.blocks && step.world.setting.mpio; }

struct Seen {
    std::string said;
    unsigned count = 0;
};

int note(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes, void* to) {
    auto& seen = *static_cast<Seen*>(to);
    seen.said += fmt::format("{}:{}:{}:{} ", offset[0], mask, address != HADDR_UNDEF, bytes);
    ++seen.count;
    return 0;
}

void ask(Step& step) {
    const auto found = pick(step);
    if (!found) return;
    const Dims at = found->some_offset(step.draw);
    step.code(
        "/* H5Dget_num_chunks, H5Dget_chunk_info_by_coord, H5Dget_chunk_storage_size({}, {}) */",
        found->dataset->name, text_of(at));
    const bool same = alike(step);
    step.both([&](Side& side) {
        const hid_t id = side.of(*found->dataset);
        constexpr hsize_t k_unset = 0x5555555555555555;
        hsize_t chunks = k_unset;
        side.out.result("H5Dget_num_chunks", H5Dget_num_chunks(id, H5S_ALL, &chunks));
        side.out.truth("number is set", chunks != k_unset);
        if (same) side.out.number("chunks", static_cast<long long>(chunks));
        unsigned mask = 0x55555555;
        haddr_t address = k_unset;
        hsize_t bytes = k_unset;
        side.out.result("H5Dget_chunk_info_by_coord",
                        H5Dget_chunk_info_by_coord(id, at.data(), &mask, &address, &bytes));
        side.out.truth("info is set", bytes != k_unset && address != k_unset);
        if (same) side.out.number("bytes", static_cast<long long>(bytes));
        const bool exists = address != HADDR_UNDEF;
        bytes = k_unset;
        const herr_t status = H5Dget_chunk_storage_size(id, at.data(), &bytes);
        if (same) side.out.result("H5Dget_chunk_storage_size", status);
        // Natively a chunk that is not there has no size, and the call succeeds.
        side.out.truth("a size is set",
                       status < 0 || side.which == native || bytes != k_unset || (same && !exists));
        Seen seen;
        side.out.result("H5Dchunk_iter", H5Dchunk_iter(id, H5P_DEFAULT, note, &seen));
        if (same) side.out.text("chunks seen", seen.said);
        side.out.truth("as many as counted", seen.count == chunks);
    });
}

/// Of what is not blocks the stored bytes are the same on both sides.
void read(Step& step) {
    const auto found = pick(step);
    if (!found) return;
    const Dims at = found->some_offset(step.draw);
    step.code("H5Dread_chunk({}, H5P_DEFAULT, {}, &mask, buffer);", found->dataset->name,
              text_of(at));
    const bool same = alike(step);
    step.both([&](Side& side) {
        const hid_t id = side.of(*found->dataset);
        std::vector<unsigned char> bytes(2 * found->bytes + (1u << 20), 0xA5);
        std::uint32_t mask = 0x5555;
        const herr_t status = H5Dread_chunk(id, H5P_DEFAULT, at.data(), &mask, bytes.data());
        side.out.truth("mask is set", status < 0 || mask != 0x5555);
        if (!same) return;
        side.out.result("H5Dread_chunk", status);
        side.out.bytes("chunk", bytes.data(), found->bytes);
    });
}

void write(Step& step) {
    const auto found = pick(step);
    if (!found) return;
    // Parallel HDF5 writes chunks by all ranks together, and does not say what a second one does.
    const hid_t type = step.own(H5Dget_type(found->dataset->id[step.world.leader()]));
    const bool is_empty =
        std::find(found->dims.begin(), found->dims.end(), 0u) != found->dims.end();
    // HDF5 1.14.5 takes chunks outside of an extent of 0 if it has made space before.
    // A refused write leaves HDF5 1.14.5 with a chunk that it cannot read.
    if (step.is_read_only(*found->dataset) || is_empty || found->filters > 0 ||
        step.world.setting.mpio || varies(type) || has_references(type) ||
        step.world.setting.bound > 0) {
        step.applies = false;
        return;
    }
    const Dims at = found->some_offset(step.draw);
    // What lies beyond the extent appears when the dataset grows, natively alone.
    for (std::size_t axis = 0; axis < at.size(); ++axis)
        if (at[axis] + found->chunk[axis] > found->dims[axis]) step.applies = false;
    if (!step.applies) return;
    Values values(type, found->bytes / H5Tget_size(type));
    values.fill(Draw(step.draw.next()), true);
    step.code("H5Dwrite_chunk({}, H5P_DEFAULT, 0, {}, {}, buffer);", found->dataset->name,
              text_of(at), found->bytes);
    step.both([&](Side& side) {
        side.out.result("H5Dwrite_chunk", H5Dwrite_chunk(side.of(*found->dataset), H5P_DEFAULT, 0,
                                                         at.data(), found->bytes, values.data()));
    });
    step.world.unflushed = true;
}

}  // namespace

void add_chunk_operations(std::vector<Operation>& all) {
    all.insert(
        all.end(),
        {{"H5Dget_chunk_info", 3, ask}, {"H5Dread_chunk", 2, read}, {"H5Dwrite_chunk", 2, write}});
}

}  // namespace stand_in
