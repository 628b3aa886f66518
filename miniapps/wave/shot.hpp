// One shot of a seismic survey, modelled and migrated: reverse time migration.
//
//     modelled:   the true earth      source ─► waves ─► receivers: data
//     forward:    the smooth earth    source ─► waves, a checkpoint every so many steps
//     backward:   the smooth earth    receivers ─► waves backwards in time; the source's waves
//                                     come back from checkpoints, last first, and are computed
//                                     again between them
//     image       where and when both waves meet something has reflected: their product, summed
//
// What comes straight from source to receivers is no reflection; it is modelled in the smooth earth
// and taken off the data.
//
// Invariants: with checkpoints that come back bit for bit the image has the bits of one for which
// every wavefield was kept (shot_test.cpp).
#pragma once

#include <functional>

#include "caesura/checkpointer.hpp"
#include "machine.hpp"

namespace wave {

struct Shot {
    Plane source, receivers;  ///< the source is one point
    float frequency_hz = 15.0F;
    int steps = 0;  ///< of time, recorded
};

/// What happens meanwhile; any may be empty.
struct Watch {
    /// Cells were given a new value: what an emulated GPU's clock needs.
    std::function<void(std::size_t cells)> computed;
    /// After every step of a pass over time; the last one forward when all is at the host.
    std::function<void(const char* pass, int step, int steps)> passed;
};

/// How the source's waves are kept for the backward pass.
struct Keeping {
    /// Null: every wavefield is kept in the machine's memory and nothing is computed twice. Else
    /// without checkpoints; each is two wavefields as floats, checkpoint_bytes() large.
    caesura::Checkpointer* checkpointer = nullptr;
    int every = 1;  ///< steps between checkpoints; as many wavefields are kept in between
};

/// [cells] each, in the machine.
struct Image {
    Floats image;
    Floats source_power;    ///< the source's waves squared and summed: where there was light
    Floats receiver_power;  ///< the receivers' likewise
};

std::uint64_t checkpoint_bytes(const Grid& grid);
int checkpoints(int steps, int every);

/// A wavelet with its peak, 1, at 1.2 / frequency.
float ricker(float time_s, float frequency_hz);

/// @param velocity  m/s, [nz, ny, nx]; the grid's step must be stable for it (earth.hpp).
Medium make_medium(Machine& machine, const Grid& grid, const std::vector<float>& velocity);

/// What the receivers hear: [steps, receivers], in the machine.
Floats model_shot(Machine& machine, const Medium& earth, const Shot& shot, const Watch& watch = {});

/// Adds one shot to an image. Throws std::runtime_error where machine or checkpointer fail.
/// @param data  of model_shot() in the true earth.
void migrate_shot(Machine& machine, const Medium& smooth, const Shot& shot, const float* data,
                  const Keeping& keeping, Image& image, const Watch& watch = {});

}  // namespace wave
