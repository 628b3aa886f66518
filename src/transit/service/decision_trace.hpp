// The service's trace: each block on the device that did it, with what was decided and predicted,
// as Chrome-trace JSON (an array whose end may be missing, as the format allows).
//
// Invariants:
//  - A block's line is in the file once it is done, whatever happens to the service then.
//  - The file stays below k_most_bytes; what comes later is not traced. That it cannot be written
//    ends nothing.
#pragma once

#include <fstream>
#include <mutex>
#include <string>

#include "transit/service/dispatch.hpp"

namespace caesura::transit {

class DecisionTrace {
  public:
    static constexpr std::uint64_t k_most_bytes = std::uint64_t{256} << 20;
    /// Errors: io (it cannot be made).
    static Result<std::shared_ptr<DecisionTrace>> create(const std::string& path,
                                                         std::vector<std::string> devices);
    /// Any thread of normal priority.
    void add(const Placed& placed);

  private:
    explicit DecisionTrace(std::vector<std::string> devices) : devices_(std::move(devices)) {}
    void line(const std::string& text);
    const std::vector<std::string> devices_;  ///< "cpu" first
    std::mutex mutex_;
    std::ofstream file_;
    std::uint64_t bytes_ = 0;
    double origin_s_ = 0.0;
};

}  // namespace caesura::transit
