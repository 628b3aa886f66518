// What S4's Figures 10, 13 and 14 show, on the devices of where_requests.hpp.
#pragma once

#include "where_requests.hpp"

namespace caesura::transit::bench {

inline constexpr std::size_t k_figures_sort = 7;  // 32 MiB, waves

/// How long a device is at work: blocks are its own in turn, as on a GPU's stream.
class Turns {
  public:
    explicit Turns(BlockDevice* device) : device_(device) {}
    where::Run encode(Bench& bench, const Sort& sort) {
        if (device_ == nullptr) return on_core(bench, sort);
        const std::lock_guard lock(mutex_);
        const double begin_s = now_s();
        const where::Run run = measure(bench, sort, device_, false);
        busy_s_ = busy_s_ + now_s() - begin_s;
        return run;
    }
    double busy_s() const { return busy_s_; }

  private:
    static where::Run on_core(Bench& bench, const Sort& sort) {
        run::Job job;
        sort.fill(job);
        where::Run run;
        const double begin_s = now_s();
        const auto encoded = run::encode(job, bench.pool);
        run.compute_s = now_s() - begin_s;
        if (!encoded.ok()) std::exit(3);
        return run;
    }
    BlockDevice* const device_;
    std::mutex mutex_;
    double busy_s_ = 0.0;
};

/// Figure 10: instances of one kernel, which compress a block and then do their output for a
/// while, all on one device.
inline nlohmann::json instances(Bench& bench, BlockDevice* device, int rounds) {
    constexpr int k_most = 6;
    constexpr double k_output_s = 0.06;
    nlohmann::json all = nlohmann::json::array();
    const where::CpuPlace place = where::find_cpu_place();
    for (int n = 1; n <= k_most; ++n) {
        Turns turns(device);
        std::mutex mutex;
        std::vector<double> latencies;
        const auto before = where::read_cpu_times(place);
        const double begin_s = now_s();
        std::vector<std::thread> threads;
        for (int i = 0; i < n; ++i)
            threads.emplace_back([&, i] {
                sleep_s(k_output_s * i / n);
                for (int turn = 0; turn < 2 * rounds; ++turn) {
                    const double asked_s = now_s();
                    (void)turns.encode(bench, *bench.sorts[k_figures_sort]);
                    const double took_s = now_s() - asked_s;
                    {
                        const std::lock_guard lock(mutex);
                        latencies.push_back(took_s);
                    }
                    sleep_s(k_output_s);
                }
            });
        for (std::thread& thread : threads) thread.join();
        const double lasted_s = now_s() - begin_s;
        const auto after = where::read_cpu_times(place);
        const auto cores = static_cast<double>(std::max<std::size_t>(1, place.cores.size()));
        double busy = turns.busy_s() / lasted_s;
        if (device == nullptr && before && after)
            busy = 1.0 - (after->all_idle_s - before->all_idle_s) / (lasted_s * cores);
        std::sort(latencies.begin(), latencies.end());
        all.push_back({{"instances", n},
                       {"utilisation", std::clamp(busy, 0.0, 1.0)},
                       {"latency_s", std::move(latencies)}});
    }
    return all;
}

/// Figure 13: one block, again and again, while the load grows.
inline nlohmann::json under_load(Bench& bench, BlockDevice* device, int rounds) {
    nlohmann::json all = nlohmann::json::array();
    const Sort& sort = *bench.sorts[k_figures_sort];
    for (int step = 0; step <= 10; ++step) {
        const double load = 0.1 * step;
        if (device == nullptr)
            bench.load.set(step == 10 ? 1.0 : 0.5 * load);
        else
            bench.speeds->busy = load;
        sleep_s(0.15);
        (void)bench.utilisation.share(now_s());
        sleep_s(0.15);
        for (int i = 0; i < rounds; ++i) {
            const double busy =
                device == nullptr ? bench.utilisation.share(now_s()) : device->utilisation();
            const where::Run run = measure(bench, sort, device);
            all.push_back({{"load", load},
                           {"utilisation", busy},
                           {"field", k_fields[sort.field]},
                           {"bytes", sort.bytes()},
                           {"took_s", seconds(run)}});
        }
    }
    bench.load.set(0.0);
    bench.speeds->busy = 0.0;
    return all;
}

/// Figure 14: an application that computes digits of pi on the cores while its output is
/// compressed, on them or elsewhere. Returns the time until both are done.
inline nlohmann::json together(Bench& bench, const std::array<BlockDevice*, k_devices>& devices,
                               int rounds) {
    constexpr int k_blocks = 32;
    nlohmann::json all = nlohmann::json::array();
    for (const int digits : {1000, 2000, 4000, 6000})
        for (int round = 0; round < rounds; ++round)
            for (std::size_t turn = 0; turn <= k_devices; ++turn) {
                const std::size_t d = (turn + static_cast<std::size_t>(round)) % (k_devices + 1);
                const double begin_s = now_s();
                PiApplication pi(digits);
                if (d < k_devices)
                    for (int block = 0; block < k_blocks; ++block)
                        (void)measure(bench, *bench.sorts[k_figures_sort], devices[d], false);
                const double compressed_s = now_s() - begin_s;
                pi.wait();
                all.push_back({{"digits", digits},
                               {"on", d < k_devices ? k_names[d] : "none"},
                               {"compressed_s", compressed_s},
                               {"took_s", now_s() - begin_s}});
            }
    return all;
}

inline nlohmann::json figures(Bench& bench, int rounds) {
    const auto gpu = bench.gpu(), remote = bench.remote();
    const std::array<BlockDevice*, k_devices> devices = {nullptr, gpu.get(), remote.get()};
    nlohmann::json all;
    for (std::size_t d = 0; d < k_devices; ++d) {
        (void)measure(bench, *bench.sorts[k_figures_sort], devices[d]);
        all["instances"][k_names[d]] = instances(bench, devices[d], rounds);
    }
    for (std::size_t d = 0; d < 2; ++d)
        all["under_load"][k_names[d]] = under_load(bench, devices[d], rounds);
    all["together"] = together(bench, devices, std::max(1, rounds / 3));
    return all;
}

}  // namespace caesura::transit::bench
