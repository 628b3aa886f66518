// Checkpoints on a device, measured: the suite of devices, the compressor's curve and the link by
// calibration, and S2's runs, each way beside the plan. JSON on stdout; tools/dev.py bench-gpu.
//
//     device_bench cuda [coder]
//     device_bench emulated [scale]
//
// The coder is packed, or one of nvCOMP's (caesura/device.hpp) where nvCOMP is found. The curves of
// all of them are measured in any case.
//
// "emulated" has S2's machine and virtual times. With a scale, everything in it but times is so
// much smaller, and the bytes that are printed are scaled back: nothing but the work of the host
// changes. The schema is that of bench/together/figures.py: a figure has rows, a row a number for
// each way.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "caesura/device.hpp"
#include "checkpoint/device_calibration.hpp"
#include "checkpoint/device_suite.hpp"
#include "checkpoint/word_runner.hpp"
#include "nvcomp/use_nvcomp.hpp"

namespace caesura::checkpoint {
namespace {

using device::Device;
using Numbers = std::vector<std::pair<std::string, std::string>>;

std::string text(std::string_view s) {
    std::string quoted = "\"";
    for (const char c : s) quoted += c == '"' || c == '\\' || c < ' ' ? ' ' : c;
    return quoted + "\"";
}
std::string object(const Numbers& members) {
    std::string made = "{";
    for (const auto& [name, value] : members)
        made += fmt::format("{}{}: {}", made.size() > 1 ? ",\n" : "", text(name), value);
    return made + "}";
}
std::string numbers(const std::map<std::string, double>& values) {
    Numbers members;
    for (const auto& [name, value] : values) members.emplace_back(name, fmt::format("{}", value));
    return object(members);
}

/// Prints why and ends: a benchmark has nobody to return to.
template <class T>
T value(Result<T> result, std::string_view what) {
    if (result.ok()) return *std::move(result);
    std::fprintf(stderr, "device_bench: %s: %s\n", std::string(what).c_str(),
                 result.status().message().c_str());
    std::exit(1);
}
void check(const Status& status, std::string_view what) {
    (void)value(status.ok() ? Result<int>(0) : Result<int>(status), what);
}

struct Machine {
    std::unique_ptr<Device> device;
    std::function<void(double)> work;  ///< the application's own, so many seconds
    std::string name;
};

Machine machine_of(const std::string& kind, double scale, device::Coder coder) {
    if (kind == "cuda") {
        const auto info = value(device::cuda_info(), "the GPU");
        return {value(device::create_cuda_device({.coder = coder}), "the GPU"),
                [](double s) { check(device::cuda_busy(s, nullptr), "work"); },
                "cuda:" + info.name};
    }
    auto emulated = std::make_unique<device::EmulatedDevice>(
        value(device::EmulatedDevice::create(
                  {std::uint64_t{1} << 30,
                   25e9 / scale,
                   500e9 / scale,
                   [scale](double bytes) { return 32e-6 + bytes * scale / 550e9; },
                   {},
                   device::Coder::packed}),
              "the emulated device"));
    device::EmulatedDevice* const raw = emulated.get();
    return {std::move(emulated), [raw](double s) { raw->work(s); }, "emulated"};
}

/// A run: checkpoints of one size, each made in so many seconds, a share of each random and the
/// rest 0 (S2 IV-C2), so that it shrinks to about that share.
struct Run {
    std::uint64_t bytes = 0, cache_bytes = 0;
    std::vector<double> own_s, shares;
};

Run synthetic_run(double rate, double ratio, double scale) {
    const double bytes = 2e6 / scale;
    return {static_cast<std::uint64_t>(bytes) / 8 * 8, static_cast<std::uint64_t>(128e6 / scale),
            std::vector<double>(100, 2e6 / rate), std::vector<double>(100, 1.0 / ratio)};
}

/// Reverse time migration as bench/together/workloads.py describes it.
Run migration(int hz, double cache_bytes, double scale) {
    constexpr std::size_t k_checkpoints = 66;
    const double bytes = (600e6 + (hz - 2) / 6.0 * 1e9) / k_checkpoints;
    Run run{static_cast<std::uint64_t>(bytes / scale) / 8 * 8,
            static_cast<std::uint64_t>(cache_bytes / scale),
            {},
            {}};
    const double mean_rate = 17e9 * std::pow(hz / 2.0, 1.57);
    for (std::size_t i = 0; i < k_checkpoints; ++i) {
        run.own_s.push_back(bytes / (mean_rate * (i < 32 ? 0.8 : 1.14)));
        run.shares.push_back(1.0 / 60 + (1.0 / 15 - 1.0 / 60) * static_cast<double>(i) / 65);
    }
    return run;
}

struct Done {
    double end_s = 0.0;
    plan::CheckpointProfile recorded;
    std::string word;
};

/// The device's memory in which an application makes its checkpoints.
class Application {
  public:
    Application(Machine& machine, const Run& run)
        : machine_(machine), run_(run), random_(take(run.bytes)), state_(take(run.bytes)) {
        std::mt19937_64 random(7);
        std::vector<std::byte> bytes(run.bytes);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        Device& device = *machine.device;
        check(device.wait(value(device.to_device(random_, bytes), "data")), "data");
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
        check(device.wait(value(device.to_device(state_, bytes), "data")), "data");
    }
    ~Application() {
        (void)machine_.device->release(random_);
        (void)machine_.device->release(state_);
    }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    /// Shares never fall within a run, so what lies beyond is 0.
    const std::byte* make(std::size_t i) {
        machine_.work(run_.own_s[i]);
        const double bytes = run_.shares[i] * static_cast<double>(run_.bytes);
        check(machine_.device->copy(state_, random_, static_cast<std::uint64_t>(bytes)), "state");
        return state_;
    }

  private:
    std::byte* take(std::uint64_t bytes) {
        return value(machine_.device->allocate(bytes), "state");
    }
    Machine& machine_;
    const Run& run_;
    std::byte *random_, *state_;
};

/// Without checkpoints: what the application takes by itself.
double bare_s(Machine& machine, const Run& run) {
    Application application(machine, run);
    const double begin_s = machine.device->now_s();
    for (std::size_t i = 0; i < run.own_s.size(); ++i) {
        (void)application.make(i);
        (void)machine.device->now_s();  // as a checkpoint would wait for it
    }
    return machine.device->now_s() - begin_s;
}

Done execute(Machine& machine, const Run& run, plan::CheckpointProfile expected,
             const std::string& word, std::size_t checkpoints) {
    Application application(machine, run);
    auto executor = value(WordRunner::create(
                              *machine.device, std::move(expected), word,
                              [](Arrived&&) { return Status{}; }, {}, checkpoints),
                          "a run");
    const double begin_s = machine.device->now_s();
    for (std::size_t i = 0; i < run.own_s.size(); ++i)
        check(executor->checkpoint(i, application.make(i)), "a checkpoint");
    check(executor->finish(), "the end of a run");
    return {machine.device->now_s() - begin_s, executor->recorded(), executor->executed().word};
}

/// Every way, and how far the planned one is from its plan.
std::string row(Machine& machine, const Run& run, plan::CheckpointProfile profile, double scale) {
    profile.checkpoint_bytes = run.bytes;
    profile.cache_bytes = run.cache_bytes;
    profile.header_bytes = 0;  // what the device's parcels take
    const std::size_t n = run.own_s.size();
    std::map<std::string, double> end_s, bytes_per_s, planned_s;
    Numbers words;
    std::optional<plan::CheckpointProfile> known;
    std::string plan_word;
    for (const std::string way : {"raw", "each", "planned", "ensemble", "counted", "unknown"}) {
        std::string word = way == "raw" ? std::string(n, 'U') : std::string(n, 'C');
        if (way == "planned") {
            const auto plan = value(plan::together(*known), "a plan");
            planned_s[way] = plan.flush_end_s;
            word = plan.word;
        } else if (way != "raw" && way != "each") {
            word.clear();
        }
        const bool knows = way == "planned" || way == "ensemble";
        const Done done =
            execute(machine, run, knows ? *known : profile, word, way == "counted" ? n : 0);
        if (way == "each") known = done.recorded;
        end_s[way] = done.end_s;
        words.emplace_back(way, text(done.word));
    }
    const double own_s = bare_s(machine, run);
    const double bytes = scale * static_cast<double>(run.bytes * n);
    for (const auto& [way, seconds] : end_s) bytes_per_s[way] = bytes / (seconds - own_s);
    return object({{"bytes", fmt::format("{}", bytes)},
                   {"own_s", fmt::format("{}", own_s)},
                   {"end_s", numbers(end_s)},
                   {"bytes_per_s", numbers(bytes_per_s)},
                   {"plan_says_s", fmt::format("{}", planned_s["planned"])},
                   {"measured_to_plan", fmt::format("{}", end_s["planned"] / planned_s["planned"])},
                   {"words", object(words)}});
}

std::string suite(Machine& machine, bool& right) {
    Numbers results;
    for (const DeviceCheck& one : device_suite()) {
        const std::string wrong = one.run(*machine.device);
        right = right && wrong.empty();
        if (!wrong.empty())
            std::fprintf(stderr, "device_bench: %s: %s\n", one.name.c_str(), wrong.c_str());
        results.emplace_back(one.name, text(wrong.empty() ? "ok" : wrong));
    }
    return object(results);
}

std::string figure2(const plan::CheckpointProfile& profile, double scale) {
    Numbers rows;
    for (const plan::CompressPoint& point : profile.compress_curve)
        rows.emplace_back(fmt::format("{} MB", scale * point.bytes / 1e6),
                          numbers({{"bytes", scale * point.bytes},
                                   {"seconds", point.seconds},
                                   {"bytes_per_s", scale * point.bytes / point.seconds}}));
    return object(rows);
}

/// nvCOMP's coders by the bytes compressed at once, where there is nvCOMP; else why not.
std::string nvcomp_curves(const CalibrationOptions& sizes) {
    Numbers curves;
    for (const device::Coder coder : device::k_coders) {
        if (!device::is_nvcomp(coder)) continue;
        const std::string name(to_string(coder));
        const auto gpu = device::create_cuda_device({.coder = coder});
        if (!gpu.ok()) {
            curves.emplace_back(name, object({{"missing", text(gpu.status().message())}}));
            continue;
        }
        const auto measured = calibrate(**gpu, sizes);
        curves.emplace_back(name, measured.ok()
                                      ? figure2(measured->profile, 1.0)
                                      : object({{"ended", text(measured.status().message())}}));
    }
    return object(curves);
}

int run(const std::string& kind, double scale, device::Coder coder) {
    Machine machine = machine_of(kind, scale, coder);
    bool right = true;
    Numbers all = {{"device", text(machine.name)},
                   {"coder", text(to_string(machine.device->coder()))},
                   {"checks", suite(machine, right)}};
    CalibrationOptions sizes;
    sizes.least_bytes = static_cast<std::uint64_t>(1e6 / scale) / 8 * 8;
    sizes.most_bytes = static_cast<std::uint64_t>(2.56e8 / scale);
    const DeviceCalibration measured = value(calibrate(*machine.device, sizes), "calibration");
    const double link_bytes_per_s = scale * measured.profile.link_bytes_per_s;
    all.emplace_back("figure 2", figure2(measured.profile, scale));
    if (kind == "cuda") all.emplace_back("nvcomp", nvcomp_curves(sizes));
    all.emplace_back("link_bytes_per_s", fmt::format("{}", link_bytes_per_s));
    all.emplace_back("copy_bytes_per_s", fmt::format("{}", scale * measured.copy_bytes_per_s));
    const auto rows = [&](const std::vector<std::pair<std::string, Run>>& cases) {
        Numbers made;
        for (const auto& [label, one] : cases)
            made.emplace_back(label, row(machine, one, measured.profile, scale));
        return object(made);
    };
    std::vector<std::pair<std::string, Run>> cases;
    for (const int hz : {2, 3, 4, 5, 6, 7, 8})
        cases.emplace_back(fmt::format("{} Hz", hz), migration(hz, 128e6, scale));
    all.emplace_back("figure 6", rows(cases));
    cases.clear();
    for (const int mb : {64, 128, 256, 512})
        cases.emplace_back(fmt::format("{} MB", mb), migration(4, mb * 1e6, scale));
    all.emplace_back("figure 8", rows(cases));
    cases.clear();
    for (const int rate : {40, 100, 200, 300, 400})
        cases.emplace_back(fmt::format("{} GB/s", rate), synthetic_run(rate * 1e9, 16, scale));
    all.emplace_back("figure 9", rows(cases));
    cases.clear();
    for (const int ratio : {4, 10, 16, 22, 28})
        cases.emplace_back(fmt::format("{} x", ratio), synthetic_run(100e9, ratio, scale));
    all.emplace_back("figure 10", rows(cases));
    std::puts(object(all).c_str());
    return right ? 0 : 1;
}

}  // namespace
}  // namespace caesura::checkpoint

int main(int count, char** arguments) {
    using caesura::device::Coder;
    const std::string kind = count > 1 ? arguments[1] : "cuda";
    const bool on_gpu = kind == "cuda", emulated = kind == "emulated";
    const double scale = emulated && count > 2 ? std::atof(arguments[2]) : 1.0;
    const auto coder = caesura::device::coder_of(on_gpu && count > 2 ? arguments[2] : "packed");
    if (!(on_gpu || emulated) || !(scale >= 1.0) || !coder.ok() || *coder == Coder::codec) {
        std::fputs(
            "device_bench cuda [packed, nvcomp_lz4, nvcomp_gdeflate, nvcomp_bitcomp, nvcomp_ans or "
            "nvcomp_cascaded], or device_bench emulated [scale, at least 1]\n",
            stderr);
        return 2;
    }
    caesura::lab::use_nvcomp();
    return caesura::checkpoint::run(kind, scale, *coder);
}
