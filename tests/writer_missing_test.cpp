// Goal: missing values of a field, declared, suspected on one rank or declared with a put, come
// back bit for bit on every rank and leave the range to the others; the file says which they are; a
// range that few values stretch is warned of once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

constexpr double k_share = 1e-3;

class WriterMissing : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_missing_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
};

/// A sea of 270 to 290 and its land.
struct Ocean {
    Shape shape;
    std::vector<double> values;
    std::vector<bool> is_land;
    double low = HUGE_VAL, high = -HUGE_VAL;

    /// @param share  of rows, from the first on, that are land but for every seventh value.
    Ocean(const Shape& extents, double fill, double share, unsigned seed) : shape(extents) {
        values = testing::make_field<double>(shape, seed, 0);
        is_land.resize(values.size());
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        const double from = *least, width = *most - *least;
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] =
                static_cast<double>(static_cast<float>(270 + 20 * (values[i] - from) / width));
            is_land[i] =
                static_cast<double>(i) < share * static_cast<double>(values.size()) && i % 7 != 3;
            if (is_land[i]) {
                values[i] = fill;
            } else {
                low = std::min(low, values[i]);
                high = std::max(high, values[i]);
            }
        }
    }
    /// What is wrong with what a stock reader has; empty: nothing.
    std::string wrong(const std::vector<double>& read, double limit) const {
        if (read.size() != values.size()) return "it has another size";
        for (std::size_t i = 0; i < read.size(); ++i) {
            const bool same = is_land[i] && std::isnan(values[i])
                                  ? std::isnan(read[i])
                                  : std::abs(read[i] - values[i]) <= (is_land[i] ? 0.0 : limit);
            if (!same)
                return (is_land[i] ? "land " : "sea ") + std::to_string(i) + " put as " +
                       std::to_string(values[i]) + " is " + std::to_string(read[i]);
        }
        return {};
    }
    double limit() const { return k_share * (high - low) * (1 + 1e-6); }
};

struct MissingRun {
    WriterOptions options;
    FieldOptions field;
    ErrorBound bound = relative(k_share);
    DType dtype = float32;
    double declared_with_put = 0.0;  ///< 0: nothing; by rank 0 alone
    int ranks = 1;

    template <class T>
    static Status put(Dump& dump, Field field, const Ocean& ocean, const Box& box) {
        const std::vector<T> all(ocean.values.begin(), ocean.values.end());
        const auto part = testing::take(all, ocean.shape, box);
        return dump.put(field, box, part.data());
    }
    Status write(const std::string& path, std::unique_ptr<Communicator> comm,
                 const std::vector<Ocean>& dumps) const {
        const int rank = comm->rank(), size = comm->size();
        auto writer = Writer::create(path, std::move(comm), options);
        if (!writer.ok()) return writer.status();
        const Shape& shape = dumps[0].shape;
        const auto sst = (*writer)->define_field("sst", dtype, shape, bound, field);
        if (!sst.ok()) return sst.status();
        for (std::size_t n = 0; n < dumps.size(); ++n) {
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(static_cast<double>(n));
            if (declared_with_put != 0.0 && rank == 0)
                if (Status s = dump.declare_missing(*sst, declared_with_put); !s.ok()) return s;
            Box box{Shape::filled(shape.rank(), 0), shape};
            box.offset[0] =
                shape[0] * static_cast<std::uint64_t>(rank) / static_cast<std::uint64_t>(size);
            box.extent[0] =
                shape[0] * static_cast<std::uint64_t>(rank + 1) / static_cast<std::uint64_t>(size) -
                box.offset[0];
            const Status status = dtype == float32 ? put<float>(dump, *sst, dumps[n], box)
                                                   : put<double>(dump, *sst, dumps[n], box);
            if (!status.ok()) return status;
            if (Status s = iteration.end(); !s.ok()) return s;
        }
        return (*writer)->close();
    }
    std::vector<std::string> write_all(const std::string& path,
                                       const std::vector<Ocean>& dumps) const {
        std::mutex mutex;
        std::vector<std::string> errors;
        base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
            const Status status = write(path, std::move(comm), dumps);
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        });
        return errors;
    }
};

MissingRun small_run() {
    MissingRun run;
    run.options.durable = false;
    run.options.chunk_bytes = 64u << 10;
    run.options.on_message = quiet;
    return run;
}

std::vector<double> read_sst(const std::string& path, std::size_t n) {
    return testing::read_dataset(path, "/data/" + std::to_string(n) + "/meshes/sst").values;
}

TEST_F(WriterMissing, a_relative_bound_is_one_of_the_sea_with_every_fill_type_and_codec) {
    const std::vector<Shape> shapes = {{30000}, {150, 160}, {20, 30, 40}, {6, 10, 20, 20}};
    for (const double fill : {9.9692099683868690e36, 1e20, -9999.0, std::nan("")}) {
        for (const bool declared : {true, false}) {
            for (std::size_t k = 0; k < shapes.size(); ++k) {
                MissingRun run = small_run();
                run.ranks = 1 + static_cast<int>(k % 3);
                run.dtype = k % 2 == 0 ? float32 : float64;
                const double stored =
                    run.dtype == float32 ? static_cast<double>(static_cast<float>(fill)) : fill;
                if (declared) run.field.missing = {fill};
                const std::vector<Ocean> dumps = {Ocean(shapes[k], stored, 0.4, 1),
                                                  Ocean(shapes[k], stored, 0.7, 2)};
                const auto errors = run.write_all(path_, dumps);
                ASSERT_TRUE(errors.empty()) << errors[0];
                for (std::size_t n = 0; n < dumps.size(); ++n)
                    EXPECT_EQ(dumps[n].wrong(read_sst(path_, n), dumps[n].limit()), "")
                        << "fill " << fill << " declared " << declared << " axes " << k + 1;
            }
        }
    }
}

TEST_F(WriterMissing, what_one_rank_suspects_is_in_no_ranks_range) {
    // Rank 2 has one value of land alone, which it cannot suspect.
    MissingRun run = small_run();
    run.ranks = 3;
    Ocean ocean({90, 100}, -9999.0, 0.3, 3);
    ocean.values[8500] = -9999.0;
    ocean.is_land[8500] = true;
    const auto errors = run.write_all(path_, {ocean});
    ASSERT_TRUE(errors.empty()) << errors[0];
    EXPECT_EQ(ocean.wrong(read_sst(path_, 0), ocean.limit()), "");
}

TEST_F(WriterMissing, what_is_declared_with_a_put_holds_on_all_ranks) {
    // 280.5 lies amid the sea: nothing would suspect it.
    for (const ErrorBound& bound : {relative(k_share), absolute(0.5)}) {
        MissingRun run = small_run();
        run.ranks = 3;
        run.bound = bound;
        run.declared_with_put = 280.5;
        const std::vector<Ocean> dumps = {Ocean({90, 100}, 280.5, 0.9, 4),
                                          Ocean({90, 100}, 280.5, 0.8, 5)};
        const auto errors = run.write_all(path_, dumps);
        ASSERT_TRUE(errors.empty()) << errors[0];
        for (std::size_t n = 0; n < dumps.size(); ++n) {
            const double limit = bound.kind == ErrorBound::Kind::absolute ? 0.5 : dumps[n].limit();
            EXPECT_EQ(dumps[n].wrong(read_sst(path_, n), limit), "") << n;
        }
    }
}

TEST_F(WriterMissing, a_chunk_that_straddles_ranks_and_one_of_land_alone_are_exact) {
    MissingRun run = small_run();
    run.ranks = 4;
    run.options.chunk_bytes = 64u << 10;  // the least
    run.field.missing = {-1.0};
    run.bound = absolute(0.01);
    const Ocean ocean({401, 397}, -1.0, 0.6, 6);
    const auto errors = run.write_all(path_, {ocean});
    ASSERT_TRUE(errors.empty()) << errors[0];
    EXPECT_EQ(ocean.wrong(read_sst(path_, 0), 0.01), "");
}

TEST_F(WriterMissing, codecs_of_others_keep_missing_values_or_fall_back) {
    for (const char* codec : {"sz3", "zfp", "round+zstd", "zstd", "none"}) {
        MissingRun run = small_run();
        run.field.codec = CodecSpec{codec};
        run.field.missing = {-9999.0};
        const Ocean ocean({100, 90}, -9999.0, 0.4, 7);
        const auto errors = run.write_all(path_, {ocean});
        if (!errors.empty() && errors[0].find("plugin") != std::string::npos) continue;
        ASSERT_TRUE(errors.empty()) << codec << ": " << errors[0];
        const auto read = read_sst(path_, 0);
        if (read.empty()) continue;  // the plugin serves the writer alone here
        EXPECT_EQ(ocean.wrong(read, ocean.limit()), "") << codec;
    }
}

TEST_F(WriterMissing, a_missing_value_that_the_type_has_not_is_refused_by_name) {
    auto writer = Writer::create(path_, nullptr, small_run().options);
    ASSERT_TRUE(writer.ok());
    FieldOptions options;
    options.missing = {1e300};
    const auto field = (*writer)->define_field("sst", float32, {10}, absolute(1), options);
    ASSERT_FALSE(field.ok());
    EXPECT_NE(field.status().message().find("sst"), std::string::npos);
    EXPECT_NE(field.status().message().find("1e+300"), std::string::npos)
        << field.status().message();
    EXPECT_TRUE((*writer)->close().ok());
}

TEST_F(WriterMissing, a_range_that_few_values_stretch_is_warned_of_once) {
    MissingRun run = small_run();
    std::vector<std::string> said;
    run.options.on_message = [&](std::string_view text) { said.emplace_back(text); };
    Ocean ocean({100, 90}, 0.0, 0.0, 8);
    ocean.values[4000] = 1.5e5;  // once: nothing suspects it
    const auto errors = run.write_all(path_, {ocean, ocean});
    ASSERT_TRUE(errors.empty()) << errors[0];
    std::size_t warned = 0;
    for (const std::string& text : said) {
        if (text.find("stretches the range") == std::string::npos) continue;
        ++warned;
        for (const char* part : {"sst", "150000", "missing="})
            EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_EQ(warned, 1u);
    said.clear();
    const Ocean usual({100, 90}, 0.0, 0.0, 8);
    EXPECT_TRUE(run.write_all(path_, {usual}).empty());
    for (const std::string& text : said)
        EXPECT_EQ(text.find("stretches"), std::string::npos) << text;
}

}  // namespace
}  // namespace caesura
