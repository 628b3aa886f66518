// See run.hpp.

#include "run.hpp"

#include "sink.hpp"

namespace blast {

RunResult run(const Options& options, MPI_Comm comm,
              const std::function<void(int, const Hierarchy&)>& on_dump) {
    Hierarchy hierarchy(options, comm);
    const auto output = make_sink(options, hierarchy, comm);
    RunResult result;
    result.nested = hierarchy.nested();
    const double mass = hierarchy.total(0), energy = hierarchy.total(4);
    for (int step = 0; step <= options.steps; ++step) {
        output->begin_step(step);
        if (step > 0) hierarchy.step();
        if (step > 0 && step % options.regrid_every == 0) {
            result.regrids += hierarchy.regrid() ? 1 : 0;
            result.nested = result.nested && hierarchy.nested();
        }
        if (step % options.dump_every == 0) {
            output->dump(hierarchy);
            for (int l = 0; l < k_levels; ++l)
                for (const Box& box : hierarchy.level(l).layout.boxes)
                    result.raw_bytes += 2.0 * sizeof(float) * static_cast<double>(box.cells());
            if (on_dump) on_dump(step, hierarchy);
        }
        output->end_step();
    }
    output->close();
    result.mass_drift = hierarchy.total(0) / mass - 1.0;
    result.energy_drift = hierarchy.total(4) / energy - 1.0;
    result.stored_bytes = output->stored_bytes();
    MPI_Allreduce(MPI_IN_PLACE, &result.stored_bytes, 1, MPI_DOUBLE, MPI_SUM, comm);
    return result;
}

}  // namespace blast
