// How busy this host's cores are with other things than this process, and a GPU with anything.
//
// Source: S4 §III-C, "device utilisation": the share of time spent busy in a sampling period.
// Differs: what this process does itself is taken off, because its own requests are known by
// number.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::where {

/// CPU seconds since an arbitrary begin.
struct CpuTimes {
    double all_idle_s = 0.0;    ///< of all cores that this process may use
    double own_s = 0.0;         ///< of this process
    double group_busy_s = 0.0;  ///< of its control group, where that has a quota
};

/// What may be used, and where it is read.
struct CpuPlace {
    std::vector<int> cores;    ///< that this process may run on
    double quota_cores = 0.0;  ///< of its control group; 0: no quota
    std::string group_usage;   ///< the file that says what the group has used; "": none
};

/// @param root  in front of /proc and /sys, for tests.
CpuPlace find_cpu_place(const std::string& root = "");
/// nullopt: /proc cannot be read.
std::optional<CpuTimes> read_cpu_times(const CpuPlace& place, const std::string& root = "");
/// The share of the time between two readings in which others had the cores, 0 to 1; of cores and
/// quota what leaves less.
double busy_share(const CpuPlace& place, const CpuTimes& before, const CpuTimes& after,
                  double seconds);

/// Samples when asked and a period has gone by. Any thread of normal priority.
class HostUtilisation {
  public:
    explicit HostUtilisation(double period_s = 0.1);
    double share(double now_s);

  private:
    const CpuPlace place_;
    const double period_s_;
    std::mutex mutex_;
    std::optional<CpuTimes> last_;
    double last_s_ = 0.0, share_ = 0.0;
    bool is_first_ = true;
};

/// A GPU's share of time with a kernel on it, by NVML. Not run on a GPU yet.
class GpuUtilisation {
  public:
    /// Errors: unsupported (no NVML, no such GPU).
    static Result<std::unique_ptr<GpuUtilisation>> open(int ordinal);
    ~GpuUtilisation();
    /// 0 where NVML does not say.
    double share() const;

  private:
    GpuUtilisation() = default;
    void* library_ = nullptr;
    void* device_ = nullptr;
    int (*utilisation_)(void*, unsigned*) = nullptr;
    int (*shutdown_)() = nullptr;
};

}  // namespace caesura::where
