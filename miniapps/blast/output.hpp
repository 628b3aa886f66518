// The levels of a run in one file: each is a mesh of its own, "density", "density_lvl1",
// "density_lvl2" (openPMD's names), over the whole domain, of which the file has the boxes.
#pragma once

#include <optional>

#include "caesura/writer.hpp"
#include "sink.hpp"

namespace blast {

constexpr double k_fill_value = 0.0;  ///< where a level has no box; density and pressure are above

/// "density", "density_lvl1", ...
std::string field_name(const std::string& quantity, int level);

class Output final : public Sink {
  public:
    Output(const Options& options, const Hierarchy& hierarchy, MPI_Comm comm);
    void begin_step(int number) override;
    void dump(const Hierarchy& hierarchy) override;
    void end_step() override;
    void close() override;
    /// The report's own raw_bytes has whole chunks, with what boxes leave open.
    double stored_bytes() const override {
        return static_cast<double>(writer_->report().stored_bytes);
    }

  private:
    std::unique_ptr<caesura::Writer> writer_;
    std::vector<caesura::Field> density_, pressure_;  ///< of each level
    std::optional<caesura::Iteration> iteration_;
    int rank_ = 0;
};

}  // namespace blast
