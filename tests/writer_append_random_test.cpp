// Goal: whatever runs one after the other have put into a file, on whatever numbers of ranks,
// killed or closed, with dumps dropped in between: it holds exactly the dumps that it should, value
// for value, for stock HDF5 and for the Reader.
//
// A program is a seed. Each of its runs is recorded; one that is killed leaves the file as it was
// after a random number of operations, of which the machine may have lost some that were not
// synced. CAESURA_PROGRAMS says how many programs there are, and CAESURA_PROGRAM which is the
// first.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "base/whole_file.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "ranked_recording.hpp"
#include "stock_reader.hpp"
#include "store/recover.hpp"

namespace caesura {
namespace {

using testing::Operation;

unsigned number_in(const char* name, unsigned otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// One dump: everything in it follows from its seed.
struct Written {
    std::uint64_t iteration = 0;
    unsigned seed = 0;
    DType dtype = float32;
    Shape shape;
    bool particles = false;
    std::vector<double> values, dust;  // what a reader must find
};

/// One run of a program.
struct Run {
    int ranks = 1;
    std::string codec;
    std::optional<std::uint64_t> after;
    bool killed = false;
    std::vector<Written> dumps;
};

std::vector<double> as_double(const Written& dump) {
    std::vector<double> out;
    if (dump.dtype == float32)
        for (const float value : testing::make_field<float>(dump.shape, dump.seed, 0))
            out.push_back(static_cast<double>(value));
    else
        out = testing::make_field<double>(dump.shape, dump.seed, 0);
    return out;
}

std::vector<double> dust_of(const Written& dump, int rank) {
    std::mt19937 random(dump.seed + static_cast<unsigned>(rank));
    std::vector<double> values(random() % 4 == 0 ? 0 : random() % 3000);
    for (double& value : values) value = 1e-3 * static_cast<double>(random() % 1000);
    return values;
}

class Program {
  public:
    Program(unsigned seed, std::string path) : random_(seed), path_(std::move(path)) {}

    void run() {
        const int runs = 2 + static_cast<int>(random_() % 4);
        for (int n = 0; n < runs; ++n) {
            SCOPED_TRACE(fmt::format("run {}", n));
            ASSERT_NO_FATAL_FAILURE(one_run());
            ASSERT_NO_FATAL_FAILURE(check());
        }
    }
    std::size_t kills() const { return n_kills_; }

  private:
    Run draw() {
        Run run;
        run.ranks = 1 + static_cast<int>(random_() % 4);
        run.codec = random_() % 2 == 0 ? "none" : "caesura";
        run.killed = random_() % 2 == 0;
        if (!there_.empty() && random_() % 2 == 0)
            run.after = there_[random_() % there_.size()].iteration;
        std::uint64_t next = next_iteration(run.after);
        for (unsigned n = random_() % 4; n > 0; --n) {
            Written dump;
            dump.iteration = next;
            next += 1 + random_() % 3;
            dump.seed = static_cast<unsigned>(random_());
            dump.dtype = random_() % 2 == 0 ? float32 : float64;
            dump.shape = {8 + random_() % 30, 1 + random_() % 900};
            dump.particles = random_() % 2 == 0;
            dump.values = as_double(dump);
            for (int rank = 0; rank < run.ranks && dump.particles; ++rank) {
                const auto mine = dust_of(dump, rank);
                dump.dust.insert(dump.dust.end(), mine.begin(), mine.end());
            }
            run.dumps.push_back(std::move(dump));
        }
        return run;
    }

    std::uint64_t next_iteration(std::optional<std::uint64_t> after) const {
        if (after) return *after + 1;
        return there_.empty() ? 0 : there_.back().iteration + 1;
    }

    /// Iterations that committed() has named, and how many operations had been done by then.
    struct Seen {
        std::size_t operations = 0;
        std::optional<std::uint64_t> committed;
    };

    void one_run() {
        const Run run = draw();
        const bool is_first = !is_made_;
        const std::vector<std::byte> before = base::get_file(path_);
        testing::RankedRecording recording(run.ranks);
        std::vector<Seen> seen;
        std::mutex mutex;
        std::vector<std::string> errors;
        base::run_ranks(run.ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            const Status status =
                write(run, std::move(comm), recording, rank == 0 ? &seen : nullptr);
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        });
        ASSERT_TRUE(errors.empty()) << errors[0];
        ASSERT_FALSE(seen.empty());
        std::vector<Written> kept = there_;
        if (run.after)
            while (kept.back().iteration != *run.after) kept.pop_back();
        if (!run.killed) {
            there_ = std::move(kept);
            there_.insert(there_.end(), run.dumps.begin(), run.dumps.end());
            is_made_ = true;
            return;
        }
        ++n_kills_;
        const std::size_t count = random_() % (recording.size() + 1);
        Operation first;
        first.kind = Operation::Kind::write;
        first.bytes = before;
        std::vector<const Operation*> done = {&first};
        // A machine that stops loses some of what was not synced; a process alone loses nothing.
        const bool machine = random_() % 2 == 0;
        for (std::size_t i = 0; i < count; ++i)
            if (!machine || recording.is_synced(i, count) || random_() % 2 == 0)
                done.push_back(&recording.operations()[i]);
        ASSERT_TRUE(base::put_file(path_, testing::file_after(done)));
        const auto report = store::recover(base::FileSystem::posix(), path_);
        if (is_first && !report.ok()) {  // killed while the file was made
            ASSERT_LT(count, seen.front().operations);
            std::filesystem::remove(path_);
            return;
        }
        ASSERT_TRUE(report.ok()) << report.status().message();
        is_made_ = true;
        take_stock(run, kept, seen, count);
    }

    /// What of a run that was killed is in the file? Not less than what was committed.
    void take_stock(const Run& run, const std::vector<Written>& kept, const std::vector<Seen>& seen,
                    std::size_t count) {
        auto found = testing::iterations(path_);
        if (found == std::vector<std::int64_t>{-1}) found.clear();  // no superblock yet
        const bool opened = seen.front().operations <= count;
        std::optional<std::uint64_t> committed;
        for (const Seen& one : seen)
            if (one.operations <= count) committed = one.committed;
        std::vector<std::int64_t> old, wanted;
        for (const Written& dump : there_) old.push_back(static_cast<std::int64_t>(dump.iteration));
        if (!opened && found == old) return;  // it died before anything was dropped
        std::vector<Written> now;
        const auto is_there = [&](const Written& dump) {
            return std::find(found.begin(), found.end(),
                             static_cast<std::int64_t>(dump.iteration)) != found.end();
        };
        for (const Written& dump : kept) {
            ASSERT_TRUE(is_there(dump)) << dump.iteration << " was kept and is gone";
            now.push_back(dump);
        }
        for (const Written& dump : run.dumps) {
            if (is_there(dump)) {
                ASSERT_TRUE(opened) << dump.iteration;
                now.push_back(dump);
            } else {
                ASSERT_TRUE(!committed || dump.iteration > *committed)
                    << dump.iteration << " was committed and is gone";
            }
        }
        ASSERT_EQ(found.size(), now.size());
        there_ = std::move(now);
    }

    Status write(const Run& run, std::unique_ptr<Communicator> comm,
                 testing::RankedRecording& recording, std::vector<Seen>* seen) {
        const int rank = comm->rank();
        WriterOptions options;
        options.codec.name = run.codec;
        options.chunk_bytes = 64u << 10;
        options.calibration_path = "none";
        options.planning = false;
        options.reserve_factor = run.dumps.size() == 2 ? 0.5 : 1.0;  // some blocks overflow
        options.file_system = &recording.of(rank);
        auto writer = is_made_ ? Writer::open(path_, std::move(comm), options, {run.after})
                               : Writer::create(path_, std::move(comm), options);
        if (!writer.ok()) return writer.status();
        Writer& w = **writer;
        const auto note = [&] {
            if (seen != nullptr) seen->push_back({recording.size(), w.committed()});
        };
        note();
        // A shape and a type for each dump: each has a field of its own.
        std::vector<Field> fields;
        std::vector<Field> dust;
        if (std::any_of(run.dumps.begin(), run.dumps.end(),
                        [](const Written& dump) { return dump.particles; })) {
            const auto species = w.define_species("dust");
            if (!species.ok()) return species.status();
            const auto x = w.define_record(*species, "x", float64, lossless());
            if (!x.ok()) return x.status();
            dust.push_back(*x);
        }
        for (std::size_t n = 0; n < run.dumps.size(); ++n) {
            const auto field =
                w.define_field(fmt::format("rho{}", n), run.dumps[n].dtype, run.dumps[n].shape);
            if (!field.ok()) return field.status();
            fields.push_back(*field);
        }
        for (std::size_t n = 0; n < run.dumps.size(); ++n) {
            const Written& dump = run.dumps[n];
            auto iteration = w.begin_iteration(dump.iteration);
            auto open = iteration.begin_dump(static_cast<double>(dump.iteration));
            put(open, fields[n], dump, rank, run.ranks);
            if (dump.particles) {
                const auto mine = dust_of(dump, rank);
                (void)open.put_particles(dust[0], mine.size(), mine.data());
            }
            if (Status status = iteration.end(); !status.ok()) return status;
            note();
        }
        const Status status = w.close();
        note();
        return status;
    }

    static void put(Dump& open, Field field, const Written& dump, int rank, int ranks) {
        const auto n = static_cast<std::uint64_t>(ranks), me = static_cast<std::uint64_t>(rank);
        const std::uint64_t first = dump.shape[0] * me / n, end = dump.shape[0] * (me + 1) / n;
        const Box box{{first, 0}, {end - first, dump.shape[1]}};
        if (dump.dtype == float32) {
            const auto whole = testing::make_field<float>(dump.shape, dump.seed, 0);
            (void)open.put(field, box, testing::take(whole, dump.shape, box).data());
        } else {
            const auto whole = testing::make_field<double>(dump.shape, dump.seed, 0);
            (void)open.put(field, box, testing::take(whole, dump.shape, box).data());
        }
    }

    /// Stock HDF5 and the Reader find the dumps that there should be, and their values.
    void check() {
        if (!is_made_ || there_.empty()) return;
        std::vector<std::int64_t> wanted;
        for (const Written& dump : there_)
            wanted.push_back(static_cast<std::int64_t>(dump.iteration));
        ASSERT_EQ(testing::iterations(path_), wanted);
        const auto reader = Reader::open(path_);
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        ASSERT_EQ((*reader)->dumps().size(), there_.size());
        for (const Written& dump : there_) {
            SCOPED_TRACE(fmt::format("iteration {}", dump.iteration));
            ASSERT_NO_FATAL_FAILURE(check_values(**reader, dump));
        }
        const auto info = store::read_info(path_);
        ASSERT_TRUE(info.ok());
        ASSERT_FALSE(info->needs_recover);
    }

    void check_values(Reader& reader, const Written& dump) {
        std::size_t n_fields = 0;
        for (const FieldInfo& field : reader.fields()) {
            if (field.iteration != dump.iteration) continue;
            const bool is_dust = field.name == "dust/x";
            if (field.codec == "constant") continue;
            ++n_fields;
            const std::vector<double>& wanted = is_dust ? dump.dust : dump.values;
            ASSERT_EQ(testing::broken(wanted, testing::read_dataset(path_, field.path).values, 0.0),
                      "")
                << field.path;
            const auto found = reader.find(field.path);
            ASSERT_TRUE(found.ok());
            std::vector<std::byte> bytes(wanted.size() * field.type.bytes);
            ASSERT_TRUE(
                reader.read(*found, {Shape::filled(field.shape.rank(), 0), field.shape}, bytes)
                    .ok());
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                float narrow = 0.0F;
                double wide = 0.0;
                std::memcpy(
                    field.type.bytes == 4 ? static_cast<void*>(&narrow) : static_cast<void*>(&wide),
                    bytes.data() + i * field.type.bytes, field.type.bytes);
                ASSERT_EQ(field.type.bytes == 4 ? static_cast<double>(narrow) : wide, wanted[i]);
            }
        }
        ASSERT_EQ(n_fields, dump.particles && !dump.dust.empty() ? 2u : 1u);
    }

    std::mt19937 random_;
    const std::string path_;
    bool is_made_ = false;
    std::vector<Written> there_;  // what the file holds
    std::size_t n_kills_ = 0;
};

TEST(WriterAppendRandom, programs_of_runs_kills_and_drops_leave_what_they_should) {
    const unsigned n = number_in("CAESURA_PROGRAMS", 100);
    const unsigned first = number_in("CAESURA_PROGRAM", 20261125);
    std::cout << fmt::format("programs {} to {}\n", first, first + n - 1);
    const std::string path =
        fmt::format("{}caesura_append_random_{}.h5", ::testing::TempDir(), ::getpid());
    std::size_t kills = 0;
    for (unsigned seed = first; seed < first + n; ++seed) {
        std::filesystem::remove(path);
        SCOPED_TRACE(fmt::format("CAESURA_PROGRAM={} CAESURA_PROGRAMS=1", seed));
        Program program(seed, path);
        program.run();
        kills += program.kills();
        if (::testing::Test::HasFatalFailure()) return;
    }
    std::cout << fmt::format("{} programs, {} kills\n", n, kills);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace caesura
