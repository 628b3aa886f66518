// What a selection of HDF5's selects, in the terms of blocks: runs of values, and boxes.
//
// Invariants:
//  - Runs come in the order in which the library transfers values; together they are the selection.
//  - Boxes are as few as merging neighbours gives. Together they are what the runs select, each
//    value once, unless a point selection names a value twice: then the later one comes later.
#pragma once

#include <hdf5.h>

#include "caesura/base.hpp"

namespace caesura::vol {

/// Values that follow each other in the dense array that a dataspace describes.
struct Run {
    std::uint64_t begin = 0;   ///< row-major number of the first value
    std::uint64_t length = 0;  ///< values
    friend bool operator==(const Run&, const Run&) = default;
};

/// Errors: internal (HDF5 refused; a selection without values is none).
Result<std::vector<Run>> runs_of(hid_t space);

/// A box of the array, and where its values lie among those of all boxes, dense, box after box.
struct SelectedBox {
    Box box;
    std::uint64_t at = 0;
};

struct SelectedBoxes {
    std::vector<SelectedBox> boxes;
    /// Values in the order of transfer are those of the boxes, one after the other.
    bool in_order = false;
};

/// @param dims  of the array that the runs are of.
SelectedBoxes boxes_of(const Shape& dims, std::span<const Run> runs);

/// Bring values from the order of transfer into that of the boxes. Both of as many values as are
/// selected.
void to_boxes(const Shape& dims, std::span<const Run> runs, const SelectedBoxes& selected,
              const std::byte* in_order, std::byte* in_boxes, std::size_t value_bytes);

/// How many bytes a value has, and which of them lie in a box.
struct ValueBytes {
    std::size_t all = 0, begin = 0, count = 0;
    static ValueBytes whole(std::size_t bytes) { return {bytes, 0, bytes}; }
};

/// Copy what `box` and the runs have in common from `values`, dense in the box, to its place in the
/// order of transfer. @return how many values that were.
std::uint64_t take_from_box(const Shape& dims, std::span<const Run> runs, const Box& box,
                            const std::byte* values, std::byte* in_order, const ValueBytes& bytes);

/// Set the marks, one for each value in the order of transfer, of those that lie in the box to 1.
void mark_in_box(const Shape& dims, std::span<const Run> runs, const Box& box,
                 std::span<char> marks);

}  // namespace caesura::vol
