// Whole runs on 1 to 4 ranks: repeatability, independence of ranks and of the output mode.

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "mpi_test_comm.hpp"
#include "run.hpp"
#include "simulation.hpp"

namespace cosmology {
namespace {

constexpr int k_grid = 30;  // divides by neither 4 nor, for chunks, anything convenient

Options small_run() {
    Options options;
    options.grid = options.particles = k_grid;
    options.steps = 6;
    options.z_final = 5.0;  // clustered enough for particles to change ranks
    options.check = true;
    options.device = "emulated";
    return options;
}

/// The fields of the last step on all ranks of `comm`, gathered everywhere.
std::vector<std::vector<float>> final_fields(const Options& options, MPI_Comm comm,
                                             bool fields_in_every_step) {
    Simulation simulation(options, comm);
    Marks nobody;
    StepClock clock(nobody, 0.0);
    for (int step = 0; step < options.steps; ++step)
        simulation.step(step, fields_in_every_step || step + 1 == options.steps, clock);
    const Slab& slab = simulation.slab();
    std::vector<std::vector<float>> all(k_field_count);
    std::vector<int> counts, offsets;
    for (int rank = 0; rank < slab.size(); ++rank) {
        counts.push_back(slab.planes(rank) * k_grid * k_grid);
        offsets.push_back(slab.first(rank) * k_grid * k_grid);
    }
    for (int field = 0; field < k_field_count; ++field) {
        const auto& own = simulation.fields()[field];
        auto& whole = all[static_cast<std::size_t>(field)];
        whole.resize(static_cast<std::size_t>(k_grid * k_grid * k_grid));
        MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_FLOAT, whole.data(),
                       counts.data(), offsets.data(), MPI_FLOAT, comm);
    }
    return all;
}

TEST(Simulation, repeats_bit_by_bit_with_or_without_intermediate_fields) {
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        const auto once = final_fields(small_run(), comm, true);
        const auto again = final_fields(small_run(), comm, false);
        for (std::size_t field = 0; field < k_field_count; ++field)
            EXPECT_EQ(std::memcmp(once[field].data(), again[field].data(),
                                  once[field].size() * sizeof(float)),
                      0)
                << "field " << field << ", " << ranks << " ranks";
    }
}

TEST(Simulation, fields_do_not_depend_on_the_number_of_ranks) {
    // Sums run in another order, and clustering amplifies rounding: equal to 1e-3 of the range.
    std::vector<std::vector<float>> reference;
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        const auto fields = final_fields(small_run(), comm, false);
        if (ranks == 1) reference = fields;
        if (reference.empty()) continue;
        for (std::size_t field = 0; field < k_field_count; ++field) {
            const auto [least, most] =
                std::minmax_element(reference[field].begin(), reference[field].end());
            double worst = 0.0;
            for (std::size_t i = 0; i < fields[field].size(); ++i)
                worst = std::max<double>(worst, std::abs(fields[field][i] - reference[field][i]));
            EXPECT_LT(worst, 1e-3 * (*most - *least)) << "field " << field << ", " << ranks;
        }
    }
}

/// Keeps what a simulation says about its resources.
class RecordingMarks : public Marks {
  public:
    void begin_busy(Resource resource) override {
        EXPECT_FALSE(busy_) << "obstacles of one thread do not nest";
        busy_ = true;
        ++obstacles[static_cast<std::size_t>(resource)];
    }
    void end_busy(Resource) override {
        EXPECT_TRUE(busy_);
        busy_ = false;
    }
    std::array<int, 2> obstacles{};

  private:
    bool busy_ = false;
};

TEST(Simulation, marks_host_work_and_messages_and_idles_the_whole_device_time_outside_both) {
    const TestComm comm(1);
    if (!comm.member()) return;
    constexpr double k_device_s = 0.02;
    Simulation simulation(small_run(), comm);
    RecordingMarks marks;
    StepClock clock(marks, k_device_s);
    simulation.step(0, true, clock);
    EXPECT_GE(marks.obstacles[0], 8) << "kernels and host parts";
    EXPECT_GE(marks.obstacles[1], 5) << "halos, transposes, migration";
    EXPECT_GE(clock.total(Resource::core).idle_s, 0.999 * k_device_s);
}

TEST(Simulation, timing_says_which_kernels_ran_where) {
    const TestComm comm(1);
    if (!comm.member()) return;
    const auto timing = run(small_run(), comm).timing;
    EXPECT_EQ(timing["device"]["kind"], "emulated");
    EXPECT_TRUE(timing["device"]["name"].is_null());
    EXPECT_EQ(timing["device"]["reason"], "--device emulated");
    for (const char* kernel : {"deposit", "fft planes", "fft lines", "gradient", "kick", "drift"})
        EXPECT_EQ(timing["device"]["kernels"].value(kernel, ""), "emulated") << kernel;
    EXPECT_FALSE(timing["device"]["kernels"].contains("sort"));
    EXPECT_EQ(timing["phases"]["kick"]["calls"], small_run().steps);
}

TEST(Simulation, on_gpus_repeats_bit_by_bit_and_agrees_with_the_host) {
    // All ranks skip or none: those that went on alone would wait for the others for ever.
    if (const Accelerator found("auto", MPI_COMM_WORLD); !found.is_cuda())
        GTEST_SKIP() << found.reason();
    Options options = small_run();
    options.device = "cuda";
    // Like another number of ranks, a GPU sums in another way: equal to 1e-3 of the range.
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        const auto once = final_fields(options, comm, true);
        const auto again = final_fields(options, comm, false);
        const auto on_host = final_fields(small_run(), comm, false);
        EXPECT_EQ(once, again) << ranks << " ranks";
        for (std::size_t field = 0; field < k_field_count; ++field) {
            const auto [least, most] =
                std::minmax_element(on_host[field].begin(), on_host[field].end());
            for (std::size_t i = 0; i < once[field].size(); ++i)
                ASSERT_NEAR(once[field][i], on_host[field][i], 1e-3 * (*most - *least))
                    << "field " << field << ", " << ranks << " ranks";
        }
    }
}

TEST(Simulation, another_seed_is_another_universe) {
    const TestComm comm(1);
    if (!comm.member()) return;
    Options options = small_run();
    options.steps = 2;
    const auto one = final_fields(options, comm, false);
    options.seed = 2;
    const auto two = final_fields(options, comm, false);
    EXPECT_NE(one[k_velocity_x], two[k_velocity_x]);
}

TEST(Simulation, structure_grows_and_gas_is_smoother_than_matter) {
    const TestComm comm(1);
    if (!comm.member()) return;
    const auto spread = [](const std::vector<float>& field) {
        double sum = 0, squares = 0;
        for (const float v : field) {
            sum += v;
            squares += double(v) * v;
        }
        const auto n = static_cast<double>(field.size());
        return std::sqrt(squares / n - sum / n * sum / n);
    };
    Options options = small_run();
    const auto late = final_fields(options, comm, false);
    options.z_final = 100.0;
    const auto early = final_fields(options, comm, false);
    EXPECT_GT(spread(late[k_dark_matter_density]), 5.0 * spread(early[k_dark_matter_density]));
    EXPECT_LT(spread(late[k_baryon_density]), spread(late[k_dark_matter_density]));
}

std::vector<float> read_dataset(const std::string& file, const std::string& dataset) {
    std::vector<float> values(static_cast<std::size_t>(k_grid * k_grid * k_grid));
    const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t d = H5Dopen2(f, dataset.c_str(), H5P_DEFAULT);
    EXPECT_GE(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0)
        << dataset;
    H5Dclose(d);
    H5Fclose(f);
    return values;
}

std::vector<float> read_raw(const std::string& path) {
    std::vector<float> values(static_cast<std::size_t>(k_grid * k_grid * k_grid));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
    EXPECT_TRUE(file) << path;
    return values;
}

/// Run `mode` on each number of ranks and compare what HDF5 reads back with the raw fields.
void expect_file_holds_the_fields(const std::string& mode, const std::string& codec,
                                  double share_of_bound) {
    const std::string place =
        std::filesystem::temp_directory_path() / ("cosmology_" + mode + codec);
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        const TestComm comm(ranks);
        if (!comm.member()) continue;
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        if (rank == 0) std::filesystem::create_directories(place);
        MPI_Barrier(comm);
        Options options = small_run();
        options.steps = 5;
        options.dump_every = 2;
        options.mode = mode;
        options.codec = codec;
        options.output = place + "/run.h5";
        options.raw_dir = place;
        options.durable = false;
        const RunResult result = run(options, comm);
        if (rank == 0) {
            EXPECT_EQ(result.timing["dumps"], 2);
            for (const auto& info : field_infos(options.cosmology, share_of_bound)) {
                for (const char* step : {"1", "3"}) {
                    const auto stored = read_dataset(
                        options.output, std::string("/data/") + step + "/meshes/" + info.name);
                    const auto raw = read_raw(place + "/" + info.name + "_" + step + ".bin");
                    double worst = 0.0;
                    for (std::size_t i = 0; i < raw.size(); ++i)
                        worst = std::max<double>(worst, std::abs(double(stored[i]) - raw[i]));
                    EXPECT_LE(worst, share_of_bound > 0.0 ? info.bound : 0.0)
                        << info.name << " of iteration " << step << " on " << ranks << " ranks";
                }
            }
            std::filesystem::remove_all(place);
        }
        MPI_Barrier(comm);
    }
}

TEST(Output, sync_file_holds_the_fields_exactly) {
    expect_file_holds_the_fields("sync", "none", 0);
}

TEST(Output, unfiltered_chunks_hold_the_fields_exactly) {
    expect_file_holds_the_fields("filter", "none", 0);
}

TEST(Output, filtered_file_keeps_the_bounds) {
    if (H5Zfilter_avail(32024) <= 0) GTEST_SKIP() << "no SZ3 plugin: set HDF5_PLUGIN_PATH";
    expect_file_holds_the_fields("filter", "sz3", 1);
}

TEST(Output, async_file_holds_the_fields_exactly) {
    expect_file_holds_the_fields("async", "none", 0);
}

TEST(Output, caesura_file_keeps_the_bounds) {
    if (H5Zfilter_avail(32024) <= 0) GTEST_SKIP() << "no SZ3 plugin: set HDF5_PLUGIN_PATH";
    expect_file_holds_the_fields("caesura", "sz3", 1);
}

}  // namespace
}  // namespace cosmology
