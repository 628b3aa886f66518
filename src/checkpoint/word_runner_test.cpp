#include "checkpoint/word_runner.hpp"

#include <gtest/gtest.h>

#include "checkpoint/small_machine.hpp"

namespace caesura::checkpoint {
namespace {

constexpr unsigned k_runner_seed = 41;

/// What arrives is unpacked and compared at once with what was made.
class Receiver {
  public:
    explicit Receiver(std::uint64_t checkpoint_bytes) : checkpoint_bytes_(checkpoint_bytes) {}
    void made(std::vector<std::byte> data) { made_.push_back(std::move(data)); }
    const std::byte* newest() const { return made_.back().data(); }
    Status operator()(Arrived&& arrived) {
        for (std::size_t i = 0; i < arrived.ids.size(); ++i) {
            EXPECT_EQ(arrived.ids[i], arrived_) << "out of order";
            std::vector<std::byte> data(arrived.bytes.data(),
                                        arrived.bytes.data() + arrived.bytes.size());
            if (arrived.compressed) {
                data.resize(checkpoint_bytes_);
                if (Status s = device::unpack(arrived.bytes, i, data); !s.ok()) return s;
            }
            EXPECT_EQ(data, made_.front()) << "checkpoint " << arrived_;
            made_.pop_front();
            ++arrived_;
        }
        return {};
    }
    std::uint64_t arrived() const { return arrived_; }

  private:
    std::uint64_t checkpoint_bytes_, arrived_ = 0;
    std::deque<std::vector<std::byte>> made_;
};

TEST(WordRunner, every_checkpoint_reaches_the_host_as_it_was_within_the_cap) {
    std::mt19937_64 random(k_runner_seed);
    const auto uniform = [&](double from, double to) {
        return std::uniform_real_distribution<double>(from, to)(random);
    };
    std::string letters;
    for (int round = 0; round < 60; ++round) {
        plan::CheckpointProfile profile = small_machine(20'000 + random() % 500'000);
        profile.header_bytes = 4096;
        profile.compress_curve[0].seconds = profile.compress_curve[1].seconds * uniform(0.001, 0.1);
        device::EmulatedDevice device = device_of(profile);
        Receiver receiver(profile.checkpoint_bytes);
        auto runner = WordRunner::create(device, profile, "", std::ref(receiver));
        ASSERT_TRUE(runner.ok()) << runner.status().message();
        const double interval_s = uniform(1e-6, 1e-4), ratio = uniform(1.0, 20.0);
        for (std::uint64_t id = 0; id < 60; ++id) {
            device.work(interval_s * uniform(0.5, 1.5));
            receiver.made(synthetic(random, profile.checkpoint_bytes, ratio));
            const Status status = (*runner)->checkpoint(id, receiver.newest());
            ASSERT_TRUE(status.ok())
                << status.message() << " seed " << k_runner_seed << " " << round;
        }
        ASSERT_TRUE((*runner)->finish().ok());
        EXPECT_EQ(receiver.arrived(), 60u);
        EXPECT_LE((*runner)->pool().peak_bytes(), profile.cache_bytes);
        EXPECT_EQ(device.allocations(), 0u);
        letters += (*runner)->executed().word;
    }
    for (const char letter : {'U', 'C', 'A', 'X'})
        EXPECT_NE(letters.find(letter), std::string::npos) << letter << " was never tried";
}

TEST(WordRunner, ten_thousand_checkpoints_leave_nothing_behind) {
    std::mt19937_64 random(k_runner_seed + 1);
    plan::CheckpointProfile profile = small_machine(64'000);
    profile.checkpoint_bytes = 1'000;
    profile.header_bytes = device::parcel_bytes_at_most(32, 0);
    device::EmulatedDevice device = device_of(profile);
    std::uint64_t arrived = 0;
    auto runner = WordRunner::create(device, profile, "", [&](Arrived&& parcel) {
        arrived += parcel.ids.size();
        return Status{};
    });
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    const auto data = synthetic(random, 1'000, 10.0);
    std::size_t most = 0;
    for (std::uint64_t id = 0; id < 10'000; ++id) {
        device.work(1e-6);
        ASSERT_TRUE((*runner)->checkpoint(id, data.data()).ok());
        most = std::max(most, device.allocations());
    }
    ASSERT_TRUE((*runner)->finish().ok());
    EXPECT_EQ(arrived, 10'000u);
    EXPECT_EQ(device.allocations(), 0u);
    EXPECT_LE((*runner)->pool().peak_bytes(), 64'000u);
    // What is ready for the link is small: many buffers, but no more than fit the cap.
    EXPECT_LT(most, 1'000u);
}

TEST(WordRunner, takes_within_five_percent_the_time_that_was_planned) {
    std::mt19937_64 random(k_runner_seed + 2);
    for (const double rate : {170e6, 400e6, 1e9, 4e9})  // S2's 17 to 400 GB/s
        for (const double ratio : {4.0, 16.0}) {
            plan::CheckpointProfile profile = small_machine();
            const double copy_s = 20'000 / 5e9;
            const std::string nothing;
            std::vector<std::vector<std::byte>> data;
            for (int i = 0; i < 100; ++i) {
                data.push_back(synthetic(random, 20'000, ratio));
                std::vector<std::byte> parcel(device::parcel_bytes_at_most(1, 20'000));
                const std::vector<std::span<const std::byte>> piece = {data.back()};
                profile.intervals_s.push_back(20'000 / rate + copy_s);
                profile.compressed_bytes.push_back(*device::pack(piece, {}, parcel));
            }
            const auto plan = plan::together(profile);
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            device::EmulatedDevice device = device_of(profile);
            auto runner =
                WordRunner::create(device, profile, plan->word, [](Arrived&&) { return Status{}; });
            ASSERT_TRUE(runner.ok()) << runner.status().message();
            for (std::uint64_t id = 0; id < 100; ++id) {
                device.work(20'000 / rate);
                const Status status = (*runner)->checkpoint(id, data[id].data());
                ASSERT_TRUE(status.ok()) << status.message();
            }
            ASSERT_TRUE((*runner)->finish().ok());
            EXPECT_EQ((*runner)->executed().word, plan->word);
            // Of the run, and of what it takes longer than the application works.
            const double own_s = 100 * (20'000 / rate), planned_s = plan->flush_end_s - own_s;
            EXPECT_NEAR(device.now_s() - own_s, planned_s, 0.05 * planned_s)
                << plan->word << " at " << rate;
        }
}

TEST(WordRunner, what_one_run_recorded_plans_the_next_one) {
    std::mt19937_64 random(k_runner_seed + 3);
    const auto shot = [&](const plan::CheckpointProfile& expected) {
        device::EmulatedDevice device = device_of(expected);
        Receiver receiver(expected.checkpoint_bytes);
        auto runner = WordRunner::create(device, expected, "", std::ref(receiver));
        for (std::uint64_t id = 0; id < 66; ++id) {
            device.work(20e-6);
            receiver.made(synthetic(random, expected.checkpoint_bytes, 16.0));
            EXPECT_TRUE((*runner)->checkpoint(id, receiver.newest()).ok());
        }
        EXPECT_TRUE((*runner)->finish().ok());
        return std::pair{device.now_s(), (*runner)->recorded()};
    };
    const auto [unknown_s, recorded] = shot(small_machine());
    ASSERT_EQ(recorded.intervals_s.size(), 66u);
    EXPECT_NEAR(recorded.intervals_s[30], 20e-6 + 20'000 / 5e9, 1e-9);
    EXPECT_NEAR(static_cast<double>(recorded.compressed_bytes[30]), 20'000 / 16.0, 250.0);
    const auto kept = plan::parse_checkpoint_profile(plan::to_json(recorded));
    ASSERT_TRUE(kept.ok()) << kept.status().message();
    const double known_s = shot(*kept).first;
    EXPECT_LT(known_s, unknown_s);
    EXPECT_LE(known_s, 1.05 * plan::together(recorded)->flush_end_s);
}

TEST(WordRunner, an_error_of_the_receiver_ends_the_run_and_stays) {
    std::mt19937_64 random(k_runner_seed + 4);
    const plan::CheckpointProfile profile = small_machine();
    device::EmulatedDevice device = device_of(profile);
    auto runner = WordRunner::create(device, profile, "", [](Arrived&&) {
        return Status{StatusCode::no_space, "the host is full"};
    });
    const auto data = synthetic(random, profile.checkpoint_bytes, 4.0);
    ASSERT_TRUE((*runner)->checkpoint(0, data.data()).ok());
    device.work(1.0);
    EXPECT_EQ((*runner)->checkpoint(1, data.data()).code(), StatusCode::no_space);
    EXPECT_EQ((*runner)->checkpoint(2, data.data()).code(), StatusCode::no_space);
    EXPECT_EQ((*runner)->finish().code(), StatusCode::no_space);
    runner->reset();
    EXPECT_EQ(device.allocations(), 0u);
}

/// Cannot compress.
class Uncompressing final : public device::EmulatedDevice {
  public:
    explicit Uncompressing(EmulatedDevice device) : EmulatedDevice(std::move(device)) {}
    Result<std::uint64_t> compress(std::span<const std::span<const std::byte>>,
                                   const device::Content&, std::span<std::byte>) override {
        return Status{StatusCode::io, "the kernel failed"};
    }
};

TEST(WordRunner, after_an_error_what_the_link_carries_still_arrives_and_its_memory_is_free) {
    std::mt19937_64 random(k_runner_seed + 5);
    const plan::CheckpointProfile profile = small_machine();
    for (const bool polls : {false, true}) {
        Uncompressing device(device_of(profile));
        Receiver receiver(profile.checkpoint_bytes);
        auto runner = WordRunner::create(device, profile, "UUUUAX", std::ref(receiver));
        ASSERT_TRUE(runner.ok()) << runner.status().message();
        Status status;
        for (std::uint64_t id = 0; id < 6; ++id) {
            EXPECT_TRUE(status.ok()) << id;
            receiver.made(synthetic(random, profile.checkpoint_bytes, 4.0));
            status = (*runner)->checkpoint(id, receiver.newest());
        }
        EXPECT_EQ(status.code(), StatusCode::io);
        EXPECT_LT(receiver.arrived(), 4u);
        if (polls) {
            device.work(1.0);
            EXPECT_EQ((*runner)->poll().code(), StatusCode::io);
            EXPECT_EQ(receiver.arrived(), 4u);
        }
        EXPECT_EQ((*runner)->finish().code(), StatusCode::io);
        EXPECT_EQ(receiver.arrived(), 4u);
        EXPECT_EQ(device.allocations(), 0u);
        EXPECT_EQ((*runner)->queued_bytes(), 0u);
    }
}

/// Its coder wants memory beside the parcel, as nvCOMP's do: for each checkpoint, up to a limit.
class Wanting final : public device::EmulatedDevice {
  public:
    Wanting(EmulatedDevice device, std::uint64_t each, std::uint64_t most)
        : EmulatedDevice(std::move(device)), each_(each), most_(most) {}
    std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const override {
        return EmulatedDevice::parcel_bytes(pieces, bytes) + std::min(pieces * each_, most_);
    }

  private:
    std::uint64_t each_, most_;
};

TEST(WordRunner, a_coder_that_wants_memory_has_it_within_the_cap) {
    std::mt19937_64 random(k_runner_seed + 6);
    std::string letters;
    for (int round = 0; round < 60; ++round) {
        plan::CheckpointProfile profile = small_machine(100'000 + random() % 900'000);
        profile.header_bytes = 0;  // what the device needs
        const std::uint64_t each = random() % 30'000, most = random() % 500'000;
        Wanting device(device_of(profile), each, most);
        Receiver receiver(profile.checkpoint_bytes);
        auto runner = WordRunner::create(device, profile, "", std::ref(receiver));
        ASSERT_TRUE(runner.ok()) << runner.status().message();
        for (std::uint64_t id = 0; id < 40; ++id) {
            device.work(1e-6);
            receiver.made(synthetic(random, profile.checkpoint_bytes, 8.0));
            const Status status = (*runner)->checkpoint(id, receiver.newest());
            ASSERT_TRUE(status.ok())
                << status.message() << " seed " << k_runner_seed << " " << round;
        }
        ASSERT_TRUE((*runner)->finish().ok());
        EXPECT_EQ(receiver.arrived(), 40u);
        EXPECT_LE((*runner)->pool().peak_bytes(), profile.cache_bytes);
        const std::string& word = (*runner)->executed().word;
        // Where one checkpoint fits with all it takes, it is compressed: the link is slow.
        const bool fits =
            2 * profile.checkpoint_bytes + 1'000 + std::min(each, most) <= profile.cache_bytes;
        EXPECT_TRUE(!fits || word.find_first_of("CX") != std::string::npos) << word << " " << round;
        letters += word;
    }
    EXPECT_NE(letters.find('X'), std::string::npos);
}

TEST(WordRunner, what_cannot_be_is_refused) {
    plan::CheckpointProfile profile = small_machine();
    device::EmulatedDevice device = device_of(profile);
    const std::vector<std::byte> data(profile.checkpoint_bytes);
    const auto ignore = [](Arrived&&) { return Status{}; };
    auto runner = WordRunner::create(device, profile, "AU", ignore);
    ASSERT_TRUE((*runner)->checkpoint(7, data.data()).ok());
    const Status overtaking = (*runner)->checkpoint(8, data.data());
    EXPECT_EQ(overtaking.code(), StatusCode::invalid_argument);
    EXPECT_NE(overtaking.message().find("checkpoint 8: letter 1"), std::string::npos)
        << overtaking.message();
    profile.header_bytes = 10;
    EXPECT_NE(
        WordRunner::create(device, profile, "", ignore).status().message().find("header_bytes"),
        std::string::npos);
}

}  // namespace
}  // namespace caesura::checkpoint
