#include "vol/memory_values.hpp"

#include <cstring>

#include "store/hdf5_handle.hpp"
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

}  // namespace

Status gather(base::BufferPool& pool, const void* memory, const MemoryValues& values, hid_t type,
              std::byte* to) {
    const std::size_t memory_bytes = H5Tget_size(values.type), bytes = H5Tget_size(type);
    const std::uint64_t count = values.selected.count;
    if (has_transform(values.transfer))
        return transform_in(memory, values.type, values.space, count, type, values.transfer,
                            {to, count * bytes});
    gather_selected(values.selected, static_cast<const std::byte*>(memory), memory_bytes, to);
    base::Buffer under;
    if (is_compound(type) && H5Tequal(values.type, type) <= 0) {
        auto taken = pool.take(count * bytes);
        if (!taken.ok()) return taken.status();
        under = std::move(*taken);
        std::memset(under.data(), 0, count * bytes);
    }
    return convert(to, count, values.type, type, values.transfer, under.data());
}

Status scatter(base::BufferPool& pool, std::span<std::byte> from, hid_t type, void* memory,
               const MemoryValues& values) {
    const std::uint64_t count = values.selected.count;
    if (has_transform(values.transfer))
        return transform_out(from, count, type, memory, values.type, values.space, values.transfer);
    const std::size_t memory_bytes = H5Tget_size(values.type), bytes = H5Tget_size(type);
    base::Buffer larger;
    std::byte* source = from.data();
    if (memory_bytes > bytes) {
        auto taken = pool.take(count * memory_bytes);
        if (!taken.ok()) return taken.status();
        larger = std::move(*taken);
        std::memcpy(larger.data(), from.data(), count * bytes);
        source = larger.data();
    }
    auto* const to = static_cast<std::byte*>(memory);
    base::Buffer under;
    if (is_compound(values.type) && H5Tequal(values.type, type) <= 0) {
        auto taken = pool.take(count * memory_bytes);
        if (!taken.ok()) return taken.status();
        under = std::move(*taken);
        gather_selected(values.selected, to, memory_bytes, under.data());
    }
    if (Status status = convert(source, count, type, values.type, values.transfer, under.data());
        !status.ok())
        return status;
    scatter_selected(values.selected, source, memory_bytes, to);
    return {};
}

std::byte* dense_in_memory(void* memory, const MemoryValues& values, hid_t type) {
    if (has_transform(values.transfer) || H5Tequal(values.type, type) <= 0) return nullptr;
    const auto first = first_if_dense(values.selected);
    if (!first) return nullptr;
    return static_cast<std::byte*>(memory) + *first * H5Tget_size(type);
}

}  // namespace caesura::vol
