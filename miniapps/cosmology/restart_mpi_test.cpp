// Goal: a run that goes on from its own file is the run that was never interrupted, bit for bit on
// as many ranks; on any number of ranks it begins with the same particles.

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "caesura/reader.hpp"
#include "mpi_test_comm.hpp"
#include "output.hpp"
#include "run.hpp"
#include "simulation.hpp"

namespace cosmology {
namespace {

constexpr int k_grid = 30, k_dumps = 5;

Options run_with_particles(const std::string& place, const std::string& name) {
    Options options;
    options.grid = options.particles = k_grid;
    options.steps = 6;
    options.z_final = 5.0;  // clustered enough for particles to change ranks
    options.device = "emulated";
    options.mode = "caesura";
    options.codec = "caesura";
    options.write_particles = true;
    options.durable = false;
    options.output = place + "/" + name + ".h5";
    options.raw_dir = place + "/" + name;
    std::filesystem::create_directories(options.raw_dir);
    return options;
}

/// Dump 2 becomes the last.
void write_three_dumps(Options options, MPI_Comm comm) {
    options.raw_dir.clear();
    Simulation simulation(options, comm);
    const auto output = make_output(options, simulation.slab());
    StepClock clock(*output, 0.0);
    output->open();
    for (int step = 0; step < 3; ++step) {
        output->begin_iteration(static_cast<std::uint64_t>(step), Simulation::label(step));
        simulation.step(step, true, clock);
        output->dump(simulation.fields(), simulation.particles(), static_cast<std::uint64_t>(step),
                     0.0);
        output->end_iteration();
    }
    output->close();
}

std::vector<char> bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The dumps that `second` made are those of `whole`.
void expect_same_dumps(const Options& whole, const Options& second, const std::string& which) {
    for (const auto& info : field_infos(whole.cosmology, 1.0))
        for (const char* const step : {"_3.bin", "_4.bin"}) {
            const auto wanted = bytes_of(whole.raw_dir + "/" + info.name + step);
            EXPECT_EQ(wanted.size(), sizeof(float) * k_grid * k_grid * k_grid);
            EXPECT_TRUE(wanted == bytes_of(second.raw_dir + "/" + info.name + step))
                << info.name << step << which;
        }
}

/// Of a file that `mode` wrote.
void goes_on_bit_for_bit_after(const std::string& mode, const std::string& codec) {
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        const Place place("cosmology_restart", comm);
        const Options whole = run_with_particles(place.path, "whole");
        run(whole, comm);
        Options first = run_with_particles(place.path, "first");
        first.mode = mode;
        first.codec = codec;
        write_three_dumps(first, comm);
        Options second = run_with_particles(place.path, "second");
        second.restart = first.output;
        const RunResult result = run(second, comm);
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        if (rank != 0) continue;
        EXPECT_EQ(result.timing["dumps"], k_dumps - 3);
        EXPECT_FALSE(std::filesystem::exists(second.raw_dir + "/temperature_2.bin"));
        expect_same_dumps(whole, second, " after " + mode + " on " + std::to_string(ranks));
    }
}

TEST(Restart, goes_on_bit_for_bit_as_if_it_had_not_stopped) {
    goes_on_bit_for_bit_after("caesura", "caesura");
}

TEST(Restart, goes_on_bit_for_bit_after_files_of_the_other_modes) {
    goes_on_bit_for_bit_after("sync", "none");
    goes_on_bit_for_bit_after("async", "none");
    if (H5Zfilter_avail(32024) <= 0) GTEST_SKIP() << "no SZ3 plugin: set HDF5_PLUGIN_PATH";
    goes_on_bit_for_bit_after("filter", "sz3");
}

/// What a file holds, by path: the decoded values as they are in memory.
std::map<std::string, std::vector<std::byte>> content_of(const std::string& path) {
    std::map<std::string, std::vector<std::byte>> all;
    const auto reader = caesura::Reader::open(path);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    if (!reader.ok()) return all;
    for (std::size_t i = 0; i < (*reader)->fields().size(); ++i) {
        const auto& field = (*reader)->fields()[i];
        auto& values = all[field.path];
        values.resize(field.shape.count() * field.type.bytes);
        const auto read = (*reader)->read(
            i, {caesura::Shape::filled(field.shape.rank(), 0), field.shape}, values);
        EXPECT_TRUE(read.ok()) << read.message();
    }
    return all;
}

TEST(Restart, goes_on_in_its_own_file_as_if_it_had_not_stopped) {
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        const Place place("cosmology_append", comm);
        Options whole = run_with_particles(place.path, "whole");
        whole.codec = "none";
        run(whole, comm);
        Options second = run_with_particles(place.path, "second");
        second.codec = "none";
        write_three_dumps(second, comm);
        second.append = second.restart = second.output;
        const RunResult result = run(second, comm);
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        if (rank != 0) continue;
        EXPECT_EQ(result.timing["dumps"], k_dumps - 3);
        const auto wanted = content_of(whole.output), found = content_of(second.output);
        EXPECT_GT(wanted.size(), 10u * k_dumps);
        ASSERT_EQ(found.size(), wanted.size());
        for (const auto& [name, values] : wanted) {
            ASSERT_TRUE(found.contains(name)) << name;
            EXPECT_TRUE(found.at(name) == values) << name << " on " << ranks << " ranks";
        }
    }
}

/// All particles of `comm`, by id: seven numbers each, the floats as they are in memory.
std::vector<std::array<std::uint64_t, 7>> gathered(const Particles& particles, MPI_Comm comm) {
    std::vector<std::uint64_t> own;
    for (std::size_t i = 0; i < particles.count(); ++i) {
        own.push_back(particles.ids[i]);
        for (const auto& array : particles.arrays) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &array[i], sizeof bits);
            own.push_back(bits);
        }
    }
    int size = 0;
    MPI_Comm_size(comm, &size);
    std::vector<int> counts(static_cast<std::size_t>(size)), at(counts.size());
    const int mine = static_cast<int>(own.size());
    MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
    std::vector<std::uint64_t> all(
        static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0)));
    MPI_Allgatherv(own.data(), mine, MPI_UINT64_T, all.data(), counts.data(), at.data(),
                   MPI_UINT64_T, comm);
    std::vector<std::array<std::uint64_t, 7>> rows(all.size() / 7);
    for (std::size_t i = 0; i < all.size(); ++i) rows[i / 7][i % 7] = all[i];
    std::sort(rows.begin(), rows.end());
    return rows;
}

TEST(Restart, begins_with_the_same_particles_on_any_number_of_ranks) {
    for (int writers = 1; writers <= TestComm::world_size(); ++writers) {
        const Place place("cosmology_restart_ranks", MPI_COMM_WORLD);
        Options options = run_with_particles(place.path, "first");
        std::vector<std::array<std::uint64_t, 7>> reference;
        if (const TestComm comm(writers); comm.member()) write_three_dumps(options, comm);
        MPI_Barrier(MPI_COMM_WORLD);
        options.restart = options.output;
        options.output.clear();
        for (int readers = 1; readers <= TestComm::world_size(); ++readers) {
            const TestComm comm(readers);
            if (!comm.member()) continue;
            const Slab slab(k_grid, comm);
            const Restored restored = read_restart(options, slab);
            EXPECT_EQ(restored.step, 2);
            for (std::size_t i = 0; i < restored.particles.count(); ++i)
                ASSERT_EQ(slab.owner(static_cast<int>(restored.particles.arrays[0][i])),
                          slab.rank());
            const auto rows = gathered(restored.particles, comm);
            ASSERT_EQ(rows.size(), std::size_t{k_grid * k_grid * k_grid});
            for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i][0], i);
            if (reference.empty()) reference = rows;
            EXPECT_TRUE(rows == reference) << writers << " wrote, " << readers << " read";
        }
    }
}

TEST(Restart, refuses_the_file_of_another_run_and_its_own_output) {
    const TestComm comm(1);
    if (!comm.member()) return;
    const Place place("cosmology_restart_other", comm);
    Options options = run_with_particles(place.path, "first");
    write_three_dumps(options, comm);
    const Slab slab(k_grid, comm);
    const auto message = [&] {
        try {
            read_restart(options, slab);
        } catch (const std::runtime_error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    options.restart = options.output;
    EXPECT_NE(message().find("is the file to go on from"), std::string::npos) << message();
    options.output = place.path + "/second.h5";
    EXPECT_EQ(message(), "no error");
    options.seed = 2;
    EXPECT_NE(message().find("seed 1, this one has grid 30, particles 30"), std::string::npos)
        << message();
    options.restart = place.path + "/missing.h5";
    EXPECT_NE(message().find("missing.h5"), std::string::npos) << message();
}

}  // namespace
}  // namespace cosmology
