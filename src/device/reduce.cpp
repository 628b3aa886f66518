// Sums, counts and marks of a device that does not find them.
#include "caesura/device.hpp"

namespace caesura::device {

Result<std::vector<StretchSums>> Device::sums(std::span<const std::byte>, DType,
                                              std::span<std::byte>) {
    return Status{StatusCode::unsupported, "this device does not sum up values"};
}

Result<RangeCounts> Device::counts(std::span<const std::byte>, DType, std::span<const double>,
                                   std::span<std::byte>) {
    return Status{StatusCode::unsupported, "this device does not count values"};
}

Result<std::vector<std::uint64_t>> Device::marks(std::span<const std::byte>, DType, double,
                                                 std::span<std::byte>) {
    return Status{StatusCode::unsupported, "this device does not mark values"};
}

}  // namespace caesura::device
