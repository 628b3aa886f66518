// WriterReport as C has it: the same members by the same names.
#pragma once

#include "caesura/caesura.h"
#include "caesura/writer.hpp"

namespace caesura::capi {

/// Every member; struct_bytes is this library's.
caesura_writer_report c_report(const WriterReport& from);

/// Whether `report` can be filled: its struct_bytes holds at least itself.
/// Errors: invalid_argument, naming what it holds.
Status check_report(const caesura_writer_report* report);

/// Fills what the caller's struct holds, which may be older or newer than this library's: an older
/// one gets what it knows, in a newer one the rest becomes 0. Its struct_bytes stays.
void fill(caesura_writer_report& report, const WriterReport& from);

}  // namespace caesura::capi
