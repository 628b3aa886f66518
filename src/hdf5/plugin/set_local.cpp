#include "hdf5/plugin/set_local.hpp"

#include <H5Dpublic.h>
#include <fmt/format.h>

#include <array>
#include <new>
#include <vector>

#include "hdf5/filter/filter.hpp"
#include "hdf5/plugin/hdf5_functions.hpp"

namespace caesura::hdf5 {
namespace {

constexpr auto k_id = static_cast<H5Z_filter_t>(k_filter_id);
constexpr int k_hdf5_max_rank = 32;

Status refused(std::string what) { return {StatusCode::invalid_argument, std::move(what)}; }

struct OwnFilter {
    unsigned flags = 0;
    std::vector<unsigned> cd_values;
};

Result<OwnFilter> read_own_filter(const Hdf5Functions& hdf5, hid_t list) {
    OwnFilter own;
    std::size_t count = 0;
    if (hdf5.get_filter_by_id(list, k_id, &own.flags, &count, nullptr, 0, nullptr, nullptr) < 0)
        return refused("the creation list does not hold this filter");
    own.cd_values.resize(count);
    if (count > 0 && hdf5.get_filter_by_id(list, k_id, &own.flags, &count, own.cd_values.data(), 0,
                                           nullptr, nullptr) < 0)
        return refused("the creation list does not give this filter's values");
    return own;
}

/// Floating point with its bits where IEEE 754 has them, of any byte order.
bool is_float_with(const Hdf5Functions& hdf5, hid_t type, std::size_t bytes,
                   std::size_t wanted_mantissa, std::size_t wanted_bias) {
    std::size_t sign = 0;
    std::size_t exponent_at = 0;
    std::size_t exponent_bits = 0;
    std::size_t mantissa_at = 0;
    std::size_t mantissa_bits = 0;
    if (hdf5.type_fields(type, &sign, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) <
        0)
        return false;
    return hdf5.type_precision(type) == 8 * bytes && sign == 8 * bytes - 1 && mantissa_at == 0 &&
           mantissa_bits == wanted_mantissa && exponent_at == wanted_mantissa &&
           exponent_bits == 8 * bytes - 1 - wanted_mantissa &&
           hdf5.type_exponent_bias(type) == wanted_bias && hdf5.type_norm(type) == H5T_NORM_IMPLIED;
}

/// IEEE 754 in 32 or 64 bits: what a machine's float and double are, in either byte order.
bool is_ieee(const Hdf5Functions& hdf5, hid_t type, std::size_t bytes) {
    return bytes == 4 ? is_float_with(hdf5, type, 4, 23, 127)
                      : is_float_with(hdf5, type, 8, 52, 1023);
}

/// What floating point of so many bytes is to the codec; bytes: nothing that it knows.
Element float_element(const Hdf5Functions& hdf5, hid_t type, std::size_t bytes) {
    if (bytes == 2 && is_float_with(hdf5, type, 2, 10, 15)) return Element::float16;
    if (bytes == 2 && is_float_with(hdf5, type, 2, 7, 127)) return Element::bfloat16;
    if (bytes == 4 && is_ieee(hdf5, type, 4)) return Element::float32;
    if (bytes == 8 && is_ieee(hdf5, type, 8)) return Element::float64;
    return Element::bytes;
}

void describe_type(const Hdf5Functions& hdf5, hid_t type, Settings& settings) {
    const std::size_t bytes = hdf5.type_size(type);
    settings.element = Element::bytes;
    settings.big_endian = false;
    settings.element_bytes = static_cast<std::uint32_t>(bytes);
    const H5T_class_t type_class = hdf5.type_class(type);
    if (type_class != H5T_FLOAT) return;
    const H5T_order_t order = hdf5.type_order(type);
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return;
    settings.element = float_element(hdf5, type, bytes);
    settings.big_endian = settings.element != Element::bytes && order == H5T_ORDER_BE;
}

/// IEEE 754 of so many bytes in a byte order.
bool is_float(const Hdf5Functions& hdf5, hid_t type, std::size_t bytes, bool big_endian) {
    return hdf5.type_class(type) == H5T_FLOAT && hdf5.type_size(type) == bytes &&
           hdf5.type_order(type) == (big_endian ? H5T_ORDER_BE : H5T_ORDER_LE) &&
           is_ieee(hdf5, type, bytes);
}

/// Is the type a compound of as many members as the last axis of the parameters' chunk has, each of
/// the float that they name, without padding? Then whoever made the parameters knows its members:
/// they are an axis more.
bool are_of_members(const Hdf5Functions& hdf5, hid_t type, const Settings& settings) {
    const bool floats =
        settings.element == Element::float32 || settings.element == Element::float64;
    if (!floats || settings.chunk.empty() || hdf5.type_class(type) != H5T_COMPOUND) return false;
    const int members = hdf5.type_members(type);
    const std::size_t bytes = settings.element_bytes;
    if (members < 1 || settings.chunk.back() != static_cast<unsigned>(members) ||
        hdf5.type_size(type) != static_cast<std::size_t>(members) * bytes)
        return false;
    for (int i = 0; i < members; ++i) {
        const hid_t member = hdf5.type_member(type, static_cast<unsigned>(i));
        if (member < 0) return false;
        const bool same = is_float(hdf5, member, bytes, settings.big_endian);
        hdf5.type_close(member);
        if (!same) return false;
    }
    return true;
}

/// The same of a compound of anything, whose bytes are as many words of the size that the
/// parameters name.
bool is_of_words(const Hdf5Functions& hdf5, hid_t type, const Settings& settings) {
    return settings.element == Element::bytes && !settings.chunk.empty() &&
           hdf5.type_class(type) == H5T_COMPOUND &&
           hdf5.type_size(type) == std::size_t{settings.chunk.back()} * settings.element_bytes;
}

/// Is `shape` the chunk with axes cut into several? Extents of 1 may follow.
bool refines(std::span<const std::uint32_t> shape, std::span<const std::uint32_t> chunk) {
    std::size_t at = 0;
    for (const std::uint32_t extent : chunk) {
        std::uint64_t product = 1;  // below 2^64: a factor is taken only while it is below 2^32
        while (product < extent && at < shape.size()) product *= shape[at++];
        if (product != extent) return false;
    }
    while (at < shape.size() && shape[at] == 1) ++at;
    return at == shape.size();
}

Result<std::vector<std::uint32_t>> chunk_of(const Hdf5Functions& hdf5, hid_t list) {
    std::array<hsize_t, k_hdf5_max_rank> extents{};
    const int rank = hdf5.get_chunk(list, k_hdf5_max_rank, extents.data());
    if (rank < 1 || rank > k_hdf5_max_rank) return refused("the creation list has no chunks");
    std::vector<std::uint32_t> chunk;
    for (int axis = 0; axis < rank; ++axis) {
        const hsize_t extent = extents[static_cast<std::size_t>(axis)];
        if (extent > UINT32_MAX) return refused("a chunk has 2^32 values or more along an axis");
        chunk.push_back(static_cast<std::uint32_t>(extent));
    }
    return chunk;
}

/// Is `shape` the chunk with axes joined, which has more of them than the codec?
bool joins(const std::vector<std::uint32_t>& shape, const std::vector<std::uint32_t>& chunk) {
    return !shape.empty() && chunk.size() > static_cast<std::size_t>(k_max_rank) &&
           refines(chunk, shape);
}

/// The chunk's own extents, unless whoever made the parameters knew more: an application that keeps
/// three-dimensional boxes in a dataset of one axis has chunks of one axis, and values that are an
/// array of three.
Status describe_chunk(const Hdf5Functions& hdf5, hid_t list, Settings& settings) {
    auto chunk = chunk_of(hdf5, list);
    if (!chunk.ok()) return chunk.status();
    if (!refines(settings.chunk, *chunk) && !joins(settings.chunk, *chunk))
        settings.chunk = std::move(*chunk);
    return {};
}

/// The dataset's fill value, a number of its bytes; 0 where none is defined.
Result<std::uint64_t> fill_of(const Hdf5Functions& hdf5, hid_t list, hid_t type,
                              const Settings& settings) {
    int defined = H5D_FILL_VALUE_UNDEFINED;
    if (hdf5.fill_defined(list, &defined) < 0)
        return refused("the creation list does not tell its fill value");
    if (defined == H5D_FILL_VALUE_UNDEFINED) return 0;
    std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
    if (hdf5.get_fill(list, type, bytes.data()) < 0)
        return refused("the creation list does not give its fill value");
    std::uint64_t fill = 0;
    for (std::size_t i = 0; i < settings.element_bytes; ++i) {
        const std::size_t power = settings.big_endian ? settings.element_bytes - 1 - i : i;
        fill |= std::uint64_t{bytes[i]} << (8 * power);
    }
    return fill;
}

/// Is ours the filter that sees the values as they are?
bool comes_first(const Hdf5Functions& hdf5, hid_t list) {
    unsigned flags = 0;
    std::size_t count = 0;
    return hdf5.get_filter(list, 0, &flags, &count, nullptr, 0, nullptr, nullptr) == k_id;
}

Status settle(const Hdf5Functions& hdf5, hid_t list, hid_t type) {
    const auto own = read_own_filter(hdf5, list);
    if (!own.ok()) return own.status();
    auto settings = parse_cd_values(own->cd_values);
    if (!settings.ok()) return settings.status();
    if (comes_first(hdf5, list) &&
        (are_of_members(hdf5, type, *settings) || is_of_words(hdf5, type, *settings))) {
        auto chunk = chunk_of(hdf5, list);
        if (!chunk.ok()) return chunk.status();
        chunk->push_back(settings->chunk.back());
        if (settings->chunk == *chunk || joins(settings->chunk, *chunk)) return {};  // all is said
    }
    // Complete parameters are those of whoever writes chunks of its own.
    const bool may_add_fill = !settings->complete();
    describe_type(hdf5, type, *settings);
    if (settings->element_bytes == 0) return refused("HDF5 does not tell the size of a value");
    if (comes_first(hdf5, list)) {
        if (Status status = describe_chunk(hdf5, list, *settings); !status.ok()) return status;
    } else {
        if (settings->element != Element::bytes &&
            settings->bound.kind != ErrorBound::Kind::lossless) {
            return refused(
                "another filter (shuffle, ...) comes before this one and would change the values "
                "that the bound is about; make this the first filter, or lossless");
        }
        settings->element = Element::bytes;
        settings->chunk.clear();  // whatever the filters before it leave
    }
    const bool rounds =
        settings->element != Element::bytes && settings->bound.kind != ErrorBound::Kind::lossless;
    if (!rounds) settings->fill.reset();
    if (rounds && may_add_fill) {
        const auto fill = fill_of(hdf5, list, type, *settings);
        if (!fill.ok()) return fill.status();
        settings->fill = *fill;
    }
    const auto words = to_cd_values(*settings);
    if (!words.ok()) return words.status();
    if (hdf5.modify_filter(list, k_id, own->flags, words->size(), words->data()) < 0)
        return refused("the creation list does not take this filter's values");
    return {};
}

}  // namespace

herr_t set_local(hid_t creation_list, hid_t type, const void* return_address) {
    Hdf5Functions hdf5;
    if (!find_hdf5(return_address, hdf5)) return 0;
    Status status;
    try {
        status = settle(hdf5, creation_list, type);
    } catch (const std::bad_alloc&) {
        status = {StatusCode::no_space, "no memory for the filter's values"};
    }
    if (status.ok()) return 0;
    hdf5.push_error(
        fmt::format("filter {} ({}): {}", k_filter_id, k_filter_name, status.message()));
    return -1;
}

}  // namespace caesura::hdf5
