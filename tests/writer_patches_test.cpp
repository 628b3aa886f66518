// Goal: each dump of a species with positions has openPMD's particlePatches: one for each rank that
// has particles, and each with room for all finite positions of it, as they were put and as the
// file gives them back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <mutex>
#include <random>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterPatches : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_patches_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
    std::vector<double> patches(const std::string& name, int dump = 0) const {
        return testing::read_dataset(
                   path_, "/data/" + std::to_string(dump) + "/particles/e/particlePatches/" + name)
            .values;
    }
    std::vector<double> record(const std::string& name) const {
        return testing::read_dataset(path_, "/data/0/particles/e/" + name).values;
    }
};

void on_ranks(int ranks, const std::string& path,
              const std::function<Status(Writer&, int)>& program) {
    std::mutex mutex;
    base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        WriterOptions options;
        options.durable = false;
        options.chunk_bytes = 64u << 10;
        auto writer = Writer::create(path, std::move(comm), options);
        const Status status = writer.ok() ? program(**writer, rank) : writer.status();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(status.ok()) << status.message();
    });
}

/// What a rank has: x as float64 of a bound, y as float32 of a share of each value, z constant.
struct Plan {
    explicit Plan(unsigned seed) : random(seed) {
        ranks = 1 + static_cast<int>(random() % 4);
        const std::uint64_t most[] = {0, 3, 700, 30'000};
        for (int r = 0; r < ranks; ++r) {
            const std::uint64_t n = random() % (1 + most[random() % 4]);
            std::uniform_real_distribution<double> place(-5.0 + r, 5.0 + 3.0 * r);
            auto& mine = x.emplace_back(n);
            auto& others = y.emplace_back(n);
            for (std::uint64_t i = 0; i < n; ++i) {
                mine[i] = place(random);
                others[i] = static_cast<float>(1e3 * place(random));
                if (random() % 50 == 0) mine[i] = std::nan("");
                if (random() % 50 == 0) others[i] = std::numeric_limits<float>::infinity();
                cells.emplace_back(static_cast<std::int32_t>(random() % 100) - 50);
            }
        }
        with_offset = random() % 2 == 0;
    }
    Status write(Writer& writer, int rank) const {
        const Species e = writer.define_species("e").value();
        RecordOptions metres, cell;
        metres.unit_si = 2.0;
        cell.unit_si = 6.0;
        const Field fx =
            writer.define_record(e, "position/x", float64, absolute(0.01), metres).value();
        const Field fy =
            writer.define_record(e, "position/y", float32, pointwise_relative(0.01), metres)
                .value();
        if (Status s = writer.define_constant(e, "position/z", 7.5, metres); !s.ok()) return s;
        std::optional<Field> offset;
        if (with_offset)
            offset =
                writer.define_record(e, "positionOffset/x", DType::int32, lossless(), cell).value();
        const auto r = static_cast<std::size_t>(rank);
        const std::uint64_t n = x[r].size(), half = n / 2;
        std::uint64_t before = 0;
        for (std::size_t other = 0; other < r; ++other) before += x[other].size();
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        (void)dump.put_particles(fx, half, x[r].data());
        (void)dump.put_particles(fx, n - half, x[r].data() + half);
        (void)dump.put_particles(fy, n, y[r].data());
        if (offset) (void)dump.put_particles(*offset, n, cells.data() + before);
        if (Status s = iteration.end(); !s.ok()) return s;
        return writer.close();
    }

    std::mt19937 random;
    int ranks = 1;
    bool with_offset = false;
    std::vector<std::vector<double>> x;
    std::vector<std::vector<float>> y;
    std::vector<std::int32_t> cells;
};

/// Does the patch have room for it, if it is finite?
bool holds(double low, double extent, double value) {
    return !std::isfinite(value) || (low <= value && value < low + extent);
}

TEST_F(WriterPatches, have_room_for_what_each_rank_has) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        const Plan plan(seed);
        on_ranks(plan.ranks, path_,
                 [&](Writer& writer, int rank) { return plan.write(writer, rank); });
        const auto number = patches("numParticles"), begin = patches("numParticlesOffset");
        const auto read_x = record("position/x"), read_y = record("position/y");
        const auto low_x = patches("offset/x"), size_x = patches("extent/x");
        const auto low_y = patches("offset/y"), size_y = patches("extent/y");
        std::size_t patch = 0, at = 0;
        for (std::size_t r = 0; r < plan.x.size(); ++r) {
            const std::size_t n = plan.x[r].size();
            if (n == 0) continue;
            ASSERT_LT(patch, number.size()) << "seed " << seed;
            ASSERT_EQ(number[patch], static_cast<double>(n)) << "seed " << seed;
            ASSERT_EQ(begin[patch], static_cast<double>(at)) << "seed " << seed;
            for (std::size_t i = 0; i < n; ++i, ++at) {
                const double moved = plan.with_offset ? 3.0 * plan.cells[at] : 0.0;
                for (const double x : {plan.x[r][i], read_x[at]})
                    ASSERT_TRUE(holds(low_x[patch], size_x[patch], x + moved))
                        << "seed " << seed << ": " << x << " + " << moved << " in " << low_x[patch]
                        << " + " << size_x[patch];
                for (const double y : {static_cast<double>(plan.y[r][i]), read_y[at]})
                    ASSERT_TRUE(holds(low_y[patch], size_y[patch], y)) << "seed " << seed;
            }
            ASSERT_EQ(patches("offset/z")[patch], 7.5);
            ASSERT_TRUE(holds(7.5, patches("extent/z")[patch], 7.5));
            ++patch;
        }
        ASSERT_EQ(patch, number.size()) << "seed " << seed;
    }
}

TEST_F(WriterPatches, are_as_tight_as_the_bound_allows) {
    const double xs[] = {3.0, -1.0, 2.0};
    on_ranks(2, path_, [&](Writer& writer, int rank) {
        const Species e = writer.define_species("e").value();
        const Field x = writer.define_record(e, "position/x", float64, absolute(0.25)).value();
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        (void)dump.put_particles(x, rank == 0 ? 2 : 1, xs + (rank == 0 ? 0 : 2));
        if (Status s = iteration.end(); !s.ok()) return s;
        return writer.close();
    });
    const auto low = patches("offset/x"), extent = patches("extent/x");
    ASSERT_EQ(low.size(), 2u);
    EXPECT_NEAR(low[0], -1.25, 1e-12);
    EXPECT_NEAR(extent[0], 4.5, 1e-12);
    EXPECT_NEAR(low[1], 1.75, 1e-12);
    EXPECT_NEAR(extent[1], 0.5, 1e-12);
}

TEST_F(WriterPatches, are_at_no_place_where_no_position_is_a_number) {
    const double none[] = {std::nan(""), HUGE_VAL};
    on_ranks(1, path_, [&](Writer& writer, int) {
        const Species e = writer.define_species("e").value();
        const Field x = writer.define_record(e, "position/x", float64, lossless()).value();
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        (void)dump.put_particles(x, 2, none);
        if (Status s = iteration.end(); !s.ok()) return s;
        return writer.close();
    });
    EXPECT_EQ(patches("numParticles"), std::vector<double>{2.0});
    ASSERT_EQ(patches("offset/x").size(), 1u);
    EXPECT_TRUE(std::isnan(patches("offset/x")[0]));
    EXPECT_TRUE(std::isnan(patches("extent/x")[0]));
}

TEST_F(WriterPatches, are_not_there_without_particles_or_positions) {
    const double one = 1.0;
    on_ranks(1, path_, [&](Writer& writer, int) {
        const Species e = writer.define_species("e").value();
        const Species other = writer.define_species("other").value();
        const Field x = writer.define_record(e, "position/x", float64, lossless()).value();
        const Field m = writer.define_record(other, "m", float64, lossless()).value();
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            (void)dump.put_particles(x, n, &one);
            (void)dump.put_particles(m, 1, &one);
            if (Status s = iteration.end(); !s.ok()) return s;
        }
        return writer.close();
    });
    EXPECT_TRUE(patches("numParticles", 0).empty());
    EXPECT_EQ(patches("numParticles", 1), std::vector<double>{1.0});
    EXPECT_TRUE(testing::read_dataset(path_, "/data/1/particles/other/particlePatches/numParticles")
                    .values.empty());
}

}  // namespace
}  // namespace caesura
