// What a selection of HDF5's selects, in the terms of blocks: boxes, and copies between their
// values and the values in the order of transfer.
//
// Invariants:
//  - A regular hyperslab is described axis by axis, whatever number of values it has. Anything else
//    is rows: their number is what work depends on.
//  - Boxes are as few as merging neighbours gives. Together they are what is selected, each value
//    once, unless a point selection names a value twice: then the later one comes later.
#pragma once

#include <hdf5.h>

#include <optional>

#include "caesura/base.hpp"

namespace caesura::vol {

/// What a regular hyperslab selects along one axis.
struct Comb {
    std::uint64_t start = 0, stride = 1, count = 0, block = 1;
    std::uint64_t values() const { return count * block; }
    /// The first number behind all of it.
    std::uint64_t end() const { return count == 0 ? start : start + (count - 1) * stride + block; }
    /// The same, with blocks that touch as one.
    Comb simplest() const;
    friend bool operator==(const Comb&, const Comb&) = default;
};

/// Values that follow each other in the dense array that a dataspace describes.
struct Run {
    std::uint64_t begin = 0;   ///< row-major number of the first value
    std::uint64_t length = 0;  ///< values
    friend bool operator==(const Run&, const Run&) = default;
};

/// What a dataspace selects. Without combs, the runs are it, in the order of transfer.
struct Selection {
    std::vector<std::uint64_t> dims;
    std::vector<Comb> combs;  ///< as many as dims, or none
    std::vector<Run> runs;
    std::uint64_t count = 0;
};
/// Errors: internal (HDF5 refused; a selection without values is no error).
Result<Selection> selection_of(hid_t space);

/// The number of the first selected value, if all others follow it.
std::optional<std::uint64_t> first_if_dense(const Selection& selection);

/// Bring the selected values of an array in memory into the order of transfer, and back.
void gather_selected(const Selection& selection, const std::byte* memory, std::size_t value_bytes,
                     std::byte* in_order);
void scatter_selected(const Selection& selection, const std::byte* in_order,
                      std::size_t value_bytes, std::byte* memory);

/// A box of the array, and where its values lie among those of all boxes, dense, box after box.
struct SelectedBox {
    Box box;
    std::uint64_t at = 0;
};

struct SelectedBoxes {
    std::vector<SelectedBox> boxes;
    /// Values in the order of transfer are those of the boxes, one after the other.
    bool in_order = false;
    std::vector<std::uint32_t> of_row = {};  ///< in which box each row lies; regular: empty
};

/// How many bytes a value has, and which of them lie in a box.
struct ValueBytes {
    std::size_t all = 0, begin = 0, count = 0;
    static ValueBytes whole(std::size_t bytes) { return {bytes, 0, bytes}; }
};

/// What is selected of the array that blocks see.
class Picked {
  public:
    Picked() = default;
    /// @param selection  of a dataspace that has all the axes of the dataset, maybe with other
    ///                   extents; what is selected lies inside the dataset.
    /// @param native     the dataset's own extents, as many as the dataspace has.
    /// @param dims       those extents as blocks see them: of neighbours their product.
    /// @param axes       for each of dims the first of the dataset's axes that it is made of.
    Picked(const Selection& selection, std::span<const std::uint64_t> native, const Shape& dims,
           std::span<const int> axes);

    std::uint64_t count() const { return count_; }
    /// The smallest box around all of it; there is a value.
    const Box& around() const { return around_; }
    SelectedBoxes boxes() const;
    /// Bring values from the order of transfer into that of the boxes.
    void to_boxes(const SelectedBoxes& boxes, const std::byte* in_order, std::byte* in_boxes,
                  std::size_t value_bytes) const;
    /// Copy what `box` has of it from `values`, dense in the box, to its place in the order of
    /// transfer. @return  how many values that were.
    std::uint64_t take_from(const Box& box, const std::byte* values, std::byte* in_order,
                            const ValueBytes& bytes) const;
    /// Does the box have any of it?
    bool touches(const Box& box) const;
    /// Set the marks, one for each value in the order of transfer, of those that lie in the box.
    void mark(const Box& box, std::span<char> marks) const;

  private:
    /// A run, or a part of one, inside one row of the array.
    struct Row {
        std::uint64_t begin = 0, length = 0;
        std::uint64_t at = 0;  ///< in the order of transfer
    };
    void set_rows(std::span<const Run> runs);
    SelectedBoxes boxes_of_combs() const;
    SelectedBoxes boxes_of_rows() const;
    Box box_of(const Row& row) const;
    template <class Visit>
    void for_common_rows(const Box& box, Visit&& visit) const;
    template <class Visit>
    void for_common_combs(const Box& box, Visit&& visit) const;

    Shape dims_;
    std::uint64_t count_ = 0;
    std::vector<Comb> combs_;
    std::vector<Row> rows_;  ///< ascending by begin
    bool in_order_ = true;   ///< so are they in the order of transfer
    bool repeats_ = false;   ///< a value is named twice
    Box around_;
};

}  // namespace caesura::vol
