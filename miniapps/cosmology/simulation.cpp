// The time step; see simulation.hpp.

#include "simulation.hpp"

#include <cmath>

namespace cosmology {

namespace {

constexpr int k_sort_every = 4;  // steps; particles cross few rows in between
// Each kernel's share of the modelled device time, roughly as particle-mesh codes on GPUs have it.
constexpr double k_share_deposit = 0.15, k_share_planes = 0.10, k_share_lines = 0.15;
constexpr double k_share_gradient = 0.10, k_share_kick = 0.35, k_share_drift = 0.15;

Particles start(const Options& options, const Background& background, const Slab& slab) {
    const InitialConditions ic{.mesh = options.grid,
                               .particles = options.particles,
                               .box_mpc = options.box_mpc,
                               .a = 1.0 / (1.0 + options.z_init),
                               .seed = options.seed,
                               .ids = options.write_particles};
    return make_particles(ic, background, PowerSpectrum(options.cosmology), slab);
}

}  // namespace

Simulation::Simulation(const Options& options, MPI_Comm comm, std::optional<Particles> restored)
    : options_(options),
      slab_(options.grid, comm),
      background_(options.cosmology),
      accelerator_(options.device, comm),
      fft_(slab_),
      particles_(restored ? std::move(*restored) : start(options, background_, slab_)),
      migration_(slab_),
      sort_(slab_),
      fields_(slab_, options.box_mpc),
      particle_mass_(static_cast<float>(std::pow(double(options.grid) / options.particles, 3))) {
    const auto n = static_cast<std::size_t>(slab_.n());
    const auto planes = static_cast<std::size_t>(slab_.planes());
    mesh_.resize((planes + k_potential_below + k_potential_above) * fft_.plane_floats());
    gradient_.resize((planes + k_node_below + k_node_above) * n * n);
    moments_.resize(gradient_.size());
}

double Simulation::scale_factor(int step) const {
    const double from = -std::log1p(options_.z_init), to = -std::log1p(options_.z_final);
    return std::exp(from + (to - from) * step / (options_.steps - 1));
}

const char* Simulation::label(int step) { return step % k_sort_every == 0 ? "sort" : ""; }

void Simulation::step(int step, bool with_fields, StepClock& clock) {
    const double a = scale_factor(step);
    if (step % k_sort_every == 0) clock.compute("sort", [&] { sort_(particles_); });
    solve_forces(clock, with_fields);
    const double before = step == 0 ? a : std::sqrt(scale_factor(step - 1) * a);
    const double after = std::sqrt(a * scale_factor(step + 1));
    const KickFactors factors{static_cast<float>(background_.kick(a, before, a)),
                              static_cast<float>(background_.kick(a, a, after))};
    accelerator_.kick(clock, k_share_kick, slab_, particles_, gradient_, factors, particle_mass_,
                      with_fields ? &moments_ : nullptr);
    if (with_fields) make_gas(a, clock);
    move_on(step, clock);
    if (options_.check) {
        diagnostics_.a = a;
        measure_particles(particles_, diagnostics_);
    }
}

void Simulation::solve_forces(StepClock& clock, bool with_fields) {
    float* const own = mesh_.data() + k_potential_below * fft_.plane_floats();
    accelerator_.deposit(clock, k_share_deposit, slab_, particles_, particle_mass_, mesh_);
    clock.communicate("density halo", [&] {
        slab_.add_upper_ghost(mesh_.data(), fft_.plane_floats(), k_potential_below);
    });
    if (with_fields) clock.compute("fields", [&] { fields_.take_dark_matter(mesh_.data()); });
    if (options_.check) measure_density(slab_, own, diagnostics_);
    clock.kernel("fft planes", k_share_planes / 2, [&] { fft_.forward_planes(own); });
    clock.communicate("transpose", [&] { fft_.transpose_forward(own); });
    clock.kernel("fft lines", k_share_lines, [&] {
        fft_.forward_lines();
        if (options_.check) measure_power(slab_, fft_.modes(), diagnostics_);
        solve_poisson(slab_, options_.cosmology.omega_m, fft_.modes());
        fft_.backward_lines();
    });
    clock.communicate("transpose", [&] { fft_.transpose_backward(own); });
    clock.kernel("fft planes", k_share_planes / 2, [&] { fft_.backward_planes(own); });
    clock.communicate("potential halo", [&] {
        slab_.fill_ghosts(mesh_.data(), fft_.plane_floats(), k_potential_below, k_potential_above);
    });
    clock.kernel("gradient", k_share_gradient,
                 [&] { compute_gradient(slab_, mesh_.data(), gradient_); });
}

void Simulation::make_gas(double a, StepClock& clock) {
    auto* const floats = reinterpret_cast<float*>(moments_.data());
    const std::size_t plane_floats =
        4 * static_cast<std::size_t>(slab_.n()) * static_cast<std::size_t>(slab_.n());
    const auto fill = [&] { slab_.fill_ghosts(floats, plane_floats, k_node_below, k_node_above); };
    clock.communicate("moments halo",
                      [&] { slab_.add_upper_ghost(floats, plane_floats, k_node_below); });
    for (int pass = 0; pass < fields_.smoothing_passes(); ++pass) {
        clock.compute("fields", [&] { fields_.smooth_in_plane(moments_); });
        clock.communicate("moments halo", fill);
        clock.compute("fields", [&] { fields_.smooth_across(moments_); });
    }
    clock.communicate("moments halo", fill);
    clock.compute("fields", [&] { fields_.finish_gas(moments_, gradient_, background_, a); });
    if (options_.check) measure_fields(fields_, diagnostics_);
}

void Simulation::move_on(int step, StepClock& clock) {
    const double now = scale_factor(step), next = scale_factor(step + 1);
    const auto factor = static_cast<float>(background_.drift(std::sqrt(now * next), now, next));
    accelerator_.drift(clock, k_share_drift, slab_.n(), particles_, factor);
    clock.compute("pack leavers", [&] { migration_.pack(particles_); });
    clock.communicate("migration", [&] { migration_.exchange(particles_); });
}

}  // namespace cosmology
