// Memory of other services, for regions that have no room in this one's.
//
// Invariants:
//  - A region lies in one place: what is far comes back only as a copy for who asks.
//  - Values there are as they were put. When that service goes they are gone.
//  - Another service answers about values that are far without a worker: so a worker here may wait
//    for it, whatever its workers wait for.
#pragma once

#include <functional>
#include <string>

#include "transit/object_messages.hpp"
#include "transit/objects/region_values.hpp"

namespace caesura::transit {

/// An object's regions in one other service. They are deleted there when it is destroyed.
class FarObject {
  public:
    virtual ~FarObject() = default;
    /// Errors: io, naming the service.
    virtual Status get(const Box& box, DType dtype, std::byte* values) = 0;
    /// One pass of an analysis over boxes, each in one region. Returns at once.
    /// @param then  any thread: the state behind it.
    virtual void run_pass(std::vector<Box> boxes, std::vector<std::byte> state,
                          std::function<void(Result<std::vector<std::byte>>)> then) = 0;
};

class FarValues final : public RegionValues {
  public:
    FarValues(std::shared_ptr<FarObject> object, DType dtype)
        : object_(std::move(object)), dtype_(dtype) {}
    Status read(const Box& part, const Box& box, std::byte* target) const override;
    FarObject* far() const override { return object_.get(); }

  private:
    std::shared_ptr<FarObject> object_;
    DType dtype_;
};

/// All other services. Any thread, also one at idle priority, which shares no lock with others.
class FarMemory {
  public:
    virtual ~FarMemory() = default;
    /// @param object  as a client would create it. @param key  of it in this service.
    /// Waits. Errors: no_space (in none of them), the last one's.
    virtual Result<std::shared_ptr<const FarValues>> put(std::uint64_t key,
                                                         const CreateObject& object, const Box& box,
                                                         std::span<const std::byte> values) = 0;
    /// What is under way ends with an error before this returns, and nothing new begins.
    virtual void end() = 0;
};

}  // namespace caesura::transit
