#include "vol/memory_values.hpp"

#include <cstring>

#include "store/hdf5_handle.hpp"
#include "vol/selection.hpp"
#include "vol/transformed.hpp"

namespace caesura::vol {
namespace {

Status refused(std::string_view doing) { return store::hdf5_error(StatusCode::internal, doing); }

/// HDF5 converts in place, so the buffer holds the larger of both.
Status convert(std::byte* values, std::uint64_t count, hid_t from, hid_t into, hid_t transfer) {
    if (H5Tequal(from, into) > 0) return {};
    if (H5Tconvert(from, into, count, values, nullptr, transfer) < 0)
        return refused("converting values");
    return {};
}

}  // namespace

Result<base::Buffer> gather(base::BufferPool& pool, const void* memory, hid_t memory_type,
                            hid_t space, std::uint64_t count, hid_t type, hid_t transfer) {
    const std::size_t memory_bytes = H5Tget_size(memory_type), bytes = H5Tget_size(type);
    auto values = pool.take(count * std::max(memory_bytes, bytes), base::Pages::now);
    if (!values.ok()) return values.status();
    if (has_transform(transfer)) {
        if (Status status = transform_in(memory, memory_type, space, count, type, transfer,
                                         values->bytes().first(count * bytes));
            !status.ok())
            return status;
        return values;
    }
    const auto runs = runs_of(space);
    if (!runs.ok()) return runs.status();
    const auto* const from = static_cast<const std::byte*>(memory);
    std::byte* to = values->data();
    for (const Run& run : *runs) {
        std::memcpy(to, from + run.begin * memory_bytes, run.length * memory_bytes);
        to += run.length * memory_bytes;
    }
    if (Status status = convert(values->data(), count, memory_type, type, transfer); !status.ok())
        return status;
    return values;
}

Status scatter(base::BufferPool& pool, std::span<std::byte> values, std::uint64_t count, hid_t type,
               void* memory, hid_t memory_type, hid_t space, hid_t transfer) {
    if (has_transform(transfer))
        return transform_out(values, count, type, memory, memory_type, space, transfer);
    const std::size_t memory_bytes = H5Tget_size(memory_type), bytes = H5Tget_size(type);
    base::Buffer larger;
    std::byte* from = values.data();
    if (memory_bytes > bytes) {
        auto taken = pool.take(count * memory_bytes);
        if (!taken.ok()) return taken.status();
        larger = std::move(*taken);
        std::memcpy(larger.data(), values.data(), count * bytes);
        from = larger.data();
    }
    if (Status status = convert(from, count, type, memory_type, transfer); !status.ok())
        return status;
    const auto runs = runs_of(space);
    if (!runs.ok()) return runs.status();
    auto* const to = static_cast<std::byte*>(memory);
    for (const Run& run : *runs) {
        std::memcpy(to + run.begin * memory_bytes, from, run.length * memory_bytes);
        from += run.length * memory_bytes;
    }
    return {};
}

}  // namespace caesura::vol
