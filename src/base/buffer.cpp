#include "base/buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/page.hpp"

namespace caesura::base {
namespace {

// Smaller ones are many, of many sizes: they have a few slots of their own, so that they take none
// from snapshots and chunks. These hold stored blocks, which come and go one by one. The smallest
// are not kept: a fault or two are no more than the looks at all slots.
constexpr std::size_t k_large_bytes = 1u << 20, k_least_kept_bytes = 32u << 10;
constexpr std::size_t k_small_slots = 16;

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

// In steps, so that no other thread that maps memory waits for long. A kernel that cannot do it, or
// has no memory for it, leaves the pages to the first write.
void populate(std::byte* data, std::size_t capacity) {
    constexpr std::size_t k_step_bytes = 1u << 20;
    for (std::size_t at = 0; at < capacity; at += k_step_bytes)
        if (::madvise(data + at, std::min(k_step_bytes, capacity - at), MADV_POPULATE_WRITE) != 0)
            return;
}

// Small ones that are kept have a few sizes, so that most are found again.
std::size_t capacity_for(std::size_t bytes) {
    const bool has_size = bytes >= k_least_kept_bytes && bytes < k_large_bytes;
    const std::size_t unit = has_size ? std::bit_floor(bytes) / 8 : k_page_bytes;
    return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

/// Of a buffer that is kept: where it may lie.
template <class Slots>
auto slots_for(Slots& slots, std::size_t capacity) {
    const std::span all(slots);
    return capacity >= k_large_bytes ? all.subspan(k_small_slots) : all.first(k_small_slots);
}

std::size_t capacity_of_free(const std::byte* data) {
    std::size_t capacity = 0;
    std::memcpy(&capacity, data, sizeof capacity);
    return capacity;
}

}  // namespace

bool MemoryBudget::try_charge(std::uint64_t bytes) {
    std::uint64_t held = held_bytes_.load(std::memory_order_relaxed);
    do {
        if (held + bytes > limit_bytes_) return false;
    } while (!held_bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_acq_rel));
    note_peak(held + bytes);
    return true;
}

void MemoryBudget::charge(std::uint64_t bytes) {
    note_peak(held_bytes_.fetch_add(bytes, std::memory_order_acq_rel) + bytes);
}

void MemoryBudget::release(std::uint64_t bytes) {
    held_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
}

void MemoryBudget::note_peak(std::uint64_t held) {
    std::uint64_t peak = peak_bytes_.load(std::memory_order_relaxed);
    while (peak < held && !peak_bytes_.compare_exchange_weak(peak, held)) {
    }
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    pool_ = std::exchange(other.pool_, nullptr);
    return *this;
}

Buffer::~Buffer() { reset(); }

Buffer Buffer::view(std::span<std::byte> bytes) {
    Buffer buffer;
    buffer.data_ = bytes.data();
    buffer.size_ = bytes.size();
    return buffer;
}

void Buffer::reset() {
    if (data_ && pool_) pool_->give(data_, capacity_);
    data_ = nullptr;
    size_ = capacity_ = 0;
}

BufferPool::~BufferPool() { trim(); }

// Null where the kernel refuses.
std::byte* BufferPool::map(std::size_t capacity) {
    if (std::byte* const shared = source_ ? source_->map(capacity) : nullptr) {
        mapped_bytes_.fetch_add(capacity, std::memory_order_relaxed);
        return shared;
    }
    void* const mapped =
        ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    mapped_bytes_.fetch_add(capacity, std::memory_order_relaxed);
    return static_cast<std::byte*>(mapped);
}

void BufferPool::unmap(std::byte* data, std::size_t capacity) {
    if (source_ && source_->has(data))
        source_->unmap(data, capacity);
    else
        ::munmap(data, capacity);
    mapped_bytes_.fetch_sub(capacity, std::memory_order_relaxed);
}

void BufferPool::trim() {
    for (auto& slot : slots_)
        if (std::byte* data = slot.exchange(nullptr, std::memory_order_acq_rel))
            unmap(data, capacity_of_free(data));
}

// What is free and did not fit goes, so that a pool that is full of old sizes takes up new ones.
void BufferPool::make_room(std::size_t capacity) {
    for (auto& slot : slots_) {
        const std::uint64_t mapped = mapped_bytes();
        if (mapped <= most_bytes_ && capacity <= most_bytes_ - mapped) return;
        if (std::byte* data = slot.exchange(nullptr, std::memory_order_acq_rel))
            unmap(data, capacity_of_free(data));
    }
}

void BufferPool::expect(std::size_t bytes) {
    if (bytes < k_large_bytes) return;
    expecting_.store(true, std::memory_order_release);
    for (auto& slot : expected_) {
        std::size_t none = 0;
        if (slot.compare_exchange_strong(none, bytes, std::memory_order_acq_rel)) return;
    }
}

void BufferPool::expect_nothing() {
    expecting_.store(false, std::memory_order_release);
    for (auto& slot : expected_) slot.store(0, std::memory_order_release);
}

// One page at a time: a thread that is preempted here holds no lock of the process for long.
bool BufferPool::prepare() {
    std::size_t bytes = 0;
    for (auto& slot : expected_)
        if ((bytes = slot.exchange(0, std::memory_order_acq_rel)) != 0) break;
    if (bytes == 0) return false;
    const std::size_t capacity = capacity_for(bytes);
    std::byte* const data = map(capacity);
    if (!data) return false;
    for (std::size_t at = 0; at < capacity; at += k_page_bytes) {
        if (!expecting_.load(std::memory_order_acquire)) {
            unmap(data, capacity);
            return false;
        }
        data[at] = std::byte{0};
    }
    give(data, capacity);
    return true;
}

Result<Buffer> BufferPool::take(std::size_t bytes, Pages pages) {
    const std::size_t capacity = capacity_for(bytes);
    Buffer buffer;
    buffer.pool_ = this;
    buffer.size_ = bytes;
    for (auto& slot : slots_for(slots_, capacity)) {
        if (capacity < k_least_kept_bytes) break;
        std::byte* data = slot.exchange(nullptr, std::memory_order_acq_rel);
        if (!data) continue;
        const std::size_t free_capacity = capacity_of_free(data);
        // A far larger buffer would hide memory from the budget: only close fits are reused.
        if (free_capacity >= capacity && free_capacity <= capacity + capacity / 4) {
            buffer.data_ = data;
            buffer.capacity_ = free_capacity;
            return buffer;
        }
        if (!put_by(data, free_capacity)) unmap(data, free_capacity);
    }
    make_room(capacity);
    buffer.data_ = map(capacity);
    if (!buffer.data_)
        return Status{StatusCode::no_space,
                      fmt::format("out of memory: {} bytes: {}", bytes, std::strerror(errno))};
    buffer.capacity_ = capacity;
    if (pages == Pages::now) populate(buffer.data_, capacity);
    return buffer;
}

bool BufferPool::put_by(std::byte* data, std::size_t capacity) {
    std::memcpy(data, &capacity, sizeof capacity);
    for (auto& slot : slots_for(slots_, capacity)) {
        std::byte* expected = nullptr;
        if (slot.compare_exchange_strong(expected, data, std::memory_order_acq_rel)) return true;
    }
    return false;
}

void BufferPool::give(std::byte* data, std::size_t capacity) {
    const bool worth = capacity >= k_least_kept_bytes && mapped_bytes() <= most_bytes_;
    if (!worth || !put_by(data, capacity)) unmap(data, capacity);
}

}  // namespace caesura::base
