#include "vol/memory_values.hpp"

#include <cstring>

#include "store/hdf5_handle.hpp"
#include "vol/selection.hpp"
#include "vol/transformed.hpp"

namespace caesura::vol {
namespace {

Status refused(std::string_view doing) { return store::hdf5_error(StatusCode::internal, doing); }

/// HDF5 converts in place, so the buffer holds the larger of both.
/// @param under  of compound types: what there is of `into`, which keeps the members that `from`
///               lacks, and the bytes between members. It is changed.
Status convert(std::byte* values, std::uint64_t count, hid_t from, hid_t into, hid_t transfer,
               std::byte* under) {
    if (H5Tequal(from, into) > 0) return {};
    if (H5Tconvert(from, into, count, values, under, transfer) < 0)
        return refused("converting values");
    return {};
}

bool is_compound(hid_t type) { return H5Tget_class(type) == H5T_COMPOUND; }

void gather_runs(const std::byte* memory, const std::vector<Run>& runs, std::size_t bytes,
                 std::byte* to) {
    for (const Run& run : runs) {
        std::memcpy(to, memory + run.begin * bytes, run.length * bytes);
        to += run.length * bytes;
    }
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
    gather_runs(static_cast<const std::byte*>(memory), *runs, memory_bytes, values->data());
    base::Buffer under;
    if (is_compound(type) && H5Tequal(memory_type, type) <= 0) {
        auto taken = pool.take(count * bytes);
        if (!taken.ok()) return taken.status();
        under = std::move(*taken);
        std::memset(under.data(), 0, count * bytes);
    }
    if (Status status = convert(values->data(), count, memory_type, type, transfer, under.data());
        !status.ok())
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
    const auto runs = runs_of(space);
    if (!runs.ok()) return runs.status();
    base::Buffer under;
    if (is_compound(memory_type) && H5Tequal(memory_type, type) <= 0) {
        auto taken = pool.take(count * memory_bytes);
        if (!taken.ok()) return taken.status();
        under = std::move(*taken);
        gather_runs(static_cast<const std::byte*>(memory), *runs, memory_bytes, under.data());
    }
    if (Status status = convert(from, count, type, memory_type, transfer, under.data());
        !status.ok())
        return status;
    auto* const to = static_cast<std::byte*>(memory);
    for (const Run& run : *runs) {
        std::memcpy(to + run.begin * memory_bytes, from, run.length * memory_bytes);
        from += run.length * memory_bytes;
    }
    return {};
}

}  // namespace caesura::vol
