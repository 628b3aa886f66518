// Bad input and bad luck: every one a Status that names what is wrong, on all ranks, without a hang
// and without losing what was committed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "hdf5/block_codec.hpp"
#include "limited_file_system.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterErrors : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_errors_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }

    static WriterOptions plain() { return {.codec = {.name = "none"}, .chunk_bytes = 64u << 10}; }
};

void expect_invalid(const Status& status, std::initializer_list<const char*> words) {
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.message();
    for (const char* word : words)
        EXPECT_NE(status.message().find(word), std::string::npos)
            << "no '" << word << "' in: " << status.message();
}

TEST_F(WriterErrors, a_path_that_cannot_be_written_is_named_on_all_ranks) {
    std::mutex mutex;
    int named = 0;
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        auto writer = Writer::create("/nonexistent/run.h5", std::move(comm), plain());
        const std::lock_guard lock(mutex);
        named += !writer.ok() && writer.status().code() == StatusCode::io &&
                 writer.status().message().find("/nonexistent/run.h5") != std::string::npos;
    });
    EXPECT_EQ(named, 3);
}

TEST_F(WriterErrors, definitions_that_make_no_sense_are_refused_with_their_value) {
    auto writer = Writer::create(path_, nullptr, plain());
    ASSERT_TRUE(writer.ok());
    Writer& w = **writer;
    const auto status = [&](const std::string& name, const Shape& shape, const ErrorBound& bound) {
        auto field = w.define_field(name, float32, shape, bound);
        return field.ok() ? Status{} : field.status();
    };
    expect_invalid(status("rho", {4}, absolute(std::nan(""))), {"rho", "nan"});
    expect_invalid(status("rho", {4}, absolute(0.0)), {"rho", "0"});
    expect_invalid(status("rho", {4}, absolute(-1.0)), {"rho", "-1"});
    expect_invalid(status("rho", {4}, relative(1.5)), {"rho", "1.5"});
    expect_invalid(status("rho", {4, 0}, absolute(1.0)), {"rho", "[4, 0]"});
    expect_invalid(status("rho", Shape{}, absolute(1.0)), {"rho"});
    expect_invalid(status("a/b/c", {4}, absolute(1.0)), {"a/b/c"});
    expect_invalid(status("", {4}, absolute(1.0)), {"''"});
    ASSERT_TRUE(status("rho", {4}, absolute(1.0)).ok());
    expect_invalid(status("rho", {4}, absolute(1.0)), {"rho", "already"});
    expect_invalid(status("rho/x", {4}, absolute(1.0)), {"rho/x"});
    ASSERT_TRUE(w.close().ok());
}

TEST_F(WriterErrors, a_plugin_that_is_not_there_is_refused_at_definition) {
    WriterOptions options = plain();
    options.codec.name = "filter:31999";
    options.codec.cd_values = {1};
    auto writer = Writer::create(path_, nullptr, options);
    ASSERT_TRUE(writer.ok());
    const auto field = (*writer)->define_field("rho", float32, {8}, absolute(1.0));
    ASSERT_FALSE(field.ok());
    EXPECT_EQ(field.status().code(), StatusCode::unsupported) << field.status().message();
    EXPECT_NE(field.status().message().find("31999"), std::string::npos);
}

TEST_F(WriterErrors, bad_puts_name_field_rank_and_value_and_the_next_dump_works) {
    auto writer = Writer::create(path_, nullptr, plain());
    ASSERT_TRUE(writer.ok());
    auto field = (*writer)->define_field("rho", float32, {8, 8});
    const std::vector<float> values(64, 1.0f);
    const std::vector<double> doubles(64, 1.0);
    {
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        expect_invalid(dump.put(*field, {{0, 0}, {8, 9}}, values.data()), {"rho", "rank 0", "9"});
        expect_invalid(dump.put(*field, {{~0ull, 0}, {8, 8}}, values.data()), {"rho", "axis 0"});
        expect_invalid(dump.put(*field, {{0}, {8}}, values.data()), {"rho", "axes"});
        expect_invalid(dump.put(*field, {{0, 0}, {8, 8}}, doubles.data()), {"rho", "float64"});
        expect_invalid(dump.put(*field, {{0, 0}, {8, 8}}, static_cast<float*>(nullptr)), {"null"});
        expect_invalid(dump.put(Field{17}, {{0, 0}, {8, 8}}, values.data()), {"17"});
        expect_invalid(iteration.end(), {"rho", "9"});
    }
    {
        auto iteration = (*writer)->begin_iteration(1);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(dump.put(*field, {{0, 0}, {8, 8}}, values.data()).ok());
        const Status status = iteration.end();
        EXPECT_TRUE(status.ok()) << status.message();
    }
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_EQ(testing::iterations(path_), (std::vector<std::int64_t>{1}));
}

TEST_F(WriterErrors, calls_out_of_order_are_reported_and_do_no_harm) {
    auto writer = Writer::create(path_, nullptr, plain());
    auto field = (*writer)->define_field("rho", float32, {8});
    const std::vector<float> values(8, 1.0f);
    auto first = (*writer)->begin_iteration(0);
    auto dump = first.begin_dump(0.0);
    ASSERT_TRUE(dump.put(*field, {{0}, {8}}, values.data()).ok());
    ASSERT_TRUE(first.end().ok());
    expect_invalid(first.end(), {"outside"});
    expect_invalid(dump.put(*field, {{0}, {8}}, values.data()), {"outside a dump"});
    {
        auto again = (*writer)->begin_iteration(0);
        (void)again.begin_dump(0.0);
        expect_invalid(again.end(), {"0", "before"});
    }
    {
        auto open = (*writer)->begin_iteration(1);
        auto nested = (*writer)->begin_iteration(2);
        expect_invalid(nested.end(), {"begin_iteration(2)", "has not been ended"});
    }
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_TRUE((*writer)->close().ok());
    auto late = (*writer)->begin_iteration(3);
    EXPECT_FALSE(late.end().ok());
    EXPECT_EQ(testing::iterations(path_), (std::vector<std::int64_t>{0}));
}

// Goal: one rank's mistake is everyone's Status at the next collective, and the run goes on.
TEST_F(WriterErrors, one_ranks_mistake_is_known_to_all_and_costs_one_dump) {
    enum Mistake { overlap, hole, bad_box, other_fields, k_mistakes };
    for (int mistake = overlap; mistake < k_mistakes; ++mistake) {
        std::mutex mutex;
        std::vector<std::string> first, second;
        base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
            const auto rank = static_cast<std::uint64_t>(comm->rank());
            auto writer = Writer::create(path_, std::move(comm), plain());
            auto field = (*writer)->define_field("rho", float32, {30, 10});
            if (mistake == other_fields && rank == 1)
                (void)(*writer)->define_field("extra", float32, {2});
            const std::vector<float> values(1000, 1.0f);
            for (std::uint64_t n = 0; n < 2; ++n) {
                Box box{{rank * 10, 0}, {10, 10}};
                const bool wrong = n == 0 && rank == 1;
                if (wrong && mistake == overlap) box.offset[0] = 5;
                if (wrong && mistake == hole) box.extent[0] = 9;
                if (wrong && mistake == bad_box) box.extent[1] = 11;
                auto iteration = (*writer)->begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                (void)dump.put(*field, box, values.data());
                const Status status = iteration.end();
                const std::lock_guard lock(mutex);
                (n == 0 ? first : second).push_back(status.message());
            }
            EXPECT_EQ((*writer)->report().lost_dumps, mistake == other_fields ? 2u : 1u);
            (void)(*writer)->close();
            const WriterReport report = (*writer)->report();
            EXPECT_EQ(report.lost_dumps, mistake == other_fields ? 2u : 1u);
            // A put that was refused has handed nothing over.
            const std::uint64_t taken = mistake == other_fields ? 200
                                        : rank != 1             ? 100
                                        : mistake == hole       ? 90
                                        : mistake == bad_box    ? 0
                                                                : 100;
            EXPECT_EQ(report.lost_bytes, taken * sizeof(float)) << rank << " " << mistake;
        });
        ASSERT_EQ(first.size(), 3u);
        for (const std::string& message : first) {
            EXPECT_FALSE(message.empty()) << "mistake " << mistake;
            EXPECT_EQ(message, first[0]) << "the same on all ranks";
        }
        if (mistake == other_fields) continue;  // stays wrong
        for (const std::string& message : second) EXPECT_EQ(message, "") << "mistake " << mistake;
        EXPECT_EQ(testing::iterations(path_), (std::vector<std::int64_t>{1}));
    }
}

// Goal: what one rank has done wrong before close() ends the close() of all, by the same words. No
// dump is open, so that no end() tells it before; what was handed over is committed.
TEST_F(WriterErrors, one_ranks_mistake_before_close_is_known_to_all) {
    for (const int culprit : {0, 1, 2}) {
        std::mutex mutex;
        std::vector<Status> closed;
        base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            auto writer = Writer::create(path_, std::move(comm), plain());
            auto field = (*writer)->define_field("rho", float32, {30, 10});
            const std::vector<float> values(100, 1.0f);
            {
                auto iteration = (*writer)->begin_iteration(0);
                auto dump = iteration.begin_dump(0.0);
                const auto row = static_cast<std::uint64_t>(rank) * 10;
                ASSERT_TRUE(dump.put(*field, {{row, 0}, {10, 10}}, values.data()).ok());
                ASSERT_TRUE(iteration.end().ok());
            }
            while (!(*writer)->committed()) {
                auto iteration = (*writer)->begin_iteration(1);
                ASSERT_TRUE(iteration.end().ok());
            }
            auto left_open = (*writer)->begin_iteration(2);
            if (rank == culprit) (void)(*writer)->begin_iteration(3);
            const Status status = (*writer)->close();
            const std::lock_guard lock(mutex);
            closed.push_back(status);
        });
        ASSERT_EQ(closed.size(), 3u);
        const std::string rank = "rank " + std::to_string(culprit) + ": ";
        for (const Status& status : closed) {
            expect_invalid(status, {rank.c_str(), "begin_iteration(3)", "has not been ended"});
            EXPECT_EQ(status.message(), closed[0].message());
        }
        EXPECT_EQ(testing::iterations(path_), (std::vector<std::int64_t>{0}));
    }
}

// Goal: a dump begun between two iterations is none: the next end() does not wait for ranks that
// have no dump. If no end() comes, close() says it on all ranks.
TEST_F(WriterErrors, a_dump_outside_an_iteration_is_none_and_is_told) {
    std::mutex mutex;
    int told_by_end = 0, told_by_close = 0;
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const bool wrong = comm->rank() == 1;
        auto writer = Writer::create(path_, std::move(comm), plain());
        auto first = (*writer)->begin_iteration(0);
        EXPECT_TRUE(first.end().ok());
        if (wrong) (void)first.begin_dump(0.0);
        auto second = (*writer)->begin_iteration(1);
        const bool ended = second.end().ok();
        if (wrong) (void)second.begin_dump(0.0);
        const Status closed = (*writer)->close();
        expect_invalid(closed, {"rank 1", "begin_dump() outside an iteration"});
        const std::lock_guard lock(mutex);
        told_by_end += !ended;
        told_by_close += !closed.ok();
    });
    EXPECT_EQ(told_by_end, 1) << "nothing was exchanged";
    EXPECT_EQ(told_by_close, 2);
}

// Goal: wherever the disk becomes full, all ranks learn it as no_space, close() returns it, and
// every dump that was reported committed can be read exactly.
TEST_F(WriterErrors, a_full_disk_is_no_space_everywhere_and_loses_nothing_committed) {
    const Shape shape{40, 1000};
    for (std::int64_t room = 100'000; room < 1'000'000; room += 60'000) {
        testing::LimitedFileSystem files(room);
        std::mutex mutex;
        std::vector<Status> closed;
        std::optional<std::uint64_t> committed;
        base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
            const auto rank = static_cast<std::uint64_t>(comm->rank());
            WriterOptions options = plain();
            options.file_system = &files;
            auto writer = Writer::create(path_, std::move(comm), options);
            ASSERT_TRUE(writer.ok());
            auto field = (*writer)->define_field("rho", float32, shape);
            std::uint64_t put = 0;
            for (unsigned n = 0; n < 6; ++n) {
                const auto values =
                    testing::make_field<float>({20, 1000}, n * 2 + unsigned(rank), 2);
                auto iteration = (*writer)->begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                put += dump.put(*field, {{rank * 20, 0}, {20, 1000}}, values.data()).ok();
                if (!iteration.end().ok()) break;
            }
            const Status status = (*writer)->close();
            const std::lock_guard lock(mutex);
            closed.push_back(status);
            committed = (*writer)->committed();
            const WriterReport report = (*writer)->report();
            EXPECT_EQ(report.lost_dumps, put - (committed ? *committed + 1 : 0)) << room;
            EXPECT_EQ(report.lost_bytes, report.lost_dumps * 20 * 1000 * sizeof(float)) << room;
            EXPECT_GT(report.lost_dumps, 0u) << room;
        });
        ASSERT_EQ(closed.size(), 2u);
        for (const Status& status : closed)
            EXPECT_EQ(status.code(), StatusCode::no_space)
                << "room " << room << ": " << status.message();
        if (!committed) continue;
        for (unsigned n = 0; n <= *committed; ++n) {
            auto expected = testing::make_field<float>({20, 1000}, n * 2, 2);
            const auto other = testing::make_field<float>({20, 1000}, n * 2 + 1, 2);
            expected.insert(expected.end(), other.begin(), other.end());
            EXPECT_EQ(testing::broken(
                          expected,
                          testing::read_dataset(path_, "/data/" + std::to_string(n) + "/meshes/rho")
                              .values,
                          0.0),
                      "")
                << "room " << room;
        }
    }
}

// Goal: an error of the Communicator at any call ends every rank's calls with a Status (no hang),
// and what was committed stays readable. Our codec's ranks also tell each other table sets.
TEST_F(WriterErrors, a_communicator_that_fails_at_any_call_ends_the_run_cleanly) {
    for (int fail_at = 0; fail_at < 40; ++fail_at) {
        std::mutex mutex;
        int failures = 0, finished = 0;
        std::optional<std::uint64_t> committed;
        base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
            const auto rank = static_cast<std::uint64_t>(comm->rank());
            if (rank == 1) comm = base::make_failing_communicator(std::move(comm), fail_at);
            WriterOptions options = plain();
            options.codec.name = "caesura";
            auto writer = Writer::create(path_, std::move(comm), options);
            bool failed = !writer.ok();
            if (writer.ok()) {
                auto field = (*writer)->define_field("rho", float32, {20, 100}, absolute(0.01));
                const auto values = testing::make_field<float>({10, 100}, 5, 2);
                for (unsigned n = 0; n < 3; ++n) {
                    auto iteration = (*writer)->begin_iteration(n);
                    auto dump = iteration.begin_dump(0.0);
                    (void)dump.put(*field, {{rank * 10, 0}, {10, 100}}, values.data());
                    if (!iteration.end().ok()) break;
                }
                failed = !(*writer)->close().ok();
                const std::lock_guard lock(mutex);
                committed = (*writer)->committed();
            }
            const std::lock_guard lock(mutex);
            failures += failed;
            ++finished;
        });
        EXPECT_EQ(finished, 2);
        if (failures == 0) break;  // beyond the last call
        if (committed) {
            EXPECT_GE(testing::iterations(path_).size(), *committed + 1) << "call " << fail_at;
        }
    }
}

/// While it lives HDF5_PLUGIN_PATH has nothing but the first plugin of that name.
class OnePlugin {
  public:
    OnePlugin(const std::string& name, std::filesystem::path directory)
        : directory_(std::move(directory)) {
        std::istringstream all(take("HDF5_PLUGIN_PATH", hdf5_));
        take("CAESURA_PLUGIN_PATH", ours_);
        std::error_code error;
        for (std::string one; std::getline(all, one, ':');) {
            found_ = std::filesystem::exists(one + "/" + name, error);
            if (!found_) continue;
            std::filesystem::create_directory(directory_);
            std::filesystem::create_symlink(one + "/" + name, directory_ / name);
            ::setenv("HDF5_PLUGIN_PATH", directory_.c_str(), 1);
            return;
        }
    }
    ~OnePlugin() {
        ::unsetenv("HDF5_PLUGIN_PATH");
        if (hdf5_) ::setenv("HDF5_PLUGIN_PATH", hdf5_->c_str(), 1);
        if (ours_) ::setenv("CAESURA_PLUGIN_PATH", ours_->c_str(), 1);
        std::error_code error;
        std::filesystem::remove_all(directory_, error);
    }
    OnePlugin(const OnePlugin&) = delete;
    OnePlugin& operator=(const OnePlugin&) = delete;
    bool found() const { return found_; }

  private:
    static std::string take(const char* name, std::optional<std::string>& kept) {
        if (const char* const text = std::getenv(name)) kept = text;
        ::unsetenv(name);
        return kept.value_or("");
    }
    const std::filesystem::path directory_;
    std::optional<std::string> hdf5_, ours_;
    bool found_ = false;
};

// Goal: nobody wonders why files are large where only the plugin is missing that would make them
// smaller. Of each number of axes, of complex numbers, and of particles' records.
TEST_F(WriterErrors, a_codec_that_lacks_zstds_plugin_is_said_with_what_follows_and_what_to_do) {
    const OnePlugin plugin("libh5sz3.so", path_ + ".plugins");
    if (!plugin.found()) GTEST_SKIP() << "no libh5sz3.so on HDF5_PLUGIN_PATH";
    std::vector<std::string> heard;
    WriterOptions options = plain();
    options.on_message = [&](std::string_view text) { heard.emplace_back(text); };
    auto writer = Writer::create(path_, nullptr, options);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    const auto define = [&](const char* name, const char* codec, const ErrorBound& bound,
                            const Shape& shape, DType dtype = float32) {
        FieldOptions of_field;
        of_field.codec = CodecSpec{.name = codec};
        return (*writer)->define_field(name, dtype, shape, bound, of_field).status();
    };
    if (define("probe", "zstd", lossless(), {64}).ok())
        GTEST_SKIP() << "this process has loaded Zstd's plugin already: run the test by itself";
    ASSERT_TRUE(define("ours", "caesura", absolute(1e-3), {64}).ok());
    EXPECT_EQ(heard.size(), 0u);
    const auto expect_said = [&](const std::string& who, const Status& status) {
        EXPECT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(heard.size(), 1u) << who;
        EXPECT_EQ(heard[0].find(who + ": blocks that \"sz3\" cannot keep within their bound are "
                                      "stored raw, and could be smaller: "),
                  0u)
            << heard[0];
        EXPECT_NE(heard[0].find("pip install hdf5plugin"), std::string::npos) << heard[0];
        heard.clear();
    };
    expect_said("field 'a'", define("a", "sz3", absolute(1e-3), {64}));
    expect_said("field 'b'", define("b", "sz3", absolute(1e-3), {64, 64}));
    expect_said("field 'c'", define("c", "sz3", absolute(1e-3), {64, 64}, complex64));
    auto species = (*writer)->define_species("ions");
    ASSERT_TRUE(species.ok()) << species.status().message();
    RecordOptions of_record;
    of_record.codec = CodecSpec{.name = "sz3"};
    expect_said("record 'ions/position/x'",
                (*writer)
                    ->define_record(*species, "position/x", float64, absolute(1e-3), of_record)
                    .status());
}

// Goal: a plugin that one node lacks is an error, and no dataset of which half the blocks went
// through a filter that the file does not know. Rank 1 defines first, before this process has Zstd.
TEST_F(WriterErrors, ranks_whose_plugins_differ_are_refused) {
    auto plugin = std::make_unique<OnePlugin>("libh5sz3.so", path_ + ".plugins");
    if (!plugin->found()) GTEST_SKIP() << "no libh5sz3.so on HDF5_PLUGIN_PATH";
    if (make_block_codec({.name = "zstd"}, float32, {64}, lossless()).ok())
        GTEST_SKIP() << "this process has loaded Zstd's plugin already: run the test by itself";
    std::latch has_defined(1);
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const bool first = comm->rank() == 1;
        auto writer = Writer::create(path_, std::move(comm), {.codec = {.name = "sz3"}});
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        if (!first) has_defined.wait();
        const auto field = (*writer)->define_field("rho", float32, {64}, absolute(1e-3));
        EXPECT_TRUE(field.ok()) << field.status().message();
        if (first) {
            plugin.reset();
            has_defined.count_down();
        }
        auto iteration = (*writer)->begin_iteration(0);
        iteration.begin_dump(0.0);
        expect_invalid(iteration.end(), {"ranks 0 and 1", "different fields", "plugins"});
    });
}

}  // namespace
}  // namespace caesura
