// Table sets from dump to dump: a dataset's blocks are coded with what an earlier dump has taught,
// and the dataset itself says with what.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "hdf5/filter/filter.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

constexpr std::uint64_t k_dumps = 4;
constexpr std::uint64_t k_iterations_a_dump = 1'000'000'000;  // never reached: a commit comes
const Shape k_shape{32, 64, 64};
const ErrorBound k_bound = absolute(0.02);

/// Every dump is another field altogether: noise of two levels, of a bell, and so on, each rougher.
std::vector<float> field_of(std::uint64_t dump) {
    std::mt19937 random(11 + static_cast<unsigned>(dump));
    std::normal_distribution<double> bell(0.0, 1.0);
    const double scale = 0.2 * std::pow(3.0, static_cast<double>(dump));
    std::vector<float> values(k_shape.count());
    for (float& value : values) {
        const double level = static_cast<double>(random() % 2);
        const double noise = bell(random);
        value = static_cast<float>(scale * (dump % 2 ? noise : level + 0.01 * noise));
    }
    return values;
}

class WriterTables : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + fmt::format("caesura_tables_{}.h5", ::getpid());
    void TearDown() override { std::filesystem::remove(path_); }

    /// Every dump is on disk before the next is handed over.
    void write(int n_ranks, const CodecSpec& codec = {.name = "caesura"}) {
        std::mutex mutex;
        std::vector<std::string> errors;
        base::run_ranks(n_ranks, [&](std::unique_ptr<Communicator> comm) {
            const Status status = write_as(std::move(comm), codec);
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        });
        ASSERT_TRUE(errors.empty()) << errors[0];
        auto info = store::read_info(path_);
        ASSERT_TRUE(info.ok()) << info.status().message();
        info_ = std::move(*info);
        ASSERT_EQ(info_.datasets.size(), k_dumps);
    }

    Status write_as(std::unique_ptr<Communicator> comm, const CodecSpec& codec) {
        const auto rank = static_cast<std::uint64_t>(comm->rank());
        const auto ranks = static_cast<std::uint64_t>(comm->size());
        WriterOptions options;
        options.codec = codec;
        options.chunk_bytes = 128u << 10;
        options.planning = false;
        options.durable = false;
        auto writer = Writer::create(path_, std::move(comm), options);
        if (!writer.ok()) return writer.status();
        auto rho = (*writer)->define_field("rho", float32, k_shape, k_bound);
        if (!rho.ok()) return rho.status();
        Box box{Shape::filled(3, 0), k_shape};
        box.extent[0] = k_shape[0] / ranks;
        box.offset[0] = rank * box.extent[0];
        for (std::uint64_t n = 0; n < k_dumps; ++n) {
            const std::uint64_t number = n * k_iterations_a_dump;
            auto iteration = (*writer)->begin_iteration(number);
            auto dump = iteration.begin_dump(0.0);
            const auto part = testing::take(field_of(n), k_shape, box);
            (void)dump.put(*rho, box, part.data());
            if (Status status = iteration.end(); !status.ok()) return status;
            for (std::uint64_t i = 1; i < k_iterations_a_dump; ++i) {
                if ((*writer)->committed() == number) break;
                auto empty = (*writer)->begin_iteration(number + i);
                if (Status status = empty.end(); !status.ok()) return status;
            }
        }
        return (*writer)->close();
    }

    hdf5::Settings settings_of(std::uint64_t dump) const {
        const auto& pipeline = info_.datasets[dump].spec.pipeline;
        EXPECT_EQ(pipeline.size(), 1u);
        EXPECT_EQ(pipeline.at(0).id, hdf5::k_filter_id);
        auto settings = hdf5::parse_cd_values(pipeline.at(0).cd_values);
        EXPECT_TRUE(settings.ok()) << settings.status().message();
        return settings.ok() ? *settings : hdf5::Settings{};
    }

    std::vector<FrameInfo> frames_of(std::uint64_t dump) const {
        std::vector<FrameInfo> frames;
        auto file = store::open_for_reading(path_);
        EXPECT_TRUE(file.ok());
        for (const store::ChunkRecord& chunk : info_.datasets[dump].chunks) {
            const auto stored = store::read_chunk(**file, info_.datasets[dump], chunk);
            EXPECT_TRUE(stored.ok()) << stored.status().message();
            const auto frame = read_frame_info(*stored);
            EXPECT_TRUE(frame.ok()) << frame.status().message();
            if (frame.ok()) frames.push_back(*frame);
        }
        return frames;
    }

    /// The set that the counts of a dump's blocks give, compressed one by one with `tables`.
    TableSet taught_by(std::uint64_t dump, const TableSet& tables) const {
        const Shape& chunk = info_.datasets[dump].spec.chunk;
        const auto values = field_of(dump);
        TableStatistics counts;
        CompressOptions options;
        options.tables = &tables;
        options.statistics = &counts;
        Box box{Shape::filled(3, 0), chunk};
        for (box.offset[0] = 0; box.offset[0] < k_shape[0]; box.offset[0] += chunk[0])
            for (box.offset[1] = 0; box.offset[1] < k_shape[1]; box.offset[1] += chunk[1])
                for (box.offset[2] = 0; box.offset[2] < k_shape[2]; box.offset[2] += chunk[2]) {
                    const auto part = testing::take(values, k_shape, box);
                    const auto bytes = std::as_bytes(std::span(part));
                    EXPECT_TRUE(compress(bytes, float32, chunk, k_bound, options).ok());
                }
        return counts.train();
    }

    store::FileInfo info_;
};

// Goal: the first dump has the built-in tables, every later one the set that the counts of all
// blocks of all ranks of the dump before give, no more and no less. It is in the file where stock
// HDF5 finds it, which then reads every value, although every dump is unlike the one before.
TEST_F(WriterTables, every_dump_is_coded_with_what_the_dump_before_has_taught) {
    for (const int n_ranks : {1, 4}) {
        SCOPED_TRACE(fmt::format("{} ranks", n_ranks));
        ASSERT_NO_FATAL_FAILURE(write(n_ranks));
        EXPECT_EQ(settings_of(0).tables, TableSet());
        for (std::uint64_t n = 0; n < k_dumps; ++n) {
            SCOPED_TRACE(fmt::format("dump {}", n));
            const TableSet tables = settings_of(n).tables;
            if (n > 0) {
                EXPECT_NE(tables, settings_of(n - 1).tables);
                EXPECT_EQ(tables, taught_by(n - 1, settings_of(n - 1).tables));
            }
            for (const FrameInfo& frame : frames_of(n))
                EXPECT_TRUE(frame.table_set_id == tables.id() || frame.inline_tables);
            const std::string name = fmt::format("/data/{}/meshes/rho", n * k_iterations_a_dump);
            EXPECT_EQ(testing::broken(field_of(n), testing::read_dataset(path_, name).values,
                                      k_bound.value),
                      "");
        }
    }
}

TEST_F(WriterTables, codecs_that_share_none_have_none) {
    ASSERT_NO_FATAL_FAILURE(write(2, {.name = "none"}));
    for (const store::DatasetInfo& dataset : info_.datasets)
        EXPECT_TRUE(dataset.spec.pipeline.empty());
}

}  // namespace
}  // namespace caesura
