// The levels of a run in one file: each is a mesh of its own, "density", "density_lvl1",
// "density_lvl2" (openPMD's names), over the whole domain, of which the file has the boxes.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caesura/writer.hpp"
#include "hierarchy.hpp"

namespace blast {

constexpr double k_fill_value = 0.0;  ///< where a level has no box; density and pressure are above

/// "density", "density_lvl1", ...
std::string field_name(const std::string& quantity, int level);

class Output {
  public:
    /// Collective, as all calls. Errors: std::runtime_error.
    Output(const Options& options, const Hierarchy& hierarchy, MPI_Comm comm);
    /// A step of the simulation; its end hands a dump over, if there is one.
    void begin_step(int number);
    void dump(const Hierarchy& hierarchy);
    void end_step();
    void close();
    caesura::WriterReport report() const { return writer_->report(); }  ///< of this rank

  private:
    std::unique_ptr<caesura::Writer> writer_;
    std::vector<caesura::Field> density_, pressure_;  ///< of each level
    std::optional<caesura::Iteration> iteration_;
    int rank_ = 0;
};

}  // namespace blast
