#include "huffman/huffman_tree.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "codec/frame/byte_io.hpp"

namespace caesura::lab::huffman {
namespace {

constexpr std::uint8_t k_magic = 'T', k_version = 1, k_stage = 1;
constexpr std::size_t k_head_bytes = 12, k_checksum_bytes = 4;
constexpr std::size_t k_large_symbols = k_huffman_symbols - k_direct_codes;

std::uint32_t sum_of(std::span<const std::byte> bytes) {
    return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

Status corrupt_tree(std::string message) {
    return {StatusCode::corrupt, "Huffman tree: " + std::move(message)};
}

/// Something to choose in package-merge: a symbol, or two items of the level below.
struct Item {
    std::uint64_t weight;
    bool is_symbol;
};

/// Of symbols and of pairs of `below`, both by weight: one list by weight; of equals, symbols
/// first.
std::vector<Item> merge_level(const std::vector<Item>& symbols, const std::vector<Item>& below) {
    std::vector<Item> level;
    level.reserve(symbols.size() + below.size() / 2);
    std::size_t next = 0;
    for (std::size_t pair = 0; pair + 1 < below.size(); pair += 2) {
        const std::uint64_t weight = below[pair].weight + below[pair + 1].weight;
        while (next < symbols.size() && symbols[next].weight <= weight) {
            level.push_back(symbols[next++]);
        }
        level.push_back({weight, false});
    }
    level.insert(level.end(), symbols.begin() + static_cast<std::ptrdiff_t>(next), symbols.end());
    return level;
}

}  // namespace

/// Package-merge (Larmore and Hirschberg 1990): optimal under a limit of length. A symbol's length
/// is the number of levels in which it is chosen; of each level the lightest items are chosen, and
/// what the chosen pairs are made of is chosen in the level below.
HuffmanLengths make_lengths(std::span<const std::uint64_t> counts, std::uint64_t escapes) {
    struct Leaf {
        std::uint64_t weight;
        unsigned symbol;
    };
    std::vector<Leaf> leaves;
    for (unsigned s = 0; s < k_huffman_escape; ++s) {
        if (counts[s] != 0) leaves.push_back({counts[s], s});
    }
    if (leaves.empty()) leaves.push_back({1, 0});  // a tree needs two leaves
    leaves.push_back({counts[k_huffman_escape] + escapes, k_huffman_escape});
    std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
        return a.weight != b.weight ? a.weight < b.weight : a.symbol > b.symbol;
    });
    std::vector<Item> symbols(leaves.size());
    std::transform(leaves.begin(), leaves.end(), symbols.begin(), [](const Leaf& leaf) {
        return Item{leaf.weight, true};
    });
    std::vector<std::vector<Item>> levels{symbols};
    while (levels.size() < k_longest_code) levels.push_back(merge_level(symbols, levels.back()));

    HuffmanLengths lengths{};
    std::size_t chosen = 2 * leaves.size() - 2;
    for (std::size_t l = levels.size(); l-- > 0;) {
        const std::vector<Item>& level = levels[l];
        const auto end = level.begin() + static_cast<std::ptrdiff_t>(chosen);
        const auto n = static_cast<std::size_t>(
            std::count_if(level.begin(), end, [](const Item& item) { return item.is_symbol; }));
        for (std::size_t i = 0; i < n; ++i) ++lengths[leaves[i].symbol];
        chosen = 2 * (chosen - n);
    }
    return lengths;
}

std::uint64_t expected_escapes(std::span<const std::uint64_t> counts) {
    return 1 + static_cast<std::uint64_t>(std::count(counts.begin(), counts.end(), 1U));
}

bool is_tree(const HuffmanLengths& lengths) {
    std::uint64_t sum = 0;
    for (const std::uint8_t length : lengths) {
        if (length > k_longest_code) return false;
        if (length != 0) sum += std::uint64_t{1} << (k_longest_code - length);
    }
    return lengths[k_huffman_escape] != 0 && sum == std::uint64_t{1} << k_longest_code;
}

HuffmanCodes canonical_codes(const HuffmanLengths& lengths) {
    std::array<unsigned, k_longest_code + 2> next{};
    for (const std::uint8_t length : lengths) {
        if (length != 0) ++next[length + std::size_t{1}];
    }
    // next[l]: the first code of length l, from the number of codes one bit shorter.
    for (unsigned l = 1; l <= k_longest_code; ++l) next[l] = 2 * (next[l - 1] + next[l]);
    HuffmanCodes codes{};
    for (unsigned s = 0; s < k_huffman_symbols; ++s) {
        if (lengths[s] != 0) codes[s] = static_cast<std::uint16_t>(next[lengths[s]]++);
    }
    return codes;
}

std::uint64_t coded_bits(std::span<const std::uint64_t> counts, const HuffmanLengths& lengths) {
    std::uint64_t bits = 0;
    for (unsigned s = 0; s < k_huffman_symbols; ++s) {
        const bool known = lengths[s] != 0;
        const unsigned coded_as = known ? s : k_huffman_escape;
        bits += counts[s] * (lengths[coded_as] + std::uint64_t{huffman_raw_bits(coded_as)});
    }
    return bits;
}

HuffmanLengths train(const HuffmanCounts& counts) {
    if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t n) { return n == 0; })) {
        return {};
    }
    return make_lengths(counts, expected_escapes(counts));
}

std::vector<std::byte> tree_bytes(const HuffmanLengths& lengths) {
    std::size_t direct = k_direct_codes;
    while (direct > 0 && lengths[direct - 1] == 0) --direct;
    codec::Output out;
    codec::ByteWriter writer(out);
    writer.u8(k_magic).u8(k_version).u8(k_stage).u8(0);
    writer.u64(direct);
    const std::size_t n = direct + k_large_symbols;
    const auto length = [&](std::size_t i) -> unsigned {
        return i >= n ? 0U : lengths[i < direct ? i : i - direct + k_direct_codes];
    };
    for (std::size_t i = 0; i < n; i += 2) {
        writer.u8(static_cast<std::uint8_t>(length(i) | length(i + 1) << 4));
    }
    writer.u32(sum_of(out.bytes()));
    return out.take();
}

Result<HuffmanLengths> parse_tree(std::span<const std::byte> bytes) {
    if (bytes.size() < k_head_bytes + k_checksum_bytes) return corrupt_tree("cut off");
    const auto body = bytes.first(bytes.size() - k_checksum_bytes);
    codec::ByteReader tail(bytes.subspan(body.size()));
    if (tail.u32() != sum_of(body)) return corrupt_tree("its checksum is wrong");
    codec::ByteReader in(body);
    if (in.u8() != k_magic || in.u8() != k_version || in.u8() != k_stage || in.u8() != 0) {
        return corrupt_tree("these bytes are none");
    }
    const std::uint64_t direct = in.u64();
    if (direct > k_direct_codes || in.rest().size() != (direct + k_large_symbols + 1) / 2) {
        return corrupt_tree(fmt::format("{} bytes say {} lengths", bytes.size(), direct));
    }
    HuffmanLengths lengths{};
    const std::size_t n = static_cast<std::size_t>(direct) + k_large_symbols;
    unsigned byte = 0;
    for (std::size_t i = 0; i < n; ++i, byte >>= 4) {
        if (i % 2 == 0) byte = in.u8();
        const std::size_t symbol = i < direct ? i : i - direct + k_direct_codes;
        lengths[symbol] = static_cast<std::uint8_t>(byte & 15U);
    }
    if (byte != 0 || !is_tree(lengths)) {
        return corrupt_tree("its lengths are no complete tree with an escape");
    }
    return lengths;
}

}  // namespace caesura::lab::huffman
