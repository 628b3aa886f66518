// NVIDIA's nvCOMP, looked for when it is asked for: its compressors' times beside packed frames'.
//
// Nothing of it is needed to build. Of its C interface for batches of chunks only what is called
// here is declared, as version 6 has it; another version is refused, because options are passed by
// value and have changed before.
//
// Invariants: compresses without loss; makes no parcels: checkpoints are compressed in packed
// frames. Loading is tested where there is a library, compressing has not yet been run on a GPU.
#pragma once

#include "caesura/device.hpp"

namespace caesura::device {

enum class NvcompCoder : std::uint8_t { lz4, gdeflate, bitcomp, ans, cascaded };
inline constexpr std::array k_nvcomp_coders = {NvcompCoder::lz4, NvcompCoder::gdeflate,
                                               NvcompCoder::bitcomp, NvcompCoder::ans,
                                               NvcompCoder::cascaded};
std::string_view to_string(NvcompCoder coder);

/// Chunks of the device's memory that are compressed at once; every array lies in the device.
struct NvcompBatch {
    std::uint64_t chunks = 0, chunk_bytes = 0;  ///< all alike
    const void* const* from = nullptr;          ///< [chunks]
    const std::uint64_t* bytes = nullptr;       ///< [chunks]
    void* const* to = nullptr;                  ///< [chunks] room for most_bytes() each
    std::uint64_t* compressed_bytes = nullptr;  ///< [chunks], filled
    void* scratch = nullptr;
    std::uint64_t scratch_bytes = 0;
};

class Nvcomp {
  public:
    /// @param library  a path; empty: $CAESURA_NVCOMP, or libnvcomp.so.6 where the linker finds it.
    /// @return  Errors: unsupported (there is none, another version, or a function is missing),
    ///          naming it.
    static Result<std::unique_ptr<Nvcomp>> load(const std::string& library = "");
    virtual ~Nvcomp() = default;

    virtual std::string version() const = 0;
    /// The most bytes that a chunk can come to. Errors: io (as nvCOMP says).
    virtual Result<std::uint64_t> most_bytes(NvcompCoder coder,
                                             std::uint64_t chunk_bytes) const = 0;
    /// Memory of the device that compressing so many chunks takes beside input and output.
    virtual Result<std::uint64_t> scratch_bytes(NvcompCoder coder, std::uint64_t chunks,
                                                std::uint64_t chunk_bytes, void* stream) const = 0;
    /// Gives the work to the stream. Errors: io.
    virtual Status compress(NvcompCoder coder, const NvcompBatch& batch, void* stream) const = 0;
};

struct NvcompPoint {
    double bytes = 0.0, seconds = 0.0, compressed_bytes = 0.0;
};
/// Seconds to compress these bytes at once, in chunks of 64 KB. The device's work must be given to
/// `stream`. Errors: no_space, those of device and library. Nothing is left in the device.
Result<NvcompPoint> measure_nvcomp(Device& device, const Nvcomp& nvcomp, NvcompCoder coder,
                                   std::span<const std::byte> data, int repeats, void* stream);

}  // namespace caesura::device
