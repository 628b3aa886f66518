// A GPU through src/device: one of CUDA, or an emulated one in host memory.
//
// The emulated one really compresses, on a core of the host, and then waits until as much time has
// gone by as its stated speeds say. Where the host takes longer than that, its time counts. With a
// keep of results, which benchmarks ask for, a block that has been compressed before is only looked
// up, so that a stated speed may be beyond the host's. What it takes is emulated in both cases, and
// its label says so.
#pragma once

#include <atomic>
#include <functional>

#include "caesura/device.hpp"
#include "transit/devices/device.hpp"
#include "transit/devices/result_keep.hpp"

namespace caesura::transit {

/// Speeds of an emulated GPU. Changed by tests and benchmarks while it works.
struct StatedSpeeds {
    double link_bytes_per_s = 8e9;      ///< in each direction
    double compress_bytes_per_s = 4e9;  ///< on an idle device
    double analyse_bytes_per_s = 50e9;  ///< likewise
    double per_block_s = 100e-6;
    /// How busy it is with other things, and so many times longer it takes when it is wholly so.
    std::atomic<double> busy{0.0};
    double load = 3.0;
    std::atomic<double> slower{1.0};  ///< so many times in all

    double compress_s(double bytes) const { return work_s(bytes / compress_bytes_per_s); }
    double analyse_s(double bytes) const { return work_s(bytes / analyse_bytes_per_s); }

  private:
    /// @param idle_s  on an idle device.
    double work_s(double idle_s) const;
};

class GpuDevice final : public BlockDevice {
  public:
    struct Options {
        std::string name = "gpu";
        std::uint64_t memory_bytes = std::uint64_t{256} << 20;
        device::Coder coder = device::Coder::packed;
        int ordinal = 0;               ///< CUDA
        std::uint64_t kept_bytes = 0;  ///< emulated: of results, see above; 0: none are kept
    };
    /// Errors: those of EmulatedDevice::create().
    static Result<std::unique_ptr<GpuDevice>> emulated(const Options& options,
                                                       std::shared_ptr<StatedSpeeds> speeds);
    /// Errors: those of create_cuda_device().
    static Result<std::unique_ptr<GpuDevice>> cuda(const Options& options);
    ~GpuDevice() override;

    std::string label() const override;
    bool takes(const run::Job& job, const DatasetCodec& codec) const override;
    /// Parcels hold frames that know no shape, which the filter takes for whole chunks.
    bool wants_padding() const override { return true; }
    Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) override;
    /// Analyses whose regions a GPU can reduce (lambda::Reduction).
    bool takes(const DeviceFunction& what, std::uint64_t bytes) const override;
    Result<DeviceState> analyse(const DeviceFunction& what, const lambda::RegionView& region,
                                DeviceParts& parts) override;
    /// The same memory: of an emulated one the host can read it.
    bool has_memory_of(const std::string& device) const override { return device == options_.name; }
    Result<DeviceState> analyse_copy(const DeviceFunction& what, const lambda::RegionView& region,
                                     DeviceParts& parts) override;
    double utilisation() const override;

  private:
    GpuDevice(Options options, std::unique_ptr<device::Device> device);
    Result<EncodedBlock> encode_there(const DeviceBlock& block, DeviceParts& parts);
    Status reserve(std::uint64_t bytes, std::uint64_t room_bytes);
    enum class Lie : std::uint8_t { on_host, there };  ///< a region's values
    Result<DeviceState> analyse_any(const DeviceFunction& what, const lambda::RegionView& region,
                                    Lie lie, DeviceParts& parts);
    Result<DeviceState> analyse_there(const DeviceFunction& what, const lambda::RegionView& region,
                                      Lie lie, DeviceParts& parts);
    Result<DeviceState> analyse_as_stated(const DeviceFunction& what,
                                          const lambda::RegionView& region, Lie lie,
                                          DeviceParts& parts);
    Status bring(const lambda::RegionView& region, Lie lie);
    Result<lambda::Reduced> reduce(const lambda::Reduction& wanted, DType dtype,
                                   std::span<const std::byte> values);
    Result<lambda::AnalysisState> add_or_find(const DeviceFunction& what,
                                              const lambda::RegionView& region);
    void free_memory();
    Result<EncodedBlock> encode_or_find(const DeviceBlock& block, DeviceParts& parts);
    void wait_as_stated(double began_s, DeviceParts& parts) const;

    const Options options_;
    std::shared_ptr<StatedSpeeds> stated_;  ///< null: a real one
    std::function<double()> utilisation_;
    std::unique_ptr<device::Device> device_;
    std::unique_ptr<ResultKeep> keep_;
    std::byte *values_ = nullptr, *parcel_ = nullptr;  ///< in the device, kept for the next block
    std::uint64_t values_bytes_ = 0, parcel_bytes_ = 0;
};

}  // namespace caesura::transit
