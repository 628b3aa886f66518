// Goal: what is told is heard, whole and once, by the process it is for, over each kind of socket;
// what comes from elsewhere is not, and holds nobody up.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "base/event.hpp"
#include "message/packet.hpp"
#include "message/socket.hpp"

namespace caesura::message {
namespace {

/// Keeps what it hears.
class Ear {
  public:
    explicit Ear(bool beyond_node) {
        auto opened = Listener::open(beyond_node, [this](const News& news) {
            {
                const std::lock_guard lock(mutex_);
                heard_.push_back(news);
            }
            event_.raise();
        });
        EXPECT_TRUE(opened.ok()) << opened.status().message();
        if (opened.ok()) listener_ = std::move(*opened);
    }
    const Address& address() const { return listener_->address(); }
    /// Waits until so many have come.
    std::vector<News> heard(std::size_t n) {
        for (;;) {
            const std::uint32_t seen = event_.count();
            {
                const std::lock_guard lock(mutex_);
                if (heard_.size() >= n) return heard_;
            }
            event_.wait(seen, 30.0);
        }
    }

  private:
    std::mutex mutex_;
    base::Event event_;
    std::vector<News> heard_;
    std::unique_ptr<Listener> listener_;
};

/// The same hearer, seen from another node: by TCP alone, through the loopback interface.
Address from_elsewhere(Address address) {
    address.name.fill(0);
    address.hosts = {};
    address.hosts[0].version = 4;
    address.hosts[0].bytes = {127, 0, 0, 1};
    return address;
}

TEST(News, is_heard_inside_a_node) {
    Ear ear(false);
    EXPECT_EQ(ear.address().port, 0);
    ASSERT_TRUE(tell(ear.address(), {7, 3}).ok());
    const auto heard = ear.heard(1);
    EXPECT_EQ(heard[0].about, 7u);
    EXPECT_EQ(heard[0].from, 3u);
}

TEST(News, is_heard_from_other_nodes) {
    Ear ear(true);
    ASSERT_NE(ear.address().port, 0);
    ASSERT_TRUE(tell(from_elsewhere(ear.address()), {8, 4}).ok());
    EXPECT_EQ(ear.heard(1)[0].from, 4u);
}

TEST(News, of_many_ranks_at_once_is_heard_whole) {
    Ear ear(true);
    constexpr std::uint64_t k_threads = 8, k_each = 200;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < k_threads; ++t)
        threads.emplace_back([&, t] {
            const Address address = t % 2 == 0 ? ear.address() : from_elsewhere(ear.address());
            for (std::uint64_t i = 0; i < k_each; ++i)
                EXPECT_TRUE(tell(address, {i, t}, 30.0).ok());
        });
    for (std::thread& thread : threads) thread.join();
    std::vector<std::uint64_t> sums(k_threads, 0);
    for (const News& news : ear.heard(k_threads * k_each)) sums[news.from] += news.about;
    for (const std::uint64_t sum : sums) EXPECT_EQ(sum, k_each * (k_each - 1) / 2);
}

TEST(News, from_somebody_without_the_key_is_not_heard) {
    Ear ear(true);
    Address other = ear.address();
    other.key[0] ^= 1;
    // Local packets are not answered, so the sender cannot know.
    EXPECT_TRUE(tell(other, {1, 1}).ok());
    EXPECT_FALSE(tell(from_elsewhere(other), {1, 1}).ok());
    ASSERT_TRUE(tell(ear.address(), {2, 2}).ok());
    EXPECT_EQ(ear.heard(1)[0].about, 2u);
}

TEST(News, waits_for_no_peer_that_is_silent) {
    Ear ear(true);
    const Address elsewhere = from_elsewhere(ear.address());
    const SocketAddress to = internet_address(elsewhere.hosts[0], elsewhere.port);
    std::vector<base::Descriptor> silent;
    for (std::size_t i = 0; i < Listener::k_most_peers / 2; ++i) {
        silent.push_back(new_socket(AF_INET, SOCK_STREAM));
        (void)::connect(silent.back().get(), to.get(), to.bytes);
    }
    ASSERT_TRUE(tell(elsewhere, {5, 5}, 30.0).ok());
    ASSERT_TRUE(tell(ear.address(), {6, 6}).ok());
    EXPECT_EQ(ear.heard(2).size(), 2u);
}

TEST(News, to_a_hearer_that_is_gone_is_an_error) {
    Address address;
    {
        Ear ear(true);
        address = ear.address();
    }
    EXPECT_EQ(tell(address, {1, 1}, 0.1).code(), StatusCode::unsupported);
    EXPECT_EQ(tell(from_elsewhere(address), {1, 1}, 0.1).code(), StatusCode::unsupported);
}

TEST(News, of_a_changed_packet_is_not_taken) {
    ASSERT_TRUE(prepare_cryptography().ok());
    Address address;
    address.key.fill(9);
    const Packet packet = encode(address, {11, 12});
    ASSERT_TRUE(decode(address, packet));
    for (std::size_t i = 0; i < packet.size(); ++i) {
        Packet changed = packet;
        changed[i] ^= std::byte{1};
        EXPECT_FALSE(decode(address, changed)) << "byte " << i;
    }
}

}  // namespace
}  // namespace caesura::message
