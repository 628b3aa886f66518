#include "failing_new.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local long allocations_left = -1;  // negative: none fails

void* take(std::size_t bytes, std::size_t alignment) {
    const bool counts = bytes > caesura::testing::FailingAllocation::k_small_bytes;
    if (counts && allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
    void* const memory =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(bytes > 0 ? bytes : 1)
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

namespace caesura::testing {

FailingAllocation::FailingAllocation(long n) { allocations_left = n; }
FailingAllocation::~FailingAllocation() { allocations_left = -1; }
bool FailingAllocation::has_failed() const { return allocations_left < 0; }

UnfailingAllocation::UnfailingAllocation() : left_(allocations_left) { allocations_left = -1; }
UnfailingAllocation::~UnfailingAllocation() { allocations_left = left_; }

}  // namespace caesura::testing

void* operator new(std::size_t bytes) { return take(bytes, 1); }
void* operator new[](std::size_t bytes) { return take(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
