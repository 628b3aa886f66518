// CUDA's runtime stood in for by the host; not a GPU. Test support: linked in place of CUDA's
// library, it makes the sources of src/device/cuda run, kernels too, where there is no GPU.
//
// What it keeps of CUDA, because code can be wrong about it:
//  - A stream is a queue with a thread of its own, which carries things out later, after a delay
//    drawn from a seed. Nothing but events and waits orders streams; stream 0 waits for the
//    blocking ones and they for it.
//  - Copies from and to pinned memory read and write it when they are carried out. From pageable
//    memory they take what is there when they are given; to it they are done on return.
//  - Memory of the device lies at addresses that only streams' threads can touch: the host's code
//    dies there (where the processor has protection keys; see protects()). What is allocated holds
//    nonsense, what was freed other nonsense, and is used again by its stream at once, by others
//    when it has been freed in its stream.
//  - Kernels are compiled from the same source (kernels.hpp) and run thread by thread.
//  - The current device and the last error are each thread's own; after an error in a stream every
//    call returns it.
//
// What it is not: a measure of anything. Times are the host's.
//
// Mistakes that CUDA leaves undefined are faults here: they are written down, and a test says at
// its end that there were none.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace caesura::device::on_host {

struct Options {
    std::uint64_t seed = 0;
    int devices = 2;
    std::uint64_t memory_bytes = 256 << 20;  ///< of each device
    std::uint64_t delay_ns = 20'000;         ///< at most, before each operation
};

/// A runtime in which nothing was done yet. What the last one had left must not be used any more.
void begin(const Options& options);

/// Mistakes since begin() or the last call.
std::vector<std::string> take_faults();

/// What was made and not destroyed.
struct Left {
    std::uint64_t device_pieces = 0, device_bytes = 0, pools = 0;
    std::uint64_t pinned = 0, streams = 0, events = 0;
    bool operator==(const Left&) const = default;
};
Left left();

/// Does the host's code die when it touches memory of a device?
bool protects();

/// The nth call from now (1: the next) returns this, and does nothing unless it destroys something.
/// 0: none. Calls that cannot fail in CUDA are not counted.
void fail_call(std::uint64_t nth, cudaError_t code);
/// The same, and only calls of this thread count: threads of the link call when they get a core.
void fail_call_of_this_thread(std::uint64_t nth, cudaError_t code);
/// Calls counted since begin().
std::uint64_t calls();
/// What is carried out as the nth from now in any stream is not; from then on nothing is, and every
/// call returns this.
void fail_operation(std::uint64_t nth, cudaError_t code);
/// Operations carried out since begin().
std::uint64_t operations();

/// To a stream, like a kernel: carried out by its thread, which may touch the device's memory. For
/// what stands in for a library that brings its own kernels.
cudaError_t give(cudaStream_t stream, std::function<void()> work);

}  // namespace caesura::device::on_host
