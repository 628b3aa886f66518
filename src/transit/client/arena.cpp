#include "transit/client/arena.hpp"

#include "base/page.hpp"

namespace caesura::transit {

Result<std::unique_ptr<Arena>> Arena::make(std::uint64_t bytes) {
    const std::uint64_t unit = k_slots * base::k_page_bytes;
    auto memory = base::SharedMemory::create((bytes + unit - 1) / unit * unit);
    if (!memory.ok()) return memory.status();
    return std::unique_ptr<Arena>(new Arena(std::move(*memory)));
}

// The first slot holds what the memory is recognised by.
Arena::Arena(std::shared_ptr<base::SharedMemory> memory)
    : memory_(std::move(memory)), slot_bytes_(memory_->bytes() / k_slots), taken_(k_slots) {
    taken_[0] = true;
}

bool Arena::claim(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (!taken_[first + i].exchange(true, std::memory_order_acq_rel)) continue;
        while (i > 0) taken_[first + --i].store(false, std::memory_order_release);
        return false;
    }
    return true;
}

std::byte* Arena::map(std::size_t bytes) {
    const std::uint64_t count = (bytes + slot_bytes_ - 1) / slot_bytes_;
    for (std::uint64_t first = 1; first + count <= k_slots;) {
        // Where the last slot is taken nothing fits before it.
        std::uint64_t last = count;
        while (last > 0 && !taken_[first + last - 1].load(std::memory_order_acquire)) --last;
        if (last > 0 || !claim(first, count)) {
            first += std::max<std::uint64_t>(last, 1);
            continue;
        }
        const std::uint64_t offset = first * slot_bytes_;
        if (memory_->allocate(offset, count * slot_bytes_).ok()) return memory_->data() + offset;
        for (std::uint64_t i = 0; i < count; ++i) taken_[first + i] = false;
        return nullptr;
    }
    return nullptr;
}

void Arena::unmap(std::byte* data, std::size_t bytes) {
    const std::uint64_t offset = offset_of(data);
    const std::uint64_t count = (bytes + slot_bytes_ - 1) / slot_bytes_;
    memory_->release(offset, count * slot_bytes_);
    for (std::uint64_t i = 0; i < count; ++i)
        taken_[offset / slot_bytes_ + i].store(false, std::memory_order_release);
}

}  // namespace caesura::transit
