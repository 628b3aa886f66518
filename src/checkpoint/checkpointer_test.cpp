#include "caesura/checkpointer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "checkpoint/small_machine.hpp"

namespace caesura {
namespace {

using checkpoint::device_of;
using checkpoint::small_machine;
using checkpoint::synthetic;

constexpr unsigned k_checkpointer_seed = 63;

/// An application that makes checkpoints and remembers what they were.
struct Application {
    Application(const plan::CheckpointProfile& expected, unsigned seed,
                const CheckpointerOptions& options = {})
        : random(seed), device(device_of(expected)), bytes(expected.checkpoint_bytes) {
        auto created = Checkpointer::create(device, expected, options);
        EXPECT_TRUE(created.ok()) << created.status().message();
        if (created.ok()) checkpointer = *std::move(created);
    }
    void make(std::uint64_t id, double interval_s, double ratio) {
        make(id, interval_s, synthetic(random, bytes, ratio));
    }
    void make(std::uint64_t id, double interval_s, std::vector<std::byte> data) {
        device.work(interval_s);
        made[id] = std::move(data);
        const Status status = checkpointer->checkpoint(id, made[id].data());
        ASSERT_TRUE(status.ok()) << status.message();
    }
    void expect_back(std::uint64_t id) {
        std::vector<std::byte> data(bytes, std::byte{9});
        const Status status = checkpointer->restore(id, data.data());
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(data, made[id]) << "checkpoint " << id;
    }
    std::mt19937_64 random;
    device::EmulatedDevice device;
    std::uint64_t bytes;
    std::map<std::uint64_t, std::vector<std::byte>> made;
    std::unique_ptr<Checkpointer> checkpointer;
};

TEST(Checkpointer, any_checkpoint_comes_back_in_any_order_within_the_cap) {
    std::mt19937_64 random(k_checkpointer_seed);
    const auto uniform = [&](double from, double to) {
        return std::uniform_real_distribution<double>(from, to)(random);
    };
    for (unsigned round = 0; round < 30; ++round) {
        SCOPED_TRACE("seed " + std::to_string(k_checkpointer_seed) + " round " +
                     std::to_string(round));
        plan::CheckpointProfile expected = small_machine(20'000 + random() % 500'000);
        expected.header_bytes = 4096;
        Application application(expected, round);
        const double interval_s = uniform(1e-6, 1e-4), ratio = uniform(1.0, 20.0);
        std::vector<std::uint64_t> ids;
        for (std::uint64_t step = 0; step < 40; ++step) {
            ids.push_back(1000 - 7 * step);  // any numbers
            application.make(ids.back(), interval_s * uniform(0.5, 1.5), ratio);
            if (random() % 10 == 0) application.expect_back(ids[random() % ids.size()]);
        }
        for (auto id = ids.rbegin(); id != ids.rend(); ++id) application.expect_back(*id);
        std::shuffle(ids.begin(), ids.end(), random);
        for (const std::uint64_t id : ids) application.expect_back(id);
        EXPECT_LE(application.checkpointer->report().peak_cache_bytes, expected.cache_bytes);
        application.checkpointer.reset();
        EXPECT_EQ(application.device.allocations(), 0u);
    }
}

TEST(Checkpointer, read_backwards_what_comes_next_is_there_or_on_its_way) {
    for (const double ratio : {1.0, 16.0}) {
        const plan::CheckpointProfile expected = small_machine();
        Application application(expected, k_checkpointer_seed);
        for (std::uint64_t id = 0; id < 66; ++id) application.make(id, 50e-6, ratio);
        ASSERT_TRUE(application.checkpointer->flush().ok());
        for (std::uint64_t id = 66; id-- > 0;) {
            application.expect_back(id);
            application.device.work(1e-3);  // the adjoint takes longer than the link
        }
        const CheckpointerReport report = application.checkpointer->report();
        EXPECT_EQ(report.restores, 66u);
        EXPECT_EQ(report.prefetched, 65u);  // all but the first
        // Not waited for: carrying 65 of 66 checkpoints, 80 us each if raw.
        const double copies_s = 66 * (20'000 / 5e9), first_s = 80e-6;
        const double decompress_s = 66 * plan::compress_s(expected.compress_curve, 20'000);
        EXPECT_LE(report.restore_s, 1.01 * (copies_s + first_s + decompress_s)) << report.word;
    }
}

TEST(Checkpointer, told_how_many_there_will_be_it_is_done_sooner) {
    double end_s[2] = {};
    for (const std::uint64_t checkpoints : {0u, 66u}) {
        CheckpointerOptions options;
        options.checkpoints = checkpoints;
        Application application(small_machine(), k_checkpointer_seed + 3, options);
        for (std::uint64_t id = 0; id < 66; ++id) application.make(id, 50e-6, 16.0);
        ASSERT_TRUE(application.checkpointer->flush().ok());
        end_s[checkpoints > 0] = application.device.now_s();
        for (std::uint64_t id = 66; id-- > 0;) application.expect_back(id);
    }
    EXPECT_LT(end_s[1], end_s[0]);
}

TEST(Checkpointer, read_forwards_it_learns_the_direction) {
    Application application(small_machine(), k_checkpointer_seed + 1);
    for (std::uint64_t id = 0; id < 66; ++id) application.make(id, 50e-6, 1.0);
    for (std::uint64_t id = 0; id < 66; ++id) {
        application.expect_back(id);
        application.device.work(1e-3);
    }
    EXPECT_GE(application.checkpointer->report().prefetched, 64u);
}

TEST(Checkpointer, wrong_ids_are_named_and_change_nothing) {
    Application application(small_machine(), k_checkpointer_seed + 2);
    application.make(5, 1e-5, 4.0);
    std::vector<std::byte> data(application.bytes);
    const Status again = application.checkpointer->checkpoint(5, data.data());
    EXPECT_EQ(again.code(), StatusCode::invalid_argument);
    EXPECT_NE(again.message().find("checkpoint 5 exists"), std::string::npos);
    const Status missing = application.checkpointer->restore(6, data.data());
    EXPECT_EQ(missing.code(), StatusCode::invalid_argument);
    EXPECT_NE(missing.message().find("checkpoint 6 was not made"), std::string::npos);
    application.expect_back(5);
    application.make(6, 1e-5, 4.0);
    application.expect_back(6);
    EXPECT_EQ(application.checkpointer->report().word.size(), 2u);
}

/// A wave that has travelled for `step` steps.
std::vector<std::byte> wave(std::uint64_t step, const Shape& shape) {
    std::vector<float> values;
    for (std::uint64_t y = 0; y < shape[0]; ++y)
        for (std::uint64_t x = 0; x < shape[1]; ++x)
            values.push_back(static_cast<float>(
                std::sin(0.11 * static_cast<double>(x) - 0.2 * static_cast<double>(step)) *
                std::cos(0.07 * static_cast<double>(y) + 0.01 * static_cast<double>(x % 7))));
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

double largest_error(std::span<const std::byte> a, std::span<const std::byte> b) {
    double largest = 0.0;
    for (std::size_t at = 0; at < a.size(); at += 4) {
        float x = 0, y = 0;
        std::memcpy(&x, a.data() + at, 4);
        std::memcpy(&y, b.data() + at, 4);
        const double error = std::abs(static_cast<double>(x) - static_cast<double>(y));
        if (!(error <= largest)) largest = error;  // also what is no number
    }
    return largest;
}

TEST(Checkpointer, with_a_bound_every_value_keeps_it_and_the_plan_knows_what_it_wins) {
    const Shape shape{50, 100};  // small_machine()'s 20,000 bytes
    std::map<double, CheckpointerReport> reports;
    for (const double bound : {0.0, 1e-4, 1e-2}) {
        CheckpointerOptions options;
        options.content = {float32, shape, bound > 0.0 ? absolute(bound) : lossless()};
        Application application(small_machine(), k_checkpointer_seed, options);
        Checkpointer& checkpointer = *application.checkpointer;
        for (std::uint64_t id = 0; id < 66; ++id) application.make(id, 20e-6, wave(id, shape));
        double largest = 0.0;
        std::vector<std::byte> back(application.bytes);
        for (std::uint64_t id = 66; id-- > 0;) {
            ASSERT_TRUE(checkpointer.restore(id, back.data()).ok());
            largest = std::max(largest, largest_error(application.made[id], back));
        }
        EXPECT_LE(largest, bound);
        EXPECT_EQ(largest > 0.0, bound > 0.0);  // something was compressed with it
        reports[bound] = checkpointer.report();

        // The next member plans with the sizes that this one came to, and is quicker for it.
        const plan::CheckpointProfile recorded = checkpointer.recorded();
        const double share = static_cast<double>(recorded.compressed_bytes[40]) / 20'000.0;
        if (bound > 0.0) {
            EXPECT_LT(share, 0.5);
        }
        Application next(recorded, k_checkpointer_seed, options);
        for (std::uint64_t id = 0; id < 66; ++id) next.make(id, 20e-6, wave(id, shape));
        ASSERT_TRUE(next.checkpointer->flush().ok());
        EXPECT_LE(next.device.now_s(), 1.05 * plan::together(recorded)->flush_end_s) << bound;
    }
    EXPECT_LT(reports[1e-4].link_bytes, reports[0.0].link_bytes);
    EXPECT_LT(reports[1e-2].link_bytes, reports[1e-4].link_bytes);
}

TEST(Checkpointer, contents_that_cannot_be_are_refused_when_it_is_made) {
    const plan::CheckpointProfile expected = small_machine();
    device::EmulatedDevice device = device_of(expected);
    CheckpointerOptions options;
    options.content = {float32, Shape{50, 101}, absolute(1e-3)};
    EXPECT_EQ(Checkpointer::create(device, expected, options).status().code(),
              StatusCode::invalid_argument);
    options.content = {float32, Shape{50, 100}, relative(1e-3)};
    EXPECT_EQ(Checkpointer::create(device, expected, options).status().code(),
              StatusCode::unsupported);
}

TEST(Checkpointer, what_one_run_recorded_is_what_the_next_one_expects) {
    Application first(small_machine(), k_checkpointer_seed + 3);
    for (std::uint64_t id = 0; id < 66; ++id) first.make(id, 20e-6, 16.0);
    ASSERT_TRUE(first.checkpointer->flush().ok());
    const plan::CheckpointProfile recorded = first.checkpointer->recorded();
    Application second(recorded, k_checkpointer_seed + 4);
    for (std::uint64_t id = 0; id < 66; ++id) second.make(id, 20e-6, 16.0);
    ASSERT_TRUE(second.checkpointer->flush().ok());
    EXPECT_LT(second.device.now_s(), first.device.now_s());
    for (std::uint64_t id = 66; id-- > 0;) second.expect_back(id);
}

/// Cannot compress any more after so many times.
class FailingDevice final : public device::EmulatedDevice {
  public:
    explicit FailingDevice(EmulatedDevice device) : EmulatedDevice(std::move(device)) {}
    Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                   const device::Content& content,
                                   std::span<std::byte> parcel) override {
        if (compressions-- == 0) return Status{StatusCode::io, "the kernel failed"};
        return EmulatedDevice::compress(pieces, content, parcel);
    }
    Status wait_for_work() override {
        return faults ? Status{StatusCode::io, "a fault in the stream"} : Status{};
    }
    int compressions = 0;
    bool faults = false;
};

TEST(Checkpointer, a_fault_that_shows_when_the_work_is_done_is_told_by_the_call_that_gave_it) {
    const plan::CheckpointProfile profile = small_machine();
    FailingDevice device(device_of(profile));
    device.compressions = -1;  // never fails
    std::mt19937_64 random(k_checkpointer_seed);
    std::vector<std::byte> state = synthetic(random, profile.checkpoint_bytes, 4.0);
    auto checkpointer = Checkpointer::create(device, profile);
    ASSERT_TRUE(checkpointer.ok()) << checkpointer.status().message();
    for (const std::uint64_t id : {0, 1})
        ASSERT_TRUE((*checkpointer)->checkpoint(id, state.data()).ok());
    ASSERT_TRUE((*checkpointer)->flush().ok());
    const auto said = [](const Status& status) {
        EXPECT_EQ(status.code(), StatusCode::io);
        EXPECT_NE(status.message().find("a fault in the stream"), std::string::npos);
    };
    device.faults = true;
    said((*checkpointer)->restore(0, state.data()));
    said((*checkpointer)->checkpoint(2, state.data()));
    device.faults = false;
    said((*checkpointer)->checkpoint(3, state.data()));  // it stays
    EXPECT_TRUE((*checkpointer)->restore(0, state.data()).ok());
}

TEST(Checkpointer, after_an_error_of_the_device_what_is_at_the_host_is_restored) {
    plan::CheckpointProfile profile = checkpoint::small_machine(128'000);
    profile.header_bytes = 0;
    for (const int compressions : {4, 6, 9, 12}) {
        FailingDevice device(checkpoint::device_of(profile));
        device.compressions = compressions;
        auto checkpointer = Checkpointer::create(device, profile);
        ASSERT_TRUE(checkpointer.ok()) << checkpointer.status().message();
        std::vector<float> state(profile.checkpoint_bytes / 4);
        std::byte* const bytes = std::as_writable_bytes(std::span(state)).data();
        const auto fill = [&](std::uint64_t id) {
            std::mt19937 random(static_cast<unsigned>(id));
            for (float& x : state)  // each third is noise, which does not shrink
                x = id % 3 == 0 ? static_cast<float>(random()) : static_cast<float>(id);
        };
        std::uint64_t made = 0, restored = 0;
        for (Status status; status.ok() && made < 500; made += status.ok() ? 1 : 0) {
            fill(made);
            device.work(1e-6);
            status = (*checkpointer)->checkpoint(made, bytes);
        }
        ASSERT_LT(made, 500u);
        for (std::uint64_t id = 0; id < made; ++id) {
            const Status status = (*checkpointer)->restore(id, bytes);
            if (!status.ok()) {  // it had not arrived
                EXPECT_NE(status.message().find("the kernel failed"), std::string::npos)
                    << status.message();
                continue;
            }
            ++restored;
            const std::vector<float> back = state;
            fill(id);
            EXPECT_EQ(back, state) << id;
        }
        // All but those that were held for the compression that failed.
        const std::string word = (*checkpointer)->report().word;
        ASSERT_EQ(word.size(), made + 1);
        std::uint64_t held = 0;
        while (held < made && word[made - 1 - held] == 'A') ++held;
        EXPECT_EQ(restored, made - held) << word;
    }
}

}  // namespace
}  // namespace caesura
