// What the ranks have to do: the phases of an iteration and the blocks of a dump, noise included.
//
// Invariants:
//  - A phase or a block is the same in every mode and whenever it is asked for.
//  - What was predicted is the scenario's number; what comes is that number with its noise.
#pragma once

#include "simulate/random.hpp"
#include "simulate/simulate.hpp"

namespace caesura::simulate {

/// A stretch of an iteration, and what the application needs during it.
struct Phase {
    double length_s = 0.0;
    bool host = false;     ///< its core
    bool network = false;  ///< network or file system
};

/// A block of one dump of one rank.
struct Piece {
    double raw_bytes = 0.0;
    double predicted_bytes = 0.0, bytes = 0.0;            ///< compressed
    double predicted_compress_s = 0.0, compress_s = 0.0;  ///< of an undisturbed core
    double write_factor = 1.0;                            ///< its write takes so much longer
};

class Workload {
  public:
    /// @param scenario  valid; must outlive this object.
    explicit Workload(const Scenario& scenario);

    void phases(std::uint32_t rank, std::uint32_t iteration, std::vector<Phase>& phases) const;
    std::vector<Piece> pieces(std::uint32_t rank, std::uint32_t iteration) const;
    /// The system's bandwidth in its n-th period, 0: no limit.
    double system_bytes_per_s(std::uint64_t period) const;
    bool dumps(std::uint32_t iteration) const;
    double raw_bytes(std::uint32_t rank) const;

  private:
    struct Plan {  // the boundaries of a pattern's phases, and the phases between them
        std::vector<double> ends_s;
        std::vector<Phase> phases;
    };
    void spread_ratios();

    const Scenario& scenario_;
    Random random_;
    std::vector<Plan> plans_;          // [pattern]
    std::vector<double> ratio_scale_;  // [rank]
};

}  // namespace caesura::simulate
