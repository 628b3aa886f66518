// Goal: what is read from a device's memory is what was written, or an error; a device that has
// failed is used no more, and its memory never holds more than it may.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "transit/objects/fragile_device.hpp"
#include "transit/objects/written_block.hpp"

namespace caesura::transit {
namespace {

std::vector<std::byte> some_bytes(std::size_t count, std::mt19937_64& random) {
    std::vector<std::byte> bytes(count);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random());
    return bytes;
}

TEST(DeviceMemory, gives_back_what_was_written_and_refuses_what_has_no_room) {
    const auto fragility = std::make_shared<Fragility>();
    const auto memory = fragile_memory(10'000, fragility);
    std::mt19937_64 random(8101);
    struct Held {
        std::vector<std::byte> bytes;
        std::shared_ptr<const DeviceMemory::Block> block;
    };
    std::vector<Held> held;
    std::uint64_t used = 0;
    int refused = 0;
    for (int i = 0; i < 500; ++i) {
        if (!held.empty() && random() % 3 == 0) {
            const std::size_t at = random() % held.size();
            used -= held[at].bytes.size();
            held.erase(held.begin() + static_cast<long>(at));
        }
        auto bytes = some_bytes(1 + random() % 3000, random);
        auto block = written_block(*memory, bytes);
        const bool fits = used + bytes.size() <= 10'000;
        ASSERT_EQ(block.ok(), fits);
        if (!fits) {
            EXPECT_EQ(block.status().code(), StatusCode::no_space);
            ++refused;
            continue;
        }
        used += bytes.size();
        EXPECT_EQ(memory->used_bytes(), used);
        EXPECT_EQ(fragility->held, used);  // what was given back is free in the device as well
        held.push_back({std::move(bytes), std::move(*block)});
        const Held& any = held[random() % held.size()];
        std::vector<std::byte> back(any.bytes.size());
        ASSERT_TRUE(any.block->read(back).ok());
        ASSERT_EQ(back, any.bytes);
    }
    EXPECT_GT(refused, 10);
    EXPECT_FALSE(memory->is_lost());  // to be full is no failure
}

TEST(DeviceMemory, gives_back_room_that_was_never_written) {
    const auto fragility = std::make_shared<Fragility>();
    const auto memory = fragile_memory(10'000, fragility);
    auto claimed = memory->claim(9'999);
    ASSERT_NE(claimed, nullptr);
    EXPECT_FALSE(claimed->is_written());
    EXPECT_EQ(memory->used_bytes(), 9'999u);
    EXPECT_EQ(memory->claim(2), nullptr);
    EXPECT_EQ(memory->claim(10'001), nullptr);
    EXPECT_NE(memory->claim(1), nullptr);
    claimed.reset();
    EXPECT_EQ(memory->used_bytes(), 0u);
    EXPECT_EQ(memory->claim(10'001), nullptr);
    EXPECT_NE(memory->claim(10'000), nullptr);
    EXPECT_EQ(fragility->transfers, 0);
}

TEST(DeviceMemory, holds_no_more_than_it_may_for_many_threads_at_once) {
    const auto memory = fragile_memory(10'000);
    std::vector<std::thread> threads;
    std::atomic<int> written{0}, refused{0}, wrong{0};
    for (unsigned thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            std::mt19937_64 random(8103 + thread);
            std::shared_ptr<const DeviceMemory::Block> before;  // stays for a while
            for (int i = 0; i < 200; ++i) {
                const auto bytes = some_bytes(1 + random() % 4000, random);
                const auto block = written_block(*memory, bytes);
                wrong += memory->used_bytes() > 10'000 ? 1 : 0;
                ++(block.ok() ? written : refused);
                if (!block.ok()) continue;
                std::vector<std::byte> back(bytes.size());
                wrong += (*block)->read(back).ok() && back == bytes ? 0 : 1;
                before = random() % 2 == 0 ? *block : nullptr;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(written, 100);
    EXPECT_EQ(written + refused, 800);
    EXPECT_EQ(memory->used_bytes(), 0u);
    EXPECT_NE(memory->claim(10'000), nullptr);
}

TEST(DeviceMemory, is_lost_with_its_first_error) {
    for (const bool changes : {false, true}) {
        const auto fragility = std::make_shared<Fragility>();
        const auto memory = fragile_memory(10'000, fragility);
        std::mt19937_64 random(8102);
        const auto bytes = some_bytes(1000, random);
        auto block = written_block(*memory, bytes).value();
        const auto other = written_block(*memory, bytes).value();
        (changes ? fragility->changes : fragility->fails) = true;
        std::vector<std::byte> back(1000);
        const Status status = block->read(back);
        EXPECT_EQ(status.code(), changes ? StatusCode::corrupt : StatusCode::io);
        EXPECT_NE(status.message().find("gpu0"), std::string::npos) << status.message();
        EXPECT_TRUE(memory->is_lost());
        EXPECT_EQ(memory->used_bytes(), 0u);
        (changes ? fragility->changes : fragility->fails) = false;
        const int before = fragility->transfers;
        EXPECT_FALSE(other->read(back).ok());
        EXPECT_FALSE(written_block(*memory, bytes).ok());
        block.reset();
        EXPECT_EQ(fragility->transfers, before);  // nobody asks it again
    }
}

TEST(DeviceMemory, is_lost_when_nothing_can_be_written) {
    const auto fragility = std::make_shared<Fragility>();
    const auto memory = fragile_memory(10'000, fragility);
    fragility->fails = true;
    EXPECT_EQ(written_block(*memory, std::vector<std::byte>(10)).status().code(), StatusCode::io);
    EXPECT_TRUE(memory->is_lost());
}

}  // namespace
}  // namespace caesura::transit
