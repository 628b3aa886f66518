// Goal: with Order::any a chunk's particles come back in an order that compresses better, every
// particle with all its records, each rank's in its part, within bounds; the index says what the
// order was; what is put is not changed; and where it would not pay the order is as given.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterParticleOrder : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_order_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
    std::vector<double> read(const std::string& name, std::uint64_t dump = 0) const {
        return testing::read_dataset(path_,
                                     "/data/" + std::to_string(dump) + "/particles/e/" + name)
            .values;
    }
};

void on_ranks_with(int ranks, const std::string& path, const WriterOptions& options,
                   const std::function<Status(Writer&, int)>& program) {
    std::mutex mutex;
    base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        auto writer = Writer::create(path, std::move(comm), options);
        const Status status = writer.ok() ? program(**writer, rank) : writer.status();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(status.ok()) << status.message();
    });
}

/// What a rank has in a dump. The number of a particle is the same in all its records.
struct Share {
    std::vector<double> x, z;
    std::vector<float> y, number;
};

constexpr double k_place_bound = 1e-3;

/// Dumps of one species by a few ranks. Places are those of a number, so that whoever reads one
/// knows all else of the particle.
struct Plan {
    explicit Plan(unsigned seed) : random(seed) {
        options.durable = false;
        options.chunk_bytes = (64u << 10) << (random() % 3);
        const bool padded = seed % 7 == 0 && testing::filter_available(32015);
        options.codec.name = padded ? "round+zstd" : seed % 11 == 0 ? "none" : "caesura";
        ranks = 1 + static_cast<int>(random() % 4);
        axes = 1 + static_cast<int>(random() % 3);
        keep_index = random() % 2 == 0;
        borrows = random() % 2 == 0;
        float next = 0.0F;
        for (auto& dump : dumps) {
            const std::uint64_t most[] = {0, 5, 900, 20'000};
            for (int r = 0; r < ranks; ++r) {
                Share& share = dump.emplace_back();
                for (auto n = random() % (1 + most[random() % 4]); n > 0; --n) add(share, next++);
            }
        }
    }
    void add(Share& share, float number) const {
        const auto n = static_cast<double>(number);
        share.number.push_back(number);
        share.x.push_back(std::fmod(n * 0.618033988749895, 1.0));
        share.y.push_back(static_cast<float>(std::fmod(n * 0.414213562373095, 1.0)));
        share.z.push_back(static_cast<int>(number) % 97 == 13 ? std::nan("")
                                                              : std::fmod(n * 0.7320508, 1.0));
    }
    Status write(Writer& writer, int rank) const {
        SpeciesOptions any;
        any.order = Order::any;
        any.keep_index = keep_index;
        const Species e = writer.define_species("e", any).value();
        const Field number = writer.define_record(e, "number", float32, absolute(0.25)).value();
        const Field x =
            writer.define_record(e, "position/x", float64, absolute(k_place_bound)).value();
        std::optional<Field> y, z;
        if (axes > 1)
            y = writer.define_record(e, "position/y", float32, absolute(k_place_bound)).value();
        if (axes > 2)
            z = writer.define_record(e, "position/z", float64, absolute(k_place_bound)).value();
        std::vector<Share> copies;
        for (const auto& dump : dumps) copies.push_back(dump[static_cast<std::size_t>(rank)]);
        for (std::uint64_t d = 0; d < dumps.size(); ++d) {
            Share& mine = copies[d];
            auto iteration = writer.begin_iteration(d);
            auto dump = iteration.begin_dump(0.0);
            put(dump, number, mine.number, 1 + d);
            put(dump, x, mine.x, 1);
            if (y) put(dump, *y, mine.y, 3);
            if (z) put(dump, *z, mine.z, 2);
            if (Status s = iteration.end(); !s.ok()) return s;
            if (!borrows) mine = {};  // what was copied is not looked at again
        }
        if (Status s = writer.close(); !s.ok()) return s;
        for (std::uint64_t d = 0; borrows && d < dumps.size(); ++d) {
            const Share& before = dumps[d][static_cast<std::size_t>(rank)];
            EXPECT_EQ(copies[d].x, before.x);
            EXPECT_EQ(copies[d].number, before.number);
        }
        return {};
    }
    template <class T>
    void put(Dump& dump, Field record, const std::vector<T>& values, std::size_t parts) const {
        for (std::size_t p = 0; p < parts; ++p) {
            const std::size_t begin = values.size() * p / parts;
            const std::size_t end = values.size() * (p + 1) / parts;
            EXPECT_TRUE(dump.put_particles(record, end - begin, values.data() + begin,
                                           borrows ? Ownership::borrow : Ownership::copy)
                            .ok());
        }
    }

    std::mt19937 random;
    WriterOptions options;
    int ranks = 1, axes = 3;
    bool keep_index = false, borrows = false;
    std::array<std::vector<Share>, 3> dumps;  // by dump and rank
};

/// Of what a dump should have; empty: it has.
std::string wrong(const Plan& plan, std::uint64_t d,
                  const std::function<std::vector<double>(const std::string&)>& read) {
    const auto number = read("number"), x = read("position/x");
    const auto y = read("position/y"), z = read("position/z"), index = read("index");
    std::vector<float> given;
    std::size_t begin = 0;
    const auto off = [](double a, double b) {
        return std::isnan(b) ? !std::isnan(a) : !(std::abs(a - b) <= k_place_bound * 1.0001);
    };
    for (const Share& share : plan.dumps[d])
        given.insert(given.end(), share.number.begin(), share.number.end());
    if (number.size() != given.size()) return "another number of particles";
    for (const Share& share : plan.dumps[d]) {
        std::map<long, int> left;  // how often each number is still to come
        for (const float n : share.number) ++left[std::lround(n)];
        for (std::size_t i = begin; i < begin + share.number.size(); ++i) {
            const long n = std::lround(number[i]);
            if (--left[n] < 0) return "particle " + std::to_string(n) + " is not of this rank";
            Share one;
            plan.add(one, static_cast<float>(n));
            if (off(x[i], one.x[0]) || (plan.axes > 1 && off(y[i], double{one.y[0]})) ||
                (plan.axes > 2 && off(z[i], one.z[0])))
                return "particle " + std::to_string(n) + " has lost a record";
            if (plan.keep_index &&
                std::lround(given.at(static_cast<std::size_t>(index.at(i)))) != n)
                return "index " + std::to_string(index[i]) + " is of another particle";
        }
        begin += share.number.size();
    }
    return {};
}

TEST_F(WriterParticleOrder, keeps_every_particle_whole) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        const Plan plan(seed);
        on_ranks_with(plan.ranks, path_, plan.options,
                      [&](Writer& writer, int rank) { return plan.write(writer, rank); });
        for (std::uint64_t d = 0; d < plan.dumps.size(); ++d)
            ASSERT_EQ(wrong(plan, d, [&](const std::string& name) { return read(name, d); }), "")
                << "seed " << seed << " dump " << d;
    }
}

/// 60,000 particles at random places by one rank; the stored bytes of the positions.
std::uint64_t stored_bytes(const std::string& path, const SpeciesOptions& options) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> place(0.0, 1.0);
    std::vector<std::vector<double>> values(3, std::vector<double>(60'000));
    for (auto& axis : values)
        for (double& value : axis) value = place(random);
    WriterOptions of_writer;
    of_writer.durable = false;
    on_ranks_with(1, path, of_writer, [&](Writer& writer, int) {
        const Species e = writer.define_species("e", options).value();
        std::vector<Field> fields;
        for (const char* const name : {"position/x", "position/y", "position/z"})
            fields.push_back(writer.define_record(e, name, float64, absolute(1e-4)).value());
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        for (std::size_t a = 0; a < 3; ++a)
            (void)dump.put_particles(fields[a], values[a].size(), values[a].data());
        if (Status s = iteration.end(); !s.ok()) return s;
        return writer.close();
    });
    const auto info = store::read_info(path);
    EXPECT_TRUE(info.ok());
    std::uint64_t bytes = 0;
    for (const store::DatasetInfo& one : info->datasets) bytes += one.stored_bytes;
    return bytes;
}

TEST_F(WriterParticleOrder, makes_random_places_a_third_smaller) {
    SpeciesOptions any;
    any.order = Order::any;
    const std::uint64_t given = stored_bytes(path_, {});
    EXPECT_LT(static_cast<double>(stored_bytes(path_, any)), 0.67 * static_cast<double>(given));
}

// Of a species of these records, in chunks of 1 MiB: how many bytes the largest has.
std::uint64_t widest_chunk_bytes(const std::string& path, std::vector<DType> dtypes) {
    WriterOptions options;
    options.durable = false;
    options.chunk_bytes = 1u << 20;
    constexpr std::uint64_t k_particles = 400'000;
    on_ranks_with(1, path, options, [&](Writer& writer, int) {
        SpeciesOptions any;
        any.order = Order::any;
        const Species e = writer.define_species("e", any).value();
        const std::vector<std::byte> values(k_particles * 16);
        std::vector<Field> records;
        for (const DType dtype : dtypes)
            records.push_back(
                writer.define_record(e, std::string(to_string(dtype)), dtype, lossless()).value());
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        for (std::size_t i = 0; i < dtypes.size(); ++i)
            EXPECT_TRUE(dump.put_particle_bytes(records[i], k_particles, values.data(), dtypes[i],
                                                Ownership::copy)
                            .ok());
        if (Status s = iteration.end(); !s.ok()) return s;
        return writer.close();
    });
    std::uint64_t most = 0;
    const auto info = store::read_info(path).value();
    for (const store::DatasetInfo& one : info.datasets)
        most = std::max(most, one.spec.chunk.count() * one.fill.size());
    return most;
}

TEST_F(WriterParticleOrder, fills_a_chunk_of_its_widest_record_and_no_more) {
    for (const auto& dtypes : std::vector<std::vector<DType>>{
             {complex128, float32}, {float64, uint8}, {float32, int16}, {float16, int8}})
        EXPECT_EQ(widest_chunk_bytes(path_, dtypes),
                  std::min<std::uint64_t>(1u << 20, 400'000 * size_of(dtypes[0])))
            << to_string(dtypes[0]);
}

// A dump has a record that is wider than all others, the next has not: all records of each are cut
// alike, so that particles stay whole.
TEST_F(WriterParticleOrder, keeps_particles_whole_where_the_widest_record_comes_and_goes) {
    constexpr std::size_t k_particles = 300'000;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> place(0.0F, 1.0F);
    std::vector<float> x(k_particles), y(k_particles);
    for (std::size_t i = 0; i < k_particles; ++i) y[i] = 2.0F * (x[i] = place(random));
    const std::vector<double> wide(2 * k_particles, 1.0);
    WriterOptions options;
    options.durable = false;
    options.chunk_bytes = 1u << 20;
    options.memory_bytes = 1u << 20;  // far less than a dump: what an order takes is not waited for
    on_ranks_with(2, path_, options, [&](Writer& writer, int) {
        SpeciesOptions any;
        any.order = Order::any;
        const Species e = writer.define_species("e", any).value();
        const Field of_x = writer.define_record(e, "position/x", float32, absolute(1e-4)).value();
        const Field of_y = writer.define_record(e, "y", float32, absolute(1e-4)).value();
        const Field of_wide = writer.define_record(e, "wide", complex128, lossless()).value();
        for (std::uint64_t n = 0; n < 3; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            EXPECT_TRUE(dump.put_particles(of_x, k_particles, x.data()).ok());
            EXPECT_TRUE(dump.put_particles(of_y, k_particles, y.data()).ok());
            if (n == 1) {
                EXPECT_TRUE(dump.put_particle_bytes(of_wide, k_particles, wide.data(), complex128,
                                                    Ownership::copy)
                                .ok());
            }
            if (Status s = iteration.end(); !s.ok()) return s;
        }
        return writer.close();
    });
    for (std::uint64_t n = 0; n < 3; ++n) {
        const auto at = read("position/x", n), twice = read("y", n);
        ASSERT_EQ(at.size(), 2 * k_particles);
        ASSERT_EQ(twice.size(), 2 * k_particles);
        bool reordered = false;
        for (std::size_t i = 0; i < at.size(); ++i) {
            ASSERT_NEAR(twice[i], 2.0 * at[i], 3.1e-4) << "dump " << n << " particle " << i;
            reordered |= std::abs(at[i] - double{x[i % k_particles]}) > 1e-3;
        }
        EXPECT_TRUE(reordered) << "dump " << n;
    }
}

TEST_F(WriterParticleOrder, stays_as_given_without_positions_and_where_it_would_not_pay) {
    SpeciesOptions any;
    any.order = Order::any;
    std::vector<double> values(5000), along(5000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::fmod(static_cast<double>(i) * 0.618, 1.0);
        along[i] = 1e-3 * static_cast<double>(i);
    }
    on_ranks_with(1, path_, {}, [&](Writer& writer, int) {
        const Species e = writer.define_species("e", any).value();
        const Field m = writer.define_record(e, "m", float64, absolute(1e-4)).value();
        const Field x = writer.define_record(e, "position/x", float64, absolute(1e-4)).value();
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            (void)dump.put_particles(m, values.size(), n == 0 ? values.data() : along.data());
            if (n == 1) (void)dump.put_particles(x, along.size(), along.data());
            if (Status s = iteration.end(); !s.ok()) return s;
        }
        return writer.close();
    });
    const auto m = read("m", 0), x = read("position/x", 1);
    ASSERT_EQ(m.size(), values.size());
    ASSERT_EQ(x.size(), along.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(m[i], values[i], 1.001e-4);
        EXPECT_NEAR(x[i], along[i], 1.001e-4);
    }
}

TEST_F(WriterParticleOrder, is_refused_where_it_says_nothing_and_names_what_was_put_otherwise) {
    SpeciesOptions any;
    any.order = Order::any;
    any.keep_index = true;
    const float some[8] = {};
    on_ranks_with(2, path_, {}, [&](Writer& writer, int rank) {
        SpeciesOptions index_of_given;
        index_of_given.keep_index = true;
        const auto refused = writer.define_species("given", index_of_given);
        EXPECT_NE(refused.status().message().find("keep_index says what Order::any has changed"),
                  std::string::npos);
        const Species e = writer.define_species("e", any).value();
        const auto taken = writer.define_record(e, "index", uint64, lossless());
        EXPECT_NE(taken.status().message().find("record 'e/index': is already defined"),
                  std::string::npos);
        const Field x = writer.define_record(e, "position/x", float32, absolute(0.1)).value();
        const Field y = writer.define_record(e, "position/y", float32, absolute(0.1)).value();
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            (void)dump.put_particles(x, 5, some);
            (void)dump.put_particles(y, n == 0 && rank == 1 ? 4 : 5, some);
            const Status status = iteration.end();
            EXPECT_EQ(status.ok(), n == 1);
            if (n == 1) continue;
            EXPECT_EQ(status.message(),
                      "species 'e': rank 1 put 5 values of 'e/position/x' and 4 of "
                      "'e/position/y'; every rank puts as many of each record");
        }
        return writer.close();
    });
    EXPECT_EQ(testing::iterations(path_), std::vector<std::int64_t>{1});
    auto index = read("index", 1);
    std::sort(index.begin(), index.end());
    EXPECT_EQ(index, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace caesura
