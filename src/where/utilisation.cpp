#include "where/utilisation.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

namespace caesura::where {
namespace {

std::optional<double> number_in(const std::string& path) {
    std::ifstream file(path);
    double number = 0.0;
    if (file >> number) return number;
    return std::nullopt;
}

double process_cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The path of this process's group behind `marker` in /proc/self/cgroup.
std::string group_path(const std::string& root, const std::string& marker) {
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        if (const std::size_t at = line.find(marker); at != std::string::npos)
            return line.substr(at + marker.size());
    return "";
}

}  // namespace

CpuPlace find_cpu_place(const std::string& root) {
    CpuPlace place;
    cpu_set_t cores;
    if (::sched_getaffinity(0, sizeof cores, &cores) == 0)
        for (int core = 0; core < CPU_SETSIZE; ++core)
            if (CPU_ISSET(core, &cores)) place.cores.push_back(core);
    // Version 2: "max 100000" or "50000 100000".
    const std::string two = root + "/sys/fs/cgroup" + group_path(root, "0::");
    std::ifstream limit(two + "/cpu.max");
    double quota = 0.0, period = 0.0;
    if (limit >> quota >> period && quota > 0.0 && period > 0.0) {
        place.quota_cores = quota / period;
        place.group_usage = two + "/cpu.stat";
        return place;
    }
    const std::string one = root + "/sys/fs/cgroup/cpu";
    const auto quota_us = number_in(one + "/cpu.cfs_quota_us");
    const auto period_us = number_in(one + "/cpu.cfs_period_us");
    if (quota_us && period_us && *quota_us > 0.0 && *period_us > 0.0) {
        place.quota_cores = *quota_us / *period_us;
        place.group_usage = root + "/sys/fs/cgroup/cpuacct/cpuacct.usage";
    }
    return place;
}

std::optional<CpuTimes> read_cpu_times(const CpuPlace& place, const std::string& root) {
    std::ifstream stat(root + "/proc/stat");
    const auto ticks = static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
    CpuTimes times;
    bool any = false;
    for (std::string line; std::getline(stat, line);) {
        std::istringstream fields(line);
        std::string name;
        double user = 0, nice = 0, system = 0, idle = 0, waiting = 0;
        fields >> name >> user >> nice >> system >> idle >> waiting;
        if (!name.starts_with("cpu") || name == "cpu") continue;
        const int core = std::atoi(name.c_str() + 3);
        if (std::find(place.cores.begin(), place.cores.end(), core) == place.cores.end()) continue;
        // Busy is what is not idle. Kernels of today measure idle time, but busy time they take
        // from where each tick falls, and a load in step with the ticks would be seen wholly or not
        // at all.
        times.all_idle_s += (idle + waiting) / ticks;
        any = true;
    }
    if (!any) return std::nullopt;
    times.own_s = process_cpu_s();
    if (place.group_usage.empty()) return times;
    std::ifstream usage(place.group_usage);
    std::string key;
    double value = 0.0;
    if (usage >> key) {
        if (key == "usage_usec" && usage >> value)
            times.group_busy_s = 1e-6 * value;
        else
            times.group_busy_s = 1e-9 * std::strtod(key.c_str(), nullptr);
    }
    return times;
}

double busy_share(const CpuPlace& place, const CpuTimes& before, const CpuTimes& after,
                  double seconds) {
    if (seconds <= 0.0) return 0.0;
    const double own_s = after.own_s - before.own_s;
    const auto share = [&](double busy_s, double cores) {
        return std::clamp((busy_s - own_s) / (seconds * cores), 0.0, 1.0);
    };
    const auto cores = static_cast<double>(std::max<std::size_t>(1, place.cores.size()));
    double busy = share(seconds * cores - (after.all_idle_s - before.all_idle_s), cores);
    if (place.quota_cores > 0.0)
        busy = std::max(busy, share(after.group_busy_s - before.group_busy_s, place.quota_cores));
    return busy;
}

HostUtilisation::HostUtilisation(double period_s)
    : place_(find_cpu_place()), period_s_(period_s), last_(read_cpu_times(place_)) {
    last_s_ = -1.0;
}

double HostUtilisation::share(double now_s) {
    const std::lock_guard lock(mutex_);
    if (last_s_ < 0.0) last_s_ = now_s;
    if (now_s - last_s_ < period_s_) {
        // Before the first period is over a part of it says more than nothing.
        constexpr double k_least_s = 0.03;
        if (is_first_ && now_s - last_s_ > k_least_s)
            if (const auto times = read_cpu_times(place_); times && last_)
                return busy_share(place_, *last_, *times, now_s - last_s_);
        return share_;
    }
    is_first_ = false;
    const auto times = read_cpu_times(place_);
    if (times && last_) share_ = busy_share(place_, *last_, *times, now_s - last_s_);
    last_ = times;
    last_s_ = now_s;
    return share_;
}

// ----------------------------------------------------------------------------------- NVML

Result<std::unique_ptr<GpuUtilisation>> GpuUtilisation::open(int ordinal) {
    std::unique_ptr<GpuUtilisation> gpu(new GpuUtilisation());
    gpu->library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (gpu->library_ == nullptr)
        return Status{StatusCode::unsupported, "no NVML (libnvidia-ml.so.1) on this machine"};
    const auto find = [&](const char* name) { return ::dlsym(gpu->library_, name); };
    const auto start = reinterpret_cast<int (*)()>(find("nvmlInit_v2"));
    const auto handle =
        reinterpret_cast<int (*)(unsigned, void**)>(find("nvmlDeviceGetHandleByIndex_v2"));
    gpu->utilisation_ =
        reinterpret_cast<int (*)(void*, unsigned*)>(find("nvmlDeviceGetUtilizationRates"));
    if (start == nullptr || handle == nullptr || gpu->utilisation_ == nullptr || start() != 0)
        return Status{StatusCode::unsupported, "NVML cannot be used on this machine"};
    gpu->shutdown_ = reinterpret_cast<int (*)()>(find("nvmlShutdown"));
    if (handle(static_cast<unsigned>(ordinal), &gpu->device_) != 0)
        return Status{StatusCode::unsupported, fmt::format("NVML knows no GPU {}", ordinal)};
    return gpu;
}

GpuUtilisation::~GpuUtilisation() {
    if (shutdown_ != nullptr) (void)shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
}

double GpuUtilisation::share() const {
    unsigned percent[2] = {0, 0};  // of the GPU, of its memory
    if (utilisation_(device_, percent) != 0) return 0.0;
    return std::min(1.0, percent[0] / 100.0);
}

}  // namespace caesura::where
