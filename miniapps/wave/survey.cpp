#include "survey.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "caesura/device.hpp"
#include "earth.hpp"

namespace wave {
namespace {

using caesura::plan::CheckpointProfile;

template <class T>
T value_of(caesura::Result<T>&& result) {
    if (!result.ok()) throw std::runtime_error(result.status().message());
    return *std::move(result);
}

// ----------------------------------------------------------------------------------- the device

// An A100 with nvCOMP, as bench/together/a100.json takes it from S2's words.
constexpr double k_compress_launch_s = 32e-6, k_compress_bytes_per_s = 550e9,
                 k_copy_bytes_per_s = 500e9;

CheckpointProfile machine_of(const Options& options, const Grid& grid) {
    CheckpointProfile profile;
    profile.checkpoint_bytes = checkpoint_bytes(grid);
    profile.cache_bytes = options.cache_bytes;
    profile.link_bytes_per_s = options.link_bytes_per_s;
    profile.copy_bytes_per_s = k_copy_bytes_per_s;
    for (const double bytes : {1e3, 1e10})
        profile.compress_curve.push_back(
            {bytes, k_compress_launch_s + bytes / k_compress_bytes_per_s});
    return profile;
}

/// Waves, checkpoints, and whose time goes by meanwhile.
struct Devices {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<caesura::device::Device> device;
    caesura::device::EmulatedDevice* emulated = nullptr;  ///< device, or null
};

Devices open_devices(const Options& options, const CheckpointProfile& expected) {
    if (options.gpu) {  // both in the default stream
        caesura::device::CudaOptions how;
        return {make_gpu_machine(), value_of(caesura::device::create_cuda_device(how)), nullptr};
    }
    caesura::device::EmulatedMachine model;
    model.memory_bytes = expected.cache_bytes;
    model.link_bytes_per_s = expected.link_bytes_per_s;
    model.copy_bytes_per_s = k_copy_bytes_per_s;
    model.compress_s = [curve = expected.compress_curve](double bytes) {
        return caesura::plan::compress_s(curve, bytes);
    };
    auto emulated = std::make_unique<caesura::device::EmulatedDevice>(
        value_of(caesura::device::EmulatedDevice::create(std::move(model))));
    auto* const clock = emulated.get();
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    return {make_host_machine(options.threads > 0 ? options.threads : cores), std::move(emulated),
            clock};
}

// ---------------------------------------------------------------------------------- the profile

/// What was kept of another run, or the machine alone. A file of another machine or grid is of no
/// use, and says so.
CheckpointProfile expected_first(const Options& options, const CheckpointProfile& machine) {
    if (options.profile.empty() || !std::filesystem::exists(options.profile)) return machine;
    std::ostringstream text;
    text << std::ifstream(options.profile).rdbuf();
    const auto profile = caesura::plan::parse_checkpoint_profile(text.str());
    if (!profile.ok())
        throw std::runtime_error("--profile " + options.profile + ": " +
                                 profile.status().message());
    if (profile->checkpoint_bytes != machine.checkpoint_bytes ||
        profile->cache_bytes != machine.cache_bytes)
        throw std::runtime_error("--profile " + options.profile +
                                 " is of a run with other checkpoints or another cache; name a "
                                 "file of its own for each");
    return *profile;
}

/// By the file's text, whether or not it is kept: others read nothing else.
CheckpointProfile kept_profile(const CheckpointProfile& recorded, const std::string& path) {
    const std::string text = caesura::plan::to_json(recorded);
    if (!path.empty() && !(std::ofstream(path) << text).flush())
        throw std::runtime_error("cannot write --profile " + path);
    return value_of(caesura::plan::parse_checkpoint_profile(text));
}

// ------------------------------------------------------------------------------------ the survey

Grid grid_of(const Options& options) {
    Grid grid;
    grid.nz = options.nz;
    grid.ny = options.ny;
    grid.nx = options.nx;
    grid.spacing_m = options.spacing_m;
    grid.step_s = stable_step_s(options.spacing_m, k_fastest_m_per_s);
    grid.sponge = options.sponge;
    return grid;
}

/// Sources evenly along x, receivers in every cell, both just below the upper sponge.
Shot shot_of(const Options& options, const Grid& grid, int shot) {
    const int depth = grid.sponge + 2, inner = grid.nx - 2 * grid.sponge;
    Shot made;
    made.source = {depth, grid.ny / 2, 1,
                   grid.sponge + (2 * shot + 1) * inner / (2 * options.shots), 1};
    made.receivers = {depth, grid.sponge, grid.ny - 2 * grid.sponge, grid.sponge, inner};
    made.frequency_hz = options.frequency_hz;
    made.steps = std::max(1, static_cast<int>(options.record_s / grid.step_s));
    return made;
}

class Survey {
  public:
    Survey(const Options& options, const SurveyWatch& watch)
        : options_(options),
          watch_(watch),
          grid_(grid_of(options)),
          expected_(machine_of(options, grid_)),
          devices_(open_devices(options, expected_)),
          machine_(*devices_.machine),
          device_(*devices_.device),
          velocity_(earth_velocity(grid_)),
          earth_(make_medium(machine_, grid_, velocity_)),
          smooth_(make_medium(machine_, grid_, smooth_velocity(grid_, velocity_, k_smooth))),
          image_{machine_.make(grid_.cells()), machine_.make(grid_.cells()),
                 machine_.make(grid_.cells())} {
        expected_ = expected_first(options, expected_);
    }

    Surveyed run(bool with_checkpoints) {
        for (int shot = 0; shot < options_.shots; ++shot) {
            if (watch_.shot) watch_.shot(shot, options_.shots);
            migrate(shot, with_checkpoints);
        }
        Surveyed made{
            grid_, shot_of(options_, grid_, 0), velocity_, {}, {}, {}, reports_, machine_.name(),
            true};
        for (const auto& [floats, to] : {std::pair{&image_.image, &made.image},
                                         std::pair{&image_.source_power, &made.source_power},
                                         std::pair{&image_.receiver_power, &made.receiver_power}}) {
            to->resize(grid_.cells());
            machine_.download(*to, floats->get());
        }
        return made;
    }

  private:
    static constexpr int k_smooth = 5;  ///< cells

    void migrate(int number, bool with_checkpoints) {
        const Shot shot = shot_of(options_, grid_, number);
        const Floats data = model_shot(machine_, earth_, shot, {{}, watch_.passed});
        if (!with_checkpoints) {
            migrate_shot(machine_, smooth_, shot, data.get(), {}, image_, {{}, watch_.passed});
            return;
        }
        caesura::CheckpointerOptions kept;
        kept.content = {
            caesura::float32,
            {2, static_cast<std::uint64_t>(grid_.nz + 2 * k_reach),
             static_cast<std::uint64_t>(grid_.ny + 2 * k_reach),
             static_cast<std::uint64_t>(grid_.nx + 2 * k_reach)},
            options_.bound > 0.0 ? caesura::absolute(options_.bound) : caesura::lossless()};
        kept.checkpoints = static_cast<std::uint64_t>(checkpoints(shot.steps, options_.every));
        const auto checkpointer = value_of(caesura::Checkpointer::create(device_, expected_, kept));
        ShotReport report;
        const double begin_s = device_.now_s();
        double turned_s = begin_s;
        migrate_shot(
            machine_, smooth_, shot, data.get(), {checkpointer.get(), options_.every}, image_,
            {[&](std::size_t cells) {
                 if (devices_.emulated != nullptr)
                     devices_.emulated->work(static_cast<double>(cells) / options_.cells_per_s);
             },
             [&](const char* pass, int step, int steps) {
                 if (std::string_view(pass) == "forward") turned_s = device_.now_s();
                 if (watch_.passed) watch_.passed(pass, step, steps);
             }});
        report.checkpoints = checkpointer->report();
        report.forward_s = turned_s - begin_s;
        report.backward_s = device_.now_s() - turned_s;
        reports_.push_back(report);
        if (number == 0) expected_ = kept_profile(checkpointer->recorded(), options_.profile);
    }

    const Options& options_;
    const SurveyWatch& watch_;
    Grid grid_;
    CheckpointProfile expected_;
    Devices devices_;
    Machine& machine_;
    caesura::device::Device& device_;
    std::vector<float> velocity_;
    Medium earth_, smooth_;
    Image image_;
    std::vector<ShotReport> reports_;
};

}  // namespace

Surveyed run_survey(const Options& options, bool with_checkpoints, const SurveyWatch& watch) {
    return Survey(options, watch).run(with_checkpoints);
}

std::vector<float> finished_image(const Surveyed& surveyed) {
    const Grid& grid = surveyed.grid;
    const float brightest =
        *std::max_element(surveyed.source_power.begin(), surveyed.source_power.end());
    std::vector<float> lit(surveyed.image.size());
    for (std::size_t i = 0; i < lit.size(); ++i)
        lit[i] = surveyed.image[i] / (surveyed.source_power[i] + 1e-4F * brightest);
    std::vector<float> finished;
    for (int z = 0; z < grid.nz; ++z)
        for (int y = 0; y < grid.ny; ++y)
            for (int x = 0; x < grid.nx; ++x) {
                const float* at = lit.data() + grid.at(z, y, x);
                finished.push_back(6.0F * at[0] - at[-1] - at[1] - at[-grid.row()] -
                                   at[grid.row()] - at[-grid.plane()] - at[grid.plane()]);
            }
    return finished;
}

Difference compare(const Surveyed& kept, const Surveyed& exact, const Options& options) {
    Difference found;
    const double wrong = (2.0 * options.every + 1.0) * options.bound;
    const double steps = static_cast<double>(options.shots) * exact.first.steps;
    for (std::size_t i = 0; i < exact.image.size(); ++i) {
        const double off = std::abs(double{kept.image[i]} - double{exact.image[i]});
        found.largest = std::max(found.largest, off);
        found.largest_of_image = std::max(found.largest_of_image, std::abs(double{exact.image[i]}));
        if (off > 0.0)
            found.of_explained = std::max(
                found.of_explained, off / (wrong * std::sqrt(steps * exact.receiver_power[i])));
    }
    return found;
}

}  // namespace wave
