#include "vol/asked_chunks.hpp"

#include <algorithm>
#include <array>

namespace caesura::vol {

AskedChunks::AskedChunks(Extents dims, Extents chunk, Space space)
    : dims_(std::move(dims)), chunk_(std::move(chunk)), space_(space) {}

hsize_t AskedChunks::all() const {
    hsize_t n = 1;
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) n *= along(axis);
    return n;
}

hsize_t AskedChunks::count() const {
    if (space_ == Space::one_by_one) return there_.size();
    return space_ == Space::at_once || written_ ? all() : 0;
}

hsize_t AskedChunks::number_of(const hsize_t* offset) const {
    hsize_t number = 0;
    for (std::size_t axis = 0; axis < dims_.size(); ++axis)
        number = number * along(axis) + offset[axis] / chunk_[axis];
    return number;
}

AskedChunks::Extents AskedChunks::offset_of(hsize_t number) const {
    Extents offset(dims_.size());
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
        offset[axis] = number % along(axis) * chunk_[axis];
        number /= along(axis);
    }
    return offset;
}

bool AskedChunks::has(const hsize_t* offset) const {
    for (std::size_t axis = 0; axis < dims_.size(); ++axis)
        if (offset[axis] >= dims_[axis]) return false;
    if (space_ == Space::one_by_one) return there_.contains(number_of(offset));
    return space_ == Space::at_once || written_;
}

AskedChunks::Extents AskedChunks::nth(hsize_t n) const {
    if (space_ != Space::one_by_one) return offset_of(n);
    return offset_of(*std::next(there_.begin(), static_cast<std::ptrdiff_t>(n)));
}

void AskedChunks::note_written(hid_t space) {
    const hssize_t selected = H5Sget_select_npoints(space);
    if (selected <= 0) return;
    written_ = true;
    if (space_ != Space::one_by_one || there_.size() == all()) return;
    std::array<hsize_t, H5S_MAX_RANK> first{}, last{};
    if (H5Sget_select_bounds(space, first.data(), last.data()) < 0) return;
    const std::size_t rank = dims_.size();
    hsize_t inside = 1;
    Extents at(rank), end(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
        inside *= last[axis] - first[axis] + 1;
        at[axis] = first[axis] = first[axis] / chunk_[axis] * chunk_[axis];
    }
    const bool is_box = inside == static_cast<hsize_t>(selected);
    for (;;) {
        for (std::size_t axis = 0; axis < rank; ++axis) end[axis] = at[axis] + chunk_[axis] - 1;
        if (is_box || H5Sselect_intersect_block(space, at.data(), end.data()) > 0)
            there_.insert(number_of(at.data()));
        std::size_t axis = rank;
        while (axis-- > 0) {
            at[axis] += chunk_[axis];
            if (at[axis] <= last[axis]) break;
            at[axis] = first[axis];
            if (axis == 0) return;
        }
    }
}

void AskedChunks::resize(Extents dims) {
    // Numbers stay where only the slowest axis grows, as where records are appended.
    const bool renumber =
        !std::equal(dims.begin() + 1, dims.end(), dims_.begin() + 1) || dims[0] < dims_[0];
    std::vector<Extents> offsets;
    if (renumber)
        for (const hsize_t number : there_) offsets.push_back(offset_of(number));
    dims_ = std::move(dims);
    if (!renumber) return;
    there_.clear();
    for (const Extents& offset : offsets) {
        bool stays = true;
        for (std::size_t axis = 0; axis < dims_.size(); ++axis) stays &= offset[axis] < dims_[axis];
        if (stays) there_.insert(number_of(offset.data()));
    }
}

}  // namespace caesura::vol
