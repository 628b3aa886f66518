// Checks of sessions, files and results; block_checks.cpp has those of dumps and blocks.
#include "transit/message_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace caesura::transit {
namespace {

Status bad(std::string what) { return {StatusCode::corrupt, std::move(what)}; }

Status check_path(const std::string& path) {
    if (path.empty()) return bad("the path is empty");
    if (path.find('\0') != std::string::npos) return bad("the path has a NUL in it");
    return {};
}

/// The stretch [offset, offset + bytes) of a file.
Status check_stretch(std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > k_io_limit_bytes)
        return bad(fmt::format("{} bytes at once; at most {}", bytes, k_io_limit_bytes));
    if (offset > k_offset_limit - bytes)
        return bad(fmt::format("{} bytes at offset {}", bytes, offset));
    return {};
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Status check(const Hello& message) {
    if (std::any_of(message.application.begin(), message.application.end(), is_control))
        return bad("the application's name has control characters");
    const auto limit = static_cast<std::int32_t>(k_ranks_limit);
    if (message.size < 1 || message.size > limit || message.rank < 0 ||
        message.rank >= message.size)
        return bad(fmt::format("rank {} of {}", message.rank, message.size));
    if (!(message.weight > 0.0 && message.weight <= k_weight_limit))
        return bad(fmt::format("weight {}; above 0, at most {}", message.weight, k_weight_limit));
    return {};
}

Status check(const Share& message) {
    if (message.key.process < 1 || message.key.descriptor < 0)
        return bad(fmt::format("memory of process {}, descriptor {}", message.key.process,
                               message.key.descriptor));
    if (message.key.bytes < base::SharedMemory::k_first_byte ||
        message.key.bytes > k_arena_limit_bytes)
        return bad(fmt::format("memory of {} bytes", message.key.bytes));
    return {};
}

Status check(const OpenFile& message) { return check_path(message.path); }
Status check(const SyncDirectory& message) { return check_path(message.path); }
Status check(const WriteFile& message) {
    return check_stretch(message.offset, message.payload_bytes);
}
Status check(const ReadFile& message) { return check_stretch(message.offset, message.bytes); }

Status check(const TruncateFile& message) {
    if (message.bytes <= k_offset_limit) return {};
    return bad(fmt::format("a file of {} bytes", message.bytes));
}

Status check(const Welcome& message) {
    if (message.credits_bytes > k_offset_limit)
        return bad(fmt::format("credits of {} bytes", message.credits_bytes));
    if (!(message.lease_s > 0.0 && message.lease_s <= k_seconds_limit))
        return bad(fmt::format("a lease of {} s", message.lease_s));
    const Limits& limits = message.limits;
    if (limits.block_bytes < 1 || limits.block_bytes > k_block_limit_bytes || limits.io_bytes < 1 ||
        limits.io_bytes > k_io_limit_bytes)
        return bad(fmt::format("limits of {} bytes a block and {} bytes a read or write",
                               limits.block_bytes, limits.io_bytes));
    return {};
}

Status check(const Refusal& message) {
    return message.status.ok() ? bad("a refusal without a reason") : Status{};
}

Status check(const Answer& message) {
    if (message.payload_bytes > k_io_limit_bytes ||
        (!message.status.ok() && message.payload_bytes > 0))
        return bad(fmt::format("an answer ({}) with {} bytes", to_string(message.status.code()),
                               message.payload_bytes));
    return {};
}

Status check(const Taken& message) {
    return message.job < k_blocks_limit ? Status{} : bad(fmt::format("job {}", message.job));
}

Status check(const Credit& message) {
    if (message.bytes >= 1 && message.bytes <= k_offset_limit) return {};
    return bad(fmt::format("credit of {} bytes", message.bytes));
}

Status check(const BlockResult& message) {
    if (message.job >= k_blocks_limit) return bad(fmt::format("job {}", message.job));
    if (message.stored_bytes < 1 || message.stored_bytes > k_block_limit_bytes)
        return bad(fmt::format("{} stored bytes", message.stored_bytes));
    const bool overflowed = message.state == BlockState::overflowed;
    if (message.payload_bytes != (overflowed ? message.stored_bytes : 0))
        return bad(fmt::format("a block of {} stored bytes that {} comes with {}",
                               message.stored_bytes, overflowed ? "has overflowed" : "is written",
                               message.payload_bytes));
    if (message.max_error && !(*message.max_error >= 0.0))
        return bad(fmt::format("max_error is {}", *message.max_error));
    if (!(message.compress_s >= 0.0 && message.compress_s <= k_seconds_limit))
        return bad(fmt::format("compress_s is {}", message.compress_s));
    if (message.statistics.empty()) return {};
    return TableStatistics::parse(message.statistics).status();
}

}  // namespace caesura::transit
