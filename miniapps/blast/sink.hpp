// Where the dumps of a run go. Each program is linked with one: Caesura's Writer (output.cpp), or
// plain parallel HDF5 (plotfile.cpp).
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "hierarchy.hpp"

namespace blast {

/// All calls are collective. Errors: std::runtime_error.
class Sink {
  public:
    virtual ~Sink() = default;
    /// A step of the simulation; its end hands a dump over, if there is one.
    virtual void begin_step(int number) = 0;
    virtual void dump(const Hierarchy& hierarchy) = 0;
    virtual void end_step() = 0;
    virtual void close() = 0;
    /// After close(), of this rank; 0: nobody has counted.
    virtual double stored_bytes() const = 0;
};

std::unique_ptr<Sink> make_sink(const Options& options, const Hierarchy& hierarchy, MPI_Comm comm);
/// What the program writes, for --help.
std::string sink_text();

constexpr int k_quantities = 2;  ///< density, pressure
/// Values of one in a box, in its own order: axis 0 the slowest.
std::vector<float> values_of(const Patch& patch, const Box& box, int quantity);

}  // namespace blast
