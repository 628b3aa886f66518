// The filter as HDF5 sees it: a class of functions, found by a plugin or registered by a process.
//
// Invariants:
//  - No HDF5 symbol is needed to load it or to decode (see hdf5_functions.hpp for the rest).
//  - Nothing is thrown or printed; 0 says that a chunk could not be coded, and then HDF5's buffer
//    is as it was.
//  - Buffers are malloc's, because HDF5 frees what a filter leaves behind, and frees what it gave.
#include "hdf5/plugin/hdf5_class.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "hdf5/filter/decoded_marks.hpp"
#include "hdf5/filter/filter.hpp"
#include "hdf5/plugin/set_local.hpp"

namespace caesura::hdf5 {
namespace {

// H5Z_class2_t has been the same since 1.8.3, and plugins are asked for this version of it.
static_assert(H5Z_CLASS_T_VERS == 1 && sizeof(H5Z_class2_t) == 4 * sizeof(int) + 4 * sizeof(void*));

using Bytes = std::span<const std::byte>;

Bytes bytes_of(const void* data, std::size_t n) { return {static_cast<const std::byte*>(data), n}; }

/// A name of the parameters: datasets that share it share what has been decoded of them.
std::uint64_t name_of(std::span<const unsigned> values) {
    std::uint64_t name = 0xcbf29ce484222325U;  // FNV-1a
    for (const unsigned value : values) name = (name ^ value) * 0x100000001b3U;
    return name;
}

std::size_t decode(const Settings& settings, std::uint64_t name, std::size_t n,
                   std::size_t* capacity, void** buffer) {
    const auto wanted = decoded_bytes(settings, bytes_of(*buffer, n));
    if (!wanted.ok() || *wanted == 0) return 0;
    const auto chunk_bytes = static_cast<std::size_t>(*wanted);
    void* chunk = std::malloc(chunk_bytes);
    if (chunk == nullptr) return 0;
    const Status status =
        decode_chunk(settings, bytes_of(*buffer, n), {static_cast<std::byte*>(chunk), chunk_bytes});
    if (!status.ok()) {
        std::free(chunk);
        return 0;
    }
    if (const auto finest = finest_grid(settings, bytes_of(*buffer, n)))
        note_decoded(name, *finest);
    std::free(*buffer);
    *buffer = chunk;
    *capacity = chunk_bytes;
    return chunk_bytes;
}

/// @param may_skip  HDF5 stores the chunk as it is if this returns 0. Not one that may hold values
///                  which have been rounded: a later pass must find out about them.
std::size_t encode(const Settings& settings, std::uint64_t name, bool may_skip, std::size_t n,
                   std::size_t* capacity, void** buffer) {
    const auto decoded = finest_decoded(name);
    const auto frame = encode_chunk(settings, bytes_of(*buffer, n), decoded);
    if (!frame.ok()) return 0;
    if (may_skip && !decoded && frame->size() >= n) return 0;
    if (frame->size() > *capacity) {  // a little more, or what is kept
        void* larger = std::malloc(frame->size());
        if (larger == nullptr) return 0;
        std::free(*buffer);
        *buffer = larger;
        *capacity = frame->size();
    }
    std::memcpy(*buffer, frame->data(), frame->size());
    return frame->size();
}

std::size_t filter(unsigned flags, std::size_t n_values, const unsigned* values, std::size_t n,
                   std::size_t* capacity, void** buffer) {
    try {
        const auto settings = parse_cd_values({values, n_values});
        if (!settings.ok()) return 0;
        const bool reverse = (flags & H5Z_FLAG_REVERSE) != 0;
        const bool may_skip = (flags & H5Z_FLAG_OPTIONAL) != 0;
        const std::uint64_t name = name_of({values, n_values});
        return reverse ? decode(*settings, name, n, capacity, buffer)
                       : encode(*settings, name, may_skip, n, capacity, buffer);
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

/// The return address is taken here, in the function that HDF5 itself calls.
[[gnu::noinline]] herr_t settle_parameters(hid_t creation_list, hid_t type, hid_t) {
    return set_local(creation_list, type, __builtin_return_address(0));
}

// No can_apply: everything can pass, what is not a float exactly. A wrong parameter is set_local's
// to refuse, which HDF5 never takes for "skip this filter".
const H5Z_class2_t k_class = {H5Z_CLASS_T_VERS,
                              static_cast<H5Z_filter_t>(k_filter_id),
                              1,
                              1,
                              k_filter_name,
                              nullptr,
                              settle_parameters,
                              filter};

}  // namespace

const H5Z_class2_t& hdf5_class() { return k_class; }

}  // namespace caesura::hdf5
