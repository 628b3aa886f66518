// Wavefields in the host's memory, computed by slabs of depth.

#include <algorithm>
#include <functional>
#include <thread>

#include "machine.hpp"
#include "stencil.hpp"

namespace wave {
namespace {

/// A row of cells. Rows of one step do not overlap: `before` is written where nobody reads. Not
/// inlined: GCC forgets __restrict then, and vectorises nothing.
__attribute__((noinline)) void step_row(int nx, std::ptrdiff_t y, std::ptrdiff_t z,
                                        float damping_zy, const float* __restrict damping_x,
                                        const float* __restrict courant2,
                                        const float* __restrict now, float* __restrict before) {
    for (int x = 0; x < nx; ++x)
        before[x] = next(now[x], before[x], laplacian(now + x, y, z), courant2[x],
                         damping_zy + damping_x[x]);
}

void correlate_range(std::size_t begin, std::size_t end, const float* __restrict source,
                     const float* __restrict receivers, float* __restrict image,
                     float* __restrict source_power, float* __restrict receiver_power) {
    for (std::size_t i = begin; i < end; ++i) {
        image[i] += source[i] * receivers[i];
        source_power[i] += source[i] * source[i];
        receiver_power[i] += receivers[i] * receivers[i];
    }
}

class HostMachine : public Machine {
  public:
    explicit HostMachine(int threads)
        : threads_(std::max(threads, 1)), name_("host, " + std::to_string(threads_) + " threads") {}
    const std::string& name() const override { return name_; }

    Floats make(std::size_t count) override {
        return Floats(new float[count](), std::default_delete<float[]>());
    }
    void upload(float* to, const std::vector<float>& from) override {
        std::copy(from.begin(), from.end(), to);
    }
    void download(std::vector<float>& to, const float* from) override {
        std::copy_n(from, to.size(), to.begin());
    }
    void copy(float* to, const float* from, std::size_t count) override {
        std::copy_n(from, count, to);
    }

    void step(const Medium& medium, const float* now, float* before) override {
        const Grid& grid = medium.grid;
        in_slabs(static_cast<std::size_t>(grid.nz), [&](std::size_t begin, std::size_t end) {
            for (int z = static_cast<int>(begin); z < static_cast<int>(end); ++z)
                for (int y = 0; y < grid.ny; ++y) {
                    const std::ptrdiff_t at = grid.at(z, y, 0);
                    step_row(grid.nx, grid.row(), grid.plane(),
                             medium.damping_z.get()[z] + medium.damping_y.get()[y],
                             medium.damping_x.get(), medium.courant2.get() + at, now + at,
                             before + at);
                }
        });
    }
    void inject(const Medium& medium, const Plane& plane, const float* values,
                float* field) override {
        for_points(medium.grid, plane, [&](std::size_t point, std::ptrdiff_t at) {
            field[at] += medium.courant2.get()[at] * values[point];
        });
    }
    void record(const Grid& grid, const Plane& plane, const float* field, float* values) override {
        for_points(grid, plane,
                   [&](std::size_t point, std::ptrdiff_t at) { values[point] = field[at]; });
    }
    void correlate(std::size_t cells, const float* source, const float* receivers, float* image,
                   float* source_power, float* receiver_power) override {
        in_slabs(cells, [&](std::size_t begin, std::size_t end) {
            correlate_range(begin, end, source, receivers, image, source_power, receiver_power);
        });
    }
    void finish() override {}

  private:
    /// [0, count) in as many pieces as there are threads; this one does the first.
    void in_slabs(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
        const auto pieces = static_cast<std::size_t>(threads_);
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < pieces; ++i)
            others.emplace_back([&, i] { work(count * i / pieces, count * (i + 1) / pieces); });
        work(0, count / pieces);
    }
    template <class Use>
    static void for_points(const Grid& grid, const Plane& plane, const Use& use) {
        std::size_t point = 0;
        for (int y = plane.y; y < plane.y + plane.ny; ++y)
            for (int x = plane.x; x < plane.x + plane.nx; ++x, ++point)
                use(point, grid.at(plane.z, y, x));
    }

    int threads_;
    std::string name_;
};

}  // namespace

std::unique_ptr<Machine> make_host_machine(int threads) {
    return std::make_unique<HostMachine>(threads);
}

}  // namespace wave
