// What the application handed over: values in memory, and parts of chunks that lie in them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/buffer.hpp"

namespace caesura::run {

/// Values handed over by the application: copied (the buffer is ours) or borrowed (it is empty).
struct Snapshot {
    Snapshot() = default;
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    ~Snapshot() { release_memory(); }

    base::Buffer buffer;
    base::MemoryBudget* budget = nullptr;
    std::uint64_t charged_bytes = 0;
    /// Jobs that still read it; the one that takes it to 0 gives the memory back.
    std::atomic<std::uint32_t> readers{0};

    void release_reader() {
        if (readers.fetch_sub(1, std::memory_order_acq_rel) == 1) release_memory();
    }
    void release_memory() {
        buffer = base::Buffer();
        if (budget && charged_bytes) budget->release(charged_bytes);
        charged_bytes = 0;
    }
};

/// A part of a chunk, and the dense array in which its values lie.
struct PutPart {
    Box part;
    Box source_box;
    const std::byte* source = nullptr;
    Snapshot* snapshot = nullptr;
};

}  // namespace caesura::run
