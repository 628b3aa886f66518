// An object's regions, one after another on the workers: several strands side by side, each of
// which goes back into the fair queue after every region.
#pragma once

#include "transit/objects/object_store.hpp"
#include "transit/service/errand.hpp"

namespace caesura::transit {

/// What is done with a region. On a worker; calls of one strand follow each other.
using Look = std::function<Status(std::size_t strand, const Reading::Part& part,
                                  std::span<const std::byte> values)>;

/// @param then  on the lane, once no strand is at work: the first error, or ok.
void walk(const ErrandHost& host, std::shared_ptr<const Reading> reading, std::size_t strands,
          Look look, std::function<void(const Status&)> then);

/// The values of a part: where they are in memory, or brought to `scratch`. On a worker.
Result<std::span<const std::byte>> bring(const Reading& reading, const Reading::Part& part,
                                         base::Buffer& scratch);

}  // namespace caesura::transit
