// Goal: what is kept comes back for its version alone, and never more than is allowed is kept.
#include "vol/decoded_chunks.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace caesura::vol {
namespace {

constexpr std::size_t k_quarter = DecodedChunks::k_most_bytes / 4;

class Decoded : public testing::Test {
  protected:
    const std::byte* keep(std::uint64_t version, std::uint64_t number, int value) {
        auto taken = pool_.take(k_quarter);
        std::memset(taken->data(), value, 1);
        return chunks_.keep(version, number, std::move(*taken));
    }
    base::BufferPool pool_;
    DecodedChunks chunks_;
};

TEST_F(Decoded, a_chunk_comes_back_for_its_version_alone) {
    const std::byte* const kept = keep(1, 7, 42);
    EXPECT_EQ(*kept, std::byte{42});
    EXPECT_EQ(chunks_.find(1, 7), kept);
    EXPECT_EQ(chunks_.find(2, 7), nullptr);
    EXPECT_EQ(chunks_.find(1, 6), nullptr);
    chunks_.clear();
    EXPECT_EQ(chunks_.find(1, 7), nullptr);
}

TEST_F(Decoded, the_chunk_that_was_asked_for_longest_ago_goes_first) {
    for (std::uint64_t number = 0; number < 4; ++number) keep(1, number, 0);
    ASSERT_NE(chunks_.find(1, 0), nullptr);
    keep(1, 4, 0);
    EXPECT_EQ(chunks_.find(1, 1), nullptr);
    for (const std::uint64_t number : {0u, 2u, 3u, 4u}) EXPECT_NE(chunks_.find(1, number), nullptr);
}

}  // namespace
}  // namespace caesura::vol
