// Goal: integers are stored at least as small as bit shuffle and zstd store them, no larger than
// they once were (integer_sizes.txt), and as large as was foretold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "codec/integers/integer_families.hpp"
#include "codec/integers/integer_peer.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_values = std::size_t{1} << 18;
constexpr DType k_sized_types[] = {DType::uint8, DType::int16, DType::int32, DType::uint64};

struct Sized {
    std::string name;  ///< family and type
    std::vector<std::byte> values;
    DType dtype;
    Shape shape;
    std::size_t bytes = 0;
};

/// Every family and type, compressed.
const std::vector<Sized>& sized() {
    static const std::vector<Sized> all = [] {
        std::vector<Sized> made;
        for (const std::string& name : family_names()) {
            const FamilyValues values = family(name, k_values, 1);
            for (const DType dtype : k_sized_types) {
                Sized one{fmt::format("{} {}", name, to_string(dtype)), as_bytes_of(values, dtype),
                          dtype, name == "grid" ? Shape{512, 512} : Shape{k_values}};
                const auto frame = compress(one.values, dtype, one.shape, lossless());
                EXPECT_TRUE(frame.ok()) << one.name << ": " << frame.status().message();
                if (frame.ok()) one.bytes = frame->size();
                made.push_back(std::move(one));
            }
        }
        return made;
    }();
    return all;
}

TEST(IntegerSizes, are_at_most_those_on_record) {
    std::map<std::string, std::size_t> recorded;
    std::ifstream in(CAESURA_INTEGER_SIZES);
    std::string name, type;
    for (std::size_t bytes = 0; in >> name >> type >> bytes;)
        recorded[fmt::format("{} {}", name, type)] = bytes;
    for (const Sized& one : sized()) {
        const auto known = recorded.find(one.name);
        if (known == recorded.end()) {
            ADD_FAILURE() << one.name << " " << one.bytes << " is not on record";
            continue;
        }
        EXPECT_LE(one.bytes, known->second + known->second / 200 + 8) << one.name;
    }
    EXPECT_EQ(recorded.size(), sized().size());
}

TEST(IntegerSizes, are_at_most_those_of_bit_shuffle_and_zstd) {
    for (const Sized& one : sized())
        EXPECT_LE(one.bytes, peer_bytes(one.values, size_of(one.dtype))) << one.name;
}

TEST(IntegerSizes, are_foretold_within_a_tenth) {
    for (const Sized& one : sized()) {
        const auto foretold = estimate(one.values, one.dtype, one.shape, lossless());
        ASSERT_TRUE(foretold.ok()) << foretold.status().message();
        EXPECT_TRUE(foretold->exact);
        const auto found = static_cast<double>(one.bytes);
        EXPECT_NEAR(static_cast<double>(foretold->bytes), found, 0.1 * found) << one.name;
    }
}

}  // namespace
}  // namespace caesura::codec
