#include "codec/integers/bit_planes.hpp"

#include <algorithm>
#include <cstring>

#include "codec/frame/byte_shuffle.hpp"

namespace caesura::codec {
namespace {

/// Bit planes are made of so many values at once, at least.
constexpr std::size_t k_step = 64;

std::size_t whole_steps(std::size_t n) { return (n + k_step - 1) / k_step * k_step; }

bool all_zero(const std::uint8_t* bytes, std::size_t n) {
    return n == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, n - 1) == 0);
}

}  // namespace

void PlanesWriter::begin(std::size_t n, std::size_t value_bytes) {
    n_ = n;
    value_bytes_ = value_bytes;
    done_ = 0;
    planes_.clear();
    planes_.room(8 * value_bytes * plane_bytes(n) + k_step);
}

void PlanesWriter::put_byte(const std::uint8_t* bytes, std::size_t n, std::size_t byte) {
    std::uint8_t* const first = plane(8 * byte) + done_ / 8;
    if (all_zero(bytes, n)) {
        for (std::size_t b = 0; b < 8; ++b)
            std::memset(first + b * plane_bytes(n_), 0, plane_bytes(n));
    } else if (n % k_step == 0) {
        bits_to_planes(bytes, n, plane_bytes(n_), first);
    } else {
        std::uint8_t planes[k_planes_piece];
        const std::size_t whole = whole_steps(n);
        bits_to_planes(bytes, whole, whole / 8, planes);
        for (std::size_t b = 0; b < 8; ++b)
            std::memcpy(first + b * plane_bytes(n_), planes + b * (whole / 8), plane_bytes(n));
    }
}

template <class U>
void PlanesWriter::put(U* values, std::size_t n) {
    const std::size_t whole = whole_steps(n);
    std::fill(values + n, values + whole, U{0});
    auto* const bytes = reinterpret_cast<std::uint8_t*>(bytes_.data());
    shuffle(reinterpret_cast<const std::byte*>(values), whole, sizeof(U), bytes_.data());
    for (std::size_t b = 0; b < sizeof(U); ++b) put_byte(bytes + b * whole, n, b);
    done_ += n;
}

void PlanesWriter::finish(LosslessPacker& packer, Output& out) {
    const std::size_t planes = 8 * value_bytes_;
    const std::size_t bytes = plane_bytes(n_);
    std::array<PlaneKind, 64> kinds{};
    for (std::size_t p = 0; p < planes; ++p) {
        const auto* begin = reinterpret_cast<const std::byte*>(plane(p));
        kinds[p] = all_zero(plane(p), bytes)          ? PlaneKind::zero
                   : looks_like_noise({begin, bytes}) ? PlaneKind::raw
                                                      : PlaneKind::packed;
    }
    for (std::size_t p = 0; p < planes; p += 4) {
        unsigned four = 0;
        for (std::size_t i = 0; i < 4; ++i) four |= static_cast<unsigned>(kinds[p + i]) << (2 * i);
        out.push_back(static_cast<std::byte>(four));
    }
    std::size_t packed = 0;  // planes that are to be packed move together
    for (std::size_t p = 0; p < planes; ++p) {
        const auto* begin = reinterpret_cast<const std::byte*>(plane(p));
        if (kinds[p] == PlaneKind::raw) out.append({begin, bytes});
        if (kinds[p] == PlaneKind::packed) std::memmove(plane(packed++), plane(p), bytes);
    }
    packer.pack({reinterpret_cast<const std::byte*>(plane(0)), packed * bytes}, 1, out);
}

Status PlanesReader::open(std::span<const std::byte> content, std::size_t n,
                          std::size_t value_bytes, LosslessUnpacker& unpacker) {
    n_ = n;
    planes_.fill(nullptr);
    const std::size_t planes = 8 * value_bytes;
    const std::size_t bytes = plane_bytes(n);
    if (content.size() < planes / 4) return corrupt_part("bit planes end early");
    const auto kind_of = [&](std::size_t p) {
        return static_cast<PlaneKind>((std::to_integer<unsigned>(content[p / 4]) >> (2 * (p % 4))) &
                                      3U);
    };
    auto rest = content.subspan(planes / 4);
    std::size_t packed = 0;
    for (std::size_t p = 0; p < planes; ++p) {
        if (kind_of(p) > PlaneKind::packed) return corrupt_part("a bit plane of unknown kind");
        if (kind_of(p) == PlaneKind::packed) ++packed;
        if (kind_of(p) != PlaneKind::raw) continue;
        if (rest.size() < bytes) return corrupt_part("bit planes end early");
        planes_[p] = reinterpret_cast<const std::uint8_t*>(rest.data());
        rest = rest.subspan(bytes);
    }
    packed_.resize(packed * bytes);
    Status status = unpacker.unpack(rest, 1, packed_);
    if (!status.ok()) return status;
    packed = 0;
    for (std::size_t p = 0; p < planes; ++p)
        if (kind_of(p) == PlaneKind::packed)
            planes_[p] = reinterpret_cast<const std::uint8_t*>(packed_.data()) + packed++ * bytes;
    return {};
}

template <class U>
void PlanesReader::take(std::size_t first, std::size_t n, U* values) {
    const std::size_t whole = whole_steps(n);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(bytes_.data());
    for (std::size_t byte = 0; byte < sizeof(U); ++byte) {
        const std::uint8_t* eight[8];
        std::uint8_t tail[k_planes_piece];  // a plane may end before its last step does
        bool any = false;
        for (std::size_t b = 0; b < 8; ++b) {
            const std::uint8_t* plane = planes_[8 * byte + b];
            any = any || plane != nullptr;
            eight[b] = plane == nullptr ? nullptr : plane + first / 8;
            if (plane == nullptr || whole == n) continue;
            std::uint8_t* const copy = tail + b * (k_planes_piece / 8);
            std::memset(copy, 0, whole / 8);
            std::memcpy(copy, eight[b], plane_bytes(n));
            eight[b] = copy;
        }
        if (any) {
            planes_to_bits(eight, whole, bytes + byte * whole);
        } else {
            std::memset(bytes + byte * whole, 0, whole);
        }
    }
    unshuffle(bytes_.data(), whole, sizeof(U), reinterpret_cast<std::byte*>(values));
}

template void PlanesWriter::put(std::uint8_t*, std::size_t);
template void PlanesWriter::put(std::uint16_t*, std::size_t);
template void PlanesWriter::put(std::uint32_t*, std::size_t);
template void PlanesWriter::put(std::uint64_t*, std::size_t);
template void PlanesReader::take(std::size_t, std::size_t, std::uint8_t*);
template void PlanesReader::take(std::size_t, std::size_t, std::uint16_t*);
template void PlanesReader::take(std::size_t, std::size_t, std::uint32_t*);
template void PlanesReader::take(std::size_t, std::size_t, std::uint64_t*);

}  // namespace caesura::codec
