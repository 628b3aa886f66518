// Runs the parts of a step, tells the output what each needs, and accounts for the time.
//
// A simulation on accelerators alternates host work, kernels during which the host idles, and
// communication. Here a kernel's physics is computed on the host and the host then really idles,
// to an absolute deadline, for the time the kernel is modelled to take on a device: emulated, and
// labelled so in every report. Kernels that run on a real device are waited for instead.
// Invariant: the emulation changes no value; with device_s = 0 only the idling goes.
#pragma once

#include <map>
#include <string>

#include "output.hpp"

namespace cosmology {

struct PhaseTime {
    double wall_s = 0, cpu_s = 0, idle_s = 0;
    long calls = 0;
};

class StepClock {
  public:
    /// @param device_s  modelled kernel seconds of one step, all kernels together.
    StepClock(Marks& marks, double device_s) : marks_(marks), device_s_(device_s) {}

    /// A kernel that takes `share` of the step's device time.
    template <class F>
    void kernel(const char* name, double share, F&& f) {
        compute(name, f);
        phases_[name].kernel = Kernel::emulated;
        idle(name, share * device_s_);
    }
    /// A kernel that a device runs: `begin` starts it, `wait` idles until it is done, `end` takes
    /// its results. Begin and end are work of the host; only the wait counts as idle.
    template <class Begin, class Wait, class End>
    void device_kernel(const char* name, Begin&& begin, Wait&& wait, End&& end) {
        compute(name, begin);
        const double waiting = wall_s();
        marks_.sleep(wait);
        auto& phase = phases_[name];
        phase.time.idle_s += wall_s() - waiting;
        phase.kernel = Kernel::on_device;
        compute(name, end);
        --phase.time.calls;  // begin and end are one call
    }
    /// Work of the host.
    template <class F>
    void compute(const char* name, F&& f) {
        timed(name, Resource::core, f);
    }
    /// Communication of the application.
    template <class F>
    void communicate(const char* name, F&& f) {
        timed(name, Resource::network, f);
    }

    enum class Kernel { none, emulated, on_device };
    struct Phase {
        Resource needs;
        Kernel kernel = Kernel::none;
        PhaseTime time;
    };
    const std::map<std::string, Phase>& phases() const { return phases_; }
    /// Sums over the phases that need one resource (wall, cpu) and all idling.
    PhaseTime total(Resource needs) const;

  private:
    template <class F>
    void timed(const char* name, Resource needs, F& f) {
        const double wall = wall_s(), cpu = thread_cpu_s();
        marks_.begin_busy(needs);
        f();
        marks_.end_busy(needs);
        auto& phase = phases_[name];
        phase.needs = needs;
        phase.time.wall_s += wall_s() - wall;
        phase.time.cpu_s += thread_cpu_s() - cpu;
        ++phase.time.calls;
    }
    void idle(const char* name, double seconds);

    Marks& marks_;
    double device_s_;
    std::map<std::string, Phase> phases_;

  public:
    static double wall_s();
    static double thread_cpu_s();
};

}  // namespace cosmology
