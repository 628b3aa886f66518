// Units and places of the particles' records; see particle_records.hpp.

#include "particle_records.hpp"

#include <mpi.h>

#include <cmath>

#include "fields.hpp"

namespace cosmology {

namespace {

constexpr double k_hubble_per_s = 3.2407792894443648e-18;  // 100 km/s/Mpc

}  // namespace

std::array<RecordInfo, Particles::k_arrays> record_infos(const Options& options) {
    const double cell_m = options.box_mpc / options.grid * k_metres_per_mpc;
    const char* const axes[] = {"x", "y", "z"};
    std::array<RecordInfo, Particles::k_arrays> infos;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        infos[axis] = {std::string("position/") + axes[axis], cell_m, {1.0}};
        infos[3 + axis] = {std::string("momentum/") + axes[axis],
                           cell_m * options.cosmology.h * k_hubble_per_s,
                           {1.0, 0.0, -1.0}};
    }
    return infos;
}

double particle_mass(const Options& options) {
    return std::pow(double(options.grid) / options.particles, 3);
}

Share share_of(const Particles& particles, const Slab& slab) {
    Share share;
    share.count = particles.count();
    MPI_Exscan(&share.count, &share.begin, 1, MPI_UINT64_T, MPI_SUM, slab.comm());
    if (slab.rank() == 0) share.begin = 0;  // there undefined
    MPI_Allreduce(&share.count, &share.total, 1, MPI_UINT64_T, MPI_SUM, slab.comm());
    return share;
}

}  // namespace cosmology
