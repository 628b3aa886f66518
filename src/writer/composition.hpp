// Which quantity each value of a dataset is, where a dataset holds several: density, momenta and
// temperature, say, each with a bound of its own. And which arrays its values are.
//
// Three kinds:
//  - along an axis: the dataset is an array, one of whose axes counts quantities; a chunk holds
//    one of them.
//  - arrays: the dataset has one axis; in it boxes lie one after the other, in each box all
//    quantities, each an array of the box's shape.
//  - interleaved: the last axis counts quantities, and a chunk has all of them. So are the members
//    of a compound type, which is an axis more here than it is to HDF5.
//
// Invariants:
//  - Every value belongs to one array, every array to one component.
//  - The parts of a block are in the order of its values, and are all of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hdf5/block_codec.hpp"

namespace caesura::writer {

/// One quantity of a dataset.
struct Component {
    std::string name;
    ErrorBound bound = lossless();
    bool as_it_is = false;  ///< stored without compression
    friend bool operator==(const Component&, const Component&) = default;
};

/// Boxes that lie one after the other. A code on AMReX has 100,000 of them in a level, the same in
/// all its datasets, and mostly in the next plotfile too: lists that are equal are one.
class BoxList {
  public:
    /// @param shapes  C order, 1 to 4 axes.
    /// Cost: a comparison with each list of as many boxes that somebody has. Thread-safe.
    static std::shared_ptr<const BoxList> of(std::vector<Shape> shapes);
    const std::vector<Shape>& shapes() const { return shapes_; }
    /// Cells of all boxes up to this one, itself included.
    const std::vector<std::uint64_t>& ends() const { return ends_; }
    std::uint64_t cells() const { return ends_.empty() ? 0 : ends_.back(); }

  private:
    explicit BoxList(std::vector<Shape> shapes);
    std::vector<Shape> shapes_;
    std::vector<std::uint64_t> ends_;
};

class Composition {
  public:
    /// @param axis  of the dataset; as long as there are components, and so it stays.
    /// @param axis_in_file  the same one, as readers number it (fold_axes).
    static std::shared_ptr<const Composition> along_axis(std::vector<Component> components,
                                                         int axis, int axis_in_file);
    /// @param axis  the dataset's last; as long as there are components.
    static std::shared_ptr<const Composition> interleaved(std::vector<Component> components,
                                                          int axis);
    /// @param boxes  shapes, C order, 1 to 4 axes, in the order in which they lie in the dataset;
    ///               each of as many arrays as there are components.
    /// @param whole  datasets with the same are parts of one whole, as levels of a mesh: ranges are
    ///               those of what all of them have got so far. Empty: it is one by itself.
    static std::shared_ptr<const Composition> arrays(std::vector<Component> components,
                                                     std::vector<Shape> boxes,
                                                     std::string whole = {});

    const std::vector<Component>& components() const { return components_; }
    int axis() const { return axis_; }                  ///< -1: arrays
    int axis_in_file() const { return axis_in_file_; }  ///< -1: the file has no such axis
    bool is_interleaved() const { return interleaved_; }
    /// Does a block hold several arrays, as a bundle?
    bool bundles() const { return axis_ < 0 || interleaved_; }
    const std::string& whole() const { return whole_; }
    /// Values of all arrays; 0 along an axis.
    std::uint64_t count() const {
        return boxes_ == nullptr ? 0 : boxes_->cells() * components_.size();
    }
    /// The values of one box and component, of the box that has value `at`.
    std::uint64_t array_count(std::uint64_t at) const;
    /// The boxes of arrays; elsewhere there are none.
    std::span<const Shape> boxes() const {
        return boxes_ == nullptr ? std::span<const Shape>() : boxes_->shapes();
    }
    /// A box's array of one component: its first value in the dataset, and its shape.
    struct Array {
        std::uint64_t begin = 0;
        Shape shape;
    };
    Array array_of(std::size_t box, std::size_t component) const;

    /// The arrays in a box of the dataset that lies in one block, in the order of its values: shape
    /// and component. What a block cuts off an array are up to seven arrays more.
    std::vector<codec::BundlePart> parts(const Box& box) const;
    /// The finite values of any box of the dataset, dense at `values`: each component's smallest
    /// and largest, in `ranges`, widened. @param ranges  one for each component.
    struct Range {
        double min = std::numeric_limits<double>::infinity();
        double max = -std::numeric_limits<double>::infinity();
    };
    /// @param missing  bits of values that do not count.
    void widen(const Box& box, const std::byte* values, DType dtype,
               const codec::ValueBits& missing, std::span<Range> ranges) const;

  private:
    explicit Composition(std::vector<Component> components) : components_(std::move(components)) {}
    std::size_t box_at(std::uint64_t value) const;
    std::uint64_t begin_of(std::size_t box) const;

    std::vector<Component> components_;
    int axis_ = -1, axis_in_file_ = -1;
    bool interleaved_ = false;
    std::string whole_;
    std::shared_ptr<const BoxList> boxes_;  ///< null: no arrays
};

/// What is seen of values on the way to their range.
struct Seen {
    codec::ValueBits suspects = {};
    codec::ValueBits declared = {};  ///< with a put, not with the definition
    Composition::Range bulk = {};    ///< of nine tenths of each box's values
    void unite(const Seen& other) {
        codec::unite(suspects, other.suspects);
        codec::unite(declared, other.declared);
        bulk.min = std::min(bulk.min, other.bulk.min);
        bulk.max = std::max(bulk.max, other.bulk.max);
    }
};

/// The finite values' range, widened by `count` values.
void widen_range(const std::byte* data, std::uint64_t count, DType dtype,
                 Composition::Range& range);

/// The same without missing values, known ones and suspects. @return  the suspects, and the bulk.
Seen widen_without(std::span<const std::byte> values, DType dtype, const codec::ValueBits& missing,
                   Composition::Range& range);

/// Does the bound mean something only once the range of all values is known?
inline bool needs_range(const ErrorBound& bound) {
    return bound.kind == ErrorBound::Kind::relative || bound.kind == ErrorBound::Kind::psnr;
}
/// What a bound comes to where finite values have this range, which others than needs_range() do
/// not look at. Without any spread there is no range to take a share of: lossless.
ErrorBound resolve(const ErrorBound& asked, const Composition::Range& range);
/// That a relative bound leaves most values fewer than 8 bits, because few others stretch the
/// range; empty: it does not. For people, without the field's name. @param bulk  as Seen has it.
std::string stretched_range(const ErrorBound& asked, const ErrorBound& in_units,
                            const Composition::Range& range, const Composition::Range& bulk);

}  // namespace caesura::writer
