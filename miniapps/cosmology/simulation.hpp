// The universe and its time step: kick-drift-kick leapfrog, equal steps in ln a.
//
// A step finds the forces at its scale factor, completes the momenta to that instant, makes the
// output fields if asked, and moves on to the next. Phases that compute and phases that talk
// alternate; see step_clock.hpp.
// Invariant: what a step computes depends on the options and the number of ranks only; making
// fields or not changes no particle.
#pragma once

#include <optional>

#include "accelerator.hpp"
#include "checks.hpp"
#include "fields.hpp"
#include "gravity.hpp"
#include "initial_conditions.hpp"
#include "options.hpp"
#include "step_clock.hpp"

namespace cosmology {

class Simulation {
  public:
    /// Makes the initial conditions, or goes on with what a run had after a step. Collective.
    Simulation(const Options& options, MPI_Comm comm, std::optional<Particles> restored = {});

    /// Advance from step `step` to the next. Collective.
    /// @param with_fields  make fields() of this step's instant.
    void step(int step, bool with_fields, StepClock& clock);

    /// What kind of step it is: some sort the particles, which takes longer.
    static const char* label(int step);

    double scale_factor(int step) const;
    const Fields& fields() const { return fields_; }
    /// As the next step begins with them.
    const Particles& particles() const { return particles_; }
    const Slab& slab() const { return slab_; }
    const Accelerator& accelerator() const { return accelerator_; }
    const Background& background() const { return background_; }
    /// Of the last step; filled if options.check. Local parts, see Diagnostics.
    const Diagnostics& diagnostics() const { return diagnostics_; }

  private:
    void solve_forces(StepClock& clock, bool with_fields);
    void make_gas(double a, StepClock& clock);
    void move_on(int step, StepClock& clock);

    const Options options_;
    const Slab slab_;
    const Background background_;
    Accelerator accelerator_;
    SlabFft fft_;
    Particles particles_;
    Migration migration_;
    RowSort sort_;
    Fields fields_;
    float particle_mass_;
    std::vector<float> mesh_;  ///< density, its transform and the potential, in place
    std::vector<Float4> gradient_, moments_;
    Diagnostics diagnostics_;
};

}  // namespace cosmology
