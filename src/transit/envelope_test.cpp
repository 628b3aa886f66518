#include "transit/envelope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace caesura::transit {
namespace {

// Goal: whatever the lengths, message and payload come back, the payload where it is aligned.
TEST(Envelope, gives_back_what_it_was_given) {
    const unsigned seed = 3;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (std::size_t length : {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 1000u, 70000u})
        for (std::size_t payload_bytes : {0u, 1u, 4096u}) {
            std::vector<std::byte> message(length), payload(payload_bytes);
            for (auto& byte : message) byte = static_cast<std::byte>(random());
            for (auto& byte : payload) byte = static_cast<std::byte>(random());
            const Envelope envelope = wrap(message, 64);
            EXPECT_LE(envelope.head.size(), 64u);
            std::vector<std::byte> carried = envelope.lead;
            carried.insert(carried.end(), payload.begin(), payload.end());
            const auto back = unwrap(envelope.head, carried);
            ASSERT_TRUE(back.ok());
            EXPECT_TRUE(std::ranges::equal(back->message, message));
            EXPECT_TRUE(std::ranges::equal(back->payload, payload));
            EXPECT_EQ((back->payload.data() - carried.data()) % 64, 0);
        }
}

// Goal: heads that nobody made are errors.
TEST(Envelope, refuses_heads_that_are_none) {
    std::vector<std::byte> carried(100);
    EXPECT_FALSE(unwrap({}, carried).ok());
    Envelope envelope = wrap(std::vector<std::byte>(90), 16);
    EXPECT_FALSE(unwrap(envelope.head, carried).ok());  // its padding is not there
    envelope.head[8] = std::byte{0xff};
    EXPECT_FALSE(unwrap(envelope.head, carried).ok());
    envelope.head.pop_back();
    EXPECT_FALSE(unwrap(envelope.head, carried).ok());
    envelope.head = {std::byte{7}};
    EXPECT_FALSE(unwrap(envelope.head, carried).ok());
}

}  // namespace
}  // namespace caesura::transit
