#include "transit/devices/device.hpp"

#include "hdf5/block_codec.hpp"

namespace caesura::transit {
namespace {

/// A device in the place of the dataset's codec. The pipeline stays the dataset's.
class DeviceCodec final : public BlockCodec {
  public:
    DeviceCodec(BlockDevice& device, const BlockCodec& of_dataset, const DatasetCodec& recipe,
                DeviceParts& parts)
        : device_(device), of_dataset_(of_dataset), recipe_(recipe), parts_(parts) {}

    std::span<const FilterSpec> pipeline() const override { return of_dataset_.pipeline(); }
    bool reentrant() const override { return true; }
    bool wants_padding() const override { return device_.wants_padding(); }
    bool leaves_raw_to_caller() const override { return of_dataset_.leaves_raw_to_caller(); }
    Result<EncodedBlock> encode(std::span<const std::byte> values,
                                const Shape& valid) const override {
        return device_.encode({values, valid, recipe_, false}, parts_);
    }
    Result<EncodedBlock> encode_exactly(std::span<const std::byte> values,
                                        const Shape& valid) const override {
        return device_.encode({values, valid, recipe_, true}, parts_);
    }
    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const override {
        return of_dataset_.decode(stored, filter_mask, chunk);
    }

  private:
    BlockDevice& device_;
    const BlockCodec& of_dataset_;
    const DatasetCodec& recipe_;
    DeviceParts& parts_;
};

}  // namespace

Result<DeviceState> BlockDevice::analyse(const DeviceFunction&, const lambda::RegionView&,
                                         DeviceParts&) {
    return Status{StatusCode::unsupported, label() + " analyses nothing"};
}

Result<DeviceState> BlockDevice::analyse_copy(const DeviceFunction&, const lambda::RegionView&,
                                              DeviceParts&) {
    return Status{StatusCode::unsupported, label() + " has no values in its memory"};
}

bool is_simple(const run::Job& job, const DatasetCodec& codec) {
    return job.parts.empty() && !job.bundled && caesura_mode(codec.spec).has_value() &&
           !codec.spec.verify.value_or(false);
}

Result<run::Encoded> encode_on(BlockDevice& device, run::Job& job, const DatasetCodec& codec,
                               base::BufferPool& pool, DeviceParts& parts) {
    const BlockCodec* const of_dataset = job.codec;
    const DeviceCodec instead(device, *of_dataset, codec, parts);
    job.codec = &instead;
    auto encoded = run::encode(job, pool);
    job.codec = of_dataset;
    return encoded;
}

}  // namespace caesura::transit
