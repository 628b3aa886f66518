// Goal: a Reader of a series has all its dumps in one list and reads each from its own file, alone
// and on all ranks together, also beside a Writer that goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"

namespace caesura {
namespace {

const Shape k_all{12, 40};

std::vector<double> values_of(std::uint64_t iteration) {
    std::vector<double> values(k_all.count());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 1000.0 * static_cast<double>(iteration) + static_cast<double>(i);
    return values;
}

class ReaderSeries : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = std::filesystem::path(::testing::TempDir()) /
                 fmt::format("caesura_reader_series_{}_{}", ::getpid(),
                             ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(place_);
        std::filesystem::create_directories(place_);
    }
    void TearDown() override { std::filesystem::remove_all(place_); }

    std::string pattern() const { return (place_ / "run_%04T.h5").string(); }

    std::unique_ptr<Writer> begin(std::uint64_t dumps_per_file) {
        WriterOptions options;
        options.durable = false;
        options.chunk_bytes = 64u << 10;
        options.calibration_path = "none";
        options.dumps_per_file = dumps_per_file;
        auto writer = Writer::create(pattern(), nullptr, options);
        EXPECT_TRUE(writer.ok());
        rho_ = *(*writer)->define_field("rho", float64, k_all, lossless());
        return std::move(*writer);
    }
    void dump(Writer& writer, std::uint64_t number) const {
        auto iteration = writer.begin_iteration(number);
        auto one = iteration.begin_dump(0.25 * static_cast<double>(number));
        const auto values = values_of(number);
        EXPECT_TRUE(one.put(rho_, {{0, 0}, k_all}, values.data()).ok());
        const Status ended = iteration.end();
        EXPECT_TRUE(ended.ok()) << ended.message();
    }

    std::filesystem::path place_;
    Field rho_;
};

std::vector<std::uint64_t> iterations(const Reader& reader) {
    std::vector<std::uint64_t> all;
    for (const DumpInfo& dump : reader.dumps()) all.push_back(dump.iteration);
    return all;
}

std::vector<double> read(const Reader& reader, std::uint64_t iteration) {
    std::vector<double> values(k_all.count());
    const auto field = reader.find("rho", iteration);
    EXPECT_TRUE(field.ok()) << field.status().message();
    const Status status =
        reader.read(*field, {{0, 0}, k_all}, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
}

TEST_F(ReaderSeries, has_the_dumps_of_all_files) {
    for (const std::uint64_t each : {1u, 3u}) {
        {
            auto writer = begin(each);
            for (std::uint64_t n = 0; n < 5; ++n) dump(*writer, 7 * n);
            ASSERT_TRUE(writer->close().ok());
        }
        auto reader = Reader::open(pattern());
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        EXPECT_EQ(iterations(**reader), (std::vector<std::uint64_t>{0, 7, 14, 21, 28}));
        EXPECT_EQ((*reader)->fields().size(), 5u);
        for (std::uint64_t n = 0; n < 5; ++n) {
            EXPECT_EQ(read(**reader, 7 * n), values_of(7 * n));
            EXPECT_EQ((*reader)->dumps()[n].time, 0.25 * static_cast<double>(7 * n));
            EXPECT_TRUE((*reader)->find(fmt::format("/data/{}/meshes/rho", 7 * n)).ok());
        }
        EXPECT_FALSE((*reader)->find("rho", 3).ok());
        EXPECT_FALSE((*reader)->attributes().empty());
    }
}

TEST_F(ReaderSeries, goes_on_with_files_that_come) {
    auto writer = begin(1);
    dump(*writer, 0);
    ASSERT_TRUE(writer->finish_by(60.0).ok());
    auto reader = Reader::open(pattern());
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ(iterations(**reader), std::vector<std::uint64_t>{0});
    std::ofstream(place_ / "run_0009.h5");  // just made
    dump(*writer, 1);
    ASSERT_TRUE(writer->finish_by(60.0).ok());
    const auto changed = (*reader)->refresh();
    ASSERT_TRUE(changed.ok()) << changed.status().message();
    EXPECT_TRUE(*changed);
    EXPECT_EQ(iterations(**reader), (std::vector<std::uint64_t>{0, 1}));
    EXPECT_EQ(read(**reader, 1), values_of(1));
    ASSERT_TRUE(writer->close().ok());
}

TEST_F(ReaderSeries, names_what_is_wrong_with_its_files) {
    EXPECT_EQ(Reader::open(pattern()).status().code(), StatusCode::io);
    {
        auto writer = begin(1);
        dump(*writer, 3);
        ASSERT_TRUE(writer->close().ok());
    }
    std::filesystem::copy_file(place_ / "run_0003.h5", place_ / "run_0004.h5");
    const Status twice = Reader::open(pattern()).status();
    EXPECT_EQ(twice.code(), StatusCode::invalid_argument);
    EXPECT_NE(twice.message().find("iteration 3"), std::string::npos) << twice.message();
    EXPECT_NE(twice.message().find("run_0004.h5"), std::string::npos) << twice.message();
    std::ofstream(place_ / "run_0004.h5", std::ios::trunc) << "no HDF5 file, long enough for one";
    const Status broken = Reader::open(pattern()).status();
    EXPECT_FALSE(broken.ok());
    EXPECT_NE(broken.message().find("run_0004.h5"), std::string::npos) << broken.message();
}

TEST_F(ReaderSeries, reads_together_what_ranks_want_of_different_files) {
    {
        auto writer = begin(1);
        for (std::uint64_t n = 0; n < 3; ++n) dump(*writer, n);
        ASSERT_TRUE(writer->close().ok());
    }
    std::mutex mutex;
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        const auto rank = static_cast<std::uint64_t>(comm->rank());
        auto reader = Reader::open(pattern(), std::move(comm));
        const std::uint64_t wanted = rank == 2 ? 0 : rank;  // two want the same
        std::vector<double> values(k_all.count());
        const Status status = (*reader)->read_all(*(*reader)->find("rho", wanted), {{0, 0}, k_all},
                                                  std::as_writable_bytes(std::span(values)));
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(values, values_of(wanted));
    });
}

}  // namespace
}  // namespace caesura
