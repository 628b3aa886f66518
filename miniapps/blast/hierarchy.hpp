// A blast wave on three levels, each with cells half as wide as the one below it.
//
// Invariants:
//  - Boxes of level l + 1, grown by one cell, lie in level l, but for what lies outside the domain;
//    they begin and end at multiples of k_block cells of level l.
//  - All levels take the same steps. A coarse face below fine ones has the mean of their fluxes, so
//    a coarse cell below fine ones stays their mean, and mass and energy are conserved.
//  - Boxes and values have the same bits on any number of ranks.
#pragma once

#include <mpi.h>

#include "cluster.hpp"
#include "euler.hpp"
#include "level.hpp"
#include "options.hpp"

namespace blast {

constexpr int k_levels = 3;
constexpr int k_ratio = 2;
constexpr int k_block = 4;  ///< cells are tagged in blocks of this side

class Hierarchy {
  public:
    /// Collective, as all calls that change it.
    Hierarchy(const Options& options, MPI_Comm comm);

    void step();
    /// Places level 1 and 2 anew. True if a box has changed.
    bool regrid();

    const Level& level(int number) const { return levels_[static_cast<std::size_t>(number)]; }
    Box domain(int number) const;
    double spacing(int number) const;  ///< the domain's side is 1
    double time() const { return time_; }
    bool nested() const;
    /// Of one component over the domain, from the finest level that has a place. Collective.
    double total(int component) const;

  private:
    void start();
    void set_initial_values(Level& level, int number) const;
    Tags tags(int number);
    std::vector<Box> boxes_around(const Tags& tags) const;
    Level refined(int number, std::vector<Box> boxes);
    void average_down();
    void fill_ghosts(int number);
    void fill_from_coarser(int number);
    void mirror_at_walls(Level& level, int number) const;
    double stable_step() const;
    std::array<Level, 3> fluxes(const Level& level) const;
    void take_fine_fluxes(const std::array<Level, 3>& fine, std::array<Level, 3>& coarse) const;
    void update(Level& level, const std::array<Level, 3>& flux, double over_spacing) const;

    Options options_;
    MPI_Comm comm_;
    int rank_ = 0, ranks_ = 1;
    double time_ = 0.0;
    std::array<Level, k_levels> levels_;
};

}  // namespace blast
