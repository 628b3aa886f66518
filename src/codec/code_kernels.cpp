// What else happens to a chunk of codes: its summary, sparse chunks' masks, groups of fixed lengths.
//
// Limit per 16 codes: summarise 5 operations, 0.15 cycles per code at two 512-bit operations a
// cycle; measured 0.15.
#include "codec/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/code_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <bit>
#include <cstring>

#include "codec/rans_kernels.hpp"
#include "codec/simd_words-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

HWY_INLINE V32 low_mask(unsigned bits) {
    return hn::Set(D32(), static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1));
}

ChunkSummary SummariseChunk(const std::uint32_t* codes, std::size_t n) {
    const D32 d;
    const hn::Rebind<float, D32> df;
    const hn::RebindToSigned<D32> di;
    V32 logs = hn::Zero(d), nonzeros = hn::Zero(d);
    for (std::size_t i = 0; i < n; i += k_words) {
        const V32 code = hn::Load(d, codes + i);
        // A float's bits are its logarithm, near enough. k_exact_code is -1 here: its sign goes.
        const auto value = hn::ConvertTo(df, hn::BitCast(di, code));
        logs = hn::Add(logs, hn::ShiftRight<17>(hn::ShiftLeft<1>(hn::BitCast(d, value))));
        nonzeros = hn::Sub(nonzeros, hn::VecFromMask(d, hn::Ne(code, hn::Zero(d))));
    }
    ChunkSummary summary;
    summary.log_sum = hn::GetLane(hn::SumOfLanes(d, logs));
    summary.nonzeros = hn::GetLane(hn::SumOfLanes(d, nonzeros));
    return summary;
}

std::size_t SplitSparse(const std::uint32_t* codes, std::size_t n, std::uint8_t* symbols,
                        std::uint32_t* nonzeros) {
    const D32 d;
    std::uint32_t* const begin = nonzeros;
    for (std::size_t i = 0; i < n; i += 16) {
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 16; j += k_words) {
            const V32 code = hn::Load(d, codes + i + j);
            const M32 mask = hn::Ne(code, hn::Zero(d));
            std::uint8_t bytes[8] = {};
            hn::StoreMaskBits(d, mask, bytes);
            bits |= (bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8) << j;
            nonzeros = compress_words(hn::Sub(code, hn::Set(d, 1)), mask, nonzeros);
        }
        // A nibble to each byte.
        bits = (bits | bits << 8) & 0x00ff00ffU;
        bits = (bits | bits << 4) & 0x0f0f0f0fU;
        std::memcpy(symbols + i / 4, &bits, 4);
    }
    return static_cast<std::size_t>(nonzeros - begin);
}

std::size_t JoinSparse(const std::uint8_t* symbols, std::size_t n, const std::uint32_t* nonzeros,
                       std::size_t n_nonzeros, std::uint32_t* codes) {
    const D32 d;
    std::size_t used = 0;
    for (std::size_t i = 0; i < n; i += 16) {
        std::uint32_t bits;
        std::memcpy(&bits, symbols + i / 4, 4);
        bits = (bits | bits >> 4) & 0x00ff00ffU;
        bits = (bits | bits >> 8) & 0xffffU;
        for (std::size_t j = 0; j < 16; j += k_words) {
            const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits >> j),
                                           static_cast<std::uint8_t>(bits >> j >> 8)};
            const M32 mask = hn::LoadMaskBits(d, bytes);
            const std::uint32_t* rest = nonzeros + (used < n_nonzeros ? used : n_nonzeros);
            const V32 code = hn::Add(expand_words(mask, rest), hn::Set(d, 1));
            hn::Store(hn::IfThenElseZero(mask, code), d, codes + i + j);
            used += hn::CountTrue(d, mask);
        }
    }
    return used;
}

std::size_t PackGroups(const std::uint32_t* codes, std::uint8_t* widths, std::uint8_t* out) {
    const D32 d;
    constexpr std::size_t k_groups = k_chunk_values / k_group_values;
    for (std::size_t g = 0; g < k_groups; ++g) {
        V32 all = hn::Zero(d);
        for (std::size_t i = 0; i < k_group_values; i += k_words) {
            all = hn::Or(all, hn::Load(d, codes + g * k_group_values + i));
        }
        alignas(64) std::uint32_t words[16];
        hn::Store(all, d, words);
        std::uint32_t seen = 0;
        for (std::size_t i = 0; i < k_words; ++i) seen |= words[i];
        widths[g] = static_cast<std::uint8_t>(std::bit_width(seen));
    }
    for (std::size_t lane = 0; lane < 16; lane += k_words) {
        LanePacker packer(reinterpret_cast<std::uint32_t*>(out) + lane);
        for (std::size_t g = 0; g < k_groups; ++g) {
            if (widths[g] == 0) continue;
            const std::uint32_t* group = codes + g * k_group_values + lane;
            for (std::size_t i = 0; i < k_group_values; i += 16) {
                packer.put(hn::Load(d, group + i), widths[g]);
            }
        }
        packer.finish();
    }
    return packed_bytes(widths);
}

void UnpackGroups(const std::uint8_t* in, const std::uint8_t* widths, std::uint32_t* codes) {
    const D32 d;
    constexpr std::size_t k_groups = k_chunk_values / k_group_values;
    for (std::size_t lane = 0; lane < 16; lane += k_words) {
        LaneUnpacker unpacker(reinterpret_cast<const std::uint32_t*>(in) + lane);
        for (std::size_t g = 0; g < k_groups; ++g) {
            std::uint32_t* group = codes + g * k_group_values + lane;
            const V32 keep = low_mask(widths[g]);
            if (widths[g] == 0) {
                for (std::size_t i = 0; i < k_group_values; i += 16) {
                    hn::Store(hn::Zero(d), d, group + i);
                }
                continue;
            }
            for (std::size_t i = 0; i < k_group_values; i += 16) {
                hn::Store(hn::And(unpacker.take(widths[g]), keep), d, group + i);
            }
        }
    }
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(SummariseChunk);
HWY_EXPORT(SplitSparse);
HWY_EXPORT(JoinSparse);
HWY_EXPORT(PackGroups);
HWY_EXPORT(UnpackGroups);

ChunkSummary summarise_chunk(const std::uint32_t* codes, std::size_t n) {
    return HWY_DYNAMIC_DISPATCH(SummariseChunk)(codes, n);
}
std::size_t split_sparse(const std::uint32_t* codes, std::size_t n, std::uint8_t* symbols,
                         std::uint32_t* nonzeros) {
    return HWY_DYNAMIC_DISPATCH(SplitSparse)(codes, n, symbols, nonzeros);
}
std::size_t join_sparse(const std::uint8_t* symbols, std::size_t n, const std::uint32_t* nonzeros,
                        std::size_t n_nonzeros, std::uint32_t* codes) {
    return HWY_DYNAMIC_DISPATCH(JoinSparse)(symbols, n, nonzeros, n_nonzeros, codes);
}
std::size_t pack_groups(const std::uint32_t* codes, std::uint8_t* widths, std::uint8_t* out) {
    return HWY_DYNAMIC_DISPATCH(PackGroups)(codes, widths, out);
}
void unpack_groups(const std::uint8_t* in, const std::uint8_t* widths, std::uint32_t* codes) {
    HWY_DYNAMIC_DISPATCH(UnpackGroups)(in, widths, codes);
}
std::size_t packed_bytes(const std::uint8_t* widths) {
    std::size_t bits = 0;
    for (std::size_t g = 0; g < k_chunk_values / k_group_values; ++g) {
        bits += widths[g] * (k_group_values / 16);
    }
    return 64 * ((bits + 31) / 32);
}
}  // namespace caesura::codec
#endif
