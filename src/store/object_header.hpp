// The little of HDF5's on-disk object header (version 2) that filter aliases need: find the filter
// pipeline message, replace filter numbers, renew the checksum.
// HDF5 File Format Specification 3.0, IV.A.1.b and IV.A.2.l.
#pragma once

#include <map>

#include "store/overlay.hpp"

namespace caesura::store {

/// In the object header at `address`, which lies wholly in `overlay`, replace every filter number
/// that is a key of `numbers` by its value. Errors: internal (not a valid header).
Status rename_filters(Overlay& overlay, std::uint64_t address,
                      const std::map<unsigned, unsigned>& numbers);

/// HDF5's metadata checksum (Bob Jenkins' lookup3, little-endian, initial value 0).
std::uint32_t metadata_checksum(std::span<const std::byte> bytes);

}  // namespace caesura::store
