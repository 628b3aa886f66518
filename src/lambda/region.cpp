#include "lambda/region.hpp"

#include <fmt/format.h>

#include "base/invalid.hpp"
#include "base/little_endian.hpp"
#include "lambda/byte_sink.hpp"

namespace caesura::lambda {

using base::invalid;

std::string describe(const RegionView& region) {
    return fmt::format("{}, {}", region.object, to_string(region.box));
}

Status validate_place(const RegionView& region) {
    const auto wrong = [&](std::string_view what) {
        return invalid(fmt::format("{}: {}; the object's shape is {}", describe(region), what,
                                   to_string(region.shape)));
    };
    if (region.dtype != float32 && region.dtype != float64)
        return wrong(
            fmt::format("values of {}; float32 and float64 are possible", to_string(region.dtype)));
    const int rank = region.shape.rank();
    if (rank < 1 || region.box.offset.rank() != rank || region.box.extent.rank() != rank)
        return wrong("object and box need the same number of axes, 1 to 4");
    // What fits the address space in bytes overflows nowhere.
    std::uint64_t values = 1;
    constexpr std::uint64_t k_most_values = std::uint64_t{1} << 59;
    for (int axis = 0; axis < rank; ++axis) {
        const std::uint64_t extent = region.shape[axis];
        if (extent > 0 && values > k_most_values / extent) return wrong("too many values");
        values *= extent;
        if (region.box.extent[axis] > extent ||
            region.box.offset[axis] > extent - region.box.extent[axis])
            return wrong("the box leaves the object");
    }
    return {};
}

Status validate(const RegionView& region) {
    if (Status status = validate_place(region); !status.ok()) return status;
    const std::uint64_t bytes = region.count() * size_of(region.dtype);
    if (region.values.size() != bytes)
        return invalid(fmt::format("{}: {} bytes of values, the box has {}", describe(region),
                                   region.values.size(), bytes));
    if (reinterpret_cast<std::uintptr_t>(region.values.data()) % size_of(region.dtype) != 0)
        return invalid(fmt::format("{}: values are not aligned to {} bytes", describe(region),
                                   size_of(region.dtype)));
    return {};
}

std::vector<std::byte> identity(const RegionView& region) {
    ByteSink sink;
    base::ByteWriter<ByteSink&> out(sink);
    put_text(out, region.object);
    out.u64(region.id).u8(static_cast<std::uint8_t>(region.dtype));
    put_box(out, region.box);
    put_shape(out, region.shape);
    out.f64(region.time);
    return std::move(sink.bytes);
}

Status RegionIterator::rewind() {
    return {StatusCode::unsupported, "these regions pass by once; the function needs them twice"};
}

Result<std::optional<RegionView>> ListedRegions::next() {
    if (at_ == regions_.size()) return std::optional<RegionView>();
    return std::optional<RegionView>(regions_[at_++]);
}

Status ListedRegions::rewind() {
    at_ = 0;
    return {};
}

}  // namespace caesura::lambda
