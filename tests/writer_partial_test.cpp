// Goal: of a field that boxes cover in parts every value that was put comes back within its bound,
// every other is the fill value, and chunks that no box touches take no space; from dump to dump
// boxes and shapes change.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

using testing::OwnedBox;

class WriterPartial : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_partial_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
};

/// What a dump should look like to a reader.
struct Level {
    Shape shape;
    std::vector<OwnedBox> boxes;
    std::vector<double> values;  ///< the fill value between the boxes
    std::vector<bool> is_put;
};

Level random_level(int axes, int n_ranks, double fill, std::mt19937& random) {
    const std::uint64_t longest[] = {90000, 300, 60, 20};
    Level level;
    level.shape = Shape::filled(axes, 1);
    for (int axis = 0; axis < axes; ++axis) level.shape[axis] = 1 + random() % longest[axes - 1];
    std::vector<OwnedBox> all;
    testing::cut({Shape::filled(axes, 0), level.shape}, n_ranks, 1 + static_cast<int>(random() % 5),
                 random, all);
    for (const OwnedBox& one : all)
        if (random() % 2 == 0) level.boxes.push_back(one);
    if (level.boxes.empty()) level.boxes.push_back(all[0]);
    const auto smooth =
        testing::make_field<double>(level.shape, static_cast<unsigned>(random()), 0);
    level.values.assign(smooth.size(), fill);
    level.is_put.assign(smooth.size(), false);
    const Box whole{Shape::filled(axes, 0), level.shape};
    for (const OwnedBox& one : level.boxes) {
        const auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
        std::vector<char> put(one.box.extent.count(), 1), map(smooth.size(), 0);
        copy_box(one.box, one.box, bytes(put), whole, bytes(map), 1);
        for (std::size_t i = 0; i < map.size(); ++i)
            if (map[i] != 0) {
                level.is_put[i] = true;
                level.values[i] = smooth[i];
            }
    }
    return level;
}

struct PartialRun {
    explicit PartialRun(unsigned seed, std::string codec_name) : random(seed) {
        options.codec.name = std::move(codec_name);
        options.chunk_bytes = 64u << 10;
        options.durable = false;
        n_ranks = 1 + static_cast<int>(random() % 4);
        const int axes = 1 + static_cast<int>(random() % 4);
        const double fills[] = {0.0, -1e30, std::nan("")};
        fill = fills[random() % 3];
        dtype = random() % 2 ? float32 : float64;
        fill = dtype == float32 ? static_cast<double>(static_cast<float>(fill)) : fill;
        const ErrorBound bounds[] = {lossless(), absolute(0.01), relative(1e-4)};
        bound = bounds[random() % 3];
        for (int d = 0; d < 3; ++d) levels.push_back(random_level(axes, n_ranks, fill, random));
        if (random() % 2) levels[1] = levels[0];  // nothing has changed
    }

    double allowed(const Level& level) const {
        if (options.codec.name == "none" || bound.kind == ErrorBound::Kind::lossless) return 0.0;
        if (bound.kind == ErrorBound::Kind::absolute) return bound.value;
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (std::size_t i = 0; i < level.values.size(); ++i) {
            if (!level.is_put[i]) continue;
            low = std::min(low, level.values[i]);
            high = std::max(high, level.values[i]);
        }
        return bound.value * (high - low) * (1 + 1e-6);  // float32 rounds the ends
    }

    template <class T>
    Status put_boxes(Dump& dump, Field field, const Level& level, int rank) const {
        const std::vector<T> all(level.values.begin(), level.values.end());
        for (const OwnedBox& one : level.boxes) {
            if (one.rank != rank) continue;
            const auto part = testing::take(all, level.shape, one.box);
            if (Status status = dump.put(field, one.box, part.data()); !status.ok()) return status;
        }
        return {};
    }

    Status write(const std::string& path, std::unique_ptr<Communicator> comm) const {
        const int rank = comm->rank();
        auto writer = Writer::create(path, std::move(comm), options);
        if (!writer.ok()) return writer.status();
        FieldOptions of_field;
        of_field.coverage = Coverage::partial;
        of_field.fill_value = fill;
        auto field = (*writer)->define_field("f_lvl1", dtype, levels[0].shape, bound, of_field);
        if (!field.ok()) return field.status();
        for (std::size_t d = 0; d < levels.size(); ++d) {
            if (Status s = (*writer)->reshape(*field, levels[d].shape); !s.ok()) return s;
            auto iteration = (*writer)->begin_iteration(d);
            auto dump = iteration.begin_dump(static_cast<double>(d));
            const Status put = dtype == float32 ? put_boxes<float>(dump, *field, levels[d], rank)
                                                : put_boxes<double>(dump, *field, levels[d], rank);
            if (!put.ok()) return put;
            if (Status status = iteration.end(); !status.ok()) return status;
        }
        return (*writer)->close();
    }

    /// What is wrong with a dump as a stock reader has it; empty: nothing.
    std::string wrong(const std::string& path, std::size_t d) const {
        const Level& level = levels[d];
        const auto read =
            testing::read_dataset(path, "/data/" + std::to_string(d) + "/meshes/f_lvl1");
        if (read.values.size() != level.values.size()) return "it has another size";
        const double limit_of_put = allowed(level);
        const bool fill_is_exact = options.codec.name != "zfp" && options.codec.name != "sz3";
        for (std::size_t i = 0; i < read.values.size(); ++i) {
            const double x = dtype == float32
                                 ? static_cast<double>(static_cast<float>(level.values[i]))
                                 : level.values[i];
            const double limit = level.is_put[i] || !fill_is_exact ? limit_of_put : 0.0;
            const bool same =
                std::isnan(x) ? std::isnan(read.values[i]) : std::abs(read.values[i] - x) <= limit;
            if (!same)
                return "value " + std::to_string(i) + (level.is_put[i] ? ", put as " : ", fill ") +
                       std::to_string(x) + ", is " + std::to_string(read.values[i]);
        }
        return {};
    }

    std::mt19937 random;
    WriterOptions options;
    int n_ranks = 1;
    DType dtype = float32;
    double fill = 0.0;
    ErrorBound bound;
    std::vector<Level> levels;
};

TEST_F(WriterPartial, random_levels_come_back_with_the_fill_value_between_their_boxes) {
    const char* const codecs[] = {"caesura", "caesura:strong", "none", "caesura"};
    for (unsigned seed = 1; seed <= 80; ++seed) {
        const PartialRun run(seed, codecs[seed % 4]);
        std::mutex mutex;
        std::vector<std::string> errors;
        base::run_ranks(run.n_ranks, [&](std::unique_ptr<Communicator> comm) {
            const Status status = run.write(path_, std::move(comm));
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        });
        ASSERT_TRUE(errors.empty()) << "seed " << seed << ": " << errors[0];
        for (std::size_t d = 0; d < run.levels.size(); ++d)
            ASSERT_EQ(run.wrong(path_, d), "")
                << "seed " << seed << " codec " << run.options.codec.name << " dump " << d << " of "
                << to_string(run.levels[d].shape) << " " << to_string(run.dtype);
    }
}

/// One field of 512 x 512 float32 by one rank, and what is done with it.
struct OneField {
    std::unique_ptr<Writer> writer;
    Field field;
    std::vector<float> values = std::vector<float>(512 * 512, 1.5F);

    OneField(const std::string& path, const FieldOptions& options) {
        WriterOptions of_writer;
        of_writer.chunk_bytes = 64u << 10;
        of_writer.durable = false;
        auto made = Writer::create(path, nullptr, of_writer);
        if (!made.ok()) return;
        writer = std::move(*made);
        auto defined = writer->define_field("f", float32, {512, 512}, lossless(), options);
        if (defined.ok()) field = *defined;
    }
    Status dump(std::uint64_t number, std::vector<Box> boxes) {
        auto iteration = writer->begin_iteration(number);
        auto dump = iteration.begin_dump(0.0);
        for (const Box& box : boxes) (void)dump.put(field, box, values.data());
        return iteration.end();
    }
};

FieldOptions partial() {
    FieldOptions options;
    options.coverage = Coverage::partial;
    return options;
}

TEST_F(WriterPartial, chunks_that_no_box_touches_are_not_in_the_file) {
    OneField one(path_, partial());
    ASSERT_NE(one.writer, nullptr);
    ASSERT_TRUE(one.dump(0, {{{0, 0}, {128, 128}}, {{384, 256}, {128, 128}}}).ok());
    ASSERT_TRUE(one.writer->close().ok());
    const auto info = store::read_info(path_);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->datasets.size(), 1u);
    EXPECT_EQ(info->datasets[0].spec.chunk, (Shape{128, 128}));
    EXPECT_EQ(info->datasets[0].chunks.size(), 2u);
}

TEST_F(WriterPartial, boxes_that_share_values_are_an_error_of_the_dump_alone) {
    OneField one(path_, partial());
    ASSERT_NE(one.writer, nullptr);
    const Status shared = one.dump(0, {{{0, 0}, {20, 20}}, {{19, 19}, {20, 20}}});
    EXPECT_EQ(shared.code(), StatusCode::invalid_argument);
    EXPECT_NE(shared.message().find("field 'f': ranks 0 and 0 both put offset [19, 19]"),
              std::string::npos)
        << shared.message();
    ASSERT_TRUE(one.dump(1, {{{0, 0}, {20, 20}}}).ok());
    ASSERT_TRUE(one.writer->close().ok());
    EXPECT_EQ(testing::iterations(path_), (std::vector<std::int64_t>{1}));
}

TEST_F(WriterPartial, a_shape_that_cannot_be_is_refused_and_the_old_one_stays) {
    OneField one(path_, partial());
    ASSERT_NE(one.writer, nullptr);
    const auto refused = [&](const Shape& shape, const char* word) {
        const Status status = one.writer->reshape(one.field, shape);
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    };
    refused({64}, "number of axes");
    refused({64, 0}, "empty along axis 1");
    // The product of the extents would be 0, or small.
    refused({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, "more bytes of float32 than a file");
    refused({(std::uint64_t{1} << 61) + 1, 8}, "more bytes of float32 than a file");
    EXPECT_EQ(one.writer->reshape(Field{7}, {64, 64}).code(), StatusCode::invalid_argument);
    EXPECT_EQ(one.writer->reshape(one.field, {64, 64}, {1.0}).code(), StatusCode::invalid_argument);
    {
        auto iteration = one.writer->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(dump.put(one.field, {{0, 0}, {8, 8}}, one.values.data()).ok());
        refused({32, 32}, "open dump");
        ASSERT_TRUE(iteration.end().ok());
    }
    ASSERT_TRUE(one.writer->close().ok());
    EXPECT_EQ(testing::read_dataset(path_, "/data/0/meshes/f").shape,
              (std::vector<std::uint64_t>{512, 512}));
}

TEST_F(WriterPartial, a_shape_that_ranks_disagree_on_is_an_error_on_all) {
    std::mutex mutex;
    std::vector<StatusCode> codes;
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        auto writer = Writer::create(path_, std::move(comm), {});
        if (!writer.ok()) return;
        auto field = (*writer)->define_field("f", float32, {8, 8}, lossless(), partial());
        (void)(*writer)->reshape(*field, {8, rank == 0 ? 8u : 16u});
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        const std::vector<float> values(64);
        (void)dump.put(*field, {{static_cast<std::uint64_t>(4 * rank), 0}, {4, 8}}, values.data());
        const Status status = iteration.end();
        const std::lock_guard lock(mutex);
        codes.push_back(status.code());
    });
    ASSERT_EQ(codes.size(), 2u);
    for (const StatusCode code : codes) EXPECT_NE(code, StatusCode::ok);
}

}  // namespace
}  // namespace caesura
