#include "vol/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "store/hdf5_handle.hpp"
#include "vol/strided_copy.hpp"

namespace caesura::vol {
namespace {

using Extents = std::array<hsize_t, H5S_MAX_RANK>;

/// @return  false: it is no regular hyperslab.
bool read_combs(hid_t space, Selection& selection) {
    const std::size_t rank = selection.dims.size();
    const H5S_sel_type type = H5Sget_select_type(space);
    selection.combs.resize(rank);
    if (type == H5S_SEL_ALL) {
        for (std::size_t i = 0; i < rank; ++i)
            selection.combs[i] = Comb{0, 1, 1, selection.dims[i]}.simplest();
        return true;
    }
    Extents start{}, stride{}, count{}, block{}, low{}, high{};
    if (type != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0 ||
        H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) <
            0 ||
        H5Sget_select_bounds(space, low.data(), high.data()) < 0)
        return false;
    // The bounds know of H5Soffset_simple, of which the hyperslab says nothing.
    for (std::size_t i = 0; i < rank; ++i)
        selection.combs[i] = Comb{low[i], stride[i], count[i], block[i]}.simplest();
    // Some unions of the library's count more values than their hyperslab has (1.14.5).
    std::uint64_t values = 1;
    for (const Comb& comb : selection.combs) values *= comb.values();
    return values == selection.count;
}

Status read_runs(hid_t space, Selection& selection) {
    constexpr std::size_t k_at_once = 1024;
    std::vector<Run>& runs = selection.runs;
    const std::uint64_t extent = std::accumulate(selection.dims.begin(), selection.dims.end(),
                                                 std::uint64_t{1}, std::multiplies<>());
    const store::Handle iterator(H5Ssel_iter_create(space, 1, 0), H5Ssel_iter_close);
    std::array<hsize_t, k_at_once> offsets;
    std::array<std::size_t, k_at_once> lengths;
    for (std::uint64_t left = selection.count; left > 0;) {
        std::size_t found = 0, values = 0;
        if (!iterator.ok() || H5Ssel_iter_get_seq_list(iterator.get(), k_at_once, left, &found,
                                                       &values, offsets.data(), lengths.data()) < 0)
            return store::hdf5_error(StatusCode::internal, "going through a selection");
        if (values == 0) return {StatusCode::internal, "a selection ends early"};
        for (std::size_t i = 0; i < found; ++i) {
            if (offsets[i] > extent || lengths[i] > extent - offsets[i])
                return {StatusCode::invalid_argument,
                        fmt::format("a selection of HDF5's leads beyond its extent, to element {} "
                                    "of {}; some unions of hyperslabs do (HDF5 1.14.5): select "
                                    "their parts one after the other",
                                    offsets[i] + lengths[i] - 1, extent)};
            if (!runs.empty() && runs.back().begin + runs.back().length == offsets[i])
                runs.back().length += lengths[i];
            else
                runs.push_back({offsets[i], lengths[i]});
        }
        left -= values;
    }
    return {};
}

}  // namespace

Comb Comb::simplest() const {
    Comb comb = *this;
    if (comb.count != 1 && comb.stride == comb.block) {
        comb.block *= comb.count;
        comb.count = comb.block == 0 ? 0 : 1;
    }
    if (comb.count <= 1) comb.stride = std::max<std::uint64_t>(1, comb.block);
    return comb;
}

Result<Selection> selection_of(hid_t space) {
    Selection selection;
    const hssize_t count = H5Sget_select_npoints(space);
    if (count < 0) return store::hdf5_error(StatusCode::internal, "counting a selection");
    selection.count = static_cast<std::uint64_t>(count);
    if (count == 0) return selection;
    Extents dims{};
    const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    if (rank < 0) return store::hdf5_error(StatusCode::internal, "a dataspace");
    selection.dims.assign(dims.begin(), dims.begin() + rank);
    if (rank == 0) {
        selection.runs.push_back({0, selection.count});
        return selection;
    }
    if (read_combs(space, selection)) return selection;
    selection.combs.clear();
    if (Status status = read_runs(space, selection); !status.ok()) return status;
    return selection;
}

namespace {

/// Where the first selected value lies in memory, and the loops over all of them, whose steps are
/// in values of the array and of the dense order of transfer.
struct Lattice {
    std::uint64_t begin = 0;
    std::vector<Loop> loops;
};

Lattice lattice_of(const Selection& selection) {
    Lattice lattice;
    std::uint64_t step = 1, dense = 1;
    for (std::size_t i = selection.dims.size(); i-- > 0; step *= selection.dims[i]) {
        const Comb& comb = selection.combs[i];
        lattice.begin += comb.start * step;
        lattice.loops.push_back({comb.block, step, dense});
        lattice.loops.push_back({comb.count, comb.stride * step, comb.block * dense});
        dense *= comb.values();
    }
    std::reverse(lattice.loops.begin(), lattice.loops.end());
    return lattice;
}

}  // namespace

std::optional<std::uint64_t> first_if_dense(const Selection& selection) {
    if (selection.combs.empty()) {
        if (selection.runs.size() != 1) return std::nullopt;
        return selection.runs[0].begin;
    }
    // Axes of one value, then one that is a part of the array, then whole ones.
    bool several = false;
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < selection.combs.size(); ++i) {
        const Comb& comb = selection.combs[i];
        if (comb.count != 1 || (several && comb.block != selection.dims[i])) return std::nullopt;
        several |= comb.block != 1;
        first = first * selection.dims[i] + comb.start;
    }
    return first;
}

void gather_selected(const Selection& selection, const std::byte* memory, std::size_t value_bytes,
                     std::byte* in_order) {
    if (!selection.combs.empty()) {
        Lattice lattice = lattice_of(selection);
        for (Loop& loop : lattice.loops)
            loop = {loop.count, loop.from * value_bytes, loop.to * value_bytes};
        copy_strided(std::move(lattice.loops), memory + lattice.begin * value_bytes, in_order,
                     value_bytes);
        return;
    }
    for (const Run& run : selection.runs) {
        std::memcpy(in_order, memory + run.begin * value_bytes, run.length * value_bytes);
        in_order += run.length * value_bytes;
    }
}

void scatter_selected(const Selection& selection, const std::byte* in_order,
                      std::size_t value_bytes, std::byte* memory) {
    if (!selection.combs.empty()) {
        Lattice lattice = lattice_of(selection);
        for (Loop& loop : lattice.loops)
            loop = {loop.count, loop.to * value_bytes, loop.from * value_bytes};
        copy_strided(std::move(lattice.loops), in_order, memory + lattice.begin * value_bytes,
                     value_bytes);
        return;
    }
    for (const Run& run : selection.runs) {
        std::memcpy(memory + run.begin * value_bytes, in_order, run.length * value_bytes);
        in_order += run.length * value_bytes;
    }
}

}  // namespace caesura::vol
