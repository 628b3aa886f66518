// What looks like coordinates: places and times at which fields are known, meshes, positions of
// particles. A bound that the configuration says of no dataset by name does not hold for them: a
// rounded longitude is another place.
//
// What is known when: the path as the dataset is made, attributes until its blocks are compressed,
// values as they are put (writer/value_order.hpp). Whatever looks like coordinates is stored
// exactly; a rule that names the dataset has the last word.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "vol/native_dataset.hpp"

namespace caesura::vol {

/// By where it is and what it is called. @param rank  how many axes it has.
/// @return  why, for people: "its name is 'lon'"; empty: it does not look like one.
std::string coordinate_by_path(const std::string& path, int rank);

/// Names that attributes of datasets and groups say are coordinates or their bounds, as CF and
/// UGRID have it: coordinates = "lon lat" of a field, bounds = "lat_bnds" of a coordinate.
class NamedCoordinates {
  public:
    /// Attributes that name some.
    static std::span<const std::string_view> lists();
    static bool is_list(const std::string& attribute);
    /// An attribute's value: paths, or names, with spaces between them.
    void add(const std::string& text);
    /// What such attributes of an object say. HDF5's error stack is the caller's to keep.
    void add_lists_of(const NativeObject& object);
    bool has(const std::string& path) const;

  private:
    std::set<std::string> names_;  ///< last names alone
};

/// By its own attributes: a dimension scale, or what CF says of coordinates.
/// @return  as coordinate_by_path(). HDF5's error stack is the caller's to keep.
std::string coordinate_by_attributes(const NativeObject& dataset);

/// Both, and by what others' attributes name.
std::string coordinate_by_attributes(const NativeObject& dataset, const std::string& path,
                                     const NamedCoordinates& named);

}  // namespace caesura::vol
