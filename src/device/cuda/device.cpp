#include "caesura/device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <unordered_map>

#include "base/invalid.hpp"
#include "device/cuda/link.hpp"
#include "device/cuda/pack_kernels.hpp"
#include "device/cuda/parcel_coder.hpp"
#include "device/cuda/reducer.hpp"

namespace caesura::device {
namespace {

using cuda::OnDevice;
using cuda::status_of;

Status find_device(int ordinal) {
    int devices = 0;
    if (Status status = status_of(cudaGetDeviceCount(&devices), "no CUDA device can be used");
        !status.ok())
        return status;
    if (ordinal >= 0 && ordinal < devices) return {};
    return {StatusCode::unsupported,
            fmt::format("no CUDA device {}: this machine has {}", ordinal, devices)};
}

class CudaDevice : public Device {
  public:
    explicit CudaDevice(const CudaOptions& options)
        : options_(options),
          stream_(static_cast<cudaStream_t>(options.stream)),
          reducer_(stream_) {}
    ~CudaDevice() override;
    Status begin();

    Coder coder() const override { return options_.coder; }
    double now_s() const override;
    Status wait_for_work() override;
    Result<std::byte*> allocate(std::uint64_t bytes) override;
    Status release(std::byte* memory) override;
    Status copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
    Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                   const Content& content, std::span<std::byte> parcel) override;
    Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                      std::span<std::byte> piece) override;
    std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const override {
        return coder_->parcel_bytes(pieces, bytes);
    }
    Result<std::vector<StretchSums>> sums(std::span<const std::byte> values, DType dtype,
                                          std::span<std::byte> room) override;
    Result<RangeCounts> counts(std::span<const std::byte> values, DType dtype,
                               std::span<const double> edges, std::span<std::byte> room) override;
    Result<std::vector<std::uint64_t>> marks(std::span<const std::byte> values, DType dtype,
                                             double threshold, std::span<std::byte> room) override;
    Result<Transfer> to_host(std::span<std::byte> host, const std::byte* from) override;
    Result<Transfer> to_device(std::byte* to, std::span<const std::byte> host) override;
    Result<bool> is_done(Transfer transfer) override;
    Status wait(Transfer transfer) override;
    std::uint64_t allocated_bytes() const override { return allocated_bytes_; }
    std::size_t allocations() const override { return memory_.size(); }

  private:
    bool is_inside(const std::byte* memory, std::uint64_t bytes) const;
    Result<cuda::Link*> link_of(Transfer transfer) const;
    Status begin_pool();

    CudaOptions options_;
    cudaStream_t stream_;
    cudaMemPool_t pool_ = nullptr;
    std::unordered_map<std::byte*, std::uint64_t> memory_;
    std::uint64_t allocated_bytes_ = 0;
    std::unique_ptr<cuda::ParcelCoder> coder_;
    cuda::Reducer reducer_;
    std::unique_ptr<cuda::Link> links_[2];  ///< to the host, to the device; see transfer numbers
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// ------------------------------------------------------------------------------- begin and end

Status CudaDevice::begin_pool() {
    int has_pools = 0;
    if (Status status = status_of(
            cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, options_.ordinal),
            "asking for memory pools");
        !status.ok())
        return status;
    if (has_pools == 0)
        return {StatusCode::unsupported,
                fmt::format("CUDA device {} has no stream-ordered memory pools", options_.ordinal)};
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = options_.ordinal;
    if (Status status = status_of(cudaMemPoolCreate(&pool_, &properties), "a memory pool");
        !status.ok())
        return status;
    std::uint64_t keep_bytes = options_.keep_bytes;
    return status_of(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_bytes),
                     "what the memory pool keeps");
}

Status CudaDevice::begin() {
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    if (Status status = begin_pool(); !status.ok()) return status;
    auto coder = cuda::ParcelCoder::create(options_, stream_, pool_);
    if (!coder.ok()) return coder.status();
    coder_ = *std::move(coder);
    using Direction = StagedLink::Direction;
    for (const Direction direction : {Direction::to_host, Direction::to_device}) {
        auto link = cuda::Link::create(direction, options_.ordinal, options_.staging_bytes);
        if (!link.ok()) return link.status();
        links_[direction == Direction::to_host ? 0 : 1] = *std::move(link);
    }
    begin_ = std::chrono::steady_clock::now();
    return {};
}

CudaDevice::~CudaDevice() {
    const OnDevice on(options_.ordinal);
    for (auto& link : links_) link.reset();  // waits for what is on them
    coder_.reset();
    for (const auto& [memory, bytes] : memory_) (void)cudaFreeAsync(memory, stream_);
    if (pool_ == nullptr) return;
    (void)cudaStreamSynchronize(stream_);
    (void)cudaMemPoolDestroy(pool_);
}

double CudaDevice::now_s() const {
    const OnDevice on(options_.ordinal);
    // What went wrong in the stream is what wait_for_work() says too.
    (void)cudaStreamSynchronize(stream_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

Status CudaDevice::wait_for_work() {
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return status_of(cudaStreamSynchronize(stream_), "the work in the stream");
}

// ------------------------------------------------------------------------------------- memory

bool CudaDevice::is_inside(const std::byte* memory, std::uint64_t bytes) const {
    for (const auto& [begin, size] : memory_)
        if (memory >= begin && memory + bytes <= begin + size) return true;
    return false;
}

Result<std::byte*> CudaDevice::allocate(std::uint64_t bytes) {
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    // At least one byte, so that pieces have addresses of their own.
    const std::uint64_t size = bytes > 0 ? bytes : 1;
    void* memory = nullptr;
    const cudaError_t code = cudaMallocFromPoolAsync(&memory, size, pool_, stream_);
    if (code != cudaSuccess)
        return status_of(code,
                         fmt::format("{} bytes of the GPU beside {}", size, allocated_bytes_));
    auto* const at = static_cast<std::byte*>(memory);
    memory_.emplace(at, size);
    allocated_bytes_ += size;
    return at;
}

Status CudaDevice::release(std::byte* memory) {
    const auto found = memory_.find(memory);
    if (found == memory_.end())
        return base::invalid("memory that was not allocated in this device");
    for (auto& link : links_) {
        const Result<bool> touched = link->touches(memory, found->second);
        if (!touched.ok()) return touched.status();
        if (*touched)
            return base::invalid(
                fmt::format("{} bytes are given back while a transfer needs them", found->second));
    }
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    if (Status status = status_of(cudaFreeAsync(memory, stream_), "giving back memory");
        !status.ok())
        return status;
    allocated_bytes_ -= found->second;
    memory_.erase(found);
    return {};
}

Status CudaDevice::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (!is_inside(to, bytes) && !is_inside(from, bytes))
        return base::invalid(fmt::format("a copy of {} bytes out of bounds", bytes));
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "a copy");
}

// ---------------------------------------------------------------------------------- compression

Result<std::uint64_t> CudaDevice::compress(std::span<const std::span<const std::byte>> pieces,
                                           const Content& content, std::span<std::byte> parcel) {
    if (!is_inside(parcel.data(), parcel.size()))
        return base::invalid("a parcel outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return coder_->compress(pieces, content, parcel);
}

Status CudaDevice::decompress(std::span<const std::byte> parcel, std::uint64_t index,
                              std::span<std::byte> piece) {
    if (!is_inside(parcel.data(), parcel.size()))
        return base::invalid("a parcel outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return coder_->decompress(parcel, index, piece);
}

// ------------------------------------------------------------------------------------ analyses

Result<std::vector<StretchSums>> CudaDevice::sums(std::span<const std::byte> values, DType dtype,
                                                  std::span<std::byte> room) {
    if (!is_inside(values.data(), values.size()) || !is_inside(room.data(), room.size()))
        return base::invalid("values or room outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return reducer_.sums(values, dtype, room);
}

Result<RangeCounts> CudaDevice::counts(std::span<const std::byte> values, DType dtype,
                                       std::span<const double> edges, std::span<std::byte> room) {
    if (!is_inside(values.data(), values.size()) || !is_inside(room.data(), room.size()))
        return base::invalid("values or room outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return reducer_.counts(values, dtype, edges, room);
}

Result<std::vector<std::uint64_t>> CudaDevice::marks(std::span<const std::byte> values, DType dtype,
                                                     double threshold, std::span<std::byte> room) {
    if (!is_inside(values.data(), values.size()) || !is_inside(room.data(), room.size()))
        return base::invalid("values or room outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    return reducer_.marks(values, dtype, threshold, room);
}

// ------------------------------------------------------------------------------------- the link

Result<Transfer> CudaDevice::to_host(std::span<std::byte> host, const std::byte* from) {
    if (!is_inside(from, host.size())) return base::invalid("a transfer from outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    const auto number =
        links_[0]->give(stream_, const_cast<std::byte*>(from), host.data(), host.size());
    if (!number.ok()) return number.status();
    return 2 * *number;
}

Result<Transfer> CudaDevice::to_device(std::byte* to, std::span<const std::byte> host) {
    if (!is_inside(to, host.size())) return base::invalid("a transfer to outside the device");
    const OnDevice on(options_.ordinal);
    if (!on.status().ok()) return on.status();
    const auto number =
        links_[1]->give(stream_, to, const_cast<std::byte*>(host.data()), host.size());
    if (!number.ok()) return number.status();
    return 2 * *number + 1;
}

Result<cuda::Link*> CudaDevice::link_of(Transfer transfer) const {
    cuda::Link* const link = links_[transfer % 2].get();
    if (transfer < 2 || transfer / 2 > link->staged().given())
        return base::invalid(fmt::format("no transfer {}", transfer));
    return link;
}

Result<bool> CudaDevice::is_done(Transfer transfer) {
    const Result<cuda::Link*> link = link_of(transfer);
    if (!link.ok()) return link.status();
    return (*link)->staged().is_done(transfer / 2);
}

Status CudaDevice::wait(Transfer transfer) {
    const Result<cuda::Link*> link = link_of(transfer);
    if (!link.ok()) return link.status();
    return (*link)->staged().wait(transfer / 2);
}

}  // namespace

Result<std::unique_ptr<Device>> create_cuda_device(const CudaOptions& options) {
    if (options.staging_bytes == 0) return base::invalid("staging_bytes is 0; give at least 1");
    if (Status status = find_device(options.ordinal); !status.ok()) return status;
    auto device = std::make_unique<CudaDevice>(options);
    if (Status status = device->begin(); !status.ok()) return status;
    return std::unique_ptr<Device>(std::move(device));
}

Result<CudaInfo> cuda_info(int ordinal) {
    if (Status status = find_device(ordinal); !status.ok()) return status;
    cudaDeviceProp properties{};
    if (Status status = status_of(cudaGetDeviceProperties(&properties, ordinal), "the GPU's name");
        !status.ok())
        return status;
    return CudaInfo{properties.name, properties.totalGlobalMem, properties.major, properties.minor};
}

Status cuda_busy(double seconds, void* stream) {
    if (Status status = find_device(0); !status.ok()) return status;
    if (!(seconds >= 0.0) || seconds > 1e6)
        return base::invalid(fmt::format("{} s of work", seconds));
    return status_of(cuda::busy(seconds, static_cast<cudaStream_t>(stream)), "work for the GPU");
}

}  // namespace caesura::device
