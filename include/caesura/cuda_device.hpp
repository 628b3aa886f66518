// A GPU of CUDA as a Device (caesura/device.hpp). Compiled and linked, not yet run on a GPU.
//
//     auto device = device::create_cuda_device({.stream = stream});   // the application's stream
//     if (!device.ok()) ...                                           // says what is missing
//
// Needs no CUDA to be included. A library that was built without nvcc, or a machine without a
// driver or a GPU, gives a Status; the driver is looked for when the function is called.
//
// What the device does:
//  - Memory comes from a stream-ordered pool of its own (cudaMallocAsync); what is given back stays
//    in the pool up to keep_bytes.
//  - A Checkpointer's cache_bytes counts what it asks for. Not counted: what the pool reserves
//    beyond that (whole pages, and gaps between pieces of other sizes, kept up to keep_bytes), the
//    context and the kernels.
//  - Work is given to the application's stream, so it follows the application's kernels there.
//    now_s() waits until that stream is idle: what lies between two calls is the GPU's time. Data
//    in other streams' hands must be ready before they are given to a call.
//  - Transfers go through pinned buffers, by a thread for each direction; host memory that is
//    pinned already is used as it is.
//  - Compressing needs nothing but the parcel's room. What a GPU compressed in packed frames is
//    read on the host too (device/parcel.hpp).
//  - With one of nvCOMP's coders, which needs nvCOMP 6, it is read on a GPU by nvCOMP only, so a
//    Checkpointer takes no file with it, and no bound: packed has both. Restoring needs memory
//    aligned to 16, and some bytes of the GPU that no cap counts (Bitcomp of nvCOMP 6.0: 20).
//
// Invariants: the caller's current CUDA device is the same after each call.
#pragma once

#include "caesura/device.hpp"

namespace caesura::device {

struct CudaOptions {
    int ordinal = 0;         ///< which GPU, as cudaSetDevice() counts
    void* stream = nullptr;  ///< cudaStream_t of the application on it; must outlive the device
    Coder coder = Coder::packed;  ///< not codec
    /// Of nvCOMP's coders: the library's path; empty: $CAESURA_NVCOMP, or libnvcomp.so.6 where the
    /// linker finds it.
    std::string nvcomp = "";
    /// Of nvCOMP's coders: what a batch of chunks takes beside checkpoints and parcel, of the
    /// Checkpointer's cache: more is faster, and leaves less for checkpoints. One chunk of 64 KiB
    /// is always possible: 64 KiB with Bitcomp and Cascaded, 97 with LZ4, 91 with ANS, 481 with
    /// Gdeflate (nvCOMP 6.0).
    std::uint64_t work_bytes = 16 << 20;
    std::uint64_t keep_bytes = std::uint64_t{1} << 40;
    std::uint64_t staging_bytes = 4 << 20;  ///< of one pinned buffer; there are 4 in each direction
};

/// @return  Errors: unsupported (built without CUDA; no driver, no such GPU, a coder that a GPU
/// does not have, nvCOMP that is missing or of another version, saying what to install),
/// invalid_argument (numbers that cannot be), no_space (memory), io (CUDA's own).
Result<std::unique_ptr<Device>> create_cuda_device(const CudaOptions& options = {});

struct CudaInfo {
    std::string name;  ///< as the driver says
    std::uint64_t memory_bytes = 0;
    int major = 0, minor = 0;  ///< compute capability
};
/// Errors: unsupported, as above.
Result<CudaInfo> cuda_info(int ordinal = 0);

/// The application's own work, for benchmarks and tests: keeps a stream of the current device busy
/// for so long, without waiting. Errors: unsupported, io.
Status cuda_busy(double seconds, void* stream);

}  // namespace caesura::device
