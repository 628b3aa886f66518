#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "device/cuda/on_host/state.hpp"

namespace caesura::device::on_host {
namespace {

constexpr std::uint64_t k_alignment = 512;  // as CUDA's allocators have it
constexpr int k_new = 0xCD, k_gone = 0xDB, k_guard = 0xFD;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool k_asan = true;  // which sees more than a look at the guard
#else
constexpr bool k_asan = false;
#endif

/// With what lies behind it, so that who writes too much is seen.
std::uint64_t block_bytes(std::uint64_t bytes) {
    return (bytes + k_alignment - 1) / k_alignment * k_alignment + k_alignment;
}

/// Protection key of all memory of devices; -1: this machine has none. What a thread may do with it
/// is a register of the thread, which says "nothing" where nobody set it.
int access_key() {
    static const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    return key;
}

void fill_new(Piece& piece) {
    ASAN_UNPOISON_MEMORY_REGION(piece.memory, piece.bytes);
    std::memset(piece.memory, k_new, piece.bytes);
    if (!k_asan)
        std::memset(piece.memory + piece.bytes, k_guard, block_bytes(piece.bytes) - piece.bytes);
    const Lock lock(state().mutex);
    piece.is_here = true;
}

void fill_gone(Piece& piece) {
    bool whole = true;
    for (std::uint64_t i = piece.bytes; !k_asan && i < block_bytes(piece.bytes); ++i)
        whole = whole && piece.memory[i] == std::byte{k_guard};
    std::memset(piece.memory, k_gone, piece.bytes);
    ASAN_POISON_MEMORY_REGION(piece.memory, piece.bytes);
    const Lock lock(state().mutex);
    if (!whole)
        fault("something was written behind " + std::to_string(piece.bytes) + " bytes of a device");
    piece.is_gone = true;
}

}  // namespace

bool protects() { return access_key() >= 0; }

void grant_access() {
    if (protects()) (void)pkey_set(access_key(), 0);
}

// ------------------------------------------------------------------------------------------- Arena

Arena::Arena(std::uint64_t bytes) : bytes_(block_bytes(bytes)) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(memory);
    ASAN_POISON_MEMORY_REGION(begin_, bytes_);
    if (protects()) (void)pkey_mprotect(memory, bytes_, PROT_READ | PROT_WRITE, access_key());
    free_.emplace(begin_, bytes_);
}

Arena::~Arena() {
    ASAN_UNPOISON_MEMORY_REGION(begin_, bytes_);
    (void)munmap(begin_, bytes_);
}

bool Arena::has(const void* address) const {
    const auto* const at = static_cast<const std::byte*>(address);
    return at >= begin_ && at < begin_ + bytes_;
}

std::byte* Arena::take(std::uint64_t bytes, const std::shared_ptr<const Progress>& stream) {
    const std::uint64_t need = block_bytes(bytes);
    const auto own = std::find_if(given_back_.begin(), given_back_.end(), [&](const Block& block) {
        return block.bytes >= need && block.when.of == stream;
    });
    if (own != given_back_.end()) {
        std::byte* const memory = own->memory;
        own->memory += need;
        own->bytes -= need;
        if (own->bytes == 0) given_back_.erase(own);
        return memory;
    }
    note_past();
    const auto found = std::find_if(free_.begin(), free_.end(),
                                    [&](const auto& free) { return free.second >= need; });
    if (found == free_.end()) return nullptr;
    const auto [memory, size] = *found;
    free_.erase(found);
    if (size > need) free_.emplace(memory + need, size - need);
    return memory;
}

void Arena::give_back(std::byte* memory, std::uint64_t bytes, Point when) {
    given_back_.push_back({memory, block_bytes(bytes), std::move(when)});
}

std::vector<Point> Arena::given_back() const {
    std::vector<Point> points;
    for (const Block& block : given_back_) points.push_back(block.when);
    return points;
}

void Arena::note_past() {
    std::erase_if(given_back_, [&](const Block& block) {
        if (!block.when.is_past()) return false;
        add_free(block.memory, block.bytes);
        return true;
    });
}

void Arena::add_free(std::byte* memory, std::uint64_t bytes) {
    const auto next = free_.lower_bound(memory);
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == memory) {
            memory = before->first;
            bytes += before->second;
            free_.erase(before);
        }
    }
    if (next != free_.end() && memory + bytes == next->first) {
        bytes += next->second;
        free_.erase(next);
    }
    free_.emplace(memory, bytes);
}

// ---------------------------------------------------------------------------------- what lies
// where

bool in_device(const void* memory) {
    return std::any_of(state().arenas.begin(), state().arenas.end(),
                       [&](const auto& arena) { return arena->has(memory); });
}

std::shared_ptr<Piece> piece_of(const void* memory, std::uint64_t bytes) {
    const auto* const at = static_cast<const std::byte*>(memory);
    for (const auto& arena : state().arenas) {
        const auto next = arena->pieces.upper_bound(at);
        if (next == arena->pieces.begin()) continue;
        const auto& piece = std::prev(next)->second;
        if (at + bytes <= piece->memory + piece->bytes) return piece;
    }
    return nullptr;
}

PinnedMap::iterator pinned_of(const void* memory, std::uint64_t bytes) {
    PinnedMap& pinned = state().pinned;
    auto* const at = const_cast<std::byte*>(static_cast<const std::byte*>(memory));
    const auto next = pinned.upper_bound(at);
    if (next == pinned.begin()) return pinned.end();
    const auto found = std::prev(next);
    return at + bytes <= found->first + found->second.bytes ? found : pinned.end();
}

std::byte* allocate(Lock& lock, std::uint64_t bytes, Queue& queue) {
    Arena& arena = *state().arenas[static_cast<std::size_t>(queue.device())];
    std::byte* memory = arena.take(bytes, queue.progress());
    if (memory == nullptr) {  // as CUDA: what is still to be freed is waited for
        for (const Point& point : arena.given_back()) wait_for(lock, point);
        memory = arena.take(bytes, queue.progress());
    }
    if (memory == nullptr) return nullptr;
    const auto piece = std::make_shared<Piece>(Piece{memory, bytes});
    arena.pieces.emplace(memory, piece);
    (void)give_to(queue, {[piece] { fill_new(*piece); }, {}, {}, false});
    return memory;
}

void release(std::shared_ptr<Piece> piece, Queue& queue) {
    for (const auto& arena : state().arenas) {
        if (!arena->has(piece->memory)) continue;
        arena->pieces.erase(piece->memory);
        Point when = give_to(queue, {[piece] { fill_gone(*piece); }, {}, {}, false});
        arena->give_back(piece->memory, piece->bytes, std::move(when));
    }
}

}  // namespace caesura::device::on_host
