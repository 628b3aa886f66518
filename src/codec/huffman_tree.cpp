#include "codec/huffman_tree.hpp"

#include <algorithm>
#include <vector>

namespace caesura::codec {
namespace {

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

}  // namespace caesura::codec
