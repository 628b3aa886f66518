// Goal: whatever instant a run of the Writer dies at, no dump that it had committed is lost, and
// every dump that is in the file is exact.
//
// One run of five dumps on two ranks is recorded, operation by operation; then every state that the
// file may have been left in is built, read with stock HDF5, recovered and compared.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <thread>

#include "base/thread_communicator.hpp"
#include "base/whole_file.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "ranked_recording.hpp"
#include "slow_file_system.hpp"
#include "stock_reader.hpp"
#include "store/recover.hpp"

namespace caesura {
namespace {

using base::get_file, base::put_file;
using testing::Operation;

constexpr unsigned k_writer_crash_seed = 20240611;
constexpr std::uint64_t k_dumps = 5;
constexpr std::uint64_t k_iterations_a_dump = 1000;  // most of them are never begun
constexpr std::size_t k_sector_bytes = 512;
const Shape k_rho_shape{37, 1000};  // float32, an odd number of rows: a chunk straddles the ranks
const Shape k_velocity_shape{20, 1000};
constexpr std::uint64_t k_rows_left_open = 7;

struct Case {
    std::string name;
    std::string codec;
    double reserve_factor;  // below 1 some blocks overflow
    double bound = 0.0;     // absolute; 0: lossless
    Reserve reserve = Reserve::regions;
    std::uint64_t stripe_bytes = 0;
    bool lopsided = false;   // the second rank has next to nothing to write and helps the first
    bool partial = false;    // the first rows of all fields are in no box
    bool particles = false;  // a species beside the fields

    friend std::ostream& operator<<(std::ostream& out, const Case& it) {
        return out << "codec " << it.codec << ", " << to_string(it.reserve) << ", reserve factor "
                   << it.reserve_factor;
    }
};

/// Values on a coarse grid, so that Zstd has something to do.
template <class T>
std::vector<T> field(const Shape& shape, std::uint64_t dump, bool lopsided) {
    const unsigned seed = k_writer_crash_seed + static_cast<unsigned>(dump);
    auto values = testing::make_field<T>(shape, seed, lopsided ? 2 : 0);
    for (T& value : values) value = std::round(value * T{2}) / T{2};
    if (lopsided)
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end(),
                  T{1});
    return values;
}

/// In one dump there are none. So far from each other that the Writer puts them in order.
std::vector<double> particles(std::uint64_t dump, int rank) {
    if (dump == 2) return {};
    const std::uint64_t count = 3000 + 700 * dump + 400 * static_cast<std::uint64_t>(rank);
    std::vector<double> values(count);
    for (std::uint64_t i = 0; i < count; ++i)
        values[i] = 100.0 * std::fmod(0.618034 * static_cast<double>(i + 1000 * dump), 1.0) + rank;
    return values;
}

/// So many dumps were committed once so many operations had been done.
struct Mark {
    std::size_t count = 0;
    std::uint64_t dumps = 0;
};

/// A run, as it happened.
struct Recorded {
    testing::RankedRecording recording{2};
    std::vector<Mark> known;  // by Writer::committed(), read after each end() and close()
    std::uint64_t overflow_blocks = 0, given_blocks = 0;
    bool lopsided = false, partial = false, with_particles = false;
    std::vector<std::string> errors;

    Recorded(const std::string& path, const Case& what) {
        std::mutex mutex;
        lopsided = what.lopsided;
        partial = what.partial;
        with_particles = what.particles;
        const std::string profile = path + ".json";
        if (lopsided) std::ofstream(profile) << testing::slow_profile(path, 1e6);
        base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            WriterOptions options;
            options.codec.name = what.codec;
            if (what.bound > 0.0) options.bound = absolute(what.bound);
            options.chunk_bytes = 64u << 10;
            options.write_buffer_bytes = 1;    // every block a write of its own
            options.planning = what.lopsided;  // without: as soon as it is there
            if (what.lopsided) options.calibration_path = profile;
            options.reserve_factor = what.reserve_factor;
            options.reserve = what.reserve;
            options.stripe_bytes = what.stripe_bytes;
            options.file_system = &recording.of(rank);
            const Status status = write(path, std::move(comm), options);
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        });
        std::filesystem::remove(profile);
    }

    Status write(const std::string& path, std::unique_ptr<Communicator> comm,
                 const WriterOptions& options) {
        const int rank = comm->rank();
        auto writer = Writer::create(path, std::move(comm), options);
        if (!writer.ok()) return writer.status();
        FieldOptions of_field;
        of_field.coverage = partial ? Coverage::partial : Coverage::whole;
        auto rho = (*writer)->define_field("rho", float32, k_rho_shape, options.bound, of_field);
        auto velocity = (*writer)->define_field("velocity/x", float64, k_velocity_shape,
                                                options.bound, of_field);
        if (!rho.ok() || !velocity.ok()) return rho.ok() ? velocity.status() : rho.status();
        std::optional<Field> x;
        if (with_particles) {
            SpeciesOptions any;
            any.order = Order::any;
            const auto species = (*writer)->define_species("dust", any);
            if (!species.ok()) return species.status();
            const auto made =
                (*writer)->define_record(*species, "position/x", float64, options.bound);
            if (!made.ok()) return made.status();
            x = *made;
        }
        const auto note = [&] {
            const auto committed = (*writer)->committed();
            if (rank == 0)
                known.push_back(
                    {recording.size(), committed ? *committed / k_iterations_a_dump + 1 : 0});
        };
        for (std::uint64_t n = 0; n < k_dumps; ++n) {
            auto iteration = (*writer)->begin_iteration(n * k_iterations_a_dump);
            auto dump = iteration.begin_dump(0.1 * static_cast<double>(n));
            for (const AttributeOwner& owner :
                 {AttributeOwner::iteration(), AttributeOwner::meshes(),
                  AttributeOwner::record(*velocity), AttributeOwner::field(*rho)})
                (void)dump.set_attribute(owner, "number", static_cast<std::int64_t>(n));
            put(dump, *rho, k_rho_shape, field<float>(k_rho_shape, n, lopsided), rank);
            put(dump, *velocity, k_velocity_shape, field<double>(k_velocity_shape, n, lopsided),
                rank);
            if (x) {
                const auto values = particles(n, rank);
                (void)dump.put_particles(*x, values.size(), values.data());
            }
            if (Status status = iteration.end(); !status.ok()) return status;
            note();
            // Go on until the dump before is committed, so that commits and regions of later dumps
            // mix as in a real run; the last two are left to close().
            for (std::uint64_t i = 1; i < k_iterations_a_dump && n > 0 && n + 1 < k_dumps; ++i) {
                if ((*writer)->committed() >= (n - 1) * k_iterations_a_dump) break;
                auto empty = (*writer)->begin_iteration(n * k_iterations_a_dump + i);
                if (Status status = empty.end(); !status.ok()) return status;
                note();
                std::this_thread::yield();
            }
        }
        const Status status = (*writer)->close();
        note();
        const WriterReport report = (*writer)->report();
        if (rank == 0) overflow_blocks = report.overflow_blocks;
        if (rank == 1) given_blocks = report.helped_blocks;
        return status;
    }

    /// This rank's half; errors are reported by end().
    template <class T>
    void put(Dump& dump, Field handle, const Shape& shape, const std::vector<T>& values,
             int rank) const {
        Box box{Shape::filled(2, 0), shape};
        box.extent[0] = rank == 0 ? shape[0] / 2 : shape[0] - shape[0] / 2;
        box.offset[0] = rank == 0 ? 0 : shape[0] / 2;
        if (partial && rank == 0) {
            box.offset[0] = k_rows_left_open;
            box.extent[0] -= k_rows_left_open;
        }
        (void)dump.put(handle, box, testing::take(values, shape, box).data());
    }
};

class WriterCrash : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        constexpr unsigned k_zstd = 32015;
        if (GetParam().codec == "zstd" && !testing::filter_available(k_zstd))
            GTEST_SKIP() << "the Zstd plugin is not on HDF5_PLUGIN_PATH";
        for (std::uint64_t n = 0; n < k_dumps; ++n) {
            rho_.push_back(field<float>(k_rho_shape, n, GetParam().lopsided));
            velocity_.push_back(field<double>(k_velocity_shape, n, GetParam().lopsided));
            if (!GetParam().partial) continue;
            constexpr auto k_open = static_cast<std::ptrdiff_t>(k_rows_left_open * 1000);
            std::fill_n(rho_.back().begin(), k_open, 0.0F);
            std::fill_n(velocity_.back().begin(), k_open, 0.0);
        }
        // Who is quicker, the owner or its helper, is open; wanted is a run in which it was the
        // helper once.
        for (int attempt = 0; attempt < 50; ++attempt) {
            run_ = std::make_unique<Recorded>(path_, GetParam());
            if (!GetParam().lopsided || run_->given_blocks > 0) break;
        }
        ASSERT_TRUE(run_->errors.empty()) << run_->errors[0];
        ASSERT_EQ(run_->known.back().dumps, k_dumps);
        if (GetParam().reserve_factor < 1.0) {
            ASSERT_GT(run_->overflow_blocks, 0u);
        }
        if (GetParam().lopsided) {
            ASSERT_GT(run_->given_blocks, 0u);
        }
        find_commits();
        random_.seed(k_writer_crash_seed);
        RecordProperty("seed", k_writer_crash_seed);
    }
    void TearDown() override {
        if (run_ && !IsSkipped())
            std::cout << fmt::format("{}: {} operations, {} commits, {} states, seed {}\n",
                                     GetParam().name, operations().size(), committed_.size(),
                                     n_states_, k_writer_crash_seed);
        if (HasFailure() && !failed_state_.empty()) {
            const std::string kept = ::testing::TempDir() + "caesura_writer_crash_failed.h5";
            ASSERT_TRUE(put_file(kept, failed_state_));
            std::cout << "the state that failed: " << kept << "\n";
        }
        std::filesystem::remove(path_);
    }

    const std::vector<Operation>& operations() const { return run_->recording.operations(); }

    /// A commit is done when rank 0 has synced a superblock. What it holds, stock HDF5 says.
    void find_commits() {
        bool superblock = false;
        for (std::size_t i = 0; i < operations().size(); ++i) {
            const Operation& operation = operations()[i];
            if (operation.rank != 0) continue;
            if (operation.kind == Operation::Kind::sync && first_sync_ == 0) first_sync_ = i + 1;
            superblock |= operation.kind == Operation::Kind::write && operation.offset == 0;
            if (operation.kind != Operation::Kind::sync || !superblock) continue;
            superblock = false;
            ASSERT_TRUE(put_file(path_, testing::file_after(prefix(i + 1))));
            committed_.push_back({i + 1, testing::iterations(path_).size()});
        }
        ASSERT_FALSE(committed_.empty());
        // Writer::committed() never runs ahead of the disk.
        for (const Mark& mark : run_->known)
            ASSERT_LE(mark.dumps, committed_after(mark.count)) << mark.count << " operations";
        ASSERT_EQ(committed_.back().dumps, k_dumps);
    }

    std::uint64_t committed_after(std::size_t count) const {
        std::uint64_t dumps = 0;
        for (const Mark& mark : committed_)
            if (mark.count <= count) dumps = mark.dumps;
        return dumps;
    }

    /// What is wrong with a dump, as stock HDF5 reads it; empty if nothing is.
    std::string difference(std::uint64_t dump) const {
        const std::string meshes = fmt::format("/data/{}/meshes/", dump * k_iterations_a_dump);
        std::string wrong = testing::broken(
            rho_[dump], testing::read_dataset(path_, meshes + "rho").values, GetParam().bound);
        if (wrong.empty())
            wrong = testing::broken(velocity_[dump],
                                    testing::read_dataset(path_, meshes + "velocity/x").values,
                                    GetParam().bound);
        if (wrong.empty() && GetParam().particles) wrong = difference_of_particles(dump);
        return wrong.empty() ? wrong : meshes + ": " + wrong;
    }

    std::string difference_of_particles(std::uint64_t dump) const {
        auto all = particles(dump, 0);
        const auto second = particles(dump, 1);
        all.insert(all.end(), second.begin(), second.end());
        const std::string path =
            fmt::format("/data/{}/particles/dust/", dump * k_iterations_a_dump);
        auto read = testing::read_dataset(path_, path + "position/x").values;
        for (auto* const values : {&all, &read}) std::sort(values->begin(), values->end());
        const std::string wrong = testing::broken(all, read, GetParam().bound);
        return wrong.empty() ? difference_of_patches(dump, path + "particlePatches/") : wrong;
    }

    std::string difference_of_patches(std::uint64_t dump, const std::string& path) const {
        const auto read = [&](const char* name) {
            return testing::read_dataset(path_, path + name).values;
        };
        const auto number = read("numParticles"), low = read("offset/x"), size = read("extent/x");
        if (particles(dump, 0).empty()) return number.empty() ? "" : "patches of no particles";
        if (number.size() != 2 || low.size() != 2 || size.size() != 2) return "patches lack";
        for (std::size_t patch = 0; patch < 2; ++patch) {
            const auto put = particles(dump, static_cast<int>(patch));
            const auto [least, most] = std::minmax_element(put.begin(), put.end());
            if (number[patch] != static_cast<double>(put.size()) || low[patch] > *least ||
                low[patch] + size[patch] <= *most)
                return fmt::format("patch {} is of other particles", patch);
        }
        return {};
    }

    /// Has each of these iterations what was said of it alone?
    void check_attributes(const std::vector<std::int64_t>& iterations) const {
        const auto info = store::read_info(path_);
        ASSERT_TRUE(info.ok()) << info.status().message();
        std::map<std::string, int> found;  // by iteration
        const auto look = [&](const std::string& path, const std::vector<store::Attribute>& all) {
            for (const store::Attribute& one : all)
                if (one.name == "number")
                    ++found[fmt::format("{} {}", path.substr(0, path.find('/', 6)),
                                        std::get<std::int64_t>(one.value))];
        };
        for (const store::GroupInfo& group : info->groups) look(group.path, group.attributes);
        for (const store::DatasetInfo& dataset : info->datasets)
            look(dataset.spec.path, dataset.spec.attributes);
        std::map<std::string, int> wanted;
        for (const std::int64_t n : iterations)
            wanted[fmt::format("/data/{} {}", n, n / std::int64_t{k_iterations_a_dump})] = 4;
        ASSERT_EQ(found, wanted);
    }

    /// Exactly the first `n` dumps?
    std::vector<std::int64_t> first(std::uint64_t n) const {
        std::vector<std::int64_t> numbers;
        for (std::uint64_t i = 0; i < n; ++i)
            numbers.push_back(static_cast<std::int64_t>(i * k_iterations_a_dump));
        return numbers;
    }

    enum class Stock { opens, opens_or_has_journal };

    /// Look at one state that a crash after operation `count` may have left.
    /// @param last_bytes  so much of the last survivor, a write, arrived.
    void check(const std::vector<const Operation*>& survivors, std::size_t count,
               const std::string& what, std::size_t last_bytes = ~std::size_t{0},
               Stock stock = Stock::opens_or_has_journal) {
        SCOPED_TRACE(fmt::format("{} of {} operations, {}", count, operations().size(), what));
        ++n_states_;
        failed_state_ = testing::file_after(survivors, last_bytes);
        ASSERT_TRUE(put_file(path_, failed_state_));
        const std::uint64_t committed = committed_after(count);
        auto dry = store::recover(base::FileSystem::posix(), path_, true);
        if (count < first_sync_ && !dry.ok()) {  // killed while the file was made
            ASSERT_EQ(dry.status().code(), StatusCode::corrupt) << dry.status().message();
            return;
        }
        ASSERT_TRUE(dry.ok()) << dry.status().message();
        if (stock == Stock::opens || !dry->journal_replayed)
            check_as_left(committed, dry->journal_replayed);
        if (!HasFatalFailure()) check_recovery(committed);
    }

    /// Stock HDF5 needs no recovery.
    void check_as_left(std::uint64_t committed, bool has_journal) {
        if (committed == 0) return;
        const auto there = testing::iterations(path_);
        ASSERT_GE(there.size(), committed);
        ASSERT_EQ(there, first(there.size()));
        ASSERT_EQ(difference(there.size() - 1), "");
        if (!has_journal) check_attributes(there);  // we read what the journal says
    }

    void check_recovery(std::uint64_t committed) {
        testing::RankedRecording unsynced(1);  // does not wait for a disk
        auto report = store::recover(unsynced.of(0), path_);
        ASSERT_TRUE(report.ok()) << report.status().message();
        const std::uint64_t n = report->committed_dumps;
        ASSERT_GE(n, committed);
        // Of dumps in flight each is finished or dropped by itself: a later one may be whole where
        // an earlier one has lost a block.
        auto expected = first(k_dumps);
        for (const auto& dropped : report->dropped) {
            const std::uint64_t iteration = dropped.dump * k_iterations_a_dump;
            ASSERT_EQ(dropped.iteration.value_or(iteration), iteration);
            std::erase(expected, static_cast<std::int64_t>(iteration));
        }
        if (n > 0) {
            expected.resize(std::min<std::size_t>(expected.size(), n));
            ASSERT_EQ(testing::iterations(path_), expected);
            for (const std::int64_t iteration : expected)
                ASSERT_EQ(difference(static_cast<std::uint64_t>(iteration) / k_iterations_a_dump),
                          "");
            ASSERT_NO_FATAL_FAILURE(check_attributes(expected));
            expected.resize(committed);
            ASSERT_EQ(expected, first(committed)) << "what was committed stays";
        }
        const auto recovered = get_file(path_);
        auto again = store::recover(unsynced.of(0), path_);
        ASSERT_TRUE(again.ok()) << again.status().message();
        ASSERT_TRUE(again->was_clean);
        ASSERT_EQ(again->committed_dumps, n);
        ASSERT_TRUE(get_file(path_) == recovered);
    }

    /// Every boundary of sectors in a small write, some in a large one; and one byte more or less.
    std::vector<std::size_t> cuts_of(const Operation& write) {
        const std::size_t bytes = write.bytes.size();
        if (write.kind != Operation::Kind::write || bytes < 2) return {};
        std::vector<std::size_t> cuts = {1, bytes - 1};
        std::vector<std::size_t> sectors;
        for (std::size_t at = k_sector_bytes - write.offset % k_sector_bytes; at < bytes;
             at += k_sector_bytes)
            sectors.push_back(at);
        constexpr std::size_t k_all_bytes = 8192, k_sample = 3;
        if (bytes > k_all_bytes) {
            std::shuffle(sectors.begin() + 1, sectors.end(), random_);  // the first stays
            sectors.resize(std::min(sectors.size(), 1 + k_sample));
        }
        cuts.insert(cuts.end(), sectors.begin(), sectors.end());
        return cuts;
    }

    /// The first `count` operations; of those not synced, such as `lost` says are missing.
    template <class Lost>
    std::vector<const Operation*> without(std::size_t count, Lost lost) const {
        std::vector<const Operation*> left;
        for (std::size_t i = 0; i < count; ++i)
            if (run_->recording.is_synced(i, count) || !lost(i)) left.push_back(&operations()[i]);
        return left;
    }
    std::vector<const Operation*> prefix(std::size_t count) const {
        return without(count, [](std::size_t) { return false; });
    }

    std::string path_ =
        fmt::format("{}caesura_writer_crash_{}.h5", ::testing::TempDir(), ::getpid());
    std::unique_ptr<Recorded> run_;
    std::vector<Mark> committed_;
    std::size_t first_sync_ = 0;  // operations after which the file's header is safe
    std::vector<std::vector<float>> rho_;
    std::vector<std::vector<double>> velocity_;
    std::vector<std::byte> failed_state_;
    std::mt19937 random_;
    std::size_t n_states_ = 0;
};

TEST_P(WriterCrash, between_any_two_operations_loses_no_committed_dump) {
    for (std::size_t n = 0; n <= operations().size(); ++n)
        ASSERT_NO_FATAL_FAILURE(check(prefix(n), n, "whole", ~std::size_t{0}, Stock::opens));
}

TEST_P(WriterCrash, inside_any_write_loses_no_committed_dump) {
    for (std::size_t n = 0; n < operations().size(); ++n)
        for (const std::size_t cut : cuts_of(operations()[n]))
            ASSERT_NO_FATAL_FAILURE(
                check(prefix(n + 1), n,
                      fmt::format("then {} of {} bytes", cut, operations()[n].bytes.size()), cut));
}

// A machine that stops loses what was not synced: all of it, one rank's, or any part of it, and the
// last write may be torn besides.
TEST_P(WriterCrash, that_loses_unsynced_operations_loses_no_committed_dump) {
    for (std::size_t n = 0; n <= operations().size(); ++n) {
        std::size_t n_loose = 0;
        for (std::size_t i = 0; i < n; ++i)
            n_loose +=
                operations()[i].kind != Operation::Kind::sync && !run_->recording.is_synced(i, n);
        if (n_loose == 0) continue;
        const auto every = [](std::size_t) { return true; };
        ASSERT_NO_FATAL_FAILURE(check(without(n, every), n, "all unsynced lost"));
        for (const int rank : {0, 1}) {
            const auto of_rank = [&](std::size_t i) { return operations()[i].rank == rank; };
            ASSERT_NO_FATAL_FAILURE(
                check(without(n, of_rank), n, fmt::format("rank {}'s unsynced lost", rank)));
        }
        if (n_loose < 2) continue;
        const auto some = [&](std::size_t) { return random_() % 2 == 0; };
        ASSERT_NO_FATAL_FAILURE(check(without(n, some), n, "some unsynced lost"));
        if (n == operations().size()) continue;
        const auto cuts = cuts_of(operations()[n]);
        if (cuts.empty()) continue;
        auto left = without(n, some);
        left.push_back(&operations()[n]);
        const std::size_t cut = cuts[random_() % cuts.size()];
        ASSERT_NO_FATAL_FAILURE(
            check(left, n, fmt::format("some unsynced lost, then {} bytes", cut), cut));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, WriterCrash,
    ::testing::Values(
        Case{"raw", "none", 1.0}, Case{"overflow", "none", 0.5}, Case{"zstd", "zstd", 1.0},
        // Each dump but the first needs its table set.
        Case{"caesura", "caesura", 1.0, 0.2}, Case{"caesura_overflow", "caesura", 0.5, 0.2},
        // Dumps in space that others, maybe lost, have kept.
        Case{"kept", "caesura", 4.0, 0.2, Reserve::regions, std::uint64_t{1} << 18},
        // Gaps between blocks, and places that stay empty.
        Case{"slots", "caesura", 1.0, 0.2, Reserve::slots},
        Case{"slots_overflow", "caesura", 0.7, 0.2, Reserve::slots},
        // One rank writes and syncs blocks of the other.
        Case{"helped", "caesura", 1.0, 0.2, Reserve::regions, 0, true},
        // Chunks that are not there, and one that is there in parts.
        Case{"partial", "caesura", 1.0, 0.2, Reserve::regions, 0, false, true},
        // Others in each dump, and once none.
        Case{"particles", "caesura", 1.0, 0.2, Reserve::regions, 0, false, false, true}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace caesura
