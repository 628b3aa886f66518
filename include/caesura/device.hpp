// A device that holds an application's data, and a link from it to the host: what a Checkpointer
// needs from a GPU, and nothing else.
//
// Three queues: work (copies inside the device, compressions) in the order in which it is given,
// and the link's two directions, in each one transfer after the other. A transfer begins when the
// work given before it is done; work does not wait for transfers: wait() for them first.
//
// EmulatedDevice is one in host memory. It really copies and compresses, with our own codec or in
// packed frames, and its clock is virtual: every step takes the time that a model says. So the same
// executor and the same tests run where there is no GPU, and nothing sleeps. Times that it measures
// are emulated.
//
// Invariants:
//  - Memory of the device is touched through these calls only.
//  - Nothing here throws, prints or waits in real time.
#pragma once

#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

#include "caesura/codec.hpp"

#pragma GCC visibility push(default)

namespace caesura::device {

/// Who compresses.
enum class Coder : std::uint8_t {
    codec = 0,   ///< our codec (caesura/codec.hpp): on the host only
    packed = 1,  ///< packed frames (codec/packed/packed.hpp): on host and GPU, the same bytes
    // NVIDIA's nvCOMP 6, for programs that link lab/nvcomp and register it; unsupported elsewhere.
    // On a GPU only, lossless, and what it made is read by nvCOMP on a GPU only, so it goes into no
    // file.
    nvcomp_lz4 = 2,
    nvcomp_gdeflate = 3,
    nvcomp_bitcomp = 4,
    nvcomp_ans = 5,
    nvcomp_cascaded = 6,
};
inline constexpr std::array k_coders = {
    Coder::codec,          Coder::packed,     Coder::nvcomp_lz4,     Coder::nvcomp_gdeflate,
    Coder::nvcomp_bitcomp, Coder::nvcomp_ans, Coder::nvcomp_cascaded};
/// As it is called above; "unknown" of any other number.
std::string_view to_string(Coder coder);
/// Errors: invalid_argument, naming those there are.
Result<Coder> coder_of(std::string_view name);
/// Lossless, and read with nvCOMP only.
constexpr bool is_nvcomp(Coder coder) {
    return coder >= Coder::nvcomp_lz4 && coder <= Coder::nvcomp_cascaded;
}

/// What the bytes of a piece are, and how far they may come back from what they were.
struct Content {
    DType dtype = float32;
    Shape shape;       ///< of each piece; rank 0: bytes of no known meaning, which stay lossless
    ErrorBound bound;  ///< lossless or absolute
};
/// Can pieces of so many bytes be that, if this coder compresses them? Errors: invalid_argument,
/// unsupported (a bound of another kind, or a coder that keeps none), naming the value.
Status validate(const Content& content, std::uint64_t piece_bytes, Coder coder = Coder::codec);

/// Sums over a stretch of values, from which moments can be put together: deviations are from
/// `origin`, a value of the stretch, so that little is lost beside a large mean.
struct StretchSums {
    std::uint64_t values = 0, finite = 0, nan = 0;
    double low = 0.0, high = 0.0;     ///< of the finite ones; without any: infinity and -infinity
    double origin = 0.0;              ///< the first finite value; 0 without any
    double sum = 0.0, squares = 0.0;  ///< of the finite ones' deviations
};
inline constexpr std::uint64_t k_stretch_values = 4096;

/// How many finite values lie in each bin, below and above all, and how many are not finite.
struct RangeCounts {
    std::vector<std::uint64_t> bins;
    std::uint64_t below = 0, above = 0, nan = 0, infinite = 0;
};
inline constexpr std::uint64_t k_most_edges = (std::uint64_t{1} << 20) + 1;

/// The room that sums(), counts() and marks() need in the device.
constexpr std::uint64_t sums_bytes(std::uint64_t bytes, DType dtype) {
    return (bytes / size_of(dtype) + k_stretch_values - 1) / k_stretch_values * 7 * 8;
}
constexpr std::uint64_t counts_bytes(std::uint64_t bins) { return 8 * (2 * bins + 1 + 4); }
constexpr std::uint64_t marks_bytes(std::uint64_t bytes, DType dtype) {
    return (bytes / size_of(dtype) + 63) / 64 * 8;
}

/// A transfer that was given to the link: done when it and all before it in its direction are.
using Transfer = std::uint64_t;

/// Errors of all calls, beside those named: io (the device refuses), internal (a bug of ours).
/// Calls: one thread at a time.
class Device {
  public:
    virtual ~Device() = default;
    /// Who compresses here.
    virtual Coder coder() const = 0;
    /// Seconds of a clock that never goes back.
    virtual double now_s() const = 0;
    /// Until the work given so far is done. Errors: what went wrong in it, of which the calls that
    /// gave it could not know.
    virtual Status wait_for_work() = 0;

    /// Errors: no_space.
    virtual Result<std::byte*> allocate(std::uint64_t bytes) = 0;
    /// Free it once the work given so far is done. Errors: invalid_argument (not allocated here, or
    /// a transfer still reads it).
    virtual Status release(std::byte* memory) = 0;

    /// Inside the device. Errors: invalid_argument (neither side allocated here: one may be the
    /// application's).
    virtual Status copy(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
    /// Compress pieces one after the other into a parcel (device/parcel.hpp); waits until it is
    /// done.
    /// @param content  of every piece; its bound holds for every finite value, all else comes back
    ///                 bit for bit.
    /// @param parcel   at least parcel_bytes() large, in the device.
    /// @return how many bytes it has. Errors: those of validate(content).
    virtual Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                           const Content& content, std::span<std::byte> parcel) = 0;
    /// One piece of a parcel that lies in the device; waits until it is done.
    /// @param piece  of the device or the application, as large as the piece was.
    /// Errors: corrupt, insufficient_data (the parcel is damaged); invalid_argument (no such
    /// piece, or memory that is not aligned as the coder needs it); unsupported (another coder made
    /// it, which this device does not have).
    virtual Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                              std::span<std::byte> piece) = 0;
    /// The most bytes that so many pieces, together of so many bytes, can come to.
    virtual std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const = 0;

    /// Of each k_stretch_values values that lie in the device, aligned as values are; waits until
    /// they are there.
    /// @param room  sums_bytes() of the device, aligned to 8. Errors: invalid_argument (other room,
    /// no values), unsupported (a device that cannot; so are emulated ones).
    virtual Result<std::vector<StretchSums>> sums(std::span<const std::byte> values, DType dtype,
                                                  std::span<std::byte> room);
    /// Bin i holds edges[i] <= x < edges[i + 1], the last one its end too.
    /// @param edges  of the host, 2 to k_most_edges, ascending, about equally far apart: a value
    ///               that lies more than a bin from where equal bins would have it is counted
    ///               wrong.
    /// @param room   counts_bytes() of the device, aligned to 8. Errors: as sums().
    virtual Result<RangeCounts> counts(std::span<const std::byte> values, DType dtype,
                                       std::span<const double> edges, std::span<std::byte> room);
    /// Which values are greater than a threshold; NaN is not. Bit i % 64 of word i / 64 is value
    /// i's; there are none beyond the last.
    /// @param room  marks_bytes() of the device, aligned to 8. Errors: as sums().
    virtual Result<std::vector<std::uint64_t>> marks(std::span<const std::byte> values, DType dtype,
                                                     double threshold, std::span<std::byte> room);

    /// Give a transfer to the link.
    /// @param host  filled when it is done; must live until then.
    /// @param from  as many bytes of the device; kept until then.
    virtual Result<Transfer> to_host(std::span<std::byte> host, const std::byte* from) = 0;
    /// The other way. The host's bytes must stay until it is done, the device's be kept.
    virtual Result<Transfer> to_device(std::byte* to, std::span<const std::byte> host) = 0;
    virtual Result<bool> is_done(Transfer transfer) = 0;
    virtual Status wait(Transfer transfer) = 0;

    /// What is allocated now, and in how many pieces.
    virtual std::uint64_t allocated_bytes() const = 0;
    virtual std::size_t allocations() const = 0;
};

/// What an emulated device's times are made of.
struct EmulatedMachine {
    std::uint64_t memory_bytes = 0;
    double link_bytes_per_s = 0.0;  ///< in each direction
    double copy_bytes_per_s = 0.0;  ///< inside the device
    /// Seconds to compress so many bytes at once.
    std::function<double(double bytes)> compress_s;
    /// Likewise to decompress to so many; empty: as long as compressing them.
    std::function<double(double bytes)> decompress_s;
    Coder coder = Coder::codec;  ///< codec or packed
};

/// Memory of an emulated device, which owns_memory() knows while it lives.
class EmulatedMemory {
  public:
    explicit EmulatedMemory(std::uint64_t bytes);
    EmulatedMemory(EmulatedMemory&&) noexcept = default;
    EmulatedMemory& operator=(EmulatedMemory&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~EmulatedMemory();
    std::byte* data() { return bytes_.data(); }
    std::size_t size() const { return bytes_.size(); }

  private:
    std::vector<std::byte> bytes_;  ///< none: it was moved away
};

class EmulatedDevice : public Device {
  public:
    /// @return  Errors: invalid_argument (speeds that are not positive and finite, no compress_s),
    /// unsupported (a coder that needs a GPU).
    static Result<EmulatedDevice> create(EmulatedMachine machine);

    Coder coder() const override { return machine_.coder; }
    double now_s() const override { return now_s_; }
    Status wait_for_work() override { return {}; }
    Result<std::byte*> allocate(std::uint64_t bytes) override;
    Status release(std::byte* memory) override;
    Status copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                   const Content& content, std::span<std::byte> parcel) override;
    Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                      std::span<std::byte> piece) override;
    std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const override;
    Result<Transfer> to_host(std::span<std::byte> host, const std::byte* from) override;
    Result<Transfer> to_device(std::byte* to, std::span<const std::byte> host) override;
    Result<bool> is_done(Transfer transfer) override;
    Status wait(Transfer transfer) override;

    /// The application's own kernels: time goes by.
    void work(double seconds) { pass(seconds); }
    std::uint64_t allocated_bytes() const override { return allocated_bytes_; }
    std::size_t allocations() const override { return memory_.size(); }

  private:
    struct OnLink {
        Transfer transfer = 0;
        double end_s = 0.0;
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::uint64_t bytes = 0;
    };
    /// One direction. Data arrive with the end of a transfer, not before.
    struct Link {
        double free_s = 0.0;
        std::deque<OnLink> transfers;
        std::uint64_t given = 0, done = 0;  ///< counted from 1
    };
    explicit EmulatedDevice(EmulatedMachine machine) : machine_(std::move(machine)) {}
    void pass(double seconds);
    bool is_inside(const std::byte* memory, std::uint64_t bytes) const;
    Transfer give(std::size_t direction, std::byte* to, const std::byte* from, std::uint64_t bytes);
    Result<Link*> link_of(Transfer transfer);

    EmulatedMachine machine_;
    double now_s_ = 0.0;
    std::unordered_map<std::byte*, EmulatedMemory> memory_;
    std::uint64_t allocated_bytes_ = 0;
    std::array<Link, 2> links_;  ///< to the host, to the device; a transfer is 2 n + direction
};

// ------------------------------------------------------- an application's pointers

/// Does it point into memory of a device: of CUDA (managed memory too), or an emulated one? Cost:
/// about a microsecond where CUDA is in use.
bool owns_memory(const void* memory);
/// Copy from such memory. What fills it must be done, or be work of CUDA's default stream: other
/// streams are not waited for. Errors: io (CUDA's own), invalid_argument (it points elsewhere, or
/// beyond what was allocated in an emulated device).
Status fetch(std::span<std::byte> host, const void* memory);
/// Could a pointer be one of CUDA's? False of a library that was built without.
bool has_cuda();

}  // namespace caesura::device

// -------------------------------------------------------------------------------- CUDA

// A GPU of CUDA as a Device. Compiled and linked, not yet run on a GPU.
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
//  - nvCOMP's coders are in lab/nvcomp, for programs that link and register it. What they make is
//    read on a GPU by nvCOMP only, so a Checkpointer takes no file with it, and no bound: packed
//    has both. Restoring needs memory aligned to 16, and some bytes of the GPU that no cap counts
//    (Bitcomp of nvCOMP 6.0: 20).
//
// Invariants: the caller's current CUDA device is the same after each call.
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
/// does not have or that was not registered, saying what to link; what a registered one says),
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

#pragma GCC visibility pop
