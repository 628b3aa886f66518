// The values of a region of an object, wherever they lie.
#pragma once

#include <memory>

#include "base/buffer.hpp"
#include "read/source.hpp"
#include "transit/objects/spool.hpp"

namespace caesura::transit {

class FarObject;

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
};

/// As they were put.
class MemoryValues final : public RegionValues {
  public:
    MemoryValues(Box box, DType dtype, base::Buffer values)
        : box_(box), dtype_(dtype), values_(std::move(values)) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;
    const std::byte* in_memory() const override { return values_.data(); }
    std::span<const std::byte> bytes() const { return values_.bytes(); }

  private:
    Box box_;
    DType dtype_;
    base::Buffer values_;
};

/// A frame of our codec in the spool.
class SunkValues final : public RegionValues {
  public:
    SunkValues(Box box, DType dtype, std::shared_ptr<const Spool::Stretch> frame)
        : box_(box), dtype_(dtype), frame_(std::move(frame)) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;
    const Spool::Stretch* frame() const override { return frame_.get(); }

  private:
    Box box_;
    DType dtype_;
    std::shared_ptr<const Spool::Stretch> frame_;
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
