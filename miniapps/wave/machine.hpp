// Where wavefields live and are computed: the host's cores, or a GPU. Migration (shot.hpp) is
// written once, in these few operations.
//
// Invariants:
//  - C++17: nvcc compiles it too.
//  - Floats of a machine are touched through its operations only.
//  - Operations take effect in the order in which they are given.
//  - What a machine cannot do is a std::runtime_error with a sentence that says what to do.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "grid.hpp"

namespace wave {

using Floats = std::shared_ptr<float>;

/// What waves run through.
struct Medium {
    Grid grid;
    Floats courant2;                         ///< [cells] (v step / spacing)^2; 0 in the rim
    Floats damping_z, damping_y, damping_x;  ///< [nz], [ny], [nx]; a cell's is their sum
};

class Machine {
  public:
    virtual ~Machine() = default;
    virtual const std::string& name() const = 0;

    /// Zeros.
    virtual Floats make(std::size_t count) = 0;
    virtual void upload(float* to, const std::vector<float>& from) = 0;
    virtual void download(std::vector<float>& to, const float* from) = 0;
    virtual void copy(float* to, const float* from, std::size_t count) = 0;

    /// @param before  in: one step ago; out: one step ahead.
    virtual void step(const Medium& medium, const float* now, float* before) = 0;
    /// Adds courant2 times values[point] at each point of the plane.
    virtual void inject(const Medium& medium, const Plane& plane, const float* values,
                        float* field) = 0;
    virtual void record(const Grid& grid, const Plane& plane, const float* field,
                        float* values) = 0;
    /// image += source receivers, source_power += source^2, receiver_power likewise, in each of
    /// `cells`.
    virtual void correlate(std::size_t cells, const float* source, const float* receivers,
                           float* image, float* source_power, float* receiver_power) = 0;
    /// Everything given so far is done.
    virtual void finish() = 0;
};

/// The host's cores. The result does not depend on how many.
/// @param threads  >= 1
std::unique_ptr<Machine> make_host_machine(int threads);
/// A GPU. Throws where this build or machine has none.
std::unique_ptr<Machine> make_gpu_machine();

}  // namespace wave
