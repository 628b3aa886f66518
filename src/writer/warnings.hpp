// What a user must know without having asked: on rank 0's stderr, in one line with what to do, each
// kind once in a process. Where WriterOptions::on_message is set it goes there instead, on the rank
// that it is about.
//
// Invariants:
//  - What another rank has to say reaches rank 0 with the next exchange (Round::exchange), and
//  never
//    makes one by itself.
//  - Each line is one write(), so that lines of other processes do not cut it. A failed write() is
//    no error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caesura/writer.hpp"

namespace caesura::writer {

enum class Warning : std::uint8_t {
    starved,      ///< compress threads get too little time
    balance_off,  ///< ranks of a node do not write for each other, though they were to
    over_budget,
    unplanned,
    calibration,
    service_lost,
    service_back,
    service_refused,
    plugin,   ///< one that is missing makes files larger
    of_file,  ///< whatever concerns one file: said whenever it comes
};

class Warnings {
  public:
    Warnings(const std::function<void(std::string_view)>& on_message, int rank)
        : on_message_(on_message), rank_(rank) {}

    /// Application's thread.
    void warn(Warning what, const std::string& text);
    /// How many wait for an exchange.
    std::uint32_t unsaid() const { return static_cast<std::uint32_t>(unsaid_.size()); }
    /// Where any rank has one unsaid: to rank 0, which prints one of each kind. Collective.
    Status hand_over(Communicator& ranks);

  private:
    struct Unsaid {
        Warning what;
        std::string text;
    };
    const std::function<void(std::string_view)>& on_message_;
    const int rank_;
    std::vector<Unsaid> unsaid_;
};

}  // namespace caesura::writer
