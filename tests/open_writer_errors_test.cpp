// Bad luck, misuse and learning of an OpenWriter.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

#include "application_file.hpp"
#include "base/file.hpp"
#include "base/thread_communicator.hpp"
#include "limited_file_system.hpp"
#include "stock_reader.hpp"
#include "store/scan.hpp"
#include "writer/open_writer.hpp"

namespace caesura::writer {
namespace {

using testing::ApplicationFile;
using testing::require;

constexpr std::uint64_t k_values = 40'000;

class OpenWriterErrors : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_open_errors_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
};

WriterOptions quick() {
    WriterOptions options;
    options.durable = false;
    options.calibration_path = "none";
    return options;
}

DatasetDefinition rho(const std::string& path = "/rho") {
    DatasetDefinition dataset;
    dataset.path = path;
    dataset.dims = {k_values};
    dataset.chunk = {8000};
    return dataset;
}

std::vector<float> wave(std::uint64_t n, double phase) {
    std::vector<float> values(n);
    for (std::uint64_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(std::sin(0.003 * static_cast<double>(i) + phase));
    return values;
}

/// This rank's part of "/rho".
Box part_of(int rank, int size) {
    const std::uint64_t n = k_values / static_cast<std::uint64_t>(size);
    return {{n * static_cast<std::uint64_t>(rank)}, {n}};
}

Status put(OpenWriter& writer, Field field, const Box& box, double phase) {
    const auto whole = wave(k_values, phase);
    return writer.put(field, box, whole.data() + box.offset[0], float32);
}

struct Opened {
    std::unique_ptr<ApplicationFile> file;
    std::unique_ptr<OpenWriter> writer;
    Field field;
};

Opened open(base::FileSystem& files, const std::string& path, Communicator& of_file,
            std::unique_ptr<Communicator> of_writer, std::shared_ptr<Experience> experience = {},
            const DatasetDefinition& dataset = rho()) {
    Opened out;
    out.file = std::make_unique<ApplicationFile>(files, path, of_file, true);
    const auto target = out.file->target(*of_writer);
    auto writer =
        OpenWriter::make(target, std::move(of_writer), quick(), std::move(experience), {});
    require(writer.status());
    out.writer = std::move(*writer);
    auto field = out.writer->define(dataset);
    require(field.status());
    out.field = *field;
    out.file->create_dataset(dataset, dataset.dims, out.writer->pipeline(out.field));
    return out;
}

double difference(const std::string& path, double phase) {
    const auto read = testing::read_dataset(path, "/rho");
    const auto values = wave(k_values, phase);
    double most = read.values.size() == values.size() ? 0.0 : 1e9;
    for (std::size_t i = 0; i < values.size() && most < 1e9; ++i)
        most = std::max(most, std::abs(read.values[i] - static_cast<double>(values[i])));
    return most;
}

TEST_F(OpenWriterErrors, metadata_alone_are_committed) {
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(of_writer));
        the.file->attribute("answer", 42.0);
        require(the.writer->close());
        EXPECT_EQ(the.writer->next_dump(), 0u);
    });
    EXPECT_EQ(testing::read_dataset(path_, "/rho").shape, (std::vector<std::uint64_t>{k_values}));
}

// Goal: the same chunks again and again: the newest values are there, and what lies unused in the
// file is known.
TEST_F(OpenWriterErrors, what_is_written_again_is_counted_and_the_newest_is_read) {
    for (const int size : {1, 2, 4}) {
        std::uint64_t superseded = 0, stored = 0;
        std::mutex mutex;
        testing::run_application(size, [&](auto of_file, auto of_writer) {
            const int rank = of_file->rank();
            Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(of_writer));
            for (int n = 0; n < 3; ++n) {
                require(put(*the.writer, the.field, part_of(rank, size), n));
                require(n == 1 ? the.writer->flush() : the.writer->end());
            }
            require(the.writer->close());
            const WriterReport report = the.writer->report();
            const std::scoped_lock lock(mutex);
            superseded += report.superseded_bytes;
            stored += report.stored_bytes;
        });
        EXPECT_EQ(difference(path_, 2), 0.0);
        EXPECT_GT(superseded, stored / 2);
        EXPECT_LT(superseded, stored);
    }
}

// Goal: a file that is closed and opened again goes on where it was.
TEST_F(OpenWriterErrors, a_file_that_is_opened_again_keeps_what_it_has) {
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(of_writer));
        require(put(*the.writer, the.field, {{0}, {k_values / 2}}, 1));
        require(the.writer->close());
        the.writer.reset();
        the.file.reset();
        require(of_file->barrier());
        ApplicationFile again(base::FileSystem::posix(), path_, *of_file, false);
        EXPECT_EQ(again.next_dump(), 1u);
    });
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        const int rank = of_file->rank();
        ApplicationFile file(base::FileSystem::posix(), path_, *of_file, false);
        const auto keep = [&](Field, std::uint64_t, const Box& part, std::span<std::byte> values) {
            return file.read("/rho", part, values);
        };
        const auto target = file.target(*of_writer);
        auto writer = OpenWriter::make(target, std::move(of_writer), quick(), nullptr, keep);
        require(writer.status());
        auto field = (*writer)->define(rho());
        require(field.status());
        const Box box{{k_values / 2 - 100}, {k_values / 2 + 100}};
        if (rank == 1) require(put(**writer, *field, box, 1));
        require((*writer)->close());
    });
    EXPECT_EQ(difference(path_, 1), 0.0);
}

TEST_F(OpenWriterErrors, trees_that_differ_are_an_error_on_all_ranks) {
    int told = 0;
    std::mutex mutex;
    testing::run_application(3, [&](auto of_file, auto of_writer) {
        const int rank = of_file->rank();
        Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(of_writer));
        if (rank == 1) the.file->create_dataset(rho("/other"), {k_values}, {});
        const Status status = the.writer->end();
        EXPECT_FALSE(the.writer->close().ok());
        const std::scoped_lock lock(mutex);
        told += status.code() == StatusCode::internal &&
                status.message().find("rank 1") != std::string::npos;
    });
    EXPECT_EQ(told, 3);
}

TEST_F(OpenWriterErrors, an_error_of_one_caller_ends_all_commits) {
    int told = 0;
    std::mutex mutex;
    testing::run_application(3, [&](auto of_file, auto of_writer) {
        const int rank = of_file->rank();
        Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(of_writer));
        const Status mine =
            rank == 2 ? Status{StatusCode::io, "raw data could not be written"} : Status{};
        const Status status = the.writer->end(mine);
        const Status closed = the.writer->close();
        const std::scoped_lock lock(mutex);
        told += status.code() == StatusCode::io && closed.code() == StatusCode::io &&
                closed.message().find("raw data") != std::string::npos;
    });
    EXPECT_EQ(told, 3);
    EXPECT_TRUE(testing::read_dataset(path_, "/rho").shape.empty());
}

TEST_F(OpenWriterErrors, a_wrong_put_is_told_to_its_caller_alone) {
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        const int rank = of_file->rank();
        Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(of_writer));
        require(put(*the.writer, the.field, part_of(rank, 2), 5));
        const std::vector<double> wrong(8);
        if (rank == 1) {
            EXPECT_EQ(the.writer->put(the.field, {{0}, {8}}, wrong.data(), float64).code(),
                      StatusCode::invalid_argument);
        }
        require(the.writer->end());
        require(the.writer->close());
    });
    EXPECT_EQ(difference(path_, 5), 0.0);
}

// Goal: whatever call of the communicator fails on one rank, nobody hangs, and that rank learns it.
TEST_F(OpenWriterErrors, a_communicator_that_fails_anywhere_hangs_nobody) {
    int failures = 0;
    for (int fail_at = 0; fail_at < 40; ++fail_at) {
        bool failed = false;
        testing::run_application(2, [&](auto of_file, auto of_writer) {
            const int rank = of_file->rank();
            ApplicationFile file(base::FileSystem::posix(), path_, *of_file, true);
            auto comm = rank == 1 ? base::make_failing_communicator(std::move(of_writer), fail_at)
                                  : std::move(of_writer);
            const auto target = file.target(*comm);
            auto writer = OpenWriter::make(target, std::move(comm), quick(), nullptr, {});
            bool ok = writer.ok();
            if (ok) {
                auto field = (*writer)->define(rho());
                require(field.status());
                file.create_dataset(rho(), {k_values}, (*writer)->pipeline(*field));
                for (int n = 0; n < 3; ++n) {
                    (void)put(**writer, *field, part_of(rank, 2), n);
                    ok &= (n == 1 ? (*writer)->flush() : (*writer)->end()).ok();
                }
                ok &= (*writer)->close().ok();
            }
            if (rank == 1) failed = !ok;
        });
        failures += failed;
        if (!failed) break;  // all calls were made before
    }
    EXPECT_GE(failures, 15);
    EXPECT_LT(failures, 40) << "the last round must have made all its calls";
}

// Goal: wherever the disk becomes full, all ranks learn it, and the file is as of its last commit.
TEST_F(OpenWriterErrors, a_full_disk_is_no_space_everywhere_and_loses_nothing_committed) {
    int full = 0, whole = 0;
    for (std::int64_t room = 60'000; room < 1'500'000; room += 130'000) {
        testing::LimitedFileSystem files(room);
        std::mutex mutex;
        std::vector<StatusCode> codes;
        std::uint64_t committed = 0;
        testing::run_application(2, [&](auto of_file, auto of_writer) {
            const int rank = of_file->rank();
            Opened the = open(files, path_, *of_file, std::move(of_writer));
            for (int n = 0; n < 8; ++n) {
                (void)put(*the.writer, the.field, part_of(rank, 2), n);
                if (!the.writer->flush().ok()) break;
            }
            const Status closed = the.writer->close();
            const std::scoped_lock lock(mutex);
            codes.push_back(closed.code());
            committed = the.writer->committed_dumps();
        });
        ASSERT_EQ(codes.size(), 2u);
        EXPECT_EQ(codes[0], codes[1]) << room;
        EXPECT_TRUE(codes[0] == StatusCode::ok || codes[0] == StatusCode::no_space) << room;
        ++(codes[0] == StatusCode::ok ? whole : full);
        if (committed > 0) {
            EXPECT_EQ(difference(path_, static_cast<double>(committed - 1)), 0.0) << room;
        }
    }
    EXPECT_GT(full, 0);
    EXPECT_GT(whole, 0);
}

// Goal: once the lanes are done with a file that was closed, all its blocks lie in it, also those
// that found no room and wait for the next collective call: `recover` may need them.
TEST_F(OpenWriterErrors, a_closed_file_has_every_block_before_its_commit) {
    WriterOptions options = quick();
    options.reserve_factor = 0.05;
    options.reserve_sigmas = 0.0;
    std::uint64_t found = 0, blocks = 0, overflowed = 0, spill_end = 0;
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        const int rank = of_file->rank();
        ApplicationFile file(base::FileSystem::posix(), path_, *of_file, true);
        const auto target = file.target(*of_writer);
        auto writer = OpenWriter::make(target, std::move(of_writer), options, {}, {});
        require(writer.status());
        const auto field = (*writer)->define(rho());
        require(field.status());
        file.create_dataset(rho(), rho().dims, (*writer)->pipeline(*field));
        require(put(**writer, *field, part_of(rank, 2), 1));
        require((*writer)->pause());
        while (!(*writer)->finished()) std::this_thread::yield();
        require(of_file->barrier());
        if (rank == 0) {
            store::SharedFile& shared = target.ledger.file();
            const auto bytes = shared.file().size();
            require(bytes.status());
            const auto regions = store::scan_regions(shared.file(), shared.run(), *bytes);
            require(regions.status());
            for (const store::FoundRegion& region : *regions)
                for (const store::ChunkRecord& block : region.blocks)
                    found += store::is_intact(shared.file(), block).value();
            spill_end = (*writer)->spill_end();
            EXPECT_LE(*bytes, spill_end);
        }
        require(of_file->barrier());
        require((*writer)->close());
        static std::mutex mutex;
        const std::scoped_lock lock(mutex);
        blocks += (*writer)->report().blocks;
        overflowed += (*writer)->report().overflow_blocks;
    });
    EXPECT_GT(overflowed, 0u);
    EXPECT_EQ(found, blocks);
    EXPECT_EQ(difference(path_, 1), 0.0);
    EXPECT_LT(std::filesystem::file_size(path_), spill_end) << "the commit cuts the hole off";
}

// Goal: an application that makes a file for each dump gets better predictions and table sets with
// every file, the same sets on all ranks.
TEST_F(OpenWriterErrors, what_one_file_taught_the_next_one_knows) {
    std::mutex mutex;
    std::vector<std::vector<unsigned>> first, second;
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        const int rank = of_file->rank();
        auto experience = std::make_shared<Experience>();
        DatasetDefinition dataset = rho();
        dataset.bound = absolute(1e-4);
        const auto write = [&](std::unique_ptr<Communicator> comm, int n) {
            Opened the = open(base::FileSystem::posix(), path_, *of_file, std::move(comm),
                              experience, dataset);
            require(put(*the.writer, the.field, part_of(rank, 2), n));
            require(the.writer->pause());
            EXPECT_TRUE(experience->observer.running());
            require(the.writer->close());
            const std::scoped_lock lock(mutex);
            (n == 0 ? first : second).push_back(the.writer->pipeline(the.field)[0].cd_values);
        };
        static std::vector<std::unique_ptr<Communicator>> more;
        if (rank == 0) more = base::make_thread_communicators(2);
        require(of_file->barrier());
        auto next = std::move(more[static_cast<std::size_t>(rank)]);
        write(std::move(of_writer), 0);
        require(of_file->barrier());  // nobody has the first file open
        write(std::move(next), 1);
    });
    ASSERT_EQ(first.size(), 2u);
    ASSERT_EQ(second.size(), 2u);
    EXPECT_EQ(first[0], first[1]);
    EXPECT_EQ(second[0], second[1]);
    EXPECT_NE(first[0], second[0]) << "a table set made of the first file's blocks";
    EXPECT_LE(difference(path_, 1), 1e-4);
}

TEST(OpenWriterAxes, of_extent_one_are_left_out_where_they_never_grow) {
    using Axes = std::vector<std::uint64_t>;
    const auto kept = [](const Axes& dims, const Axes& most) {
        const auto axes = fold_axes(dims, most);
        return axes.ok() ? *axes : std::vector<int>{};
    };
    EXPECT_EQ(kept({3, 1, 4}, {3, 1, 4}), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(kept({1, 1, 5, 6, 7}, {1, 1, 5, 6, 7}), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(kept({1, 2, 1, 5, 6}, {~0ull, 2, 1, 5, 6}), (std::vector<int>{0, 1, 3, 4}));
    // Where more than four are left, neighbours join; each is known by the first of its axes.
    EXPECT_EQ(kept({2, 2, 2, 2, 2}, {2, 2, 2, 2, 2}), (std::vector<int>{0, 2, 3, 4}));
    EXPECT_EQ(kept({1, 2, 2, 2, 2}, {9, 2, 2, 2, 2}), (std::vector<int>{0, 2, 3, 4}));
}

TEST(OpenWriterExperience, a_path_with_other_numbers_starts_from_the_newest_like_it) {
    Experience experience;
    const CodecSpec codec;
    FieldModels& first = experience.of_field("/step_9/rho", codec, float32, {8, 8});
    predict::Features features;
    features.bits_per_value = 4.0;
    features.values = 64'000;
    for (int i = 0; i < 20; ++i) first.sizes.learn(features, 4'000);
    const double learned = first.sizes.predict(features).mean;
    const auto mean_of = [&](const std::string& path, const Shape& chunk) {
        return experience.of_field(path, codec, float32, chunk).sizes.predict(features).mean;
    };
    EXPECT_EQ(mean_of("/step_10/rho", {8, 8}), learned);
    EXPECT_NE(mean_of("/step_10/rho", {16, 8}), learned) << "other chunks";
    EXPECT_NE(mean_of("/step_10/velocity", {8, 8}), learned) << "another field";
    EXPECT_EQ(&experience.of_field("/step_9/rho", codec, float32, {8, 8}), &first);
}

}  // namespace
}  // namespace caesura::writer
