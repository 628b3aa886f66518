// Blocks that one rank has compressed and another rank of its node writes (S0 §3.4), in memory that
// both have mapped.
//
// Invariants:
//  - A block's place in the file, its prefix record and its checksum are the owner's. The helper
//    moves finished bytes to a given address and knows nothing else.
//  - A task is claimed by one compare-and-swap, by its helper or, taken back, by its owner. Fields
//    of a task change only while it is free, so whoever has claimed it reads them whole.
//  - Nobody waits for a helper: an owner takes back what is not claimed whenever it has nothing
//    else to write, and writes a claimed block itself once that takes too long. Both then write the
//    same bytes to the same address, in either order or at once, and the file comes out the same:
//      * the address is never given to other bytes. The dump's record points to it, space of a
//        region is taken once, and at close the file is cut behind what is in use;
//      * the bytes do not change, because slot and task are not used again before the helper has
//        said that it is finished. If it never does, they stay set aside until the end;
//      * close() ends with a barrier of the node behind the end of every write lane, so nothing
//        comes in after it. Into a file of a series that was completed before it may: the same
//        bytes once more. A process that is dead writes nothing.
//  - What is written for somebody else is synced before it is called done, if dumps are to be
//    durable: the owner's own sync covers the same inode on a local file system, but not where
//    each client process has a cache of its own.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/event.hpp"
#include "base/file.hpp"
#include "base/shared_memory.hpp"

namespace caesura::run {

/// In front of a block, room for what the sink puts there; behind it likewise.
inline constexpr std::size_t k_share_front_bytes = 64, k_share_back_bytes = 8;

/// A block's place in shared memory, and how far it has come. Of the owner.
struct Share {
    int helper = -1;  ///< rank of the node that is to write the block; < 0: the owner does
    std::uint32_t task = 0;
    std::uint32_t file = 0;      ///< NodeShare::add_file()
    std::uint64_t offset = 0;    ///< of the slot
    std::uint64_t capacity = 0;  ///< of the slot, 0: it has none
    // Of the write lane:
    bool offered = false;
    std::uint64_t address = 0;  ///< in the file
    std::uint64_t begin = 0;    ///< in shared memory, of what is to be written
    std::uint64_t bytes = 0;
    double offered_s = 0.0;
    double claimed_since_s = -1.0;  ///< as far as the owner has seen
};

class NodeShare {
  public:
    enum class Phase : std::uint8_t { free = 0, offered, claimed, done, failed };
    static constexpr std::uint32_t k_tasks = 256;  ///< of one owner, at once

    struct Settings {
        int rank = 0;                            ///< of the node
        std::vector<int> names;                  ///< of the node's ranks, for people
        std::vector<std::uint64_t> arena_bytes;  ///< by rank of the node, multiples of 4 KiB
        bool durable = true;
        double claim_timeout_s = 2.0;  ///< and ten times what the writes should take
    };
    static std::uint64_t bytes_needed(std::span<const std::uint64_t> arena_bytes);
    /// @param memory  of bytes_needed(), zeros where no rank has been.
    /// Errors: no_space.
    static Result<std::unique_ptr<NodeShare>> make(std::shared_ptr<base::SharedMemory> memory,
                                                   Settings settings);

    const Settings& settings() const { return settings_; }
    /// Raised by others of the node when they offer or finish something; and to be used for all
    /// else that this rank's write lane waits for.
    base::Event& event();

    // ---- application's thread
    /// Where this rank writes what belongs to the file of that number: the same file has the same
    /// number on all ranks, which have added it before one of them offers a block of it.
    void add_file(std::uint32_t number, std::shared_ptr<base::File> file);
    /// No rank offers a block of it any more.
    void drop_file(std::uint32_t number);

    // ---- owner, application's thread
    /// A task and a slot of that many bytes for a block of a file that `helper` is to write. False:
    /// none free.
    bool allot(Share& share, int helper, std::uint64_t block_bytes, std::uint32_t file = 0);
    /// The dump is over. What a helper still holds is set aside.
    void recycle(Share& share);

    // ---- owner, whoever has compressed the block
    /// Copy it to its slot. nullopt: it is too large, or there is no memory.
    std::optional<std::span<std::byte>> keep(const Share& share, std::span<const std::byte> block);

    // ---- owner, write lane
    std::span<std::byte> front(const Share& share);
    std::span<std::byte> back(const Share& share, std::uint64_t block_bytes);
    /// `front_bytes` before and `back_bytes` behind the block are written with it, to `address`.
    void offer(Share& share, std::uint64_t block_bytes, std::uint64_t address,
               std::size_t front_bytes, std::size_t back_bytes, double now_s);
    Phase phase(const Share& share) const;
    /// True: nobody has claimed it and nobody will.
    bool take_back(Share& share);
    /// Write an offered block here after all.
    Status write_own(const Share& share);
    /// Its memory is not needed any more, unless a helper still reads it.
    void drop_pages(const Share& share);

    // ---- helper, write lane
    struct Offer {
        int owner = 0;  ///< rank of the node
        std::uint32_t task = 0;
        std::uint64_t word = 0;
        std::uint64_t bytes = 0;
        double offered_s = 0.0;
    };
    /// What is offered to this rank, the longest waiting first.
    std::vector<Offer> offers() const;
    /// Claim as many of these as are still offered.
    std::vector<Offer> claim(std::span<const Offer> offers);
    Status write(const Offer& claimed);
    /// The files of these, if dumps are durable.
    Status sync(std::span<const Offer> claimed);
    /// Tell owners how it went.
    void complete(std::span<const Offer> claimed, bool ok);

  private:
    struct Task;
    struct Rank;
    struct Stretch {
        std::uint64_t offset = 0, bytes = 0;
    };

    NodeShare(std::shared_ptr<base::SharedMemory> memory, Settings settings);
    Result<std::shared_ptr<base::File>> file_of(std::uint32_t number) const;
    Rank& rank_at(int rank) const;
    Task& task_of(const Share& share) const;
    std::optional<std::uint64_t> find_room(std::uint64_t bytes) const;
    void free_task(const Share& share);

    std::shared_ptr<base::SharedMemory> memory_;
    /// Held as long as it takes to look a file up, by threads of normal priority.
    mutable std::mutex files_mutex_;
    std::map<std::uint32_t, std::shared_ptr<base::File>> files_;
    Settings settings_;
    std::uint64_t arena_begin_ = 0, arena_end_ = 0;
    std::vector<Stretch> taken_;    // of the arena, ascending
    std::vector<bool> task_taken_;  // by task
    std::vector<Share> set_aside_;  // claimed when their dump was over
};

}  // namespace caesura::run
