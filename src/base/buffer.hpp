// Large memory: page-aligned buffers straight from the kernel, a pool that reuses them, and the
// budget that bounds what is held.
//
// Invariants:
//  - No lock anywhere. A worker at idle priority can be preempted at any instruction; if it then
//    held a lock, the application's thread would wait for a thread that gets no time (decision D5).
//    malloc's arenas are such locks, so large buffers come from mmap and are recycled by atomics.
//  - A Buffer knows its budget: its bytes are charged while it lives.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "caesura/base.hpp"

namespace caesura::base {

/// Bytes held against a limit. Lock-free, any thread.
class MemoryBudget {
  public:
    explicit MemoryBudget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
    /// Charge if it fits; false (and nothing charged) if not.
    bool try_charge(std::uint64_t bytes);
    /// Charge whatever the limit says.
    void charge(std::uint64_t bytes);
    void release(std::uint64_t bytes);
    std::uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_acquire); }
    std::uint64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
    std::uint64_t limit_bytes() const { return limit_bytes_; }

  private:
    void note_peak(std::uint64_t held);
    std::uint64_t limit_bytes_;
    std::atomic<std::uint64_t> held_bytes_{0};
    std::atomic<std::uint64_t> peak_bytes_{0};
};

/// Bytes that a budget knows of as long as this lives. They are charged whatever the limit says.
class Charge {
  public:
    Charge() = default;
    Charge(MemoryBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {
        budget.charge(bytes);
    }
    Charge(Charge&& other) noexcept
        : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Charge() {
        if (bytes_ > 0) budget_->release(bytes_);
    }

  private:
    MemoryBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
};

class BufferPool;

/// Where a pool's pages come from, if not straight from the kernel: memory that others can see.
class PageSource {
  public:
    virtual ~PageSource() = default;
    /// Page-aligned, for `bytes` in whole pages; null where there is no room. Any thread, no lock.
    virtual std::byte* map(std::size_t bytes) = 0;
    /// What map() gave. Any thread, no lock.
    virtual void unmap(std::byte* data, std::size_t bytes) = 0;
    virtual bool has(const std::byte* data) const = 0;
};

/// Page-aligned bytes of one owner; returns to its pool (or the kernel) when destroyed.
class Buffer {
  public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();
    /// Bytes of somebody else, who keeps them alive.
    static Buffer view(std::span<std::byte> bytes);

    std::byte* data() { return data_; }
    const std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::span<std::byte> bytes() { return {data_, size_}; }
    std::span<const std::byte> bytes() const { return {data_, size_}; }

  private:
    friend class BufferPool;
    void reset();
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;        // asked for
    std::size_t capacity_ = 0;    // mapped
    BufferPool* pool_ = nullptr;  // null: a view
};

/// When a fresh buffer gets its pages.
enum class Pages : std::uint8_t {
    when_written,  ///< one by one: a fault each
    now,           ///< all at once, which is twice as quick. For threads of normal priority: the
                   ///< kernel holds a lock of the process meanwhile
};

/// Recycles buffers, because fresh pages cost more than the copy into them (a fault and a clear
/// per 4 KiB). Keeps at most k_slots free ones, of 1 MiB and more but for a few (buffer.cpp); the
/// rest goes back to the kernel. Must outlive its buffers. Lock-free, any thread.
class BufferPool {
  public:
    BufferPool() = default;
    /// @param most_bytes  free buffers are kept as long as they and those in use have no more; that
    /// many may be in use whatever this says.
    explicit BufferPool(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;
    ~BufferPool();
    /// From now on pages come from there as long as it has any, and then from the kernel. Before
    /// any other thread uses the pool. @param source  outlives the pool.
    void take_pages_from(PageSource& source) { source_ = &source; }
    /// Uninitialised bytes. Errors: no_space (the kernel refused).
    Result<Buffer> take(std::size_t bytes, Pages pages = Pages::when_written);

    /// A buffer of so many bytes will be taken before long: prepare() can have its pages ready.
    /// What the pool would not keep (small ones, more than k_slots) is not.
    void expect(std::size_t bytes);
    /// Make one of the expected buffers, page by page. For a thread that has nothing else to do.
    /// False if none is expected, or no longer.
    bool prepare();
    /// Nothing is expected any more; a buffer that is being made goes back at its next page.
    void expect_nothing();
    /// Free buffers go back to the kernel.
    void trim();
    /// Free and in use.
    std::uint64_t mapped_bytes() const { return mapped_bytes_.load(std::memory_order_relaxed); }

  private:
    friend class Buffer;
    void give(std::byte* data, std::size_t capacity);
    bool put_by(std::byte* data, std::size_t capacity);
    std::byte* map(std::size_t capacity);
    void unmap(std::byte* data, std::size_t capacity);
    void make_room(std::size_t capacity);
    static constexpr std::size_t k_slots = 64;
    // A slot holds the mapping's address; the first bytes of a free mapping hold its capacity.
    std::array<std::atomic<std::byte*>, k_slots> slots_{};
    std::array<std::atomic<std::size_t>, k_slots> expected_{};  // bytes; 0: none
    std::atomic<bool> expecting_{false};
    const std::uint64_t most_bytes_ = std::numeric_limits<std::uint64_t>::max();
    std::atomic<std::uint64_t> mapped_bytes_{0};
    PageSource* source_ = nullptr;
};

}  // namespace caesura::base
