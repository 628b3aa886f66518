// The loop and its account; see run.hpp.

#include "run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>

#include "particle_records.hpp"
#include "simulation.hpp"

namespace cosmology {

namespace {

using Json = nlohmann::json;

/// This rank's values at their place in a raw file.
template <class T>
void write_raw(const std::string& path, const std::vector<T>& values, std::uint64_t first) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) throw std::runtime_error("cannot create " + path + ": " + strerror(errno));
    const std::size_t bytes = values.size() * sizeof(T);
    const auto offset = static_cast<off_t>(first * sizeof(T));
    const auto* data = reinterpret_cast<const char*>(values.data());
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t wrote =
            ::pwrite(fd, data + done, bytes - done, offset + static_cast<off_t>(done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            ::close(fd);
            throw std::runtime_error("cannot write " + path + ": " + strerror(errno));
        }
        done += static_cast<std::size_t>(wrote);
    }
    ::close(fd);
}

/// One raw file a field, and a component of the particles. Collective.
void write_raw(const Options& options, const Simulation& simulation, int step) {
    const Slab& slab = simulation.slab();
    const auto infos = field_infos(options.cosmology, options.bound_scale);
    const auto n = static_cast<std::uint64_t>(slab.n());
    const auto first = static_cast<std::uint64_t>(slab.lo()) * n * n;
    for (int field = 0; field < k_field_count; ++field)
        write_raw(fmt::format("{}/{}_{}.bin", options.raw_dir,
                              infos[static_cast<std::size_t>(field)].name, step),
                  simulation.fields()[field], first);
    if (!options.write_particles) return;
    const Particles& particles = simulation.particles();
    const Share share = share_of(particles, slab);
    // Their paths in the file, as `caesura verify --against` looks for them.
    const auto path = [&](std::string record) {
        std::replace(record.begin(), record.end(), '/', '_');
        return fmt::format("{}/data_{}_particles_{}_{}.bin", options.raw_dir, step, k_species,
                           record);
    };
    const auto records = record_infos(options);
    for (std::size_t i = 0; i < records.size(); ++i)
        write_raw(path(records[i].name), particles.arrays[i], share.begin);
    write_raw(path("id"), particles.ids, share.begin);
}

double reduced(double value, MPI_Op op, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm);
    return value;
}

/// Seconds of the slowest rank and the mean over ranks.
Json spread(double value, const Slab& slab) {
    return {{"max", reduced(value, MPI_MAX, slab.comm())},
            {"mean", reduced(value, MPI_SUM, slab.comm()) / slab.size()}};
}

/// Means over the ranks: as a step communicates, it ends on all of them at nearly the same time.
std::vector<double> means(std::vector<double> values, const Slab& slab) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                  slab.comm());
    for (double& value : values) value /= slab.size();
    return values;
}

Json phase_report(const StepClock& clock, const Slab& slab) {
    Json phases;
    for (const auto& [name, phase] : clock.phases()) {
        phases[name] = {{"lane", phase.needs == Resource::core ? "host" : "communication"},
                        {"calls", phase.time.calls},
                        {"wall_s", spread(phase.time.wall_s, slab)},
                        {"cpu_s", spread(phase.time.cpu_s, slab)},
                        {"idle_s", spread(phase.time.idle_s, slab)}};
    }
    return phases;
}

/// The least that handing a dump over can cost: a copy of it into touched memory, on all ranks at
/// once. The mean over the ranks of the median of three.
double copy_s(const Simulation& simulation, bool with_particles) {
    std::vector<std::span<const std::byte>> parts;
    for (int field = 0; field < k_field_count; ++field)
        parts.push_back(std::as_bytes(std::span(simulation.fields()[field])));
    if (with_particles) {
        for (const auto& array : simulation.particles().arrays)
            parts.push_back(std::as_bytes(std::span(array)));
        parts.push_back(std::as_bytes(std::span(simulation.particles().ids)));
    }
    std::size_t bytes = 0;
    for (const auto& part : parts) bytes += part.size();
    std::vector<std::byte> touched(bytes, std::byte{1});
    std::array<double, 3> seconds{};
    for (double& one : seconds) {
        MPI_Barrier(simulation.slab().comm());
        const double begin = StepClock::wall_s();
        std::byte* to = touched.data();
        for (const auto& part : parts) to = std::copy(part.begin(), part.end(), to);
        one = StepClock::wall_s() - begin;
    }
    std::sort(seconds.begin(), seconds.end());
    return reduced(seconds[1], MPI_SUM, simulation.slab().comm()) / simulation.slab().size();
}

/// Which kernels ran where. What is not CUDA ran on the host, its device time emulated.
Json device_report(const Accelerator& accelerator, const StepClock& clock) {
    Json kernels;
    for (const auto& [name, phase] : clock.phases()) {
        if (phase.kernel == StepClock::Kernel::none) continue;
        kernels[name] = phase.kernel == StepClock::Kernel::on_device ? "cuda" : "emulated";
    }
    Json device = {{"kind", accelerator.kind()}, {"name", nullptr}, {"kernels", kernels}};
    if (accelerator.is_cuda()) {
        device["name"] = accelerator.name();
    } else {
        device["reason"] = accelerator.reason();
    }
    return device;
}

/// The steps, timed. What it measures is local until finish() adds the ranks up.
class Run {
  public:
    Run(const Options& options, MPI_Comm comm) : Run(options, comm, restored(options, comm)) {}

    RunResult operator()() {
        const MPI_Comm comm = simulation_.slab().comm();
        MPI_Barrier(comm);
        const double begin = StepClock::wall_s(), opening_cpu = StepClock::thread_cpu_s();
        rusage before{};
        getrusage(RUSAGE_SELF, &before);
        output_->open();
        open_s_ = StepClock::wall_s() - begin;
        open_close_cpu_s_ = StepClock::thread_cpu_s() - opening_cpu;
        for (int step = first_step_; step < options_.steps; ++step) iterate(step);
        const double closing = StepClock::wall_s(), closing_cpu = StepClock::thread_cpu_s();
        output_->close();
        close_s_ = StepClock::wall_s() - closing;
        open_close_cpu_s_ += StepClock::thread_cpu_s() - closing_cpu;
        MPI_Barrier(comm);
        wall_s_ = StepClock::wall_s() - begin - uncharged_s_;
        rusage after{};
        getrusage(RUSAGE_SELF, &after);
        const auto cpu_s = [](const rusage& r) {
            return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
                   1e-6 * static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
        };
        process_cpu_s_ = cpu_s(after) - cpu_s(before);
        peak_memory_bytes_ = 1024.0 * static_cast<double>(after.ru_maxrss);
        return finish();
    }

  private:
    Run(const Options& options, MPI_Comm comm, std::optional<Restored> restored)
        : options_(options),
          first_step_(restored ? restored->step + 1 : 0),
          simulation_(options, comm,
                      restored ? std::optional(std::move(restored->particles)) : std::nullopt),
          output_(make_output(options, simulation_.slab())),
          clock_(*output_, options.device_s),
          checks_(simulation_.background(), options.grid, options.particles,
                  PowerSpectrum(options.cosmology).sigma(options.box_mpc / options.particles),
                  comm) {}

    static std::optional<Restored> restored(const Options& options, MPI_Comm comm) {
        if (options.restart.empty()) return std::nullopt;
        Restored read = read_restart(options, Slab(options.grid, comm));
        if (read.step + 1 >= options.steps)
            throw std::runtime_error("--restart " + options.restart + ": no step is left after " +
                                     std::to_string(read.step));
        return read;
    }

    void iterate(int step) {
        const double begin = StepClock::wall_s(), uncharged = uncharged_s_;
        const double begin_cpu = StepClock::thread_cpu_s();
        const bool makes_fields = options_.dumps_at(step), dumps = options_.hands_over(step);
        output_->begin_iteration(static_cast<std::uint64_t>(step), Simulation::label(step));
        const double stepping = StepClock::wall_s(), stepping_cpu = StepClock::thread_cpu_s();
        const double cpu_before = clock_.total(Resource::core).cpu_s;
        simulation_.step(step, makes_fields, clock_);
        step_s_.push_back(StepClock::wall_s() - stepping);
        step_cpu_s_.push_back(clock_.total(Resource::core).cpu_s - cpu_before);
        uncharged_s_ += not_charged([&] {
            if (options_.check) checks_.add(step, simulation_.diagnostics(), makes_fields);
            if (dumps && !options_.raw_dir.empty()) write_raw(options_, simulation_, step);
        });
        const double handing_over = StepClock::wall_s();
        const double handing_over_cpu = StepClock::thread_cpu_s();
        const double age_s = simulation_.background().age_s(simulation_.scale_factor(step));
        if (dumps)
            output_->dump(simulation_.fields(), simulation_.particles(),
                          static_cast<std::uint64_t>(step), age_s);
        output_->end_iteration();
        calls_s_.push_back(stepping - begin + StepClock::wall_s() - handing_over);
        calls_cpu_s_.push_back(stepping_cpu - begin_cpu + StepClock::thread_cpu_s() -
                               handing_over_cpu);
        output_s_ += StepClock::wall_s() - handing_over;
        handed_over_.push_back(dumps);
        dumps_ += dumps ? 1 : 0;
        iteration_s_.push_back(StepClock::wall_s() - begin - (uncharged_s_ - uncharged));
    }

    template <class F>
    double not_charged(F&& f) {
        if (!options_.check && options_.raw_dir.empty()) return 0.0;
        MPI_Barrier(simulation_.slab().comm());
        const double begin = StepClock::wall_s();
        f();
        MPI_Barrier(simulation_.slab().comm());
        return StepClock::wall_s() - begin;
    }

    std::uint64_t file_bytes() const {
        std::set<std::string> files;
        for (int step = 0; step < options_.steps; ++step)
            if (options_.hands_over(step)) files.insert(options_.file_of(std::to_string(step)));
        std::uint64_t bytes = 0;
        for (const std::string& file : files) {
            std::error_code missing;
            const auto one = std::filesystem::file_size(file, missing);
            bytes += missing ? 0 : one;
        }
        return bytes;
    }

    int committed_dumps() const {
        const auto last = output_->committed();
        int dumps = 0;
        for (int step = first_step_; last && step <= static_cast<int>(*last); ++step)
            dumps += options_.hands_over(step) ? 1 : 0;
        return dumps;
    }

    RunResult finish() {
        const Slab& slab = simulation_.slab();
        const auto mean = [&](double value) {
            return reduced(value, MPI_SUM, slab.comm()) / slab.size();
        };
        Json t;
        t["mode"] = options_.mode;
        t["ranks"] = slab.size();
        t["grid"] = options_.grid;
        t["particles"] = options_.particles;
        t["steps"] = options_.steps;
        t["dumps"] = dumps_;
        t["seed"] = options_.seed;
        t["codec"] =
            options_.mode == "caesura" || options_.mode == "filter" ? options_.codec : "none";
        t["bound_scale"] = options_.bound_scale;
        t["device_model_s_per_step"] = options_.device_s;
        t["device"] = device_report(simulation_.accelerator(), clock_);
        // With CUDA too, for the kernels that have no GPU code and a modelled time.
        t["device_is_emulated"] = !simulation_.accelerator().is_cuda() || options_.device_s > 0.0;
        t["wall_s"] = reduced(wall_s_, MPI_MAX, slab.comm());
        t["open_s"] = reduced(open_s_, MPI_MAX, slab.comm());
        t["close_s"] = reduced(close_s_, MPI_MAX, slab.comm());
        MPI_Allreduce(MPI_IN_PLACE, iteration_s_.data(), static_cast<int>(iteration_s_.size()),
                      MPI_DOUBLE, MPI_MAX, slab.comm());
        t["iteration_s"] = iteration_s_;
        // Each step's own time, the CPU time of its host work, the time in the output's calls
        // around it, and whether these handed a dump over.
        t["step_s"] = means(step_s_, slab);
        t["step_cpu_s"] = means(step_cpu_s_, slab);
        t["calls_s"] = means(calls_s_, slab);
        // CPU time in these calls and in open and close, of the rank that waited least: a rank that
        // waits in MPI spins, and its CPU time says nothing.
        MPI_Allreduce(MPI_IN_PLACE, calls_cpu_s_.data(), static_cast<int>(calls_cpu_s_.size()),
                      MPI_DOUBLE, MPI_MIN, slab.comm());
        t["calls_cpu_s"] = calls_cpu_s_;
        t["open_close_cpu_s"] = reduced(open_close_cpu_s_, MPI_MIN, slab.comm());
        t["handed_over"] = handed_over_;
        t["copy_s"] = copy_s(simulation_, options_.write_particles);
        const PhaseTime host = clock_.total(Resource::core);
        const PhaseTime talk = clock_.total(Resource::network);
        // Means over the ranks; the slowest rank of each phase stands under "phases".
        t["host_s"] = mean(host.wall_s);
        t["host_cpu_s"] = mean(host.cpu_s);
        t["device_s"] = mean(host.idle_s);
        t["comm_s"] = mean(talk.wall_s);
        t["output_s"] = mean(output_s_);
        t["process_cpu_s"] = mean(process_cpu_s_);
        t["peak_memory_bytes"] = reduced(peak_memory_bytes_, MPI_MAX, slab.comm());
        t["phases"] = phase_report(clock_, slab);
        double dump_bytes = std::pow(options_.grid, 3) * sizeof(float) * int{k_field_count};
        if (options_.write_particles)
            dump_bytes += std::pow(options_.particles, 3) *
                          (sizeof(float) * Particles::k_arrays + sizeof(std::uint64_t));
        t["raw_bytes"] = dump_bytes * dumps_;
        t["file_bytes"] = file_bytes();
        t["report"] = output_->report();
        t["committed_dumps"] = committed_dumps();
        RunResult result;
        if (options_.check) {
            result.violations = checks_.violations();
            t["check"] = {{"violations", result.violations},
                          {"growth_departure", checks_.worst_growth()},
                          {"growth_checked_over_a", checks_.linear_span()}};
        }
        result.timing = std::move(t);
        return result;
    }

    const Options options_;
    const int first_step_;
    Simulation simulation_;
    std::unique_ptr<Output> output_;
    StepClock clock_;
    Checks checks_;
    double open_s_ = 0, close_s_ = 0, wall_s_ = 0, output_s_ = 0, uncharged_s_ = 0;
    double open_close_cpu_s_ = 0, process_cpu_s_ = 0, peak_memory_bytes_ = 0;
    int dumps_ = 0;
    std::vector<double> iteration_s_, step_s_, step_cpu_s_, calls_s_, calls_cpu_s_;
    std::vector<bool> handed_over_;
};

}  // namespace

RunResult run(const Options& options, MPI_Comm comm) { return Run(options, comm)(); }

}  // namespace cosmology
