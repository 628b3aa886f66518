// Wavefields on a GPU. Compiled in CI, not yet run on a GPU.
//
// Compile with -fmad=false: then every float is the host's, bit for bit. A thread a cell, or a
// point; what neighbours read twice comes from the GPU's caches: simple, not the fastest.

#include <cuda_runtime.h>

#include <stdexcept>

#include "machine.hpp"
#include "stencil.hpp"

namespace wave {
namespace {

void require(cudaError_t code, const char* what) {
    if (code != cudaSuccess)
        throw std::runtime_error(std::string("CUDA, ") + what + ": " + cudaGetErrorString(code));
}

// ------------------------------------------------------------------------------ on the device

/// What kernels know of a medium.
struct Cells {
    int nz, ny, nx;
    std::ptrdiff_t row, plane, first;  ///< first: cell (0, 0, 0)
    const float *courant2, *damping_z, *damping_y, *damping_x;
};

__global__ void step_cells(Cells cells, const float* __restrict__ now, float* __restrict__ before) {
    const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    const int z = static_cast<int>(blockIdx.z);
    if (x >= cells.nx || y >= cells.ny) return;
    const std::ptrdiff_t at = cells.first + z * cells.plane + y * cells.row + x;
    // Summed as the host does.
    const float damping = (cells.damping_z[z] + cells.damping_y[y]) + cells.damping_x[x];
    before[at] = next(now[at], before[at], laplacian(now + at, cells.row, cells.plane),
                      cells.courant2[at], damping);
}

struct Points {
    int nx, count;
    std::ptrdiff_t row, first;
    __device__ std::ptrdiff_t at(int point) const {
        return first + (point / nx) * row + point % nx;
    }
};

__global__ void inject_points(Points points, const float* courant2, const float* values,
                              float* field) {
    const int point = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (point >= points.count) return;
    const std::ptrdiff_t at = points.at(point);
    field[at] += courant2[at] * values[point];
}

__global__ void record_points(Points points, const float* field, float* values) {
    const int point = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (point < points.count) values[point] = field[points.at(point)];
}

__global__ void correlate_cells(std::size_t cells, const float* source, const float* receivers,
                                float* image, float* source_power, float* receiver_power) {
    const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    image[i] += source[i] * receivers[i];
    source_power[i] += source[i] * source[i];
    receiver_power[i] += receivers[i] * receivers[i];
}

// -------------------------------------------------------------------------------- on the host

constexpr int k_threads = 256;

unsigned blocks(std::size_t count) {
    return static_cast<unsigned>((count + k_threads - 1) / k_threads);
}

Points points_of(const Grid& grid, const Plane& plane) {
    return {plane.nx, static_cast<int>(plane.points()), grid.row(),
            grid.at(plane.z, plane.y, plane.x)};
}

/// Everything goes to the default stream, in order.
class GpuMachine : public Machine {
  public:
    GpuMachine() {
        int count = 0;
        const cudaError_t found = cudaGetDeviceCount(&count);
        if (found != cudaSuccess || count == 0)
            throw std::runtime_error(
                std::string("no CUDA device can be used (") + cudaGetErrorString(found) +
                "); use --device emulated, or a machine with a GPU and its driver");
        cudaDeviceProp properties{};
        require(cudaGetDeviceProperties(&properties, 0), "asking what the device is");
        name_ = properties.name;
    }
    const std::string& name() const override { return name_; }

    Floats make(std::size_t count) override {
        float* memory = nullptr;
        require(cudaMalloc(&memory, count * sizeof(float)), "allocating wavefields");
        Floats made(memory, [](float* floats) { cudaFree(floats); });
        require(cudaMemset(memory, 0, count * sizeof(float)), "clearing wavefields");
        return made;
    }
    void upload(float* to, const std::vector<float>& from) override {
        require(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice),
                "upload");
    }
    void download(std::vector<float>& to, const float* from) override {
        require(cudaMemcpy(to.data(), from, to.size() * sizeof(float), cudaMemcpyDeviceToHost),
                "download");
    }
    void copy(float* to, const float* from, std::size_t count) override {
        require(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice),
                "a copy");
    }

    void step(const Medium& medium, const float* now, float* before) override {
        const Grid& grid = medium.grid;
        const Cells cells{grid.nz,
                          grid.ny,
                          grid.nx,
                          grid.row(),
                          grid.plane(),
                          grid.at(0, 0, 0),
                          medium.courant2.get(),
                          medium.damping_z.get(),
                          medium.damping_y.get(),
                          medium.damping_x.get()};
        const dim3 threads(64, 4);
        const dim3 all((static_cast<unsigned>(grid.nx) + threads.x - 1) / threads.x,
                       (static_cast<unsigned>(grid.ny) + threads.y - 1) / threads.y,
                       static_cast<unsigned>(grid.nz));
        step_cells<<<all, threads>>>(cells, now, before);
        require(cudaGetLastError(), "a step");
    }
    void inject(const Medium& medium, const Plane& plane, const float* values,
                float* field) override {
        inject_points<<<blocks(plane.points()), k_threads>>>(points_of(medium.grid, plane),
                                                             medium.courant2.get(), values, field);
        require(cudaGetLastError(), "a source");
    }
    void record(const Grid& grid, const Plane& plane, const float* field, float* values) override {
        record_points<<<blocks(plane.points()), k_threads>>>(points_of(grid, plane), field, values);
        require(cudaGetLastError(), "receivers");
    }
    void correlate(std::size_t cells, const float* source, const float* receivers, float* image,
                   float* source_power, float* receiver_power) override {
        correlate_cells<<<blocks(cells), k_threads>>>(cells, source, receivers, image, source_power,
                                                      receiver_power);
        require(cudaGetLastError(), "correlating");
    }
    void finish() override { require(cudaDeviceSynchronize(), "waiting for the device"); }

  private:
    std::string name_;
};

}  // namespace

std::unique_ptr<Machine> make_gpu_machine() { return std::make_unique<GpuMachine>(); }

}  // namespace wave
