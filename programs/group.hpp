// Which services a launcher (mpirun, srun) has started together: they tell each other by PMIx.
#pragma once

#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura {

class Group {
  public:
    /// Of this process. Before it has threads.
    /// Errors: invalid_argument (no launcher with PMIx has started it), unsupported (built
    /// without).
    static Result<Group> join();
    ~Group();
    Group(Group&& other) noexcept;
    Group& operator=(Group&&) = delete;

    std::uint32_t rank() const { return rank_; }
    /// Collective: what every other one calls this with. Waits for all, and no longer than that.
    /// Errors: io (names who has not come).
    Result<std::vector<std::string>> exchange(const std::string& address, double wait_s) const;

  private:
    Group() = default;
    std::string missing() const;
    std::string name_space_;  ///< empty: moved from
    std::uint32_t rank_ = 0, size_ = 0;
};

}  // namespace caesura
