#include "run/node_share.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace caesura::run {
namespace {

constexpr std::uint64_t k_page_bytes = 4096;
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
    return (bytes + step - 1) / step * step;
}

// A task's state and how often it has been used, in one word: a helper that was preempted between
// looking and claiming cannot claim the task's next use.
constexpr std::uint64_t word_of(std::uint64_t use, NodeShare::Phase phase) {
    return use << 8 | static_cast<std::uint64_t>(phase);
}
constexpr NodeShare::Phase phase_in(std::uint64_t word) {
    return static_cast<NodeShare::Phase>(word & 0xff);
}
constexpr std::uint64_t with_phase(std::uint64_t word, NodeShare::Phase phase) {
    return word_of(word >> 8, phase);
}

}  // namespace

// What helpers may read before they have claimed the task is atomic.
struct alignas(64) NodeShare::Task {
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::int32_t> helper{-1};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<double> offered_s{0.0};
    std::uint64_t begin = 0;    // in shared memory
    std::uint64_t address = 0;  // in the file
    std::uint32_t file = 0;
};

struct alignas(64) NodeShare::Rank {
    base::Event event{true};
    std::atomic<std::uint32_t> offered_here{0};  // to this rank, by anybody: is a look worth it?
    Task tasks[k_tasks];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<double>::is_always_lock_free);

std::uint64_t NodeShare::bytes_needed(std::span<const std::uint64_t> arena_bytes) {
    std::uint64_t bytes = round_up(
        base::SharedMemory::k_first_byte + arena_bytes.size() * sizeof(Rank), k_page_bytes);
    for (const std::uint64_t arena : arena_bytes) bytes += arena;
    return bytes;
}

NodeShare::NodeShare(std::shared_ptr<base::SharedMemory> memory, Settings settings)
    : memory_(std::move(memory)), settings_(std::move(settings)), task_taken_(k_tasks, false) {
    set_aside_.reserve(k_tasks);  // recycle() needs no memory
    const auto& arenas = settings_.arena_bytes;
    const auto mine = static_cast<std::size_t>(settings_.rank);
    arena_begin_ = bytes_needed(arenas);
    for (std::size_t r = arenas.size(); r-- > mine;) arena_begin_ -= arenas[r];
    arena_end_ = arena_begin_ + arenas[mine];
}

Result<std::unique_ptr<NodeShare>> NodeShare::make(std::shared_ptr<base::SharedMemory> memory,
                                                   Settings settings) {
    std::unique_ptr<NodeShare> share(new NodeShare(std::move(memory), std::move(settings)));
    const std::uint64_t at = base::SharedMemory::k_first_byte +
                             static_cast<std::uint64_t>(share->settings_.rank) * sizeof(Rank);
    if (Status status = share->memory_->allocate(at, sizeof(Rank)); !status.ok()) return status;
    new (share->memory_->data() + at) Rank;
    return share;
}

NodeShare::Rank& NodeShare::rank_at(int rank) const {
    return *reinterpret_cast<Rank*>(memory_->data() + base::SharedMemory::k_first_byte +
                                    static_cast<std::size_t>(rank) * sizeof(Rank));
}

NodeShare::Task& NodeShare::task_of(const Share& share) const {
    return rank_at(settings_.rank).tasks[share.task];
}

base::Event& NodeShare::event() { return rank_at(settings_.rank).event; }

void NodeShare::add_file(std::uint32_t number, std::shared_ptr<base::File> file) {
    const std::lock_guard lock(files_mutex_);
    files_[number] = std::move(file);
}

void NodeShare::drop_file(std::uint32_t number) {
    std::shared_ptr<base::File> last;  // closed, if nobody else has it, without the lock
    const std::lock_guard lock(files_mutex_);
    if (const auto found = files_.find(number); found != files_.end()) {
        last = std::move(found->second);
        files_.erase(found);
    }
}

Result<std::shared_ptr<base::File>> NodeShare::file_of(std::uint32_t number) const {
    const std::lock_guard lock(files_mutex_);
    const auto found = files_.find(number);
    if (found != files_.end()) return found->second;
    return Status{StatusCode::cancelled, "a block of a file that is completed"};
}

// -------------------------------------------------------------------- owner, application's thread

// First fit.
std::optional<std::uint64_t> NodeShare::find_room(std::uint64_t bytes) const {
    std::uint64_t at = arena_begin_;
    for (const Stretch& stretch : taken_) {
        if (stretch.offset - at >= bytes) return at;
        at = stretch.offset + stretch.bytes;
    }
    if (arena_end_ - at >= bytes) return at;
    return std::nullopt;
}

bool NodeShare::allot(Share& share, int helper, std::uint64_t block_bytes, std::uint32_t file) {
    // Helpers that were late may have come.
    std::erase_if(set_aside_, [&](const Share& late) {
        if (phase(late) == Phase::claimed) return false;
        drop_pages(late);
        free_task(late);
        return true;
    });
    const auto free = std::find(task_taken_.begin(), task_taken_.end(), false);
    const std::uint64_t bytes =
        round_up(k_share_front_bytes + block_bytes + k_share_back_bytes, k_page_bytes);
    const auto offset = find_room(bytes);
    if (free == task_taken_.end() || !offset) return false;
    *free = true;
    share = {};
    share.helper = helper;
    share.file = file;
    share.task = static_cast<std::uint32_t>(free - task_taken_.begin());
    share.offset = *offset;
    share.capacity = bytes;
    taken_.insert(std::upper_bound(taken_.begin(), taken_.end(), *offset,
                                   [](std::uint64_t a, const Stretch& b) { return a < b.offset; }),
                  {*offset, bytes});
    return true;
}

void NodeShare::free_task(const Share& share) {
    Task& task = task_of(share);
    const std::uint64_t use = task.word.load(std::memory_order_relaxed) >> 8;
    task.word.store(word_of(use + 1, Phase::free), std::memory_order_release);
    task_taken_[share.task] = false;
    std::erase_if(taken_, [&](const Stretch& s) { return s.offset == share.offset; });
}

void NodeShare::recycle(Share& share) {
    if (share.capacity == 0) return;
    if (share.offered && !take_back(share) && phase(share) == Phase::claimed)
        set_aside_.push_back(share);
    else
        free_task(share);
    share.capacity = 0;
}

// ----------------------------------------------------------------- owner, compress and write lane

std::optional<std::span<std::byte>> NodeShare::keep(const Share& share,
                                                    std::span<const std::byte> block) {
    const std::uint64_t bytes = k_share_front_bytes + block.size() + k_share_back_bytes;
    if (block.empty() || bytes > share.capacity || !memory_->allocate(share.offset, bytes).ok())
        return std::nullopt;
    std::byte* at = memory_->data() + share.offset + k_share_front_bytes;
    std::memcpy(at, block.data(), block.size());
    return std::span(at, block.size());
}

std::span<std::byte> NodeShare::front(const Share& share) {
    return {memory_->data() + share.offset, k_share_front_bytes};
}

std::span<std::byte> NodeShare::back(const Share& share, std::uint64_t block_bytes) {
    return {memory_->data() + share.offset + k_share_front_bytes + block_bytes, k_share_back_bytes};
}

void NodeShare::offer(Share& share, std::uint64_t block_bytes, std::uint64_t address,
                      std::size_t front_bytes, std::size_t back_bytes, double now_s) {
    share.offered = true;
    share.address = address;
    share.begin = share.offset + k_share_front_bytes - front_bytes;
    share.bytes = front_bytes + block_bytes + back_bytes;
    share.offered_s = now_s;
    share.claimed_since_s = -1.0;
    Task& task = task_of(share);
    task.begin = share.begin;
    task.address = address;
    task.file = share.file;
    task.helper.store(share.helper, std::memory_order_relaxed);
    task.bytes.store(share.bytes, std::memory_order_relaxed);
    task.offered_s.store(now_s, std::memory_order_relaxed);
    const std::uint64_t word = task.word.load(std::memory_order_relaxed);
    Rank& helper = rank_at(share.helper);
    helper.offered_here.fetch_add(1, std::memory_order_relaxed);
    task.word.store(with_phase(word, Phase::offered), std::memory_order_release);
    helper.event.raise();
}

NodeShare::Phase NodeShare::phase(const Share& share) const {
    return phase_in(task_of(share).word.load(std::memory_order_acquire));
}

bool NodeShare::take_back(Share& share) {
    Task& task = task_of(share);
    std::uint64_t word = task.word.load(std::memory_order_acquire);
    if (phase_in(word) != Phase::offered ||
        !task.word.compare_exchange_strong(word, with_phase(word, Phase::failed),
                                           std::memory_order_acq_rel))
        return false;
    rank_at(share.helper).offered_here.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

Status NodeShare::write_own(const Share& share) {
    const auto file = file_of(share.file);
    if (!file.ok()) return file.status();
    return (*file)->write_at(share.address, {memory_->data() + share.begin, share.bytes});
}

void NodeShare::drop_pages(const Share& share) {
    if (share.capacity == 0 || (share.offered && phase(share) == Phase::claimed)) return;
    memory_->release(share.offset, share.capacity);
}

// ---------------------------------------------------------------------------------------- helper

std::vector<NodeShare::Offer> NodeShare::offers() const {
    std::vector<Offer> found;
    if (rank_at(settings_.rank).offered_here.load(std::memory_order_relaxed) == 0) return found;
    const int ranks = static_cast<int>(settings_.arena_bytes.size());
    for (int owner = 0; owner < ranks; ++owner) {
        if (owner == settings_.rank) continue;
        const Rank& theirs = rank_at(owner);
        for (std::uint32_t t = 0; t < k_tasks; ++t) {
            const Task& task = theirs.tasks[t];
            const std::uint64_t word = task.word.load(std::memory_order_acquire);
            if (phase_in(word) != Phase::offered ||
                task.helper.load(std::memory_order_relaxed) != settings_.rank)
                continue;
            found.push_back({owner, t, word, task.bytes.load(std::memory_order_relaxed),
                             task.offered_s.load(std::memory_order_relaxed)});
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Offer& a, const Offer& b) { return a.offered_s < b.offered_s; });
    return found;
}

std::vector<NodeShare::Offer> NodeShare::claim(std::span<const Offer> offers) {
    std::vector<Offer> mine;
    for (const Offer& offer : offers) {
        std::uint64_t word = offer.word;
        if (!rank_at(offer.owner)
                 .tasks[offer.task]
                 .word.compare_exchange_strong(word, with_phase(word, Phase::claimed),
                                               std::memory_order_acq_rel))
            continue;
        rank_at(settings_.rank).offered_here.fetch_sub(1, std::memory_order_relaxed);
        mine.push_back(offer);
    }
    return mine;
}

Status NodeShare::write(const Offer& claimed) {
    const Task& task = rank_at(claimed.owner).tasks[claimed.task];
    const std::uint64_t bytes = task.bytes.load(std::memory_order_relaxed);
    const auto file = file_of(task.file);
    if (!file.ok()) return file.status();
    return (*file)->write_at(task.address, {memory_->data() + task.begin, bytes});
}

Status NodeShare::sync(std::span<const Offer> claimed) {
    if (!settings_.durable) return {};
    std::vector<std::uint32_t> synced;
    for (const Offer& offer : claimed) {
        const std::uint32_t number = rank_at(offer.owner).tasks[offer.task].file;
        if (std::find(synced.begin(), synced.end(), number) != synced.end()) continue;
        synced.push_back(number);
        const auto file = file_of(number);
        if (!file.ok()) return file.status();
        if (Status status = (*file)->sync(); !status.ok()) return status;
    }
    return {};
}

void NodeShare::complete(std::span<const Offer> claimed, bool ok) {
    for (const Offer& offer : claimed) {
        Rank& theirs = rank_at(offer.owner);
        theirs.tasks[offer.task].word.store(
            with_phase(offer.word, ok ? Phase::done : Phase::failed), std::memory_order_release);
        theirs.event.raise();
    }
}

}  // namespace caesura::run
