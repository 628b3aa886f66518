#include "capi/report.hpp"

#include <algorithm>
#include <cstring>

#include "capi/errors.hpp"

namespace caesura::capi {

static_assert(sizeof(caesura_writer_report) == sizeof(std::size_t) + sizeof(WriterReport),
              "add the new member at the end of caesura_writer_report, below and to the list of "
              "report_test.cpp");

caesura_writer_report c_report(const WriterReport& from) {
    caesura_writer_report to{};
    to.struct_bytes = sizeof to;
    to.raw_bytes = from.raw_bytes;
    to.stored_bytes = from.stored_bytes;
    to.reserved_bytes = from.reserved_bytes;
    to.spare_bytes = from.spare_bytes;
    to.overflow_bytes = from.overflow_bytes;
    to.overflow_blocks = from.overflow_blocks;
    to.superseded_bytes = from.superseded_bytes;
    to.fallback_blocks = from.fallback_blocks;
    to.raw_blocks = from.raw_blocks;
    to.blocks = from.blocks;
    to.writes = from.writes;
    to.dumps = from.dumps;
    to.recalled_blocks = from.recalled_blocks;
    to.helped_blocks = from.helped_blocks;
    to.helped_bytes = from.helped_bytes;
    to.taken_back_blocks = from.taken_back_blocks;
    to.compress_s = from.compress_s;
    to.write_s = from.write_s;
    to.plan_s = from.plan_s;
    to.predicted_compress_s = from.predicted_compress_s;
    to.put_s = from.put_s;
    to.end_s = from.end_s;
    to.close_s = from.close_s;
    to.put_wait_s = from.put_wait_s;
    to.over_budget_bytes = from.over_budget_bytes;
    to.peak_memory_bytes = from.peak_memory_bytes;
    to.max_error_over_bound = from.max_error_over_bound;
    to.write_interference_s = from.write_interference_s;
    to.seen_computing_s = from.seen_computing_s;
    to.seen_communicating_s = from.seen_communicating_s;
    to.seen_waiting_s = from.seen_waiting_s;
    to.seen_spinning_s = from.seen_spinning_s;
    to.seen_intervals = from.seen_intervals;
    to.cores = from.cores;
    to.compress_interference_s = from.compress_interference_s;
    to.replans = from.replans;
    to.taken_over_blocks = from.taken_over_blocks;
    to.taken_over_s = from.taken_over_s;
    to.longest_to_written_s = from.longest_to_written_s;
    to.longest_to_committed_s = from.longest_to_committed_s;
    to.planned_dumps = from.planned_dumps;
    to.planned_end_s = from.planned_end_s;
    to.actual_end_s = from.actual_end_s;
    to.planned_iteration_s = from.planned_iteration_s;
    to.actual_iteration_s = from.actual_iteration_s;
    to.plan_deviation = from.plan_deviation;
    to.lost_dumps = from.lost_dumps;
    to.lost_bytes = from.lost_bytes;
    to.lost_services = from.lost_services;
    to.regained_services = from.regained_services;
    to.files = from.files;
    to.file_wait_s = from.file_wait_s;
    return to;
}

Status check_report(const caesura_writer_report* report) {
    if (!report) return invalid("report is NULL");
    if (report->struct_bytes < sizeof report->struct_bytes)
        return invalid("report: struct_bytes is " + std::to_string(report->struct_bytes) +
                       "; set it to sizeof(caesura_writer_report)");
    return {};
}

void fill(caesura_writer_report& report, const WriterReport& from) {
    const std::size_t room = report.struct_bytes;
    caesura_writer_report all = c_report(from);
    all.struct_bytes = room;
    auto* const bytes = reinterpret_cast<unsigned char*>(&report);
    std::memcpy(bytes, &all, std::min(sizeof all, room));
    if (room > sizeof all) std::memset(bytes + sizeof all, 0, room - sizeof all);
}

}  // namespace caesura::capi
