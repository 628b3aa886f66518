// The values of a region of an object, wherever they lie.
#pragma once

#include <memory>

#include "base/buffer.hpp"
#include "lambda/chained_object.hpp"
#include "read/source.hpp"
#include "transit/object_messages.hpp"
#include "transit/objects/device_memory.hpp"
#include "transit/objects/spool.hpp"

namespace caesura::transit {

class FarObject;

/// The chain of an object, and who applies it.
struct RegionForm {
    lambda::ChainedObject object;
    ChainSide side = ChainSide::client;
    /// Only who has the client's key knows the values. A key of the service's own is another
    /// matter.
    bool is_sealed() const { return side == ChainSide::client && object.is_keyed(); }
    /// Of a sealed one: why nothing can be done with its values here.
    Status refuse(std::string_view what) const;
};

/// Does not change. read() from any thread; destroyed on threads of normal priority.
class RegionValues {
  public:
    virtual ~RegionValues() = default;
    /// The values of `part`, which the region has, into a dense array that holds `box`.
    /// Errors: those of where they lie; may throw bad_alloc.
    virtual Status read(const Box& part, const Box& box, std::byte* target) const = 0;
    /// All of them, dense, if they are in memory.
    virtual const std::byte* in_memory() const { return nullptr; }
    /// The whole region as a frame of our codec, without shared tables, if it lies as one.
    virtual const Spool::Stretch* frame() const { return nullptr; }
    /// Where they are, if that is another service's memory.
    virtual FarObject* far() const { return nullptr; }
    /// What its object's chain made of them. Errors: unsupported (there is none); those of where
    /// they lie; may throw bad_alloc.
    virtual Result<std::vector<std::byte>> chained() const;
};

/// As they were put, or what their chain made of them.
class MemoryValues final : public RegionValues {
  public:
    MemoryValues(Box box, DType dtype, base::Buffer bytes,
                 std::shared_ptr<const RegionForm> form = {})
        : box_(box), dtype_(dtype), bytes_(std::move(bytes)), form_(std::move(form)) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;
    const std::byte* in_memory() const override { return form_ ? nullptr : bytes_.data(); }
    Result<std::vector<std::byte>> chained() const override;
    std::span<const std::byte> bytes() const { return bytes_.bytes(); }
    bool is_chained() const { return form_ != nullptr; }

  private:
    Box box_;
    DType dtype_;
    base::Buffer bytes_;
    std::shared_ptr<const RegionForm> form_;
};

/// In the spool: a frame of our codec, or what their chain made of them.
class SunkValues final : public RegionValues {
  public:
    SunkValues(Box box, DType dtype, std::shared_ptr<const Spool::Stretch> frame,
               std::shared_ptr<const RegionForm> form = {})
        : box_(box), dtype_(dtype), frame_(std::move(frame)), form_(std::move(form)) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;
    Result<std::vector<std::byte>> chained() const override;
    std::uint64_t bytes() const { return frame_->bytes(); }
    const Spool::Stretch* frame() const override { return form_ ? nullptr : frame_.get(); }

  private:
    Box box_;
    DType dtype_;
    std::shared_ptr<const Spool::Stretch> frame_;
    std::shared_ptr<const RegionForm> form_;
};

/// A copy in the memory of a device, as the values lay in this service's memory. When the device
/// fails, values come from where they are kept beside it.
class DeviceValues final : public RegionValues {
  public:
    /// @param kept  in the sink or in a file.
    DeviceValues(Box box, DType dtype, std::shared_ptr<const DeviceMemory::Block> block,
                 std::shared_ptr<const RegionValues> kept,
                 std::shared_ptr<const RegionForm> form = {})
        : box_(box),
          dtype_(dtype),
          block_(std::move(block)),
          kept_(std::move(kept)),
          form_(std::move(form)) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;
    Result<std::vector<std::byte>> chained() const override;
    const Spool::Stretch* frame() const override { return kept_->frame(); }
    const std::shared_ptr<const DeviceMemory::Block>& block() const { return block_; }

  private:
    Box box_;
    DType dtype_;
    std::shared_ptr<const DeviceMemory::Block> block_;
    std::shared_ptr<const RegionValues> kept_;
    std::shared_ptr<const RegionForm> form_;
};

/// In a dataset of a file.
class FileValues final : public RegionValues {
  public:
    FileValues(std::shared_ptr<const read::Source> source, std::size_t dataset, DType dtype)
        : source_(std::move(source)), dataset_(dataset), dtype_(dtype) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;

  private:
    std::shared_ptr<const read::Source> source_;
    std::size_t dataset_;
    DType dtype_;
};

}  // namespace caesura::transit
