// A block to encode, on whichever device.
#pragma once

#include "transit/service/placed_work.hpp"

namespace caesura::transit {

class Encoding : public PlacedWork {
  public:
    explicit Encoding(base::BufferPool& pool) : pool_(pool) {}

    run::Job job;
    const DatasetCodec* recipe = nullptr;  ///< null: the host alone
    Result<run::Encoded> encoded = Status(StatusCode::internal, "not encoded");
    double compress_s = 0.0;  ///< CPU time on the host, the device's time elsewhere

  protected:
    /// Once, before it is encoded, its values dense (run::dense_values); on the thread that will.
    /// It may throw bad_alloc. Not called where there is no memory to gather them.
    virtual void look() {}
    base::BufferPool& pool_;

  private:
    What what() const final;
    bool is_the_hosts() const final { return recipe == nullptr; }
    bool is_taken_by(const BlockDevice& there) const final { return there.takes(job, *recipe); }
    double prepare(const base::Clock& clock) final;
    void on_host() final;
    void on_device(BlockDevice& there, DeviceParts& parts) final;
    Status outcome() const final { return encoded.status(); }
    std::uint64_t result_bytes() const final { return encoded.ok() ? encoded->stored.size() : 0; }
    void end_with(Status status) final { encoded = std::move(status); }
    void tidy() final { gathered_ = {}; }
    base::Buffer gathered_;  ///< where the job's values are, if they were not dense
};

/// "caesura:auto float32 absolute": what a device's times are kept by.
std::string variant_of(const DatasetCodec& codec);

}  // namespace caesura::transit
