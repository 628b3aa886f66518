// An ensemble of shots, stacked into one image. Each shot's forward waves are kept by a
// Checkpointer; what the first one recorded is what the others expect (S2 §III-A).
#pragma once

#include "options.hpp"
#include "shot.hpp"

namespace wave {

struct ShotReport {
    caesura::CheckpointerReport checkpoints;
    double forward_s = 0.0;  ///< of the device's clock: the forward pass until all is at the host
    double backward_s = 0.0;
};

struct Surveyed {
    Grid grid;
    Shot first;                   ///< the others differ in where the source is
    std::vector<float> velocity;  ///< [nz, ny, nx] m/s
    std::vector<float> image;     ///< [cells], as summed
    std::vector<float> source_power, receiver_power;
    std::vector<ShotReport> shots;
    std::string machine;
    bool emulated = true;
};

/// Before each shot, and what Watch has of its passes.
struct SurveyWatch {
    std::function<void(int shot, int shots)> shot;
    std::function<void(const char* pass, int step, int steps)> passed;
};

/// @param with_checkpoints  false: every wavefield stays in memory; no reports.
/// Throws std::runtime_error.
Surveyed run_survey(const Options& options, bool with_checkpoints, const SurveyWatch& watch = {});

/// As pictures want it: divided by where there was light, low frequencies taken off by a Laplacian,
/// [nz, ny, nx].
std::vector<float> finished_image(const Surveyed& surveyed);

struct Difference {
    double largest = 0.0, largest_of_image = 0.0;
    /// Of a bound, the largest difference in cells' shares of what it explains: a wrong wavefield
    /// of at most (2 every + 1) bounds, what a plane wave's becomes until the next checkpoint, with
    /// receivers' waves of the power that was there (Cauchy and Schwarz). 0: lossless.
    double of_explained = 0.0;
};
Difference compare(const Surveyed& kept, const Surveyed& exact, const Options& options);

}  // namespace wave
