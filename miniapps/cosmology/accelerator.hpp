// Where the particle kernels run: on the host, with their device time emulated, or on a GPU.
//
// Invariant: one choice for all ranks of a run; a GPU that is asked for and missing is an error,
// never a silent emulation.
#pragma once

#include <mpi.h>

#include "device_kernels.hpp"
#include "step_clock.hpp"

namespace cosmology {

class Accelerator {
  public:
    /// @param choice  Options::device. Collective. Throws std::runtime_error for "cuda" without.
    Accelerator(const std::string& choice, MPI_Comm comm);

    bool is_cuda() const { return device_ != nullptr; }
    /// "cuda" or "emulated".
    const char* kind() const { return is_cuda() ? "cuda" : "emulated"; }
    /// This rank's GPU; empty if emulated.
    std::string name() const { return is_cuda() ? device_->name() : ""; }
    /// Why not a GPU; empty if one is used.
    const std::string& reason() const { return reason_; }

    /// The kernels of particle_kernels.hpp, as phases of a step; `share` as in StepClock::kernel.
    /// The mesh of deposit and the moments are overwritten.
    void deposit(StepClock& clock, double share, const SlabExtent& slab, const Particles& particles,
                 float mass, std::vector<float>& mesh);
    void kick(StepClock& clock, double share, const SlabExtent& slab, Particles& particles,
              const std::vector<Float4>& gradient, KickFactors factors, float mass,
              std::vector<Float4>* moments);
    void drift(StepClock& clock, double share, int n, Particles& particles, float factor);

  private:
    std::unique_ptr<DeviceKernels> device_;
    std::string reason_;
};

}  // namespace cosmology
