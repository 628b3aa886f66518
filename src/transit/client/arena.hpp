// The client's memory that the service reads without a copy: where a Writer's snapshots lie.
//
// Invariants:
//  - map() and unmap() never wait: each is a few attempts to change one word. Whoever is preempted
//    inside keeps nobody from anything (decision D5).
//  - Pages are taken from the system when they are first mapped, and given back when they are
//    unmapped, so that the arena takes no memory that the Writer does not hold.
#pragma once

#include <atomic>
#include <vector>

#include "base/buffer.hpp"
#include "base/shared_memory.hpp"

namespace caesura::transit {

class Arena final : public base::PageSource {
  public:
    /// @param bytes  address space; at least twice what is used at once, for gaps.
    /// Errors: unsupported (no memfd, a limit on address space).
    static Result<std::unique_ptr<Arena>> make(std::uint64_t bytes);

    std::byte* map(std::size_t bytes) override;
    void unmap(std::byte* data, std::size_t bytes) override;
    bool has(const std::byte* data) const override {
        return data >= memory_->data() && data < memory_->data() + memory_->bytes();
    }
    /// Where it lies for the service. Of memory inside the arena.
    std::uint64_t offset_of(const std::byte* data) const {
        return static_cast<std::uint64_t>(data - memory_->data());
    }
    const base::SharedMemory::Key& key() const { return memory_->key(); }

  private:
    explicit Arena(std::shared_ptr<base::SharedMemory> memory);
    /// The arena is cut into slots of equal length; a mapping has neighbouring ones.
    static constexpr std::uint64_t k_slots = 32768;
    bool claim(std::uint64_t first, std::uint64_t count);

    std::shared_ptr<base::SharedMemory> memory_;
    std::uint64_t slot_bytes_;
    std::vector<std::atomic<bool>> taken_;  ///< by slot
};

}  // namespace caesura::transit
