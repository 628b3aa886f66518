// Goal: every mode writes the same particles: those of the run, bit for bit where it is lossless,
// within the bound where one is asked for, each with its own id.

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "caesura/reader.hpp"
#include "mpi_test_comm.hpp"
#include "particle_records.hpp"
#include "run.hpp"

namespace cosmology {
namespace {

constexpr int k_grid = 30, k_particles = 30;
constexpr std::uint64_t k_count = std::uint64_t{k_particles} * k_particles * k_particles;
constexpr const char* k_steps[] = {"1", "3"};

Options run_in(const std::string& place, const std::string& mode, const std::string& codec) {
    Options options;
    options.grid = k_grid;
    options.particles = k_particles;
    options.steps = 5;
    options.dump_every = 2;
    options.z_final = 5.0;  // clustered enough for particles to change ranks
    options.device = "emulated";
    options.mode = mode;
    options.codec = codec;
    options.chunk = 10;  // several chunks of particles a rank
    options.chunk_bytes = 1 << 16;
    options.durable = false;
    options.write_particles = true;
    options.output = place + "/" + mode + codec + ".h5";
    return options;
}

/// One dump's particles, in the order of their ids.
struct Sorted {
    std::vector<std::uint64_t> ids;
    std::array<std::vector<float>, Particles::k_arrays> arrays;
};

Sorted sorted(const Sorted& given) {
    std::vector<std::size_t> order(given.ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return given.ids[a] < given.ids[b]; });
    Sorted result;
    for (const std::size_t i : order) {
        result.ids.push_back(given.ids[i]);
        for (std::size_t a = 0; a < given.arrays.size(); ++a)
            result.arrays[a].push_back(given.arrays[a][i]);
    }
    return result;
}

template <class T>
std::vector<T> read_raw(const std::string& path) {
    std::vector<T> values(k_count);
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    EXPECT_TRUE(file) << path;
    return values;
}

/// As they lay in memory.
Sorted raw_particles(const Options& options, const std::string& step) {
    const std::string stem = options.raw_dir + "/data_" + step + "_particles_dark_matter_";
    Sorted all;
    all.ids = read_raw<std::uint64_t>(stem + "id.bin");
    const auto infos = record_infos(options);
    for (std::size_t a = 0; a < infos.size(); ++a) {
        std::string name = infos[a].name;
        std::replace(name.begin(), name.end(), '/', '_');
        all.arrays[a] = read_raw<float>(stem + name + ".bin");
    }
    return sorted(all);
}

template <class T>
std::vector<T> read_record(const caesura::Reader& reader, const std::string& record,
                           const std::string& step) {
    const auto found = reader.find("dark_matter/" + record, std::stoull(step));
    EXPECT_TRUE(found.ok()) << found.status().message();
    std::vector<T> values(k_count);
    if (!found.ok()) return values;
    const auto read =
        reader.read(*found, {{0}, {k_count}}, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(read.ok()) << read.message();
    return values;
}

Sorted stored_particles(const Options& options, const std::string& step) {
    const auto reader = caesura::Reader::open(options.output);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    Sorted all;
    all.ids = read_record<std::uint64_t>(**reader, "id", step);
    const auto infos = record_infos(options);
    for (std::size_t a = 0; a < infos.size(); ++a)
        all.arrays[a] = read_record<float>(**reader, infos[a].name, step);
    const auto mass = read_record<double>(**reader, "mass", step);
    EXPECT_EQ(mass.front(), particle_mass(options));
    EXPECT_EQ(mass.back(), particle_mass(options));
    const auto offset = read_record<double>(**reader, "positionOffset/y", step);
    EXPECT_EQ(offset.back(), 0.0);
    return sorted(all);
}

void expect_same(const Sorted& stored, const Sorted& raw, double bound, const std::string& which) {
    ASSERT_EQ(stored.ids, raw.ids) << which;
    for (std::size_t i = 0; i < k_count; ++i) ASSERT_EQ(stored.ids[i], i) << which;
    double worst = 0.0;
    for (std::size_t a = 0; a < raw.arrays.size(); ++a)
        for (std::size_t i = 0; i < k_count; ++i)
            worst = std::max(worst, std::abs(double(stored.arrays[a][i]) - raw.arrays[a][i]));
    EXPECT_LE(worst, bound) << which;
    if (bound > 0.0) {
        EXPECT_GT(worst, 0.0) << which << ": the bound is not used";
    }
}

/// @param bound  asked for; a mode that is lossless keeps the bits all the same.
void expect_particles(const std::string& mode, const std::string& codec, double bound,
                      bool lossless) {
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        const Place place("cosmology_particles", comm);
        Options options = run_in(place.path, mode, codec);
        options.particle_bound = bound;
        options.raw_dir = place.path;
        const RunResult result = run(options, comm);
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        if (rank != 0) continue;
        EXPECT_EQ(result.timing["raw_bytes"],
                  2.0 * (24.0 * k_grid * k_grid * k_grid + 32.0 * k_count));
        for (const char* const step : k_steps)
            expect_same(stored_particles(options, step), raw_particles(options, step),
                        lossless ? 0.0 : bound,
                        mode + " " + codec + ", step " + step + ", ranks " + std::to_string(ranks));
    }
}

constexpr double k_bound = 1e-3;

TEST(ParticleOutput, is_the_same_in_every_lossless_mode) {
    expect_particles("sync", "none", 0.0, true);
    expect_particles("sync", "none", k_bound, true);
    expect_particles("async", "none", 0.0, true);
    expect_particles("async", "none", k_bound, true);
    expect_particles("caesura", "caesura", 0.0, true);
    expect_particles("filter", "none", 0.0, true);
}

TEST(ParticleOutput, keeps_its_bound_where_a_mode_is_lossy) {
    expect_particles("caesura", "caesura", k_bound, false);
}

TEST(ParticleOutput, goes_through_the_filter) {
    if (H5Zfilter_avail(32024) <= 0) GTEST_SKIP() << "no SZ3 plugin: set HDF5_PLUGIN_PATH";
    expect_particles("filter", "sz3", 0.0, true);
    expect_particles("filter", "sz3", k_bound, false);
    expect_particles("caesura", "sz3", k_bound, false);
}

TEST(ParticleOutput, appending_is_refused_where_a_mode_cannot) {
    const auto parse = [](std::vector<std::string> words) {
        std::vector<char*> pointers;
        for (auto& word : words) pointers.push_back(word.data());
        return parse_options(static_cast<int>(pointers.size()), pointers.data());
    };
    EXPECT_TRUE(parse({"cosmology", "--mode", "sync", "--write-particles", "--output", "a.h5"})
                    .write_particles);
    try {
        parse({"cosmology", "--mode", "sync", "--write-particles", "--append", "a.h5"});
        FAIL() << "not refused";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "--append is for modes async and caesura");
    }
}

}  // namespace
}  // namespace cosmology
