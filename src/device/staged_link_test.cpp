// Goal: everything arrives, in order and whole, whatever sizes, buffers and speeds; errors stay.
#include "device/staged_link.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>

namespace caesura::device {
namespace {

constexpr unsigned k_staged_link_seed = 21;
using Direction = StagedLink::Direction;

/// Moves in memory, as late as it may: when it is waited for.
class MemoryMover : public Mover {
  public:
    Status enter() override { return {}; }
    Status begin(std::uint64_t after) override {
        began.push_back(after);
        return {};
    }
    Status start(std::size_t number, std::byte* to, const std::byte* from,
                 std::uint64_t bytes) override {
        if (moves_[number].to != nullptr) return {StatusCode::internal, "number taken"};
        if (fails_after-- == 0) return {StatusCode::io, "the device is gone"};
        moves_[number] = {to, from, bytes};
        return {};
    }
    Status wait(std::size_t number) override {
        const Move move = std::exchange(moves_[number], {});
        if (move.to == nullptr) return {StatusCode::internal, "nothing to wait for"};
        std::memcpy(move.to, move.from, move.bytes);
        return {};
    }
    bool is_pinned(const std::byte* host) override {
        return host >= pinned.data() && host < pinned.data() + pinned.size();
    }
    std::vector<std::uint64_t> began;
    std::vector<std::byte> pinned = std::vector<std::byte>(5000);
    int fails_after = -1;

  private:
    struct Move {
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::uint64_t bytes = 0;
    };
    std::array<Move, 8> moves_;
};

struct Buffers {
    explicit Buffers(std::size_t count, std::size_t bytes)
        : memory(count, std::vector<std::byte>(bytes)), spans(memory.begin(), memory.end()) {}
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::span<std::byte>> spans;
};

TEST(StagedLink, everything_arrives_whole_and_in_order_in_both_directions) {
    std::mt19937_64 random(k_staged_link_seed);
    for (int round = 0; round < 60; ++round) {
        const auto direction = round % 2 == 0 ? Direction::to_host : Direction::to_device;
        MemoryMover mover;
        Buffers buffers(2 + random() % 6, 1 + random() % 700);
        std::vector<std::vector<std::byte>> from, to;
        std::vector<std::uint64_t> numbers;
        {
            StagedLink link(direction, mover, buffers.spans);
            for (std::uint64_t i = 0; i < 30; ++i) {
                const std::size_t bytes = 1 + random() % 3000;
                from.emplace_back(bytes);
                for (std::byte& byte : from.back()) byte = static_cast<std::byte>(random());
                to.emplace_back(bytes);
            }
            for (std::uint64_t i = 0; i < 30; ++i) {
                std::byte* const device =
                    direction == Direction::to_host ? from[i].data() : to[i].data();
                std::byte* const host =
                    direction == Direction::to_host ? to[i].data() : from[i].data();
                numbers.push_back(link.give({device, host, from[i].size(), 100 + i}));
                if (random() % 4 == 0) {
                    const std::uint64_t some = numbers[random() % numbers.size()];
                    ASSERT_TRUE(link.wait(some).ok());
                    EXPECT_TRUE(*link.is_done(some));
                    for (std::uint64_t n = 0; n < some; ++n) EXPECT_EQ(to[n], from[n]);
                }
            }
        }  // waits for the rest
        EXPECT_EQ(to, from) << "seed " << k_staged_link_seed << " round " << round;
        ASSERT_EQ(mover.began.size(), 30u);
        for (std::uint64_t i = 0; i < 30; ++i) EXPECT_EQ(mover.began[i], 100 + i);
    }
}

TEST(StagedLink, pinned_memory_is_used_as_it_is) {
    MemoryMover mover;
    Buffers buffers(2, 64);
    std::vector<std::byte> from(5000, std::byte{3});
    {
        StagedLink link(Direction::to_host, mover, buffers.spans);
        ASSERT_TRUE(link.wait(link.give({from.data(), mover.pinned.data(), 5000, 0})).ok());
    }
    EXPECT_EQ(mover.pinned, from);
    EXPECT_EQ(buffers.memory[0], std::vector<std::byte>(64));
}

TEST(StagedLink, an_error_of_the_device_ends_every_wait_and_stays) {
    MemoryMover mover;
    mover.fails_after = 3;
    Buffers buffers(2, 100);
    std::vector<std::byte> from(150), to(150);
    StagedLink link(Direction::to_host, mover, buffers.spans);
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) last = link.give({from.data(), to.data(), 150, 0});
    EXPECT_EQ(link.wait(last).code(), StatusCode::io);
    EXPECT_EQ(link.wait(link.give({from.data(), to.data(), 150, 0})).code(), StatusCode::io);
    EXPECT_EQ(link.is_done(last).status().code(), StatusCode::io);
}

}  // namespace
}  // namespace caesura::device
