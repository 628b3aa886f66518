// The particle kernels on a GPU: the same numbers as particle_kernels.hpp, to rounding.
//
// Each kernel is three calls: begin copies its inputs to the device and starts it, wait sleeps
// until the device is done (a blocking wait: the core is free meanwhile), end copies the results
// back. The particles live on the host, where they are sorted and change ranks, and travel for
// every kernel: simple, not the fastest.
// Invariants:
//  - a run repeats bit by bit: sums over particles are 64-bit integers, whose order cannot matter,
//    turned into floats once at the end. The quantum is such that all particles in one cell do not
//    overflow: at most 2^-61 of count times the largest contribution, far below a float's rounding;
//  - one kernel at a time: begin, wait, end of one before begin of the next;
//  - errors of the device are std::runtime_error with a sentence that says what to do.
#pragma once

#include <memory>
#include <string>

#include "particle_kernels.hpp"

namespace cosmology {

class DeviceKernels {
  public:
    virtual ~DeviceKernels() = default;
    /// As its maker calls it.
    virtual const std::string& name() const = 0;
    virtual void wait() = 0;

    /// deposit_mass().
    virtual void begin_deposit(const SlabExtent& slab, const Particles& particles, float mass) = 0;
    virtual void end_deposit(float* density) = 0;
    /// kick(); `gradient` and `moments` as there, four floats a node. end throws if a momentum was
    /// not finite: such particles have no place in a sum.
    virtual void begin_kick(const SlabExtent& slab, const Particles& particles,
                            const float* gradient, KickFactors factors, float mass,
                            bool with_moments) = 0;
    virtual void end_kick(Particles& particles, float* moments) = 0;
    /// drift().
    virtual void begin_drift(int n, const Particles& particles, float factor) = 0;
    virtual void end_drift(Particles& particles) = 0;
};

/// What was found: kernels, or why there are none.
struct OpenedDevice {
    std::unique_ptr<DeviceKernels> kernels;
    std::string reason;
};

/// Opens a device for this process. Never throws for want of one.
/// @param rank_on_node  >= 0; the node's ranks are dealt over its devices in turn.
OpenedDevice open_device(int rank_on_node);

}  // namespace cosmology
