// What a function on data in transit is given: a region of an object with what is known of it, or
// an iterator over regions.
//
// Invariants:
//  - A view owns nothing: names, tags and values stay where they are, with whoever made the view.
//  - Values are dense, C order, aligned for their type, of the machine's own byte order.
//  - An iterator gives regions in any order. They do not overlap; that they cover the object is
//    not promised, and what needs it says so.
// Source: S4 §III-A, S4 §III-B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::lambda {

using Tag = std::pair<std::string, std::string>;

/// A part of an object.
struct RegionView {
    std::string_view object;  ///< name
    std::uint64_t id = 0;     ///< of the object
    DType dtype = float32;
    Shape shape;                        ///< of the object, 1 to 4 axes
    Box box;                            ///< where the region lies in it; an extent may be 0
    double time = 0.0;                  ///< of the data, in the application's unit
    std::string_view owner;             ///< who handed it over
    std::span<const Tag> tags;          ///< of the user
    std::span<const std::byte> values;  ///< box.extent.count() values

    std::uint64_t count() const { return box.extent.count(); }
    /// Only after validate(), and for the type that dtype says.
    template <class T>
    std::span<const T> as() const {
        return {reinterpret_cast<const T*>(values.data()), values.size() / sizeof(T)};
    }
};

/// Type, shape and box fit each other, and the numbers of values do not overflow.
/// Errors: invalid_argument, naming object, box and shape.
Status validate_place(const RegionView& region);
/// validate_place(), and the values are as many as the box says, and aligned.
Status validate(const RegionView& region);

/// "rho, offset [0, 0] extent [2, 2]": to begin a message with.
std::string describe(const RegionView& region);

/// The bytes that tell a region from every other: name, id, type, shape, box, time. Equal for equal
/// regions on every machine. Owner and tags are not among them: they may change.
std::vector<std::byte> identity(const RegionView& region);

/// Call `work(span of T)` with the values in their type.
template <class Work>
auto with_values(const RegionView& region, Work&& work) {
    if (region.dtype == float32) return work(region.as<float>());
    return work(region.as<double>());
}

/// Regions one after the other, from wherever they are. Used by one thread.
class RegionIterator {
  public:
    virtual ~RegionIterator() = default;
    /// The next region, which is valid until the next call; nullopt after the last.
    /// Errors: those of fetching it; the iterator is then of no further use.
    virtual Result<std::optional<RegionView>> next() = 0;
    /// Begin again, in any order. Errors: unsupported (regions pass by once).
    virtual Status rewind();
};

/// Regions that lie in memory, in the order of the list.
class ListedRegions : public RegionIterator {
  public:
    explicit ListedRegions(std::span<const RegionView> regions) : regions_(regions) {}
    Result<std::optional<RegionView>> next() override;
    Status rewind() override;

  private:
    std::span<const RegionView> regions_;
    std::size_t at_ = 0;
};

}  // namespace caesura::lambda
