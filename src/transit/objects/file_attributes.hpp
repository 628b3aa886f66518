// What the dataset of an object that was persisted says of it, in attributes of HDF5; and what a
// service that lists the file makes of them.
//
// Invariants:
//  - Any attributes can be read: what does not parse is as if it were not there.
//  - What one object writes fits its header in HDF5, which holds less than 64 KiB.
#pragma once

#include "caesura/store.hpp"
#include "transit/object_messages.hpp"

namespace caesura::transit {

inline constexpr std::size_t k_attribute_limit_bytes = 32768;  ///< tags; results

/// caesura_object_id, _owner, _container, _time and _tags (a JSON list of [name, text]), and
/// caesura_analyses (a JSON object by call; the oldest that do not fit are left out).
/// Errors: invalid_argument (tags that do not fit; a text that is no UTF-8).
Result<std::vector<store::Attribute>> attributes_of(const ObjectInfo& object);

struct FiledNotes {
    std::optional<double> time;
    std::vector<Tag> tags;
    std::vector<ResultInfo> results;
};
FiledNotes notes_of(const std::vector<store::Attribute>& attributes);

}  // namespace caesura::transit
