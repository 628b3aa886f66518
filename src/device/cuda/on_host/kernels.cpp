#include "device/cuda/on_host/kernels.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "device/cuda/on_host/fiber.hpp"
#include "device/cuda/on_host/state.hpp"

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace caesura::device::on_host {
namespace {

constexpr unsigned k_warp = 32;
/// Where a thread of a kernel stands.
enum class At { runs, block_barrier, warp_barrier, end };

struct KernelThread {
    std::unique_ptr<Fiber> fiber;
    At at = At::end;
    std::uint64_t value = 0;  ///< brought to a barrier, or brought back from it
};

/// The threads of a block, on one thread of the host.
class Block {
  public:
    void run(unsigned threads, const std::function<void()>& body, std::mt19937_64& random);
    /// By one of the threads. @return what all came to, at the block's barrier.
    std::uint64_t wait(At at, std::uint64_t value);
    /// By a thread to the barrier that it has left.
    std::uint64_t brought(unsigned thread) const { return brought_[thread]; }
    unsigned size() const { return size_; }

  private:
    void go_on(unsigned thread);
    bool release();

    std::vector<KernelThread> threads_;
    std::vector<std::uint64_t> brought_;
    unsigned size_ = 0, running_ = 0;
    const std::function<void()>* body_ = nullptr;
};

thread_local Block t_block;

void Block::run(unsigned threads, const std::function<void()>& body, std::mt19937_64& random) {
    size_ = threads;
    body_ = &body;
    brought_.assign(threads, 0);
    if (threads_.size() < threads) threads_.resize(threads);
    for (unsigned i = 0; i < threads; ++i) {
        // One that stands elsewhere did not come to its end, which was a fault.
        if (!threads_[i].fiber || threads_[i].at != At::end)
            threads_[i].fiber = std::make_unique<Fiber>([this] {
                (*body_)();
                threads_[running_].at = At::end;
            });
        threads_[i].at = At::runs;
    }
    do {
        // From any one on, up or down: nothing may depend on it.
        const auto first = static_cast<unsigned>(random() % threads);
        const bool up = random() % 2 == 0;
        for (unsigned n = 0; n < threads; ++n) {
            const unsigned i = (first + (up ? n : threads - n)) % threads;
            if (threads_[i].at == At::runs) go_on(i);
        }
    } while (release());
}

void Block::go_on(unsigned thread) {
    running_ = thread;
    threadIdx = {thread, 0, 0};
    threads_[thread].fiber->go_on();
}

std::uint64_t Block::wait(At at, std::uint64_t value) {
    KernelThread& me = threads_[running_];
    me.at = at;
    me.value = value;
    me.fiber->stop();
    return me.value;
}

/// Who waits where all are there goes on. @return whether anybody does.
bool Block::release() {
    std::uint64_t at_end = 0, at_block = 0;
    bool goes_on = false;
    for (unsigned first = 0; first < size_; first += k_warp) {
        const unsigned end = std::min(first + k_warp, size_);
        std::uint64_t at_warp = 0;
        for (unsigned i = first; i < end; ++i) {
            at_end += threads_[i].at == At::end;
            at_block += threads_[i].at == At::block_barrier;
            at_warp += threads_[i].at == At::warp_barrier;
        }
        if (at_warp != end - first) continue;
        goes_on = true;
        for (unsigned i = first; i < end; ++i) {
            brought_[i] = threads_[i].value;
            threads_[i].at = At::runs;
        }
    }
    if (at_end == size_) return false;
    if (at_block == size_) {
        goes_on = true;
        bool all = true;
        for (unsigned i = 0; i < size_; ++i) all = all && threads_[i].value != 0;
        for (unsigned i = 0; i < size_; ++i) {
            threads_[i].value = all ? 1 : 0;
            threads_[i].at = At::runs;
        }
    }
    if (!goes_on) {
        const Lock lock(state().mutex);
        fault("a barrier in a kernel that not all threads reach");
    }
    return goes_on;
}

}  // namespace

bool block_barrier(bool value) { return t_block.wait(At::block_barrier, value ? 1 : 0) != 0; }

std::uint64_t warp_shuffle_down(std::uint64_t mine, unsigned down) {
    const unsigned me = threadIdx.x;
    (void)t_block.wait(At::warp_barrier, mine);
    const unsigned other = me + down;
    // It is read before anybody brings anew: they go on only when all wait again.
    const bool inside = me % k_warp + down < k_warp && other < t_block.size();
    return inside ? t_block.brought(other) : mine;
}

cudaError_t launch(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread) {
    if (grid.x == 0 || grid.y != 1 || grid.z != 1 || block.x == 0 || block.x > 1024 ||
        block.y != 1 || block.z != 1)
        return cudaErrorInvalidConfiguration;
    const auto run = [grid, block, thread = std::move(thread)] {
        std::mt19937_64 random(state().options.seed + grid.x);
        gridDim = grid;
        blockDim = block;
        for (unsigned b = 0; b < grid.x; ++b) {
            blockIdx = {b, 0, 0};
            t_block.run(block.x, thread, random);
        }
    };
    return give(stream, run);
}

}  // namespace caesura::device::on_host
