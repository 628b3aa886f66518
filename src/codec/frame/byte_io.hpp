// Every structure inside a frame goes through here: little-endian bytes, whatever the machine.
#pragma once

#include "base/little_endian.hpp"
#include "caesura/base.hpp"
#include "codec/frame/output.hpp"

namespace caesura::codec {

using ByteWriter = base::ByteWriter<Output&>;
using base::ByteReader;

/// Multi-byte values inside sections (planes of bytes, exact values) are copied as they lie in
/// memory, so this format is for little-endian machines.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

}  // namespace caesura::codec
