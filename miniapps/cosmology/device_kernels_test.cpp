// The GPU's kernels against the host's, on random particles. Needs a GPU and says so without;
// needs neither MPI nor FFTW nor HDF5:
//
//   nvcc -std=c++17 -O2 -arch=native -fmad=false -Xcompiler=-ffp-contract=off device_kernels.cu
//        device_kernels_test.cpp particle_kernels.cpp -lgtest -lgtest_main -o device_kernels_test
//
// Kick and drift are the host's bit for bit. Sums over particles agree to the rounding of the
// host's, and repeat bit for bit whatever the order of the particles.

#include "device_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace cosmology {
namespace {

constexpr std::size_t k_count = 60000;
constexpr float k_mass = 0.37f;
constexpr KickFactors k_factors{0.7f, -0.4f};

const SlabExtent k_slab(24, 5, 17);  // neither the whole mesh nor its beginning

OpenedDevice& device() {
    static OpenedDevice opened = open_device(0);
    return opened;
}

class DeviceKernelsTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!device().kernels) GTEST_SKIP() << device().reason;
    }
    DeviceKernels& kernels() { return *device().kernels; }
};

/// Half of them anywhere, an eighth in the mesh's last cells of y and z, the rest in one cell.
Particles random_particles(unsigned seed) {
    std::mt19937 random(seed);
    const auto within = [&](float from, float to) {
        const float value = std::uniform_real_distribution<float>(from, to)(random);
        return std::min(value, std::nextafter(to, from));
    };
    const auto n = static_cast<float>(k_slab.n());
    const auto lo = static_cast<float>(k_slab.lo()), hi = static_cast<float>(k_slab.hi());
    Particles particles;
    particles.resize(k_count);
    for (std::size_t i = 0; i < k_count; ++i) {
        const bool anywhere = i % 2 == 0, at_the_edge = i % 8 == 1;
        particles.x(0)[i] = anywhere || at_the_edge ? within(lo, hi) : within(hi - 1.0f, hi);
        for (int axis = 1; axis < 3; ++axis)
            particles.x(axis)[i] = anywhere      ? within(0.0f, n)
                                   : at_the_edge ? within(n - 1.0f, n)
                                                 : within(3.0f, 4.0f);
        for (int axis = 0; axis < 3; ++axis) particles.p(axis)[i] = within(-30.0f, 20.0f);
    }
    return particles;
}

std::size_t nodes() {
    const auto n = static_cast<std::size_t>(k_slab.n());
    return n * n * static_cast<std::size_t>(k_slab.planes() + k_node_below + k_node_above);
}

std::vector<Float4> random_gradient(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 5.0f);
    std::vector<Float4> gradient(nodes());
    for (auto& node : gradient) node = Float4{normal(random), normal(random), normal(random), 0.0f};
    return gradient;
}

Particles shuffled(const Particles& particles, unsigned seed) {
    std::vector<std::size_t> order(particles.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    Particles out;
    out.resize(particles.count());
    for (std::size_t a = 0; a < particles.arrays.size(); ++a) {
        for (std::size_t i = 0; i < order.size(); ++i)
            out.arrays[a][i] = particles.arrays[a][order[i]];
    }
    return out;
}

std::vector<float> deposited(DeviceKernels& kernels, const Particles& particles) {
    const auto n = static_cast<std::size_t>(k_slab.n());
    const auto planes =
        static_cast<std::size_t>(k_slab.planes() + k_potential_below + k_potential_above);
    std::vector<float> density(planes * n * (n + 2), 0.0f);
    kernels.begin_deposit(k_slab, particles, k_mass);
    kernels.wait();
    kernels.end_deposit(density.data());
    return density;
}

struct Kicked {
    Particles particles;
    std::vector<Float4> moments;
};

Kicked kicked(DeviceKernels& kernels, Particles particles, const std::vector<Float4>& gradient,
              bool with_moments) {
    std::vector<Float4> moments(nodes());
    kernels.begin_kick(k_slab, particles, reinterpret_cast<const float*>(gradient.data()),
                       k_factors, k_mass, with_moments);
    kernels.wait();
    kernels.end_kick(particles, with_moments ? reinterpret_cast<float*>(moments.data()) : nullptr);
    return {std::move(particles), std::move(moments)};
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void expect_same_arrays(const Particles& a, const Particles& b) {
    for (std::size_t i = 0; i < a.arrays.size(); ++i)
        EXPECT_TRUE(same_bits(a.arrays[i], b.arrays[i])) << "array " << i;
}

/// A host's float sum of m terms is off by at most m * 2^-24 of the sum of their magnitudes. With
/// thousands of terms in a cell that bound is 1e-3; roundings that go either way leave far less.
constexpr double k_rounding = 1e-4;

TEST(DeviceKernels, absence_of_a_device_has_a_reason) {
    EXPECT_EQ(device().reason.empty(), device().kernels != nullptr);
    if (device().kernels) {
        EXPECT_FALSE(device().kernels->name().empty());
    }
}

TEST_F(DeviceKernelsTest, deposit_is_the_hosts_to_rounding) {
    const Particles particles = random_particles(1);
    const auto on_device = deposited(kernels(), particles);
    std::vector<float> on_host(on_device.size(), 0.0f);
    deposit_mass(k_slab, particles, k_mass, on_host.data());
    double total = 0.0, crowded = 0.0;
    for (std::size_t i = 0; i < on_host.size(); ++i) {
        ASSERT_NEAR(on_device[i], on_host[i], k_rounding * on_host[i]) << "float " << i;
        total += on_device[i];
        crowded = std::max<double>(crowded, on_device[i]);
    }
    EXPECT_NEAR(total / (double{k_count} * k_mass), 1.0, 1e-6);
    EXPECT_GT(crowded, 1000.0 * k_mass) << "the test is to have a crowded cell";
}

TEST_F(DeviceKernelsTest, deposit_repeats_bit_for_bit_in_any_order) {
    const Particles particles = random_particles(2);
    const auto once = deposited(kernels(), particles);
    EXPECT_TRUE(same_bits(once, deposited(kernels(), particles)));
    EXPECT_TRUE(same_bits(once, deposited(kernels(), shuffled(particles, 3))));
}

TEST_F(DeviceKernelsTest, deposit_adds_to_what_is_there) {
    const Particles particles = random_particles(4);
    const auto once = deposited(kernels(), particles);
    auto twice = once;
    kernels().begin_deposit(k_slab, particles, k_mass);
    kernels().wait();
    kernels().end_deposit(twice.data());
    for (std::size_t i = 0; i < once.size(); ++i) ASSERT_EQ(twice[i], 2.0f * once[i]);
}

TEST_F(DeviceKernelsTest, kick_is_the_hosts_bit_for_bit) {
    const auto gradient = random_gradient(5);
    Particles particles = random_particles(6);
    const auto on_device = kicked(kernels(), particles, gradient, false);
    kick(k_slab, particles, gradient, k_factors, k_mass, nullptr);
    expect_same_arrays(on_device.particles, particles);
}

TEST_F(DeviceKernelsTest, moments_are_the_hosts_to_rounding) {
    const auto gradient = random_gradient(7);
    Particles particles = random_particles(8);
    const auto on_device = kicked(kernels(), particles, gradient, true);
    std::vector<Float4> moments(nodes());
    kick(k_slab, particles, gradient, k_factors, k_mass, &moments);
    expect_same_arrays(on_device.particles, particles);
    // Momenta cancel in a sum, its roundings do not: they go with the mass times a large momentum.
    const float largest_momentum = 100.0f;
    for (std::size_t i = 0; i < moments.size(); ++i) {
        for (int lane = 0; lane < 4; ++lane) {
            const double size = moments[i][3] * (lane < 3 ? largest_momentum : 1.0f);
            ASSERT_NEAR(on_device.moments[i][lane], moments[i][lane], k_rounding * size)
                << "node " << i << ", lane " << lane;
        }
    }
}

TEST_F(DeviceKernelsTest, moments_repeat_bit_for_bit_in_any_order) {
    const auto gradient = random_gradient(9);
    const Particles particles = random_particles(10);
    const auto once = kicked(kernels(), particles, gradient, true);
    EXPECT_TRUE(same_bits(once.moments, kicked(kernels(), particles, gradient, true).moments));
    const auto other_order = kicked(kernels(), shuffled(particles, 11), gradient, true);
    EXPECT_TRUE(same_bits(once.moments, other_order.moments));
}

TEST_F(DeviceKernelsTest, momenta_that_are_not_finite_are_refused_where_they_would_be_summed) {
    const auto gradient = random_gradient(12);
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        Particles particles = random_particles(13);
        particles.p(1)[k_count / 2] = bad;
        EXPECT_THROW(kicked(kernels(), particles, gradient, true), std::runtime_error);
        EXPECT_NO_THROW(kicked(kernels(), particles, gradient, false));
    }
}

TEST_F(DeviceKernelsTest, drift_is_the_hosts_bit_for_bit_and_wraps) {
    for (const float factor : {0.01f, 1.0f, -7.0f}) {
        Particles on_device = random_particles(14), on_host = on_device;
        // Landing on the edges themselves:
        on_host.x(2)[0] = on_device.x(2)[0] = 0.0f;
        on_host.p(2)[0] = on_device.p(2)[0] = -1e-9f;
        kernels().begin_drift(k_slab.n(), on_device, factor);
        kernels().wait();
        kernels().end_drift(on_device);
        drift(k_slab.n(), on_host, factor);
        expect_same_arrays(on_device, on_host);
        for (const float x : on_device.arrays[0])
            ASSERT_TRUE(x >= 0.0f && x < static_cast<float>(k_slab.n())) << x;
    }
}

TEST_F(DeviceKernelsTest, no_particles_are_no_error) {
    const Particles none;
    for (const float v : deposited(kernels(), none)) ASSERT_EQ(v, 0.0f);
    const auto result = kicked(kernels(), none, random_gradient(15), true);
    for (const auto& m : result.moments) {
        for (int lane = 0; lane < 4; ++lane) ASSERT_EQ(m[lane], 0.0f);
    }
    Particles moved;
    kernels().begin_drift(k_slab.n(), moved, 1.0f);
    kernels().wait();
    kernels().end_drift(moved);
    EXPECT_EQ(moved.count(), 0u);
}

}  // namespace
}  // namespace cosmology
