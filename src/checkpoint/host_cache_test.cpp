// The budget and the errors of a store, with a store in memory that can be told to fail.
#include "checkpoint/host_cache.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <new>
#include <random>
#include <set>
#include <stdexcept>

namespace caesura::checkpoint {
namespace {

/// Keeps parcels in memory. Its writes and commits fail as often as they are told to.
class MemoryStore final : public CheckpointStore {
  public:
    Status begin(std::uint64_t, const device::Content&) override { return {}; }
    std::vector<Kept> kept() const override { return {}; }
    Result<Work> place(std::span<const Parcel> parcels) override {
        std::map<std::uint64_t, std::span<const std::byte>> placed;
        for (const Parcel& parcel : parcels) placed[parcel.ids.front()] = parcel.bytes;
        return Work([this, placed] {
            const std::lock_guard lock(mutex_);
            if (failing_writes_ > 0 && failing_writes_--)
                return Status{StatusCode::no_space, "full"};
            for (const auto& [id, bytes] : placed) written_[id].assign(bytes.begin(), bytes.end());
            return Status{};
        });
    }
    Result<Work> commit() override {
        const std::lock_guard lock(mutex_);
        if (!image_ && committed_ == written_.size()) return Work();
        if (!image_) image_ = written_.size();
        return Work([this] {
            const std::lock_guard inner(mutex_);
            if (failing_commits_ > 0 && failing_commits_--) return Status{StatusCode::io, "gone"};
            committed_ = *std::exchange(image_, std::nullopt);
            return Status{};
        });
    }
    Status read(std::span<const std::uint64_t> ids, bool, std::span<std::byte> bytes) override {
        const std::lock_guard lock(mutex_);
        if (unreadable_.erase(ids.front()) > 0) return {StatusCode::io, "unreadable"};
        std::memcpy(bytes.data(), written_.at(ids.front()).data(), bytes.size());
        return {};
    }
    void will_read(std::span<const std::uint64_t> ids) override {
        const std::lock_guard lock(mutex_);
        EXPECT_EQ(written_.count(ids.front()), 1u);
        ++announced_;
    }
    std::size_t announced() {
        const std::lock_guard lock(mutex_);
        return announced_;
    }
    std::size_t committed() {
        const std::lock_guard lock(mutex_);
        return committed_;
    }
    void fail(int writes, int commits) {
        const std::lock_guard lock(mutex_);
        failing_writes_ = writes, failing_commits_ = commits;
    }
    /// The next read of each of them: whichever thread comes first.
    void fail_reads_of(std::set<std::uint64_t> parcels) {
        const std::lock_guard lock(mutex_);
        unreadable_ = std::move(parcels);
    }

  private:
    std::mutex mutex_;
    std::map<std::uint64_t, std::vector<std::byte>> written_;
    std::optional<std::size_t> image_;
    std::size_t committed_ = 0, announced_ = 0;
    int failing_writes_ = 0, failing_commits_ = 0;
    std::set<std::uint64_t> unreadable_;
};

constexpr std::uint64_t k_bytes = 1000;

Arrived parcel(std::uint64_t id) {
    std::mt19937_64 random(id);
    Arrived arrived{{id}, false, HostBytes(k_bytes)};
    for (std::byte& byte : arrived.bytes.span()) byte = static_cast<std::byte>(random());
    return arrived;
}

struct Cache {
    explicit Cache(std::uint64_t room_parcels, double commit_every_s = 1e9)
        : host({store, room_parcels * k_bytes, 3 * k_bytes, room_parcels * k_bytes / 2,
                commit_every_s}) {
        (void)host.begin();
    }
    void expect_all(std::uint64_t parcels) {
        for (std::uint64_t id = 0; id < parcels; ++id) {
            const auto bytes = host.pin(id);
            ASSERT_TRUE(bytes.ok()) << bytes.status().message();
            const Arrived made = parcel(id);
            EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(), made.bytes.data())) << id;
            host.read_ahead(id, 1);
            EXPECT_LE(host.memory_bytes(), 13 * k_bytes);
            host.unpin(id);
        }
    }
    std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
    HostCache host;
};

TEST(HostCache, what_there_is_no_room_for_is_read_back_within_the_budget) {
    Cache cache(10);
    for (std::uint64_t id = 0; id < 100; ++id) {
        ASSERT_TRUE(cache.host.make_room(k_bytes).ok());
        EXPECT_EQ(cache.host.add(parcel(id)), id);
        EXPECT_LE(cache.host.memory_bytes(), 10 * k_bytes);
    }
    cache.expect_all(100);
    EXPECT_GT(cache.host.report().read_ahead, 50u);
}

TEST(HostCache, the_store_is_told_what_it_will_be_asked_for_after_what_is_being_read) {
    Cache cache(10);
    for (std::uint64_t id = 0; id < 100; ++id) {
        ASSERT_TRUE(cache.host.make_room(k_bytes).ok());
        (void)cache.host.add(parcel(id));
    }
    cache.expect_all(100);
    EXPECT_GT(cache.store->announced(), 50u);
}

TEST(HostCache, a_write_that_fails_refuses_room_keeps_everything_and_is_tried_again) {
    Cache cache(10);
    cache.store->fail(5, 0);
    std::uint64_t made = 0, refused = 0;
    while (made < 40) {
        const Status room = cache.host.make_room(k_bytes);
        if (room.ok()) {
            (void)cache.host.add(parcel(made++));
        } else {
            EXPECT_EQ(room.code(), StatusCode::no_space);
            EXPECT_EQ(cache.host.report().trouble.code(), StatusCode::no_space);
            ++refused;
        }
        ASSERT_LT(refused, 10u);
    }
    EXPECT_GE(refused, 4u);  // one attempt may have been made in the background
    EXPECT_TRUE(cache.host.report().trouble.ok());
    cache.expect_all(40);
}

TEST(HostCache, a_commit_that_fails_is_tried_again_and_so_is_what_was_written_meanwhile) {
    Cache cache(10, 0.0);
    cache.store->fail(0, 1);
    (void)cache.host.add(parcel(0));
    EXPECT_EQ(cache.host.save().code(), StatusCode::io);
    EXPECT_EQ(cache.store->committed(), 0u);
    (void)cache.host.add(parcel(1));  // written after the commit that failed was begun
    ASSERT_TRUE(cache.host.save().ok());
    EXPECT_EQ(cache.store->committed(), 2u);
    EXPECT_TRUE(cache.host.report().trouble.ok());
}

TEST(HostCache, what_cannot_be_read_ahead_is_read_when_it_is_asked_for) {
    Cache cache(10);
    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_TRUE(cache.host.make_room(k_bytes).ok());
        (void)cache.host.add(parcel(id));
    }
    ASSERT_TRUE(cache.host.save().ok());
    cache.store->fail_reads_of({0});
    EXPECT_EQ(cache.host.pin(0).status().code(), StatusCode::io);  // nothing was read ahead yet
    cache.store->fail_reads_of({1, 2});
    cache.host.read_ahead(0, 1);
    cache.expect_all(50);
}

TEST(Background, what_a_job_throws_is_its_error_and_the_next_one_is_done) {
    Background background;
    ASSERT_TRUE(background.give([]() -> Status { throw std::bad_alloc(); }).ok());
    ASSERT_TRUE(background.give([]() -> Status { throw std::length_error("too long"); }).ok());
    const auto last = background.give([] { return Status{}; });
    ASSERT_TRUE(last.ok());
    background.wait(*last);
    const std::vector<Background::Done> done = background.take_done();
    ASSERT_EQ(done.size(), 3u);
    EXPECT_EQ(done[0].status.code(), StatusCode::no_space);
    EXPECT_EQ(done[1].status.code(), StatusCode::internal);
    EXPECT_NE(done[1].status.message().find("too long"), std::string::npos);
    EXPECT_TRUE(done[2].status.ok());
}

}  // namespace
}  // namespace caesura::checkpoint
