// A device of the service that compresses blocks and analyses regions in another way than the
// host's own cores: a GPU, an emulated one, another service.
//
// Invariants:
//  - Whatever device made it, a block keeps its bound and is decoded by the same filter from the
//    same cd_values. Its bytes may differ from what the host makes of it.
//  - encode() either has made the block or returns an error, in a bounded time.
//  - analyse() likewise: a state as good as the host's (counts and extremes the same, sums to
//    rounding), or an error. Where an analysis has no variant for a device, takes() says no.
//  - encode() and analyse() are called by so many threads at once as at_once() says; all else by
//  any thread.
#pragma once

#include <memory>
#include <string>

#include "lambda/registry.hpp"
#include "run/encode.hpp"
#include "transit/messages.hpp"

namespace caesura::transit {

/// Where a request's time went. Seconds by the wall clock.
struct DeviceParts {
    double to_s = 0.0, compute_s = 0.0, from_s = 0.0;
};

/// The values of a block as its codec takes them: dense, and padded if the device wants it.
struct DeviceBlock {
    std::span<const std::byte> values;
    Shape valid;
    const DatasetCodec& codec;
    bool exactly = false;
};

/// An analysis that a device may do of regions.
struct DeviceFunction {
    const lambda::Registry& functions;
    const lambda::Function& function;
    const lambda::Variant& variant;
    std::vector<std::byte> from;  ///< AnalysisState::bytes() before the region
    bool is_secret = false;       ///< the values are kept under a key: they stay on this machine
};

/// What it has made of one region.
struct DeviceState {
    lambda::AnalysisState state;
    std::uint64_t bytes = 0;  ///< that came back
};

class BlockDevice {
  public:
    virtual ~BlockDevice() = default;
    /// For people: "gpu0 (emulated)".
    virtual std::string label() const = 0;
    virtual int at_once() const { return 1; }
    /// Can it make blocks of this codec?
    virtual bool takes(const run::Job& job, const DatasetCodec& codec) const = 0;
    /// Does it want chunks at an array's edges padded to their full size?
    virtual bool wants_padding() const { return false; }
    /// Errors: any; the caller then does the block itself.
    virtual Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) = 0;
    /// Does it have this analysis, and room for regions of so many bytes?
    virtual bool takes(const DeviceFunction&, std::uint64_t) const { return false; }
    /// Errors: any; the caller then analyses the region itself. unsupported: this analysis alone.
    virtual Result<DeviceState> analyse(const DeviceFunction& what,
                                        const lambda::RegionView& region, DeviceParts& parts);
    /// Is its memory that which has copies of objects under this name?
    virtual bool has_memory_of(const std::string& device) const {
        (void)device;
        return false;
    }
    /// The same of values that lie in its memory already.
    /// @param region  its values are of the device: the host does not read them.
    virtual Result<DeviceState> analyse_copy(const DeviceFunction& what,
                                             const lambda::RegionView& region, DeviceParts& parts);
    /// Share of the time that it is busy with other things, 0 to 1, as far as it is known.
    virtual double utilisation() const { return 0.0; }
    /// It may be reached by whoever reaches this service: no block of another service goes on
    /// there, or two that name each other would send it to and fro.
    virtual bool is_remote() const { return false; }
};

/// Is it a codec whose frames a device may make in its stead: Caesura's own, with one bound for the
/// whole block?
bool is_simple(const run::Job& job, const DatasetCodec& codec);

/// One block by a device: gathered and padded as for a codec of the host.
/// @param job  its codec is put back.
Result<run::Encoded> encode_on(BlockDevice& device, run::Job& job, const DatasetCodec& codec,
                               base::BufferPool& pool, DeviceParts& parts);

}  // namespace caesura::transit
