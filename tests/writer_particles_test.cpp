// Goal: whatever each rank has of a species in a dump, nothing included, all its records come back
// in the order of the ranks, each within its own bound; a dump without particles says so; ranks
// that disagree lose that dump and no other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <random>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterParticles : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_particles_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
};

struct RecordPlan {
    std::string name;
    DType dtype;
    ErrorBound bound;
};

const std::vector<RecordPlan> k_records = {{"position/x", float64, absolute(1e-4)},
                                           {"position/y", float32, absolute(1e-3)},
                                           {"weighting", float64, lossless()},
                                           {"momentum/x", float32, relative(1e-3)}};

/// What the n-th particle of a dump has.
double value_of(std::size_t record, std::uint64_t dump, std::uint64_t particle) {
    const auto n = static_cast<double>(particle);
    const auto phase = static_cast<double>(record + 3 * dump);
    if (record == 2) return 1.0 + std::fmod(n * 0.618033988749895 + phase, 1.0);
    return std::sin(1e-3 * n + phase) + 0.01 * std::sin(7.0 * n);
}

/// Particles of one species by a few ranks over a few dumps.
struct ParticleRun {
    explicit ParticleRun(unsigned seed) : random(seed) {
        options.chunk_bytes = 64u << 10;
        options.durable = false;
        options.codec.name = seed % 5 == 0 ? "none" : "caesura";
        n_ranks = 1 + static_cast<int>(random() % 4);
        for (std::size_t d = 0; d < 4; ++d) {
            std::vector<std::uint64_t> of_rank;
            const std::uint64_t most[] = {0, 10, 3000, 90000};
            for (int r = 0; r < n_ranks; ++r)
                of_rank.push_back(random() % (1 + most[random() % 4]));
            if (d == 2 && seed % 3 == 0) of_rank.assign(of_rank.size(), 0);
            counts.push_back(of_rank);
            puts.push_back(1 + random() % 3);
        }
        has_field = seed % 2 == 0;
    }

    template <class T>
    Status put_record(Dump& dump, Field field, std::size_t record, std::uint64_t d,
                      std::uint64_t begin, std::uint64_t count) const {
        std::vector<T> values(count);
        for (std::uint64_t i = 0; i < count; ++i)
            values[i] = static_cast<T>(value_of(record, d, begin + i));
        // In one go, or in as many as this dump has.
        const std::uint64_t step = std::max<std::uint64_t>(1, count / puts[d]);
        if (count == 0) return dump.put_particles<T>(field, 0, nullptr);
        for (std::uint64_t at = 0; at < count; at += step)
            if (Status status =
                    dump.put_particles(field, std::min(step, count - at), values.data() + at);
                !status.ok())
                return status;
        return {};
    }

    Status write(const std::string& path, std::unique_ptr<Communicator> comm) const {
        const int rank = comm->rank();
        auto made = Writer::create(path, std::move(comm), options);
        if (!made.ok()) return made.status();
        Writer& writer = **made;
        auto species = writer.define_species("electrons");
        if (!species.ok()) return species.status();
        std::vector<Field> records;
        for (const RecordPlan& plan : k_records) {
            auto record = writer.define_record(*species, plan.name, plan.dtype, plan.bound);
            if (!record.ok()) return record.status();
            records.push_back(*record);
        }
        if (Status s = writer.define_constant(*species, "charge", -1.5); !s.ok()) return s;
        auto field = writer.define_field("f", float32, {8}, lossless());
        if (!field.ok()) return field.status();
        for (std::uint64_t d = 0; d < counts.size(); ++d) {
            auto iteration = writer.begin_iteration(d);
            auto dump = iteration.begin_dump(static_cast<double>(d));
            if (Status s = put_dump(dump, records, rank, d); !s.ok()) return s;
            const std::vector<float> ones(8, 1.0F);
            if (has_field && rank == 0)
                if (Status s = dump.put(*field, {{0}, {8}}, ones.data()); !s.ok()) return s;
            if (Status status = iteration.end(); !status.ok()) return status;
        }
        return writer.close();
    }

    Status put_dump(Dump& dump, const std::vector<Field>& records, int rank,
                    std::uint64_t d) const {
        std::uint64_t begin = 0;
        for (int r = 0; r < rank; ++r) begin += counts[d][static_cast<std::size_t>(r)];
        const std::uint64_t count = counts[d][static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < records.size(); ++i)
            if (Status s = k_records[i].dtype == float32
                               ? put_record<float>(dump, records[i], i, d, begin, count)
                               : put_record<double>(dump, records[i], i, d, begin, count);
                !s.ok())
                return s;
        return {};
    }

    std::uint64_t total(std::uint64_t d) const {
        std::uint64_t all = 0;
        for (const std::uint64_t n : counts[d]) all += n;
        return all;
    }

    std::mt19937 random;
    WriterOptions options;
    int n_ranks = 1;
    bool has_field = false;
    std::vector<std::vector<std::uint64_t>> counts;  // by dump and rank
    std::vector<std::uint64_t> puts;                 // of each record, by dump
};

std::vector<std::string> run(const std::string& path, const ParticleRun& plan) {
    std::mutex mutex;
    std::vector<std::string> errors;
    base::run_ranks(plan.n_ranks, [&](std::unique_ptr<Communicator> comm) {
        const Status status = plan.write(path, std::move(comm));
        const std::lock_guard lock(mutex);
        if (!status.ok()) errors.push_back(status.message());
    });
    return errors;
}

/// As the Reader has them, of any type.
std::vector<double> read_values(Reader& reader, const std::string& name, std::uint64_t dump) {
    const auto field = reader.find(name, dump);
    EXPECT_TRUE(field.ok()) << field.status().message();
    if (!field.ok()) return {};
    const FieldInfo& info = reader.fields()[*field];
    const std::uint64_t n = info.shape.count();
    std::vector<std::byte> bytes(n * info.type.value_bytes());
    const Status status = reader.read(*field, {{0}, info.shape}, bytes);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<double> values(n);
    for (std::uint64_t i = 0; i < n; ++i)
        values[i] = info.type.bytes == 4
                        ? static_cast<double>(reinterpret_cast<const float*>(bytes.data())[i])
                        : reinterpret_cast<const double*>(bytes.data())[i];
    return values;
}

double bound_in(const RecordPlan& plan, const std::vector<double>& wanted) {
    if (plan.bound.kind == ErrorBound::Kind::lossless) return 0.0;
    if (plan.bound.kind == ErrorBound::Kind::absolute) return plan.bound.value;
    const auto [low, high] = std::minmax_element(wanted.begin(), wanted.end());
    return wanted.empty() ? 0.0 : plan.bound.value * (*high - *low) * (1 + 1e-6);
}

std::string wrong(const std::vector<double>& read, const std::vector<double>& wanted,
                  double bound) {
    if (read.size() != wanted.size())
        return std::to_string(read.size()) + " values of " + std::to_string(wanted.size());
    for (std::size_t i = 0; i < read.size(); ++i)
        if (!(std::abs(read[i] - wanted[i]) <= bound))
            return "value " + std::to_string(i) + " is " + std::to_string(read[i]) + ", was " +
                   std::to_string(wanted[i]);
    return {};
}

TEST_F(WriterParticles, come_back_in_the_order_of_their_ranks_however_many_there_are) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        const ParticleRun plan(seed);
        const auto errors = run(path_, plan);
        ASSERT_TRUE(errors.empty()) << "seed " << seed << ": " << errors[0];
        auto reader = Reader::open(path_);
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        for (std::uint64_t d = 0; d < plan.counts.size(); ++d) {
            for (std::size_t r = 0; r < k_records.size(); ++r) {
                std::vector<double> wanted(plan.total(d));
                for (std::uint64_t i = 0; i < wanted.size(); ++i) {
                    wanted[i] = value_of(r, d, i);
                    if (k_records[r].dtype == float32)
                        wanted[i] = static_cast<double>(static_cast<float>(wanted[i]));
                }
                const double bound =
                    plan.options.codec.name == "none" ? 0.0 : bound_in(k_records[r], wanted);
                const std::string name = "electrons/" + k_records[r].name;
                ASSERT_EQ(wrong(read_values(**reader, name, d), wanted, bound), "")
                    << "seed " << seed << " dump " << d << " " << name;
                if (wanted.empty()) continue;
                const auto stock = testing::read_dataset(
                    path_, "/data/" + std::to_string(d) + "/particles/" + name);
                ASSERT_EQ(wrong(stock.values, wanted, bound), "")
                    << "seed " << seed << " dump " << d << " " << name << ", stock reader";
            }
            ASSERT_EQ(read_values(**reader, "electrons/charge", d),
                      std::vector<double>(plan.total(d), -1.5));
            ASSERT_EQ(read_values(**reader, "electrons/positionOffset/y", d),
                      std::vector<double>(plan.total(d), 0.0));
        }
    }
}

/// Two ranks with a species of two records and a field; `put` fills the dump of iteration 0, that
/// of iteration 1 is right. @return  what the first end() said on each rank.
std::vector<std::string> after_wrong_puts(
    const std::string& path, const std::function<void(Dump&, Field, Field, Field, int)>& put) {
    std::vector<std::string> said(2);
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        WriterOptions options;
        options.durable = false;
        auto writer = Writer::create(path, std::move(comm), options).value();
        const Species species = writer->define_species("ions").value();
        const Field x = writer->define_record(species, "x", float32, lossless()).value();
        const Field y = writer->define_record(species, "y", float32, lossless()).value();
        const Field f = writer->define_field("f", float32, {4}, lossless()).value();
        const float four[4] = {1, 2, 3, 4};
        for (std::uint64_t d = 0; d < 2; ++d) {
            auto iteration = writer->begin_iteration(d);
            auto dump = iteration.begin_dump(0.0);
            if (d == 0) {
                put(dump, x, y, f, rank);
            } else {
                EXPECT_TRUE(dump.put_particles(x, 4, four).ok());
                EXPECT_TRUE(dump.put_particles(y, 4, four).ok());
            }
            const Status status = iteration.end();
            if (d == 0)
                said[static_cast<std::size_t>(rank)] = status.message();
            else
                EXPECT_TRUE(status.ok()) << status.message();
        }
        EXPECT_TRUE(writer->close().ok());
    });
    EXPECT_EQ(testing::iterations(path), std::vector<std::int64_t>{1});
    EXPECT_EQ(testing::read_dataset(path, "/data/1/particles/ions/y").values,
              (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
    return said;
}

TEST_F(WriterParticles, of_which_a_rank_has_put_different_numbers_are_refused_on_all_ranks) {
    const float some[8] = {};
    const auto said = after_wrong_puts(path_, [&](Dump& dump, Field x, Field y, Field, int rank) {
        EXPECT_TRUE(dump.put_particles(x, 5, some).ok());
        EXPECT_TRUE(dump.put_particles(y, rank == 1 ? 4 : 5, some).ok());
    });
    for (const std::string& one : said)
        EXPECT_EQ(one,
                  "species 'ions': rank 1 put 5 values of 'ions/x' and 4 of 'ions/y'; every rank "
                  "puts as many of each record");
}

TEST_F(WriterParticles, are_put_as_particles_and_fields_as_fields) {
    const float some[8] = {};
    auto said = after_wrong_puts(path_, [&](Dump& dump, Field x, Field, Field, int) {
        EXPECT_FALSE(dump.put(x, {{0}, {4}}, some).ok());
    });
    EXPECT_EQ(said[1], "rank 0: 'ions/x' on rank 0 is a record of particles: use put_particles");
    said = after_wrong_puts(path_, [&](Dump& dump, Field, Field, Field f, int) {
        EXPECT_FALSE(dump.put_particles(f, 4, some).ok());
    });
    EXPECT_EQ(said[1], "rank 0: field 'f' on rank 0 is no record of particles: use put");
}

TEST_F(WriterParticles, may_be_none_in_a_dump_that_has_nothing_else) {
    ParticleRun plan(1);
    plan.has_field = false;
    for (auto& of_rank : plan.counts) of_rank.assign(of_rank.size(), 0);
    ASSERT_TRUE(run(path_, plan).empty());
    auto reader = Reader::open(path_);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->dumps().size(), 4u);
    const auto x = (*reader)->find("electrons/position/x", 3);
    ASSERT_TRUE(x.ok());
    EXPECT_EQ((*reader)->fields()[*x].shape, (Shape{0}));
}

// Of the first dump one particle, of the second none: a reader of both sees one type.
TEST_F(WriterParticles, keep_the_types_of_their_records_where_there_are_none) {
    for (const std::string layout : {"", "/{field}/%T"}) {
        WriterOptions options;
        options.layout = layout;
        options.durable = false;
        auto writer = Writer::create(path_, nullptr, options).value();
        const Species species = writer->define_species("e").value();
        std::vector<Field> records;
        for (auto dtype = float32; is_known(dtype); dtype = static_cast<DType>(int(dtype) + 1))
            records.push_back(
                writer->define_record(species, std::string(to_string(dtype)), dtype, lossless())
                    .value());
        const std::array<std::byte, 16> one{};
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            DType dtype = float32;
            for (const Field record : records) {
                ASSERT_TRUE(
                    dump.put_particle_bytes(record, 1 - n, one.data(), dtype, Ownership::copy)
                        .ok());
                dtype = static_cast<DType>(int(dtype) + 1);
            }
            ASSERT_TRUE(iteration.end().ok());
        }
        ASSERT_TRUE(writer->close().ok());
        auto reader = Reader::open(path_).value();
        for (auto dtype = float32; is_known(dtype); dtype = static_cast<DType>(int(dtype) + 1)) {
            const std::string name = std::string("e/") + std::string(to_string(dtype));
            const auto& full = reader->fields()[reader->find(name, 0).value()];
            const auto& empty = reader->fields()[reader->find(name, 1).value()];
            EXPECT_EQ(empty.shape, (Shape{0})) << name;
            EXPECT_EQ(empty.type, full.type) << name << " in layout '" << layout << "'";
        }
    }
}

TEST_F(WriterParticles, cannot_be_defined_wrongly) {
    auto writer = Writer::create(path_, nullptr).value();
    const Species species = writer->define_species("e").value();
    const auto refused = [&](const auto& result, const std::string& message) {
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(result.status().message().find(message), std::string::npos)
            << result.status().message();
    };
    const auto record = [&](const std::string& name, const ErrorBound& bound = lossless()) {
        return writer->define_record(species, name, float32, bound);
    };
    refused(writer->define_species("e"), "species 'e': is already defined");
    refused(writer->define_species("a/b"), "species 'a/b': its name has a '/'");
    ASSERT_TRUE(record("position/x").ok());
    refused(record("position"), "record 'e/position': is already defined (or has");
    refused(record("position/x"), "record 'e/position/x': is already defined (or has");
    ASSERT_TRUE(writer->define_field("e", float32, {4}, lossless()).ok());  // in another group
    RecordOptions late;
    late.time_offset = 0.5;
    refused(writer->define_record(species, "position/y", float32, lossless(), late),
            "record 'e/position/y': unit_dimension, time_offset, macro_weighted and "
            "weighting_power are the record's; give all components the same");
    RecordOptions twice;
    twice.attributes = {{"shape", 1.0}};
    refused(writer->define_record(species, "m", float32, lossless(), twice),
            "attribute 'shape' of record 'e/m': it follows from the options of the record");
    EXPECT_EQ(writer->reshape({0}, {5}).code(), StatusCode::invalid_argument);
    refused(record("particlePatches/offset"), "the name is openPMD's for patches");
    refused(record("m", absolute(std::nan(""))), "record 'e/m'");
    refused(writer->define_record({7}, "m", float32, lossless()),
            "species handle 7 was not defined by this writer");
    EXPECT_EQ(writer->define_constant(species, "position", 0.0).message(),
              "record 'e/position': is already defined (or has, or would have, components)");
    const float one = 1.0F;
    {
        auto iteration = writer->begin_iteration(7);
        auto dump = iteration.begin_dump(0.0);
        const Status status = dump.put_particles({0}, std::uint64_t{1} << 62, &one);
        EXPECT_NE(status.message().find("a rank can have"), std::string::npos) << status.message();
        EXPECT_FALSE(iteration.end().ok());
    }
    auto iteration = writer->begin_iteration(0);
    auto dump = iteration.begin_dump(0.0);
    EXPECT_TRUE(dump.put_particles({0}, 1, &one).ok());
    refused(writer->define_species("late"), "a dump has begun; define species before the first");
    EXPECT_TRUE(iteration.end().ok());
    EXPECT_TRUE(writer->close().ok());
}

}  // namespace
}  // namespace caesura
