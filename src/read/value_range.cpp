// Smallest and largest values: of chunks, remembered, and of boxes made of them.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/invalid.hpp"
#include "base/short_float.hpp"
#include "codec/frame/slabs.hpp"
#include "codec/kernels/range_kernels.hpp"
#include "read/impl.hpp"

namespace caesura::read {
namespace {

template <class Value>
ValueRange finite_range(std::span<const std::byte> values) {
    const auto [lowest, highest] = codec::finite_extremes(
        reinterpret_cast<const Value*>(values.data()), values.size() / sizeof(Value));
    return {static_cast<double>(lowest), static_cast<double>(highest)};
}

template <class Value>
ValueRange integer_range(std::span<const std::byte> values) {
    const auto* const first = reinterpret_cast<const Value*>(values.data());
    const auto [lowest, highest] =
        std::minmax_element(first, first + values.size() / sizeof(Value));
    if (values.size() < sizeof(Value)) return {};
    return {static_cast<double>(*lowest), static_cast<double>(*highest)};
}

/// The union of ranges, which any threads widen.
class Widening {
  public:
    void widen(const ValueRange& by) {
        const std::lock_guard lock(mutex_);
        range_.lowest = std::min(range_.lowest, by.lowest);
        range_.highest = std::max(range_.highest, by.highest);
    }
    /// Would it stay as it is?
    bool has(const ValueRange& range) const {
        const std::lock_guard lock(mutex_);
        return range.lowest >= range_.lowest && range.highest <= range_.highest;
    }
    const ValueRange& range() const { return range_; }

  private:
    mutable std::mutex mutex_;
    ValueRange range_;
};

}  // namespace

ValueRange range_of(std::span<const std::byte> values, DType dtype) {
    switch (dtype) {
        case DType::float32:
            return finite_range<float>(values);
        case DType::float64:
            return finite_range<double>(values);
        case DType::int8:
            return integer_range<std::int8_t>(values);
        case DType::int16:
            return integer_range<std::int16_t>(values);
        case DType::int32:
            return integer_range<std::int32_t>(values);
        case DType::int64:
            return integer_range<std::int64_t>(values);
        case DType::uint8:
            return integer_range<std::uint8_t>(values);
        case DType::uint16:
            return integer_range<std::uint16_t>(values);
        case DType::uint32:
            return integer_range<std::uint32_t>(values);
        case DType::uint64:
            return integer_range<std::uint64_t>(values);
        case DType::boolean:
            return integer_range<std::uint8_t>(values);
        case DType::float16:
        case DType::bfloat16: {
            std::vector<std::byte> wide(values.size() * 2);
            base::widen(values, dtype, wide.data());
            return finite_range<float>(wide);
        }
        case DType::complex64:  // of both parts
            return finite_range<float>(values);
        case DType::complex128:
            return finite_range<double>(values);
    }
    return {};
}

std::optional<ValueRange> KnownRanges::find(std::uint64_t chunk, const ReadOptions& options) const {
    const std::lock_guard lock(mutex_);
    const auto of_chunk = ranges_.find(chunk);
    if (of_chunk == ranges_.end()) return std::nullopt;
    const auto found = of_chunk->second.find(options.member.value_or(0));
    return found == of_chunk->second.end() ? std::nullopt : std::optional(found->second);
}

void KnownRanges::keep(std::uint64_t chunk, const ReadOptions& options, const ValueRange& range) {
    const std::lock_guard lock(mutex_);
    ranges_[chunk][options.member.value_or(0)] = range;
}

Result<ValueRange> Source::value_range(std::size_t dataset, const Box& box,
                                       const ReadOptions& options) const try {
    if (Status status = impl_->check(dataset, box, options); !status.ok()) return status;
    const store::DatasetInfo& the = impl_->datasets[dataset];
    if (the.members.size() > 1 && !options.member)
        return base::invalid(fmt::format("dataset {}: its values have {} members; say of which",
                                         the.spec.path, the.members.size()));
    const ChunkReader& reader = impl_->readers[dataset];
    const std::size_t bytes = reader.value_bytes(options);
    KnownRanges& known = impl_->ranges[dataset];
    Widening all;
    const auto look = [&](std::uint64_t chunk, Scratch& scratch) -> Status {
        const Box inside = reader.layout().inside(chunk);
        const Box part = *intersect(inside, box);
        if (const auto range = known.find(chunk, options)) {
            if (part == inside) all.widen(*range);
            if (part == inside || all.has(*range)) return {};
        }
        const auto values = scratch.values.bytes(inside.extent.count() * bytes);
        if (Status s = reader.read(chunk, inside, inside, values.data(), options, scratch); !s.ok())
            return s;
        const ValueRange range = range_of(values, the.spec.dtype);
        known.keep(chunk, options, range);
        if (part == inside) {
            all.widen(range);
            return {};
        }
        const auto some = scratch.chunk.bytes(part.extent.count() * bytes);
        copy_box(part, inside, values.data(), part, some.data(), bytes);
        all.widen(range_of(some, the.spec.dtype));
        return {};
    };
    const TouchedChunks chunks(reader.layout(), box);
    std::vector<Scratch> scratch(
        static_cast<std::size_t>(codec::worker_count(chunks.count(), options.threads)));
    const Status status =
        codec::for_each_parallel(chunks.count(), options.threads, [&](int worker, std::uint64_t i) {
            return look(chunks[i], scratch[static_cast<std::size_t>(worker)]);
        });
    if (!status.ok()) return status;
    return all.range();
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, impl_->info.path + ": no memory for a range of values");
}

}  // namespace caesura::read
