// Goal: a Writer with a file for each dump, or each few, leaves files that each are whole and
// right, waits for none of them that it need not wait for, and keeps what is pending within bounds.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "slow_file_system.hpp"
#include "stock_reader.hpp"
#include "watched_file_system.hpp"

namespace caesura {
namespace {

constexpr unsigned k_series_seed = 20261125;
const Shape k_shape{24, 16, 32};
constexpr double k_bound = 1e-3;

std::vector<float> rho_of(std::uint64_t iteration, int kind = 0) {
    return testing::make_field<float>(k_shape, k_series_seed + static_cast<unsigned>(iteration),
                                      kind);
}

Box slab(int rank, int size) {
    const std::uint64_t rows = k_shape[0], n = static_cast<std::uint64_t>(size);
    const std::uint64_t r = static_cast<std::uint64_t>(rank);
    Box box{Shape::filled(3, 0), k_shape};
    box.offset[0] = rows * r / n;
    box.extent[0] = rows * (r + 1) / n - box.offset[0];
    return box;
}

Status put(Dump& dump, Field field, const std::vector<float>& values, int rank, int size) {
    const Box box = slab(rank, size);
    return dump.put(field, box, testing::take(values, k_shape, box).data());
}

class WriterSeries : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = std::filesystem::path(::testing::TempDir()) /
                 fmt::format("caesura_series_{}_{}", ::getpid(),
                             ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(place_);
        std::filesystem::create_directories(place_);
        RecordProperty("seed", k_series_seed);
    }
    void TearDown() override { std::filesystem::remove_all(place_); }

    std::string pattern() const { return (place_ / "run_%06T.h5").string(); }
    std::string file(std::uint64_t n) const {
        return (place_ / fmt::format("run_{:06}.h5", n)).string();
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(place_))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }
    static WriterOptions options() {
        WriterOptions options;
        options.bound = absolute(k_bound);
        options.chunk_bytes = 64u << 10;
        options.durable = false;
        options.memory_bytes = 256u << 20;
        options.calibration_path = "none";
        return options;
    }
    /// Does the file hold these iterations, each with the values it should have?
    void expect_whole(std::uint64_t number, const std::vector<std::int64_t>& iterations,
                      double bound = k_bound, int kind = 0) const {
        SCOPED_TRACE(file(number));
        const auto state = store::recover(file(number), true);
        ASSERT_TRUE(state.ok()) << state.status().message();
        EXPECT_TRUE(state->was_clean && state->committed_dumps == iterations.size());
        ASSERT_EQ(testing::iterations(file(number)), iterations);
        for (const std::int64_t n : iterations)
            EXPECT_EQ(testing::broken(
                          rho_of(static_cast<std::uint64_t>(n), kind),
                          testing::read_dataset(file(number), fmt::format("/data/{}/meshes/rho", n))
                              .values,
                          bound),
                      "");
    }

    std::filesystem::path place_;
};

// ------------------------------------------------------------------------------- what is written

struct Way {
    int ranks = 1;
    std::uint64_t dumps_per_file = 1;
    double reserve_factor = 1.0;
};

class WriterSeriesWays : public WriterSeries, public ::testing::WithParamInterface<Way> {};

TEST_P(WriterSeriesWays, has_every_dump_in_the_file_that_its_number_names) {
    const Way way = GetParam();
    constexpr std::uint64_t k_dumps = 7, k_step = 50;
    std::mutex mutex;
    std::vector<std::string> errors;
    WriterReport report;
    base::run_ranks(way.ranks, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        const auto note = [&](const Status& status) {
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        };
        WriterOptions all = options();
        all.dumps_per_file = way.dumps_per_file;
        all.reserve_factor = way.reserve_factor;
        auto writer = Writer::create(pattern(), std::move(comm), all);
        note(writer.status());
        if (!writer.ok()) return;
        auto rho = (*writer)->define_field("rho", float32, k_shape);
        EXPECT_EQ((*writer)->committed(), std::nullopt);
        std::optional<std::uint64_t> before;
        for (std::uint64_t i = 0; i < k_dumps; ++i) {
            auto iteration = (*writer)->begin_iteration(i * k_step);
            auto dump = iteration.begin_dump(0.5 * static_cast<double>(i));
            note(put(dump, *rho, rho_of(i * k_step), rank, way.ranks));
            note(iteration.end());
            const auto now = (*writer)->committed();
            EXPECT_TRUE(!before || (now && *now >= *before));
            EXPECT_TRUE(!now || *now < i * k_step);
            before = now;
        }
        note((*writer)->close());
        EXPECT_EQ((*writer)->committed(), (k_dumps - 1) * k_step);
        if (rank == 0) report = (*writer)->report();
    });
    ASSERT_TRUE(errors.empty()) << errors[0];
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < k_dumps; i += way.dumps_per_file) {
        std::vector<std::int64_t> inside;
        for (std::uint64_t n = i; n < std::min(k_dumps, i + way.dumps_per_file); ++n)
            inside.push_back(static_cast<std::int64_t>(n * k_step));
        expect_whole(i * k_step, inside);
        names.push_back(fmt::format("run_{:06}.h5", i * k_step));
    }
    EXPECT_EQ(files(), names);
    EXPECT_EQ(report.files, names.size());
    EXPECT_EQ(report.dumps, k_dumps);
    EXPECT_GT(report.reserved_bytes, 0u);
    EXPECT_EQ(report.lost_dumps, 0u);
    if (way.reserve_factor < 1.0) {
        EXPECT_GT(report.overflow_blocks, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(Series, WriterSeriesWays,
                         ::testing::Values(Way{1, 1}, Way{2, 1}, Way{4, 1}, Way{1, 3}, Way{3, 3},
                                           Way{2, 1, 0.3}, Way{2, 3, 0.3}),
                         [](const auto& test) {
                             const Way& way = test.param;
                             return fmt::format("ranks_{}_dumps_{}{}", way.ranks,
                                                way.dumps_per_file,
                                                way.reserve_factor < 1.0 ? "_overflow" : "");
                         });

const store::Attribute* find(const std::vector<store::Attribute>& all, const std::string& name) {
    for (const store::Attribute& one : all)
        if (one.name == name) return &one;
    return nullptr;
}

TEST_F(WriterSeries, says_what_openpmd_asks_of_a_file_for_each_dump) {
    for (const std::uint64_t each : {1u, 2u}) {
        WriterOptions all = options();
        all.dumps_per_file = each;
        auto writer = Writer::create(pattern(), nullptr, all);
        ASSERT_TRUE(writer.ok());
        auto rho = (*writer)->define_field("rho", float32, k_shape);
        auto iteration = (*writer)->begin_iteration(3);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(put(dump, *rho, rho_of(3), 0, 1).ok());
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE((*writer)->close().ok());
        const auto info = store::read_info(file(3));
        ASSERT_TRUE(info.ok());
        const bool alone = each == 1;
        EXPECT_EQ(find(info->root, "iterationEncoding")->value,
                  store::AttributeValue(std::string(alone ? "fileBased" : "groupBased")));
        EXPECT_EQ(find(info->root, "iterationFormat")->value,
                  store::AttributeValue(std::string(alone ? "run_%06T.h5" : "/data/%T/")));
        EXPECT_EQ(find(info->root, "basePath")->value,
                  store::AttributeValue(std::string("/data/%T/")));
    }
}

TEST_F(WriterSeries, takes_what_is_defined_between_dumps_into_the_next_file) {
    auto writer = Writer::create(pattern(), nullptr, options());
    ASSERT_TRUE(writer.ok());
    auto rho = (*writer)->define_field("rho", float32, k_shape);
    std::optional<Field> late, mass;
    for (std::uint64_t n = 0; n < 3; ++n) {
        ASSERT_TRUE(
            (*writer)
                ->set_attribute(AttributeOwner::file(), "part", static_cast<std::int64_t>(n))
                .ok());
        if (n == 1) {
            late = *(*writer)->define_field("late", float64, {5}, lossless());
            const auto dust = (*writer)->define_species("dust");
            ASSERT_TRUE(dust.ok()) << dust.status().message();
            mass = *(*writer)->define_record(*dust, "mass", float64, lossless());
            ASSERT_TRUE((*writer)->reshape(*late, {4}).ok());
        }
        auto iteration = (*writer)->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(put(dump, *rho, rho_of(n), 0, 1).ok());
        const std::vector<double> four(4, 0.5 * static_cast<double>(n));
        if (late) {
            ASSERT_TRUE(dump.put(*late, {{0}, {4}}, four.data()).ok());
            ASSERT_TRUE(dump.put_particles(*mass, 4, four.data()).ok());
        }
        const Status ended = iteration.end();
        ASSERT_TRUE(ended.ok()) << ended.message();
    }
    ASSERT_TRUE((*writer)->close().ok());
    for (std::uint64_t n = 0; n < 3; ++n) {
        expect_whole(n, {static_cast<std::int64_t>(n)});
        const auto info = store::read_info(file(n));
        ASSERT_TRUE(info.ok());
        EXPECT_EQ(find(info->root, "part")->value,
                  store::AttributeValue(static_cast<std::int64_t>(n)));
        EXPECT_EQ(find(info->root, "particlesPath") != nullptr, n > 0);
        const auto values =
            testing::read_dataset(file(n), fmt::format("/data/{}/particles/dust/mass", n));
        EXPECT_EQ(values.values, n == 0 ? std::vector<double>()
                                        : std::vector<double>(4, 0.5 * static_cast<double>(n)));
    }
}

TEST_F(WriterSeries, empties_a_file_that_is_there) {
    std::ofstream(file(0)) << std::string(3 << 20, 'x');
    auto writer = Writer::create(pattern(), nullptr, options());
    auto rho = (*writer)->define_field("rho", float32, k_shape);
    auto iteration = (*writer)->begin_iteration(0);
    auto dump = iteration.begin_dump(0.0);
    ASSERT_TRUE(put(dump, *rho, rho_of(0), 0, 1).ok());
    ASSERT_TRUE(iteration.end().ok());
    ASSERT_TRUE((*writer)->close().ok());
    expect_whole(0, {0});
    EXPECT_LT(std::filesystem::file_size(file(0)), 1u << 20);
}

TEST_F(WriterSeries, makes_no_file_without_a_dump) {
    {
        auto writer = Writer::create(pattern(), nullptr, options());
        auto rho = (*writer)->define_field("rho", float32, k_shape);
        auto iteration = (*writer)->begin_iteration(0);
        ASSERT_TRUE(iteration.end().ok());
        auto second = (*writer)->begin_iteration(1);
        auto dump = second.begin_dump(0.0);  // half of the field
        const auto values = rho_of(1);
        ASSERT_TRUE(dump.put(*rho, {{0, 0, 0}, {12, 16, 32}}, values.data()).ok());
        EXPECT_EQ(second.end().code(), StatusCode::invalid_argument);
        ASSERT_TRUE((*writer)->close().ok());
        EXPECT_EQ((*writer)->report().files, 0u);
    }
    EXPECT_TRUE(files().empty());
}

// ---------------------------------------------------------------------------- waiting and bounds

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(WriterSeries, does_not_wait_for_a_file_that_a_slow_disk_is_at) {
    testing::WatchedFileSystem disk;
    WriterOptions all = options();
    all.codec.name = "none";
    all.file_system = &disk;
    all.planning = false;
    auto writer = Writer::create(pattern(), nullptr, all);
    auto rho = (*writer)->define_field("rho", float32, k_shape, lossless());
    disk.bytes_per_s = 1e5;  // 49 KB: half a second
    const auto begin = std::chrono::steady_clock::now();
    double longest_s = 0.0;
    for (std::uint64_t n = 0; n < 3; ++n) {
        auto iteration = (*writer)->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(put(dump, *rho, rho_of(n), 0, 1).ok());
        const auto call = std::chrono::steady_clock::now();
        ASSERT_TRUE(iteration.end().ok());
        longest_s = std::max(longest_s, seconds_since(call));
    }
    EXPECT_EQ((*writer)->committed(), std::nullopt) << "a slow disk cannot be that quick";
    EXPECT_EQ((*writer)->report().file_wait_s, 0.0);
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_GT(seconds_since(begin), 3 * 0.49);
    EXPECT_LT(longest_s, 0.4) << "the header of a file takes 0.08 s of it";
    for (std::uint64_t n = 0; n < 3; ++n) expect_whole(n, {static_cast<std::int64_t>(n)}, 0.0);
}

TEST_F(WriterSeries, keeps_as_many_files_pending_as_it_may) {
    for (const std::uint64_t most : {1u, 3u})
        for (const int ranks : {1, 2}) {
            testing::WatchedFileSystem disk;
            disk.bytes_per_s = 1e6;
            std::mutex mutex;
            std::vector<std::string> errors, messages;
            double waited_s = 0.0;
            base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
                const int rank = comm->rank();
                WriterOptions all = options();
                all.codec.name = "none";
                all.file_system = &disk;
                all.planning = false;
                all.pending_files = most;
                all.on_message = [&](std::string_view text) {
                    const std::lock_guard lock(mutex);
                    if (text.find("pending_files") != std::string_view::npos)
                        messages.emplace_back(text);
                };
                auto writer = Writer::create(pattern(), std::move(comm), all);
                auto rho = (*writer)->define_field("rho", float32, k_shape, lossless());
                Status status;
                for (std::uint64_t n = 0; n < 8 && status.ok(); ++n) {
                    auto iteration = (*writer)->begin_iteration(n);
                    auto dump = iteration.begin_dump(0.0);
                    status = put(dump, *rho, rho_of(n), rank, ranks);
                    if (status.ok()) status = iteration.end();
                }
                if (status.ok()) status = (*writer)->close();
                const std::lock_guard lock(mutex);
                if (!status.ok()) errors.push_back(status.message());
                if (rank == 0) waited_s = (*writer)->report().file_wait_s;
            });
            ASSERT_TRUE(errors.empty()) << errors[0];
            // Those pending when one is made, and this one.
            EXPECT_LE(disk.most_open_files(), most + 1) << ranks << " ranks";
            EXPECT_EQ(disk.open_files(), 0u);
            EXPECT_GT(waited_s, 0.0);
            ASSERT_EQ(messages.size(), 1u);
            EXPECT_NE(messages[0].find("run_00000"), std::string::npos) << messages[0];
            for (std::uint64_t n = 0; n < 8; ++n)
                expect_whole(n, {static_cast<std::int64_t>(n)}, 0.0);
        }
}

TEST_F(WriterSeries, gives_memory_back_as_files_complete) {
    const std::uint64_t one = k_shape.count() * 4;
    WriterOptions all = options();
    all.memory_bytes = 3 * one;
    all.pending_files = 100;
    auto writer = Writer::create(pattern(), nullptr, all);
    auto rho = (*writer)->define_field("rho", float32, k_shape);
    for (std::uint64_t n = 0; n < 12; ++n) {
        auto iteration = (*writer)->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(put(dump, *rho, rho_of(n), 0, 1).ok());
        ASSERT_TRUE(iteration.end().ok());
    }
    ASSERT_TRUE((*writer)->close().ok());
    // Snapshots within the budget, and compressed blocks on their way to the disk.
    EXPECT_LE((*writer)->report().peak_memory_bytes, 4 * one);
    EXPECT_EQ((*writer)->report().over_budget_bytes, 0u);
}

TEST_F(WriterSeries, finishes_by_a_time_what_all_files_wait_for) {
    auto writer = Writer::create(pattern(), nullptr, options());
    auto rho = (*writer)->define_field("rho", float32, k_shape);
    for (std::uint64_t n = 0; n < 4; ++n) {
        auto iteration = (*writer)->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(put(dump, *rho, rho_of(n), 0, 1).ok());
        ASSERT_TRUE(iteration.end().ok());
    }
    ASSERT_TRUE((*writer)->finish_by(60.0).ok());
    EXPECT_EQ((*writer)->committed(), 3u);
    for (std::uint64_t n = 0; n < 3; ++n) expect_whole(n, {static_cast<std::int64_t>(n)});
    ASSERT_TRUE((*writer)->close().ok());  // it held the last one
    expect_whole(3, {3});
}

constexpr double k_slow_bytes_per_s = 2e7;
const Shape k_part{16, 16, 64};  // of one of two ranks, in each of four fields

/// A rank has noise to write, the other next to nothing.
std::vector<float> lopsided(std::uint64_t iteration, int field) {
    const Shape whole{2 * k_part[0], k_part[1], k_part[2]};
    const auto seed = static_cast<unsigned>(10 * iteration) + static_cast<unsigned>(field);
    auto all = testing::make_field<float>(whole, k_series_seed + seed, 2);
    std::fill(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end(), 4.25F);
    return all;
}

// Blocks of one rank are written by the other, each into its own file. Who is quicker is open: on a
// busy machine it takes some dumps until it is the helper.
TEST_F(WriterSeries, lets_ranks_of_a_node_write_for_each_other) {
    const std::string profile = (place_ / "profile.json").string();
    std::ofstream(profile) << testing::slow_profile(profile, k_slow_bytes_per_s);
    testing::WatchedFileSystem disk;
    disk.bytes_per_s = k_slow_bytes_per_s;
    constexpr std::uint64_t k_dumps = 12;
    const Shape whole{2 * k_part[0], k_part[1], k_part[2]};
    std::mutex mutex;
    std::vector<std::string> errors;
    std::uint64_t helped = 0;
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        WriterOptions all = options();
        all.bound = lossless();
        all.file_system = &disk;
        all.calibration_path = profile;
        all.durable = true;
        auto writer = Writer::create(pattern(), std::move(comm), all);
        std::vector<Field> fields;
        for (int f = 0; f < 4; ++f)
            fields.push_back(*(*writer)->define_field(fmt::format("f{}", f), float32, whole));
        Status status;
        const Box half{{k_part[0] * static_cast<std::uint64_t>(rank), 0, 0}, k_part};
        for (std::uint64_t n = 0; n < k_dumps && status.ok(); ++n) {
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            for (int f = 0; f < 4; ++f)
                (void)dump.put(fields[static_cast<std::size_t>(f)], half,
                               testing::take(lopsided(n, f), whole, half).data());
            status = iteration.end();
        }
        if (status.ok()) status = (*writer)->close();
        const std::lock_guard lock(mutex);
        if (!status.ok()) errors.push_back(status.message());
        helped += (*writer)->report().helped_blocks;
    });
    ASSERT_TRUE(errors.empty()) << errors[0];
    EXPECT_GT(helped, 0u);
    EXPECT_EQ(disk.open_files(), 0u);
    EXPECT_GE(disk.directory_syncs.load(), static_cast<int>(k_dumps))
        << "a name that is not on the disk is no file";
    for (std::uint64_t n = 0; n < k_dumps; ++n)
        for (int f = 0; f < 4; ++f)
            EXPECT_EQ(
                testing::broken(
                    lopsided(n, f),
                    testing::read_dataset(file(n), fmt::format("/data/{}/meshes/f{}", n, f)).values,
                    0.0),
                "");
}

// ------------------------------------------------------------------------------------------ errors

void expect_words(const Status& status, StatusCode code, std::initializer_list<std::string> words) {
    EXPECT_EQ(status.code(), code) << status.message();
    for (const std::string& word : words)
        EXPECT_NE(status.message().find(word), std::string::npos)
            << "no '" << word << "' in: " << status.message();
}

TEST_F(WriterSeries, refuses_options_that_do_not_fit) {
    const auto refused = [&](const std::string& path, std::uint64_t each, std::uint64_t pending) {
        WriterOptions all = options();
        all.dumps_per_file = each;
        all.pending_files = pending;
        return Writer::create(path, nullptr, all).status();
    };
    const std::string plain = (place_ / "run.h5").string();
    expect_words(refused(plain, 3, 4), StatusCode::invalid_argument, {"dumps_per_file is 3", "%T"});
    expect_words(refused(pattern(), 0, 4), StatusCode::invalid_argument, {"dumps_per_file is 0"});
    expect_words(refused(pattern(), 1, 0), StatusCode::invalid_argument, {"pending_files is 0"});
    expect_words(refused(pattern() + "%T", 1, 4), StatusCode::invalid_argument, {"two places"});
    EXPECT_TRUE(files().empty());
    std::mutex mutex;
    std::vector<Status> all;
    for (const int what : {0, 1, 2}) {
        all.clear();
        base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            WriterOptions mine = options();
            if (what == 0 && rank == 1) mine.dumps_per_file = 2;
            if (what == 1 && rank == 1) mine.pending_files = 9;
            const std::string path = what == 2 && rank == 1 ? plain : pattern();
            auto writer = Writer::create(path, std::move(comm), mine);
            const std::lock_guard lock(mutex);
            all.push_back(writer.status());
        });
        for (const Status& status : all)
            expect_words(status, StatusCode::invalid_argument, {"ranks 0 and 1"});
    }
}

TEST_F(WriterSeries, loses_one_dump_where_its_file_cannot_be_made) {
    std::filesystem::create_directories(file(1));
    std::mutex mutex;
    std::vector<Status> refusals;
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        auto writer = Writer::create(pattern(), std::move(comm), options());
        auto rho = (*writer)->define_field("rho", float32, k_shape);
        for (std::uint64_t n = 0; n < 3; ++n) {
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            EXPECT_TRUE(put(dump, *rho, rho_of(n), rank, 2).ok());
            const Status ended = iteration.end();
            EXPECT_EQ(ended.ok(), n != 1) << ended.message();
            const std::lock_guard lock(mutex);
            if (!ended.ok()) refusals.push_back(ended);
        }
        EXPECT_TRUE((*writer)->close().ok());
        EXPECT_EQ((*writer)->committed(), 2u);
        EXPECT_EQ((*writer)->report().lost_dumps, 1u);
    });
    ASSERT_EQ(refusals.size(), 2u);
    for (const Status& status : refusals) expect_words(status, StatusCode::io, {file(1)});
    expect_whole(0, {0});
    expect_whole(2, {2});
}

TEST_F(WriterSeries, names_the_file_whose_disk_is_full_and_keeps_those_before) {
    for (const int ranks : {1, 2}) {
        testing::WatchedFileSystem disk;
        std::atomic<int> writes{0};  // the first is the file's header
        disk.before_write = [&](const std::string& path) {
            if (path != file(2) || writes++ == 0) return Status{};
            return Status{StatusCode::no_space, path + ": No space left on device"};
        };
        std::mutex mutex;
        std::vector<Status> closes;
        base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            WriterOptions all = options();
            all.file_system = &disk;
            auto writer = Writer::create(pattern(), std::move(comm), all);
            auto rho = (*writer)->define_field("rho", float32, k_shape);
            bool failed = false;
            for (std::uint64_t n = 0; n < 6; ++n) {
                auto iteration = (*writer)->begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                (void)put(dump, *rho, rho_of(n), rank, ranks);  // refused after an error
                const Status ended = iteration.end();
                EXPECT_FALSE(failed && ended.ok()) << "it is sticky";
                if (!ended.ok() && n > 2) failed = true;
                EXPECT_TRUE(n != 1 || (*writer)->finish_by(60.0).ok());
            }
            const Status closed = (*writer)->close();
            EXPECT_EQ((*writer)->committed(), 1u);
            EXPECT_GE((*writer)->report().lost_dumps, 1u);
            const std::lock_guard lock(mutex);
            closes.push_back(closed);
        });
        for (const Status& status : closes) expect_words(status, StatusCode::no_space, {file(2)});
        EXPECT_EQ(disk.open_files(), 0u);
        expect_whole(0, {0});
        expect_whole(1, {1});
        std::filesystem::remove_all(place_);
        std::filesystem::create_directories(place_);
    }
}

// What a Writer that is destroyed leaves is what a killed one leaves.
TEST_F(WriterSeries, leaves_files_that_recover_completes) {
    for (const std::uint64_t each : {1u, 2u}) {
        testing::WatchedFileSystem disk;
        std::optional<std::uint64_t> committed;
        {
            WriterOptions all = options();
            all.dumps_per_file = each;
            all.file_system = &disk;
            auto writer = Writer::create(pattern(), nullptr, all);
            auto rho = (*writer)->define_field("rho", float32, k_shape);
            for (std::uint64_t n = 0; n < 6; ++n) {
                auto iteration = (*writer)->begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                ASSERT_TRUE(put(dump, *rho, rho_of(n), 0, 1).ok());
                ASSERT_TRUE(iteration.end().ok());
                ASSERT_TRUE(n != 2 || (*writer)->finish_by(60.0).ok());
                committed = (*writer)->committed();
            }
        }
        ASSERT_TRUE(committed && *committed >= 2) << "what finish_by() has said";
        for (std::uint64_t first = 0; first < 6; first += each) {
            const auto report = store::recover(file(first));
            ASSERT_TRUE(report.ok()) << report.status().message();
            std::vector<std::int64_t> inside = testing::iterations(file(first));
            if (report->committed_dumps == 0) inside.clear();
            for (std::uint64_t n = first; n < first + each; ++n) {
                if (n > *committed) continue;
                EXPECT_NE(std::find(inside.begin(), inside.end(), static_cast<std::int64_t>(n)),
                          inside.end())
                    << n << " was committed";
            }
            if (!inside.empty()) expect_whole(first, inside);
        }
    }
}

}  // namespace
}  // namespace caesura
