// Goal: integers are stored at least as small as bit shuffle and zstd store them, no larger than
// they once were, and as large as was foretold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "codec/integers/integer_families.hpp"
#include "codec/integers/integer_peer.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_values = std::size_t{1} << 18;

TEST(IntegerSizes, print) {
    for (const std::string& name : family_names()) {
        for (const DType dtype : {DType::uint8, DType::uint16, DType::int32, DType::uint64}) {
            const auto values = as_bytes_of(family(name, k_values, 1), dtype);
            const Shape shape = name == "grid" ? Shape{512, 512} : Shape{k_values};
            const auto frame = compress(values, dtype, shape, lossless());
            const auto foretold = estimate(values, dtype, shape, lossless());
            const std::size_t peer = peer_bytes(values, size_of(dtype));
            const std::size_t whole = peer_bytes(values, size_of(dtype), values.size());
            fmt::print("{:14} {:7} {:8} peer {:8} whole {:8} {:5.2f} {:5.2f} estimate {:8} {:+.1f}% {}\n", name, to_string(dtype), frame->size(), peer, whole, double(peer)/frame->size(), double(whole)/frame->size(), foretold->bytes, 100.0*(double(foretold->bytes)/frame->size()-1), frame->size() > whole ? "LOSES" : "");
        }
    }
}

}  // namespace
}  // namespace caesura::codec
