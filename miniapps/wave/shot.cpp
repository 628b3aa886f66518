#include "shot.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace wave {
namespace {

void require(const caesura::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

/// Two steps of a field in one piece of memory; they change places with every step.
class Wavefield {
  public:
    Wavefield(Machine& machine, const Medium& medium)
        : machine_(machine),
          medium_(medium),
          cells_(medium.grid.cells()),
          both_(machine.make(2 * cells_)) {}
    std::byte* bytes() { return reinterpret_cast<std::byte*>(both_.get()); }
    /// @param n  how often the field has been stepped.
    float* now(int n) { return both_.get() + (n % 2 == 0 ? 0 : cells_); }
    /// From step n to n + 1. Adds values to what is there then, at the points of the plane.
    void advance(int n, const Plane& plane, const float* values, const Watch& watch) {
        machine_.step(medium_, now(n), now(n + 1));
        machine_.inject(medium_, plane, values, now(n + 1));
        if (watch.computed) watch.computed(cells_);
    }

  private:
    Machine& machine_;
    const Medium& medium_;
    std::size_t cells_;
    Floats both_;
};

Floats wavelet(Machine& machine, const Shot& shot, float step_s) {
    std::vector<float> values;
    for (int n = 0; n < shot.steps; ++n)
        values.push_back(ricker(static_cast<float>(n) * step_s, shot.frequency_hz));
    Floats made = machine.make(values.size());
    machine.upload(made.get(), values);
    return made;
}

std::vector<float> traces_at_host(Machine& machine, const Shot& shot, const float* traces) {
    std::vector<float> values(static_cast<std::size_t>(shot.steps) * shot.receivers.points());
    machine.download(values, traces);
    return values;
}

class Migration {
  public:
    Migration(Machine& machine, const Medium& smooth, const Shot& shot, const Keeping& keeping,
              const Watch& watch)
        : machine_(machine),
          smooth_(smooth),
          shot_(shot),
          keeping_(keeping),
          watch_(watch),
          every_(keeping.checkpointer != nullptr ? keeping.every : shot.steps),
          cells_(smooth.grid.cells()),
          wavelet_(wavelet(machine, shot, smooth.grid.step_s)),
          source_(machine, smooth),
          receivers_(machine, smooth),
          between_(machine.make(static_cast<std::size_t>(std::min(every_, shot.steps)) * cells_)),
          traces_(machine.make(static_cast<std::size_t>(shot.steps) * shot.receivers.points())) {}

    void forward() {
        for (int n = 0; n < shot_.steps; ++n) {
            if (keeping_.checkpointer != nullptr && n % every_ == 0) {
                machine_.finish();  // who takes the bytes away does not know our order
                require(keeping_.checkpointer->checkpoint(static_cast<std::uint64_t>(n / every_),
                                                          source_.bytes()));
            }
            step_source(n);
            machine_.record(smooth_.grid, shot_.receivers, source_.now(n + 1), trace(n));
            if (keeping_.checkpointer == nullptr) keep(n);
            if (n + 1 == shot_.steps && keeping_.checkpointer != nullptr)
                require(keeping_.checkpointer->flush());
            if (watch_.passed) watch_.passed("forward", n + 1, shot_.steps);
        }
    }
    /// What the receivers heard, less what came to them straight.
    void subtract_from(const float* data) {
        std::vector<float> reflected = traces_at_host(machine_, shot_, data);
        const std::vector<float> straight = traces_at_host(machine_, shot_, traces_.get());
        std::transform(reflected.begin(), reflected.end(), straight.begin(), reflected.begin(),
                       std::minus<>());
        machine_.upload(traces_.get(), reflected);
    }
    void backward(Image& image) {
        for (int first = (checkpoints(shot_.steps, every_) - 1) * every_; first >= 0;
             first -= every_) {
            const int last = std::min(first + every_, shot_.steps);
            if (keeping_.checkpointer != nullptr) bring_back(first, last);
            for (int n = last - 1; n >= first; --n) {
                const int stepped = shot_.steps - 1 - n;
                receivers_.advance(stepped, shot_.receivers, trace(n), watch_);
                machine_.correlate(cells_, kept(n), receivers_.now(stepped + 1), image.image.get(),
                                   image.source_power.get(), image.receiver_power.get());
                if (watch_.passed) watch_.passed("backward", stepped + 1, shot_.steps);
            }
        }
        machine_.finish();
    }

  private:
    float* trace(int n) {
        return traces_.get() + static_cast<std::size_t>(n) * shot_.receivers.points();
    }
    void step_source(int n) { source_.advance(n, shot_.source, wavelet_.get() + n, watch_); }
    /// The field after step n, of those between two checkpoints.
    float* kept(int n) { return between_.get() + static_cast<std::size_t>(n % every_) * cells_; }
    void keep(int n) { machine_.copy(kept(n), source_.now(n + 1), cells_); }
    void bring_back(int first, int last) {
        machine_.finish();
        require(keeping_.checkpointer->restore(static_cast<std::uint64_t>(first / every_),
                                               source_.bytes()));
        for (int n = first; n < last; ++n) {
            step_source(n);
            keep(n);
        }
    }

    Machine& machine_;
    const Medium& smooth_;
    const Shot& shot_;
    const Keeping& keeping_;
    const Watch& watch_;
    int every_;
    std::size_t cells_;
    Floats wavelet_;
    Wavefield source_, receivers_;
    Floats between_, traces_;
};

/// Rises as a square from the inner edge, so that waves feel no edge; what comes back from the far
/// side of the sponge is a thousandth.
std::vector<float> damping(int cells, const Grid& grid, float fastest_m_per_s) {
    std::vector<float> values(static_cast<std::size_t>(cells));
    const auto width = static_cast<float>(grid.sponge);
    const float most =
        3.0F * fastest_m_per_s * grid.step_s * std::log(1000.0F) / (2.0F * width * grid.spacing_m);
    for (int i = 0; i < cells; ++i) {
        const auto from_side = static_cast<float>(std::min(i, cells - 1 - i)) + 0.5F;
        const float inside = std::max(0.0F, (width - from_side) / width);
        values[static_cast<std::size_t>(i)] = most * inside * inside;
    }
    return values;
}

Floats uploaded(Machine& machine, const std::vector<float>& values) {
    Floats made = machine.make(values.size());
    machine.upload(made.get(), values);
    return made;
}

}  // namespace

std::uint64_t checkpoint_bytes(const Grid& grid) { return 2 * grid.cells() * sizeof(float); }

int checkpoints(int steps, int every) { return (steps + every - 1) / every; }

float ricker(float time_s, float frequency_hz) {
    const float a = std::numbers::pi_v<float> * (frequency_hz * time_s - 1.2F);
    return (1.0F - 2.0F * a * a) * std::exp(-a * a);
}

Medium make_medium(Machine& machine, const Grid& grid, const std::vector<float>& velocity) {
    std::vector<float> courant2(grid.cells());
    const float scale = grid.step_s / grid.spacing_m;
    float fastest = 0.0F;
    auto v = velocity.begin();
    for (int z = 0; z < grid.nz; ++z)
        for (int y = 0; y < grid.ny; ++y)
            for (int x = 0; x < grid.nx; ++x, ++v) {
                courant2[static_cast<std::size_t>(grid.at(z, y, x))] = (*v * scale) * (*v * scale);
                fastest = std::max(fastest, *v);
            }
    return {grid, uploaded(machine, courant2), uploaded(machine, damping(grid.nz, grid, fastest)),
            uploaded(machine, damping(grid.ny, grid, fastest)),
            uploaded(machine, damping(grid.nx, grid, fastest))};
}

Floats model_shot(Machine& machine, const Medium& earth, const Shot& shot, const Watch& watch) {
    const Floats source = wavelet(machine, shot, earth.grid.step_s);
    Wavefield field(machine, earth);
    Floats traces = machine.make(static_cast<std::size_t>(shot.steps) * shot.receivers.points());
    for (int n = 0; n < shot.steps; ++n) {
        field.advance(n, shot.source, source.get() + n, watch);
        machine.record(earth.grid, shot.receivers, field.now(n + 1),
                       traces.get() + static_cast<std::size_t>(n) * shot.receivers.points());
        if (watch.passed) watch.passed("modelled", n + 1, shot.steps);
    }
    machine.finish();
    return traces;
}

void migrate_shot(Machine& machine, const Medium& smooth, const Shot& shot, const float* data,
                  const Keeping& keeping, Image& image, const Watch& watch) {
    Migration migration(machine, smooth, shot, keeping, watch);
    migration.forward();
    migration.subtract_from(data);
    migration.backward(image);
}

}  // namespace wave
