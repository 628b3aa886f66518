// Random extents and selections.
#pragma once

#include "step.hpp"

namespace stand_in {

using Dims = std::vector<hsize_t>;

struct Extent {
    Dims now, most;
    bool is_scalar = false, is_null = false;
    hid_t id = H5I_INVALID_HID;  ///< owned by the step
    std::string code;
    bool grows() const { return now != most; }
    std::size_t count() const;
};

/// @param axes  at most.
Extent some_extent(Step& step, int axes);

/// C that names an array: (hsize_t[]){1, 2}.
std::string text_of(const Dims& dims);

/// What one transfer selects, in memory and in the file: as many elements in both.
struct Selection {
    hid_t memory = H5S_ALL, file = H5S_ALL;  ///< owned by the step
    std::string memory_code = "H5S_ALL", file_code = "H5S_ALL";
    std::size_t memory_count = 0;  ///< elements that the buffer has
};

/// What a rank may select of a dataset.
enum class Part { all, own, nothing };

/// Of a dataset with this extent; `mine` draws, so ranks may select different elements.
Selection some_selection(Step& step, Draw& mine, const Dims& dims, Part part);

/// A selection in a dataspace of these extents, which is returned; owned by the step.
struct Region {
    hid_t id = H5I_INVALID_HID;
    std::string code;
};
Region some_region(Step& step, Draw& mine, const Dims& dims, Part part);

}  // namespace stand_in
