#include "vol/strided_copy.hpp"

#include <cstring>

namespace caesura::vol {
namespace {

/// The innermost loop, with a length that the compiler knows where values are numbers.
template <std::size_t Bytes>
void copy_values(const Loop& loop, const std::byte* from, std::byte* to, std::size_t bytes) {
    const std::size_t length = Bytes > 0 ? Bytes : bytes;
    for (std::uint64_t i = 0; i < loop.count; ++i, from += loop.from, to += loop.to)
        std::memcpy(to, from, length);
}

void copy_loop(const Loop& loop, const std::byte* from, std::byte* to, std::size_t bytes) {
    switch (bytes) {
        case 1:
            return copy_values<1>(loop, from, to, bytes);
        case 2:
            return copy_values<2>(loop, from, to, bytes);
        case 4:
            return copy_values<4>(loop, from, to, bytes);
        case 8:
            return copy_values<8>(loop, from, to, bytes);
        case 16:
            return copy_values<16>(loop, from, to, bytes);
        default:
            return copy_values<0>(loop, from, to, bytes);
    }
}

/// Loops that go on where the one inside them ends become one with it. The same copies.
std::size_t join(std::vector<Loop>& loops, std::size_t bytes) {
    std::vector<Loop> joined;  // the innermost first
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
        if (loop->count == 1) continue;
        if (joined.empty() && loop->from == bytes && loop->to == bytes) {
            bytes *= loop->count;
        } else if (!joined.empty() && loop->from == joined.back().count * joined.back().from &&
                   loop->to == joined.back().count * joined.back().to) {
            joined.back().count *= loop->count;
        } else {
            joined.push_back(*loop);
        }
    }
    loops.assign(joined.rbegin(), joined.rend());
    return bytes;
}

}  // namespace

void copy_strided(std::vector<Loop> loops, const std::byte* from, std::byte* to,
                  std::size_t bytes) {
    for (const Loop& loop : loops)
        if (loop.count == 0) return;
    bytes = join(loops, bytes);
    if (loops.empty()) {
        std::memcpy(to, from, bytes);
        return;
    }
    const Loop inner = loops.back();
    loops.pop_back();
    std::vector<std::uint64_t> done(loops.size(), 0);
    for (;;) {
        copy_loop(inner, from, to, bytes);
        std::size_t axis = loops.size();
        for (; axis > 0; --axis) {
            const Loop& loop = loops[axis - 1];
            from += loop.from;
            to += loop.to;
            if (++done[axis - 1] < loop.count) break;
            done[axis - 1] = 0;
            from -= loop.count * loop.from;
            to -= loop.count * loop.to;
        }
        if (axis == 0) return;
    }
}

}  // namespace caesura::vol
