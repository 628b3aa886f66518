// Bytes that grow in place: what was written stays, wherever it lies and however often it moves.
#include "codec/frame/output.hpp"

#include <gtest/gtest.h>

#include <random>

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

/// The same random writes to an Output and to a vector.
void expect_like_a_vector(Output& out, unsigned seed) {
    std::mt19937 random(seed);
    Bytes expected;
    for (int i = 0; i < 300; ++i) {
        Bytes some(random() % (random() % 10 == 0 ? 9000 : 60), static_cast<std::byte>(i));
        switch (random() % 5) {
            case 0:
                some.assign(some.size(), std::byte{0});
                out.append_zeros(some.size());
                break;
            case 1:
                some.assign(1, static_cast<std::byte>(i));
                out.push_back(some[0]);
                break;
            case 2: {  // more room than is used in the end, and all of it written to
                std::byte* const room = out.room(some.size() + 100);
                std::fill_n(room, some.size() + 100, static_cast<std::byte>(i));
                out.advance(some.size());
                break;
            }
            case 3:
                out.expect(out.size() + random() % 20000);
                out.append(some);
                break;
            default:
                some.clear();
                expected.resize(expected.size() - expected.size() / 8);
                out.shrink(expected.size());
        }
        expected.insert(expected.end(), some.begin(), some.end());
        ASSERT_TRUE(Bytes(out.bytes().begin(), out.bytes().end()) == expected) << i;
    }
}

TEST(Output, grows_like_a_vector_and_gives_its_bytes_away) {
    Output out;
    for (unsigned seed = 1; seed < 4; ++seed) {
        expect_like_a_vector(out, seed);
        const Bytes before(out.bytes().begin(), out.bytes().end());
        EXPECT_TRUE(out.take() == before);
        EXPECT_EQ(out.size(), 0u);
    }
}

TEST(Output, leaves_memory_that_is_too_small_and_keeps_to_it_before) {
    for (const std::size_t brought : {0u, 1u, 100u, 5000u, 1u << 20}) {
        SCOPED_TRACE(brought);
        Bytes memory(brought + 1, std::byte{0xa5});
        const std::span<std::byte> whole(memory);
        Output out(whole.first(brought));
        expect_like_a_vector(out, 7);
        EXPECT_EQ(memory.back(), std::byte{0xa5});
        EXPECT_EQ(out.in_brought_memory(), brought == 1u << 20);
    }
}

}  // namespace
}  // namespace caesura::codec
