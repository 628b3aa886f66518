#include "store/superblock.hpp"

#include <cstring>

#include "store/byte_order.hpp"
#include "store/object_header.hpp"

namespace caesura::store {

std::optional<Superblock> decode_superblock(std::span<const std::byte> bytes) {
    constexpr std::array<char, 8> k_signature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    if (bytes.size() < k_superblock_bytes ||
        std::memcmp(bytes.data(), k_signature.data(), k_signature.size()) != 0)
        return std::nullopt;
    const auto version = std::to_integer<unsigned>(bytes[8]);
    const bool eight_byte_addresses = bytes[9] == std::byte{8} && bytes[10] == std::byte{8};
    if (version < 2 || version > 3 || !eight_byte_addresses) return std::nullopt;
    RecordReader reader(bytes);
    reader.skip_to(44);
    if (reader.u32() != metadata_checksum(bytes.first(44))) return std::nullopt;
    Superblock out;
    out.status_flags = std::to_integer<unsigned>(bytes[11]);
    reader.skip_to(28);
    out.end_of_file = reader.u64();
    return out;
}

void patch_superblock(std::span<std::byte> bytes, const Superblock& numbers) {
    bytes[11] = static_cast<std::byte>(numbers.status_flags);
    RecordWriter(bytes.subspan(28)).u64(numbers.end_of_file);
    RecordWriter(bytes.subspan(44)).u32(metadata_checksum(bytes.first(44)));
}

}  // namespace caesura::store
