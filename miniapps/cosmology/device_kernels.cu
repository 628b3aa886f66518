// The particle kernels in CUDA; see device_kernels.hpp.
//
// Compile with -fmad=false: then every float of kick and drift is the host's, bit for bit.

#include <cuda_runtime.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "device_kernels.hpp"

namespace cosmology {

namespace {

using Fixed = unsigned long long;  // what atomicAdd knows; two's complement makes it signed

constexpr int k_threads = 256;
constexpr int k_sum_bits = 61;  // of a sum; the other two absorb rounding

// ------------------------------------------------------------------------------ on the device

struct Mesh {
    int n, first_plane;  // first_plane: of the arrays, ghosts included
};
struct Positions {
    const float *x, *y, *z;
};
struct Momenta {
    float *x, *y, *z;
};

/// Fixed point: a sum in units of `quantum` = 1 / `scale`, both powers of two.
struct Scale {
    float scale, quantum;
};
struct KickScales {
    Scale momentum, mass;
    int finite;
};

__host__ __device__ Scale scale_for(double largest_sum) {
    int exponent = 0;
    frexp(largest_sum, &exponent);
    int bits = k_sum_bits - exponent;
    bits = bits > 100 ? 100 : bits < -100 ? -100 : bits;  // both must be normal floats
    return {static_cast<float>(ldexp(1.0, bits)), static_cast<float>(ldexp(1.0, -bits))};
}

__device__ void add(Fixed* sum, float value, float scale) {
    atomicAdd(sum, static_cast<Fixed>(__float2ll_rn(value * scale)));
}

__device__ float as_float(Fixed sum, float quantum) {
    return __ll2float_rn(static_cast<long long>(sum)) * quantum;
}

__device__ std::size_t thread_index() {
    return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// The eight nodes around a particle and their weights, which add up to `mass`; in the host's order
/// and with the host's operations.
struct Cloud {
    long long node[8];
    float w[8];
};

__device__ Cloud cloud_of(Mesh mesh, float x, float y, float z, float mass) {
    const int ix = static_cast<int>(x), iy = static_cast<int>(y), iz = static_cast<int>(z);
    const float fx = x - static_cast<float>(ix), fy = y - static_cast<float>(iy);
    const float fz = z - static_cast<float>(iz);
    const float gx = (1.0f - fx) * mass, hx = fx * mass, gy = 1.0f - fy, gz = 1.0f - fz;
    const long long row = mesh.n, plane = row * mesh.n;
    const long long a = (ix - mesh.first_plane) * plane + iy * row + iz;
    const long long to_y = iy + 1 == mesh.n ? row - plane : row;
    const long long to_z = iz + 1 == mesh.n ? 1 - row : 1;
    return {{a, a + to_z, a + to_y, a + to_y + to_z, a + plane, a + plane + to_z, a + plane + to_y,
             a + plane + to_y + to_z},
            {gx * gy * gz, gx * gy * fz, gx * fy * gz, gx * fy * fz, hx * gy * gz, hx * gy * fz,
             hx * fy * gz, hx * fy * fz}};
}

__global__ void deposit_kernel(Mesh mesh, Positions at, std::size_t count, float mass, Scale scale,
                               Fixed* density) {
    const std::size_t i = thread_index();
    if (i >= count) return;
    const Cloud cloud = cloud_of(mesh, at.x[i], at.y[i], at.z[i], mass);
#pragma unroll
    for (int c = 0; c < 8; ++c) add(density + cloud.node[c], cloud.w[c], scale.scale);
}

__global__ void density_kernel(const Fixed* sums, std::size_t count, Scale scale, float* out) {
    const std::size_t i = thread_index();
    if (i < count) out[i] = as_float(sums[i], scale.quantum);
}

/// *largest = max(*largest, |values|), as bits: those of non-negative floats sort as the floats do,
/// infinities and NaN last.
__global__ void largest_kernel(const float* values, std::size_t count, unsigned* largest) {
    unsigned mine = 0;
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = thread_index(); i < count; i += stride)
        mine = max(mine, __float_as_uint(fabsf(values[i])));
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine = max(mine, __shfl_down_sync(0xffffffffu, mine, lanes));
    if (threadIdx.x % 32 == 0) atomicMax(largest, mine);
}

/// The scale of the moments: no sum exceeds count * mass * (largest p + |kick| * largest gradient).
__global__ void scales_kernel(const unsigned* largest, float to_now, float mass, double count,
                              KickScales* scales) {
    const double momentum = __uint_as_float(largest[0]), gradient = __uint_as_float(largest[1]);
    const double bound = momentum + fabs(static_cast<double>(to_now)) * gradient;
    scales->finite = isfinite(bound);
    scales->momentum = scale_for(scales->finite ? count * mass * bound : 0.0);
    scales->mass = scale_for(count * mass);
}

template <bool with_moments>
__global__ void kick_kernel(Mesh mesh, Positions at, Momenta p, std::size_t count,
                            const float4* gradient, KickFactors factors, float mass,
                            const KickScales* scales, Fixed* moments) {
    const std::size_t i = thread_index();
    if (i >= count) return;
    const Cloud cloud = cloud_of(mesh, at.x[i], at.y[i], at.z[i], 1.0f);
    const float4 first = gradient[cloud.node[0]];
    float gx = first.x * cloud.w[0], gy = first.y * cloud.w[0], gz = first.z * cloud.w[0];
#pragma unroll
    for (int c = 1; c < 8; ++c) {
        const float4 g = gradient[cloud.node[c]];
        gx += g.x * cloud.w[c];
        gy += g.y * cloud.w[c];
        gz += g.z * cloud.w[c];
    }
    const float px = p.x[i] - factors.to_now * gx;
    const float py = p.y[i] - factors.to_now * gy;
    const float pz = p.z[i] - factors.to_now * gz;
    if (with_moments && scales->finite) {
        const float mx = px * mass, my = py * mass, mz = pz * mass;
        const float scale = scales->momentum.scale, mass_scale = scales->mass.scale;
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            Fixed* const m = moments + 4 * cloud.node[c];
            add(m, mx * cloud.w[c], scale);
            add(m + 1, my * cloud.w[c], scale);
            add(m + 2, mz * cloud.w[c], scale);
            add(m + 3, mass * cloud.w[c], mass_scale);
        }
    }
    p.x[i] = px - factors.on * gx;
    p.y[i] = py - factors.on * gy;
    p.z[i] = pz - factors.on * gz;
}

__global__ void moments_kernel(const Fixed* sums, std::size_t nodes, const KickScales* scales,
                               float4* out) {
    const std::size_t i = thread_index();
    if (i >= nodes) return;
    const Fixed* const m = sums + 4 * i;
    const float quantum = scales->momentum.quantum;
    out[i] = make_float4(as_float(m[0], quantum), as_float(m[1], quantum), as_float(m[2], quantum),
                         as_float(m[3], scales->mass.quantum));
}

__global__ void drift_kernel(float* x, const float* p, std::size_t count, float factor, float side,
                             float inverse) {
    const std::size_t i = thread_index();
    if (i >= count) return;
    float moved = x[i] + factor * p[i];
    moved -= side * floorf(moved * inverse);
    x[i] = moved >= 0.0f && moved < side ? moved : 0.0f;
}

// -------------------------------------------------------------------------------- on the host

std::string explained(cudaError_t error) {
    return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
}

void check(cudaError_t error, const std::string& what) {
    if (error != cudaSuccess)
        throw std::runtime_error("CUDA could not " + what + ": " + explained(error) +
                                 "; --device emulated does without the GPU");
}

/// An array on the device that grows and never shrinks; growing loses what was in it.
template <class T>
class DeviceArray {
  public:
    DeviceArray() = default;
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() const { return data_; }

    void reserve(std::size_t count) {
        if (count <= capacity_) return;
        check(cudaFree(data_), "free memory");
        data_ = nullptr;
        capacity_ = 0;
        const std::size_t roomy = count + count / 8;  // particles come and go
        check(cudaMalloc(&data_, roomy * sizeof(T)),
              "allocate " + std::to_string(roomy * sizeof(T)) +
                  " bytes (fewer ranks a GPU or a smaller --grid need less)");
        capacity_ = roomy;
    }
    void copy_in(const T* values, std::size_t count) {
        reserve(count);
        check(cudaMemcpy(data_, values, count * sizeof(T), cudaMemcpyHostToDevice),
              "copy to the device");
    }
    void copy_out(T* values, std::size_t count) const {
        check(cudaMemcpy(values, data_, count * sizeof(T), cudaMemcpyDeviceToHost),
              "copy from the device");
    }
    void clear(std::size_t count) {
        reserve(count);
        check(cudaMemset(data_, 0, count * sizeof(T)), "clear memory");
    }

  private:
    T* data_ = nullptr;
    std::size_t capacity_ = 0;
};

/// At least one block, so that no particles are no special case.
unsigned blocks(std::size_t count) {
    return static_cast<unsigned>(count == 0 ? 1 : (count + k_threads - 1) / k_threads);
}

std::size_t nodes_of(int n, int planes) {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(n) *
           static_cast<std::size_t>(planes);
}

class CudaKernels final : public DeviceKernels {
  public:
    explicit CudaKernels(std::string name) : name_(std::move(name)) {}

    const std::string& name() const override { return name_; }
    void wait() override { check(cudaDeviceSynchronize(), "finish a kernel"); }

    void begin_deposit(const SlabExtent& slab, const Particles& particles, float mass) override;
    void end_deposit(float* density) override;
    void begin_kick(const SlabExtent& slab, const Particles& particles, const float* gradient,
                    KickFactors factors, float mass, bool with_moments) override;
    void end_kick(Particles& particles, float* moments) override;
    void begin_drift(int n, const Particles& particles, float factor) override;
    void end_drift(Particles& particles) override;

  private:
    void copy_in(const Particles& particles, bool with_momenta) {
        count_ = particles.count();
        for (int axis = 0; axis < 3; ++axis) x_[axis].copy_in(particles.x(axis), count_);
        for (int axis = 0; axis < 3 && with_momenta; ++axis)
            p_[axis].copy_in(particles.p(axis), count_);
    }
    Positions positions() const { return {x_[0].data(), x_[1].data(), x_[2].data()}; }
    void find_scales(std::size_t nodes, float to_now, float mass);

    const std::string name_;
    DeviceArray<float> x_[3], p_[3];
    DeviceArray<Fixed> sums_;
    DeviceArray<float> density_;
    DeviceArray<float4> nodes_;  // the gradient going in, the moments coming out
    DeviceArray<unsigned> largest_;
    DeviceArray<KickScales> scales_;
    std::vector<float> staged_;  // results that are added to what the host has
    // Of the kernel that runs:
    std::size_t count_ = 0;
    SlabExtent slab_{0, 0, 0};
    bool with_moments_ = false;
};

void CudaKernels::begin_deposit(const SlabExtent& slab, const Particles& particles, float mass) {
    slab_ = slab;
    copy_in(particles, false);
    const std::size_t nodes = nodes_of(slab.n(), slab.planes() + 1);
    sums_.clear(nodes);
    density_.reserve(nodes);
    const Scale scale = scale_for(static_cast<double>(count_) * mass);
    deposit_kernel<<<blocks(count_), k_threads>>>({slab.n(), slab.lo()}, positions(), count_, mass,
                                                  scale, sums_.data());
    density_kernel<<<blocks(nodes), k_threads>>>(sums_.data(), nodes, scale, density_.data());
    check(cudaGetLastError(), "start the deposit");
}

void CudaKernels::end_deposit(float* density) {
    const int n = slab_.n();
    const auto row_floats = static_cast<std::size_t>(n);
    const std::size_t rows = nodes_of(n, slab_.planes() + 1) / row_floats;
    staged_.resize(rows * row_floats);
    density_.copy_out(staged_.data(), staged_.size());
    const float* from = staged_.data();
    float* to = density + k_potential_below * row_floats * (row_floats + 2);
    for (std::size_t row = 0; row < rows; ++row, from += row_floats, to += row_floats + 2) {
        for (std::size_t z = 0; z < row_floats; ++z) to[z] += from[z];
    }
}

void CudaKernels::find_scales(std::size_t nodes, float to_now, float mass) {
    constexpr unsigned k_blocks = 1024;  // enough to keep any GPU's memory busy
    largest_.clear(2);
    scales_.reserve(1);
    for (const auto& p : p_)
        largest_kernel<<<k_blocks, k_threads>>>(p.data(), count_, largest_.data());
    largest_kernel<<<k_blocks, k_threads>>>(reinterpret_cast<const float*>(nodes_.data()),
                                            4 * nodes, largest_.data() + 1);
    scales_kernel<<<1, 1>>>(largest_.data(), to_now, mass, static_cast<double>(count_),
                            scales_.data());
}

void CudaKernels::begin_kick(const SlabExtent& slab, const Particles& particles,
                             const float* gradient, KickFactors factors, float mass,
                             bool with_moments) {
    slab_ = slab;
    with_moments_ = with_moments;
    copy_in(particles, true);
    const std::size_t nodes = nodes_of(slab.n(), slab.planes() + k_node_below + k_node_above);
    nodes_.copy_in(reinterpret_cast<const float4*>(gradient), nodes);
    const Mesh mesh{slab.n(), slab.lo() - k_node_below};
    const Momenta p{p_[0].data(), p_[1].data(), p_[2].data()};
    if (with_moments) {
        sums_.clear(4 * nodes);
        find_scales(nodes, factors.to_now, mass);
        kick_kernel<true><<<blocks(count_), k_threads>>>(mesh, positions(), p, count_,
                                                         nodes_.data(), factors, mass,
                                                         scales_.data(), sums_.data());
        // The kick is the gradient's last reader: its memory takes the moments.
        moments_kernel<<<blocks(nodes), k_threads>>>(sums_.data(), nodes, scales_.data(),
                                                     nodes_.data());
    } else {
        kick_kernel<false><<<blocks(count_), k_threads>>>(
            mesh, positions(), p, count_, nodes_.data(), factors, mass, nullptr, nullptr);
    }
    check(cudaGetLastError(), "start the kick");
}

void CudaKernels::end_kick(Particles& particles, float* moments) {
    for (int axis = 0; axis < 3; ++axis) p_[axis].copy_out(particles.p(axis), count_);
    if (!with_moments_) return;
    KickScales scales{};
    scales_.copy_out(&scales, 1);
    if (!scales.finite)
        throw std::runtime_error(
            "a momentum or a force is not finite: the fields cannot be made; see --check");
    const std::size_t nodes = nodes_of(slab_.n(), slab_.planes() + k_node_below + k_node_above);
    staged_.resize(4 * nodes);
    nodes_.copy_out(reinterpret_cast<float4*>(staged_.data()), nodes);
    for (std::size_t i = 0; i < staged_.size(); ++i) moments[i] += staged_[i];
}

void CudaKernels::begin_drift(int n, const Particles& particles, float factor) {
    copy_in(particles, true);
    const auto side = static_cast<float>(n);
    for (int axis = 0; axis < 3; ++axis)
        drift_kernel<<<blocks(count_), k_threads>>>(x_[axis].data(), p_[axis].data(), count_,
                                                    factor, side, 1.0f / side);
    check(cudaGetLastError(), "start the drift");
}

void CudaKernels::end_drift(Particles& particles) {
    for (int axis = 0; axis < 3; ++axis) x_[axis].copy_out(particles.x(axis), count_);
}

}  // namespace

OpenedDevice open_device(int rank_on_node) {
    int devices = 0;
    if (const auto error = cudaGetDeviceCount(&devices); error != cudaSuccess)
        return {nullptr, "no CUDA device: " + explained(error)};
    if (devices == 0) return {nullptr, "no CUDA device"};
    const int device = rank_on_node % devices;
    const auto refuse = [device](cudaError_t error) -> OpenedDevice {
        return {nullptr,
                "CUDA device " + std::to_string(device) + " cannot be used: " + explained(error)};
    };
    if (const auto error = cudaSetDevice(device); error != cudaSuccess) return refuse(error);
    // Whoever waits sleeps, so that the core is free for others: that is what the pause is for.
    if (const auto error = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync); error != cudaSuccess)
        return refuse(error);
    // Fails where this build has no code for the device: better now than at the first kernel.
    cudaFuncAttributes attributes{};
    if (const auto error = cudaFuncGetAttributes(&attributes, density_kernel); error != cudaSuccess)
        return refuse(error);
    cudaDeviceProp properties{};
    if (const auto error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess)
        return refuse(error);
    return {std::make_unique<CudaKernels>(properties.name), ""};
}

}  // namespace cosmology
