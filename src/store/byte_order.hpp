// Every on-disk structure of ours goes through here: records of little-endian numbers, whatever the
// machine.
#pragma once

#include "base/little_endian.hpp"
#include "caesura/base.hpp"

namespace caesura::store {

using RecordWriter = base::ByteWriter<base::FixedRoom>;
using RecordReader = base::ByteReader;

constexpr std::uint64_t round_up_8(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace caesura::store
