// The members of WriterReport by name, for Python: the one list that its values and the class
// caesura.WriterReport are made from.
#pragma once

#include "caesura/writer.hpp"

namespace caesura::python {

/// Calls call(name, value) with each member, in the header's order.
template <class Call>
void for_each_member(const WriterReport& report, Call call) {
    call("raw_bytes", report.raw_bytes);
    call("stored_bytes", report.stored_bytes);
    call("reserved_bytes", report.reserved_bytes);
    call("spare_bytes", report.spare_bytes);
    call("overflow_bytes", report.overflow_bytes);
    call("overflow_blocks", report.overflow_blocks);
    call("superseded_bytes", report.superseded_bytes);
    call("fallback_blocks", report.fallback_blocks);
    call("raw_blocks", report.raw_blocks);
    call("blocks", report.blocks);
    call("writes", report.writes);
    call("dumps", report.dumps);
    call("recalled_blocks", report.recalled_blocks);
    call("helped_blocks", report.helped_blocks);
    call("helped_bytes", report.helped_bytes);
    call("taken_back_blocks", report.taken_back_blocks);
    call("compress_s", report.compress_s);
    call("write_s", report.write_s);
    call("plan_s", report.plan_s);
    call("predicted_compress_s", report.predicted_compress_s);
    call("put_s", report.put_s);
    call("end_s", report.end_s);
    call("close_s", report.close_s);
    call("put_wait_s", report.put_wait_s);
    call("over_budget_bytes", report.over_budget_bytes);
    call("peak_memory_bytes", report.peak_memory_bytes);
    call("max_error_over_bound", report.max_error_over_bound);
    call("write_interference_s", report.write_interference_s);
    call("seen_computing_s", report.seen_computing_s);
    call("seen_communicating_s", report.seen_communicating_s);
    call("seen_waiting_s", report.seen_waiting_s);
    call("seen_spinning_s", report.seen_spinning_s);
    call("seen_intervals", report.seen_intervals);
    call("cores", report.cores);
    call("compress_interference_s", report.compress_interference_s);
    call("replans", report.replans);
    call("taken_over_blocks", report.taken_over_blocks);
    call("taken_over_s", report.taken_over_s);
    call("longest_to_written_s", report.longest_to_written_s);
    call("longest_to_committed_s", report.longest_to_committed_s);
    call("lost_dumps", report.lost_dumps);
    call("lost_bytes", report.lost_bytes);
    call("lost_services", report.lost_services);
    call("regained_services", report.regained_services);
    call("planned_dumps", report.planned_dumps);
    call("planned_end_s", report.planned_end_s);
    call("actual_end_s", report.actual_end_s);
    call("planned_iteration_s", report.planned_iteration_s);
    call("actual_iteration_s", report.actual_iteration_s);
    call("plan_deviation", report.plan_deviation);
    call("files", report.files);
    call("file_wait_s", report.file_wait_s);
}

/// Every member is a number of 8 bytes, so a new one that is not listed above does not compile.
static_assert(sizeof(WriterReport) == 52 * sizeof(double),
              "list the new member above, and count it");

}  // namespace caesura::python
