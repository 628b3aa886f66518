// NVIDIA's nvCOMP, looked for when it is asked for: five lossless coders for batches of chunks that
// lie in a GPU's memory.
//
// Nothing of it is needed to build. Of its C interface only what is called here is declared, as
// version 6 has it; another version is refused, because options are passed by value and have
// changed before.
//
// Invariants: pure translation; who calls has checked what is in the frames (nvcomp_frame.hpp).
// Loading, sizes and alignments are tested where there is a library; what compresses has run on a
// stand-in on the host (nvcomp_stand_in.cpp), not yet on a GPU.
#pragma once

#include "caesura/device.hpp"

namespace caesura::device {

/// Of chunks and scratch memory: addresses must be multiples of these.
struct NvcompAlignment {
    std::uint64_t from = 1, to = 1, scratch = 1;
};

/// Chunks that are compressed or decompressed at once. Every array has `chunks` elements and lies
/// where the GPU reads and writes it.
struct NvcompBatch {
    std::uint64_t chunks = 0;
    std::uint64_t chunk_bytes = 0;  ///< the largest, raw
    std::uint64_t value_bytes = 4;  ///< 4 or 8; raw chunks are whole values
    const void* const* from = nullptr;
    const std::uint64_t* bytes = nullptr;  ///< of each `from`
    void* const* to = nullptr;
    const std::uint64_t* room_bytes = nullptr;  ///< of each `to`; decompressing only
    std::uint64_t* to_bytes = nullptr;          ///< filled
    std::int32_t* statuses = nullptr;           ///< filled; 0: as it should be
    void* scratch = nullptr;
    std::uint64_t scratch_bytes = 0;
};

/// One coder of the library. Calls: thread-safe.
class Nvcomp {
  public:
    /// @param coder    one of nvCOMP's.
    /// @param library  a path; empty: $CAESURA_NVCOMP, or libnvcomp.so.6 where the linker finds it.
    /// @return  Errors: unsupported (there is none, another version, or a function is missing),
    ///          naming it and what to install; invalid_argument (another coder).
    static Result<std::unique_ptr<Nvcomp>> load(Coder coder, const std::string& library = "");
    virtual ~Nvcomp() = default;

    virtual Coder coder() const = 0;
    virtual std::string version() const = 0;
    /// 1000 times the major one, 100 times the minor one, patch.
    virtual std::uint32_t version_number() const = 0;
    /// The most bytes that a chunk can come to, whatever its values. Errors: io (as nvCOMP says).
    virtual Result<std::uint64_t> most_bytes(std::uint64_t chunk_bytes) const = 0;
    /// Memory of the device that so many chunks take beside input and output, whatever their
    /// values. Errors: io.
    virtual Result<std::uint64_t> compress_scratch_bytes(std::uint64_t chunks,
                                                         std::uint64_t chunk_bytes,
                                                         void* stream) const = 0;
    virtual Result<std::uint64_t> decompress_scratch_bytes(std::uint64_t chunks,
                                                           std::uint64_t chunk_bytes,
                                                           void* stream) const = 0;
    virtual Result<NvcompAlignment> compress_alignment() const = 0;
    virtual Result<NvcompAlignment> decompress_alignment() const = 0;
    /// Give the work to the stream. Errors: io. Of damaged chunks nvCOMP says that what
    /// decompressing does is undefined for most coders: look at their checksums first.
    virtual Status compress(const NvcompBatch& batch, void* stream) const = 0;
    virtual Status decompress(const NvcompBatch& batch, void* stream) const = 0;
    /// What nvCOMP calls a chunk's status.
    virtual std::string status_text(std::int32_t status) const = 0;
};

}  // namespace caesura::device
