// wave: the command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the check found a difference.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "survey.hpp"

namespace {

using wave::Surveyed;

/// One line that is written over on a terminal, one line a pass elsewhere.
class Progress {
  public:
    explicit Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}
    wave::SurveyWatch watch(const char* what) {
        return {[this, what](int shot, int shots) {
                    label_ = fmt::format("{}shot {} of {}", what, shot + 1, shots);
                },
                [this](const char* pass, int step, int steps) { show(pass, step, steps); }};
    }

  private:
    void show(const char* pass, int step, int steps) const {
        const bool last = step == steps;
        if (quiet_ || (!last && (!terminal_ || step % 8 != 0))) return;
        fmt::print(stderr, "{}{}: {:8} {:5} of {} steps{}", terminal_ ? "\r" : "", label_, pass,
                   step, steps, last ? "\n" : "");
        std::fflush(stderr);
    }
    bool quiet_, terminal_;
    std::string label_;
};

/// Version 1.0 of NumPy's format: a header of text, then the floats.
void write_npy(const std::string& path, const wave::Grid& grid, const std::vector<float>& values) {
    std::string header =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, {}), }}", grid.nz,
                    grid.ny, grid.nx);
    header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() % 256)
         << static_cast<char>(header.size() / 256) << header;
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

nlohmann::json report_of(const Surveyed& surveyed, const wave::Options& options) {
    nlohmann::json shots = nlohmann::json::array();
    for (const wave::ShotReport& shot : surveyed.shots) {
        const auto& kept = shot.checkpoints;
        shots.push_back({{"word", kept.word},
                         {"forward_s", shot.forward_s},
                         {"backward_s", shot.backward_s},
                         {"checkpoint_s", kept.checkpoint_s},
                         {"restore_s", kept.restore_s},
                         {"raw_bytes", kept.raw_bytes},
                         {"link_bytes", kept.link_bytes},
                         {"restores", kept.restores},
                         {"prefetched", kept.prefetched},
                         {"peak_cache_bytes", kept.peak_cache_bytes}});
    }
    return {{"emulated_device", surveyed.emulated},
            {"machine", surveyed.machine},
            {"shape", {surveyed.grid.nz, surveyed.grid.ny, surveyed.grid.nx}},
            {"steps", surveyed.first.steps},
            {"step_s", surveyed.grid.step_s},
            {"every", options.every},
            {"checkpoint_bytes", wave::checkpoint_bytes(surveyed.grid)},
            {"bound", options.bound},
            {"shots", shots}};
}

void print_summary(const Surveyed& surveyed, const wave::Options& options) {
    const wave::Grid& grid = surveyed.grid;
    fmt::print("{} x {} x {} cells, {} steps of {:.2f} ms, {} checkpoints of {:.1f} MB a shot\n",
               grid.nz, grid.ny, grid.nx, surveyed.first.steps, 1e3 * grid.step_s,
               wave::checkpoints(surveyed.first.steps, options.every),
               static_cast<double>(wave::checkpoint_bytes(grid)) / 1e6);
    fmt::print("computed by the {}; times {}:\n", surveyed.machine,
               surveyed.emulated ? "of an emulated GPU" : "measured");
    fmt::print(
        "shot  raw  alone  together  of the raw bytes  GB/s  forward ms  kept ms  "
        "backward ms  restored ms  prefetched\n");
    for (std::size_t i = 0; i < surveyed.shots.size(); ++i) {
        const auto& shot = surveyed.shots[i];
        const auto& kept = shot.checkpoints;
        const auto count = [&](char letter) {
            return std::count(kept.word.begin(), kept.word.end(), letter);
        };
        const auto raw = static_cast<double>(kept.raw_bytes);
        fmt::print(
            "{:4} {:4} {:6} {:9} {:15.0f} % {:5.0f} {:11.2f} {:8.2f} {:12.2f} {:12.2f} "
            "{:4} of {}\n",
            i + 1, count('U'), count('C'), count('A') + count('X'),
            100.0 * static_cast<double>(kept.link_bytes) / raw, raw / kept.checkpoint_s / 1e9,
            1e3 * shot.forward_s, 1e3 * kept.checkpoint_s, 1e3 * shot.backward_s,
            1e3 * kept.restore_s, kept.prefetched, kept.restores);
    }
}

/// @return  whether the image is what it would be without checkpoints.
bool check(const Surveyed& surveyed, const wave::Options& options, Progress& progress) {
    const Surveyed exact = run_survey(options, false, progress.watch("without checkpoints, "));
    const wave::Difference found = compare(surveyed, exact, options);
    if (options.bound == 0.0) {
        const bool same = surveyed.image == exact.image;
        fmt::print("the image {} the one without checkpoints\n",
                   same ? "has the bits of" : "differs from");
        return same;
    }
    fmt::print(
        "the image differs from the one without checkpoints by {:.2g} of its largest value, "
        "{:.2g} of what the bound explains\n",
        found.largest / found.largest_of_image, found.of_explained);
    return found.of_explained <= 1.0;
}

int run(const wave::Options& options) {
    Progress progress(options.quiet);
    const Surveyed surveyed = run_survey(options, true, progress.watch(""));
    if (!options.image.empty())
        write_npy(options.image, surveyed.grid, wave::finished_image(surveyed));
    if (!options.velocity.empty()) write_npy(options.velocity, surveyed.grid, surveyed.velocity);
    if (!options.json.empty() &&
        !(std::ofstream(options.json) << report_of(surveyed, options).dump(1) << '\n').flush())
        throw std::runtime_error("cannot write --json " + options.json);
    if (!options.quiet) print_summary(surveyed, options);
    return options.check && !check(surveyed, options, progress) ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const wave::Options options = wave::parse_options(argc, argv);
        if (options.help) {
            fmt::print("{}", wave::help_text());
            return 0;
        }
        return run(options);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "wave: {}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "wave: {}\n", error.what());
        return 1;
    }
}
