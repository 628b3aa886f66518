// However bad the prediction, the file is right: nothing lost, no hang, counts true.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"
#include "store/region_writer.hpp"

namespace caesura {
namespace {

constexpr unsigned k_writer_overflow_seed = 20221116;

std::string path_of(const std::string& name) {
    return ::testing::TempDir() + "caesura_" + name + "_" + std::to_string(::getpid()) + ".h5";
}

/// One run of a few dumps.
struct Scenario {
    int ranks = 2;
    std::string codec = "caesura";
    Reserve reserve = Reserve::regions;
    double factor = 1.0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t stripe_bytes = 0;
    unsigned dumps = 4;
    int kind = 2;                  // of values: 2 noise, 1 smooth with NaN and infinities
    bool constant_at_odd = false;  // dumps that compress to nothing, then to hardly anything
};

/// Sums over the ranks.
struct Counts {
    std::uint64_t blocks = 0, overflow_blocks = 0, overflow_bytes = 0, stored_bytes = 0;
    std::uint64_t raw_bytes = 0, reserved_bytes = 0, spare_bytes = 0;
    std::vector<std::string> errors, messages;
};

const Shape k_part{32, 64, 32};  // of one rank: two blocks

std::vector<float> values_of(const Scenario& scenario, int rank, unsigned dump) {
    const int kind = scenario.constant_at_odd && dump % 2 == 1 ? 3 : scenario.kind;
    return testing::make_field<float>(
        k_part, k_writer_overflow_seed + 100 * dump + static_cast<unsigned>(rank), kind);
}

Counts run(const std::string& path, const Scenario& scenario) {
    Counts counts;
    std::mutex mutex;
    Shape shape = k_part;
    shape[0] *= static_cast<std::uint64_t>(scenario.ranks);
    base::run_ranks(scenario.ranks, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        const auto note = [&](const Status& status) {
            const std::lock_guard lock(mutex);
            if (!status.ok()) counts.errors.push_back(status.message());
        };
        WriterOptions options;
        options.codec.name = scenario.codec;
        options.chunk_bytes = 64u << 10;
        options.reserve = scenario.reserve;
        options.reserve_factor = scenario.factor;
        options.memory_bytes = scenario.memory_bytes;
        options.stripe_bytes = scenario.stripe_bytes;
        options.durable = false;
        options.on_message = [&](std::string_view text) {
            const std::lock_guard lock(mutex);
            counts.messages.emplace_back(text);
        };
        auto writer = Writer::create(path, std::move(comm), options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        auto field = (*writer)->define_field("f", float32, shape);
        for (unsigned n = 0; n < scenario.dumps; ++n) {
            const auto values = values_of(scenario, rank, n);
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            const Box box{{static_cast<std::uint64_t>(rank) * k_part[0], 0, 0}, k_part};
            note(dump.put(*field, box, values.data()));
            note(iteration.end());
        }
        note((*writer)->close());
        const WriterReport report = (*writer)->report();
        const std::lock_guard lock(mutex);
        counts.blocks += report.blocks;
        counts.overflow_blocks += report.overflow_blocks;
        counts.overflow_bytes += report.overflow_bytes;
        counts.stored_bytes += report.stored_bytes;
        counts.raw_bytes += report.raw_bytes;
        counts.reserved_bytes += report.reserved_bytes;
        counts.spare_bytes += report.spare_bytes;
    });
    return counts;
}

/// Every dump through stock HDF5, every value.
void expect_exact(const std::string& path, const Scenario& scenario) {
    for (unsigned n = 0; n < scenario.dumps; ++n) {
        std::vector<float> expected;
        for (int rank = 0; rank < scenario.ranks; ++rank) {
            const auto part = values_of(scenario, rank, n);
            expected.insert(expected.end(), part.begin(), part.end());
        }
        const auto read = testing::read_dataset(path, "/data/" + std::to_string(n) + "/meshes/f");
        ASSERT_EQ(testing::broken(expected, read.values, 0.0), "") << "dump " << n;
    }
}

/// What must hold of any run: exact, clean, all blocks counted.
void expect_sound(const std::string& path, const Scenario& scenario, const Counts& counts) {
    ASSERT_TRUE(counts.errors.empty()) << counts.errors[0];
    expect_exact(path, scenario);
    EXPECT_EQ(counts.raw_bytes,
              k_part.count() * 4 * static_cast<std::uint64_t>(scenario.ranks) * scenario.dumps);
    EXPECT_LE(counts.overflow_blocks, counts.blocks);
    EXPECT_LE(counts.overflow_bytes, counts.stored_bytes);
    const auto report = store::recover(path, true);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->was_clean);
    EXPECT_EQ(report->committed_dumps, scenario.dumps);
    const auto info = store::read_info(path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    std::uint64_t stored = 0, chunks = 0;
    for (const auto& dataset : info->datasets) {
        stored += dataset.stored_bytes;
        chunks += dataset.chunks.size();
    }
    EXPECT_EQ(chunks, counts.blocks);
    EXPECT_EQ(stored, counts.stored_bytes);
}

class WriterOverflow : public ::testing::TestWithParam<Reserve> {
  protected:
    ~WriterOverflow() override { std::filesystem::remove(path_); }
    std::string path_ = path_of("overflow_" + std::string(to_string(GetParam())));
};

// Goal: predictions times 0, 0.1 and 10 (every prediction that the writer makes really goes through
// WriterOptions::reserve_factor), on one to four ranks, with all the memory there is and with a
// budget that holds less than two dumps: an exact file each time; what did not fit is counted.
TEST_P(WriterOverflow, predictions_of_any_size_give_an_exact_file) {
    for (const double factor : {0.0, 0.1, 1.0, 10.0})
        for (const std::string codec : {"caesura", "none"})
            for (const int ranks : {1, 2, 3, 4}) {
                Scenario scenario;
                scenario.reserve = GetParam();
                scenario.factor = factor;
                scenario.codec = codec;
                scenario.ranks = ranks;
                scenario.memory_bytes = ranks % 2 ? 0 : 200'000;
                SCOPED_TRACE(codec + " * " + std::to_string(factor) + " on " +
                             std::to_string(ranks));
                const Counts counts = run(path_, scenario);
                expect_sound(path_, scenario, counts);
                if (::testing::Test::HasFatalFailure()) return;
                if (factor == 0.0) {
                    EXPECT_EQ(counts.overflow_blocks, counts.blocks);
                } else if (factor < 1.0) {
                    EXPECT_GT(counts.overflow_blocks, 0u);
                } else if (factor > 1.0 || codec == "none") {
                    EXPECT_EQ(counts.overflow_blocks, 0u);
                }
                const bool said = std::any_of(
                    counts.messages.begin(), counts.messages.end(), [](const std::string& text) {
                        return text.find("did not fit") != std::string::npos;
                    });
                EXPECT_EQ(said, counts.overflow_blocks > 0);
            }
}

// Goal: a field that compresses to nothing in one dump and not at all in the next, with NaN and
// infinities in it, makes predictions from the last dumps as wrong as they can be.
TEST_P(WriterOverflow, fields_that_turn_around_from_dump_to_dump_are_exact) {
    for (const int kind : {1, 2}) {
        Scenario scenario;
        scenario.reserve = GetParam();
        scenario.kind = kind;
        scenario.constant_at_odd = true;
        scenario.dumps = 8;
        scenario.memory_bytes = 300'000;
        SCOPED_TRACE(kind);
        expect_sound(path_, scenario, run(path_, scenario));
    }
}

// Goal: space begins at stripes, and the file is as exact as without; what the rounding costs comes
// back, because later dumps use it.
TEST_P(WriterOverflow, stripes_change_where_blocks_lie_and_nothing_else) {
    for (const double factor : {0.1, 1.0}) {
        Scenario scenario;
        scenario.reserve = GetParam();
        scenario.ranks = 3;
        scenario.dumps = 6;
        scenario.factor = factor;
        scenario.stripe_bytes = 1u << 20;
        const Counts counts = run(path_, scenario);
        expect_sound(path_, scenario, counts);
        const auto bytes = std::filesystem::file_size(path_);
        // One stripe a rank, and a few for overflow and for what lies before; not one a dump.
        if (GetParam() == Reserve::regions) {
            EXPECT_LT(bytes, counts.stored_bytes + 14 * scenario.stripe_bytes);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Policies, WriterOverflow,
                         ::testing::Values(Reserve::regions, Reserve::slots),
                         [](const auto& test) { return std::string(to_string(test.param)); });

// Goal: what regions leave over is used again: over many dumps the file stays close to what is
// stored, while slots keep their gaps.
TEST(WriterSpace, regions_use_again_what_they_leave_over) {
    const std::string path = path_of("space");
    Scenario scenario;
    scenario.dumps = 24;
    scenario.kind = 0;
    const Counts regions = run(path, scenario);
    expect_sound(path, scenario, regions);
    const auto with_regions = std::filesystem::file_size(path);
    scenario.reserve = Reserve::slots;
    const Counts slots = run(path, scenario);
    expect_sound(path, scenario, slots);
    const auto with_slots = std::filesystem::file_size(path);
    EXPECT_EQ(regions.stored_bytes, slots.stored_bytes);
    EXPECT_LT(with_regions, with_slots);
    RecordProperty("regions_over_stored",
                   std::to_string(static_cast<double>(with_regions) /
                                  static_cast<double>(regions.stored_bytes)));
    RecordProperty("slots_over_stored", std::to_string(static_cast<double>(with_slots) /
                                                       static_cast<double>(slots.stored_bytes)));
    EXPECT_EQ(slots.spare_bytes, 0u);
    std::filesystem::remove(path);
}

// Goal: the counters agree also where stripes skip space: what is spare was reserved before.
TEST(WriterSpace, what_is_spare_is_part_of_what_was_reserved) {
    const std::string path = path_of("spare");
    WriterOptions options;
    options.codec.name = "none";
    options.chunk_bytes = 64u << 10;
    options.stripe_bytes = 1u << 20;
    options.durable = false;
    auto writer = Writer::create(path, nullptr, options);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    auto field = (*writer)->define_field("f", float32, k_part);
    ASSERT_TRUE(field.ok());
    const auto values = values_of({}, 0, 0);
    auto iteration = (*writer)->begin_iteration(0);
    auto dump = iteration.begin_dump(0.0);
    ASSERT_TRUE(dump.put(*field, {{0, 0, 0}, k_part}, values.data()).ok());
    ASSERT_TRUE(iteration.end().ok());
    for (std::uint64_t n = 1; !(*writer)->committed(); ++n) {
        auto empty = (*writer)->begin_iteration(n);
        ASSERT_TRUE(empty.end().ok());
    }
    const WriterReport report = (*writer)->report();
    EXPECT_EQ(report.reserved_bytes % options.stripe_bytes,
              options.stripe_bytes - store::first_region_address());
    EXPECT_GT(report.spare_bytes, 0u);
    EXPECT_LE(report.spare_bytes + report.stored_bytes, report.reserved_bytes);
    ASSERT_TRUE((*writer)->close().ok());
    std::filesystem::remove(path);
}

// Goal: what one rank was given wrongly is refused on all; none waits for it.
TEST(WriterSpace, one_ranks_options_are_refused_on_all_ranks) {
    std::atomic<int> refused{0};
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        WriterOptions options;
        if (comm->rank() == 1) options.reserve = static_cast<Reserve>(0xff);
        const auto writer = Writer::create(path_of("refused"), std::move(comm), options);
        refused += !writer.ok() && writer.status().message().starts_with("rank 1: no reserve");
    });
    EXPECT_EQ(refused, 3);
}

// Goal: options that make no sense are refused with their value.
TEST(WriterSpace, refuses_options_by_name) {
    struct Refusal {
        std::function<void(WriterOptions&)> set;
        std::string word;
    };
    const std::vector<Refusal> cases = {
        {[](auto& o) { o.reserve_factor = std::nan(""); }, "reserve_factor is nan"},
        {[](auto& o) { o.reserve_factor = -1.0; }, "reserve_factor is -1"},
        {[](auto& o) { o.reserve_sigmas = std::nan(""); }, "reserve_sigmas is nan"},
        {[](auto& o) { o.slot_space = 0.9; }, "slot_space is 0.9"},
        {[](auto& o) { o.slot_speed_weight = 1.5; }, "slot_speed_weight is 1.5"},
        {[](auto& o) { o.reserve = static_cast<Reserve>(0xff); }, "reserve has the number 255"},
        {[](auto& o) { o.algorithm = static_cast<plan::Algorithm>(0xff); },
         "algorithm has the number 255"},
        {[](auto& o) { o.stripe_bytes = 6144; }, "stripe_bytes is 6144"},
        {[](auto& o) { o.stripe_bytes = 2048; }, "stripe_bytes is 2048"},
    };
    for (const Refusal& c : cases) {
        WriterOptions options;
        c.set(options);
        const auto writer = Writer::create(path_of("refused"), nullptr, options);
        ASSERT_FALSE(writer.ok()) << c.word;
        EXPECT_EQ(writer.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(writer.status().message().find(c.word), std::string::npos)
            << writer.status().message();
    }
}

}  // namespace
}  // namespace caesura
