// Decomposition, transforms and forces on 1 to 4 ranks, uneven slabs included.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "gravity.hpp"
#include "mpi_test_comm.hpp"
#include "particles.hpp"

namespace cosmology {
namespace {

/// Every test on every number of ranks, and a mesh that does not divide by it.
template <class F>
void on_all_rank_counts(F&& test) {
    for (int ranks = 1; ranks <= TestComm::world_size(); ++ranks) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks");
        const TestComm comm(ranks);
        if (comm.member()) test(static_cast<MPI_Comm>(comm));
    }
}

TEST(Slab, partition_covers_every_plane_once) {
    on_all_rank_counts([](MPI_Comm comm) {
        for (const int n : {4, 5, 10, 33}) {
            const Slab slab(n, comm);
            EXPECT_EQ(slab.first(0), 0);
            EXPECT_EQ(slab.first(slab.size()), n);
            for (int rank = 0; rank < slab.size(); ++rank) {
                EXPECT_GE(slab.planes(rank), 1);
                for (int plane = slab.first(rank); plane < slab.first(rank + 1); ++plane)
                    EXPECT_EQ(slab.owner(plane), rank);
            }
        }
    });
}

TEST(Slab, ghosts_are_the_owners_planes_even_where_slabs_are_thinner_than_the_halo) {
    on_all_rank_counts([](MPI_Comm comm) {
        for (const int n : {4, 5, 10}) {
            const Slab slab(n, comm);
            constexpr int k_below = 3, k_above = 3, k_floats = 2;
            std::vector<float> data(
                static_cast<std::size_t>((slab.planes() + k_below + k_above) * k_floats), -1.0f);
            for (int plane = slab.lo(); plane < slab.hi(); ++plane) {
                for (int i = 0; i < k_floats; ++i)
                    data[static_cast<std::size_t>((plane - slab.lo() + k_below) * k_floats + i)] =
                        static_cast<float>(plane * k_floats + i);
            }
            slab.fill_ghosts(data.data(), k_floats, k_below, k_above);
            std::size_t at = 0;
            for (int plane = slab.lo() - k_below; plane < slab.hi() + k_above; ++plane) {
                for (int i = 0; i < k_floats; ++i, ++at)
                    EXPECT_EQ(data[at], static_cast<float>((plane + n) % n * k_floats + i));
            }
        }
    });
}

TEST(Slab, upper_ghost_is_added_to_its_owner) {
    on_all_rank_counts([](MPI_Comm comm) {
        const Slab slab(10, comm);
        std::vector<float> data(static_cast<std::size_t>(slab.planes()) + 2, 1.0f);
        data.back() = 10.0f + static_cast<float>(slab.rank());
        slab.add_upper_ghost(data.data(), 1, 1);
        const int down = (slab.rank() + slab.size() - 1) % slab.size();
        EXPECT_EQ(data[1], 11.0f + static_cast<float>(down));
        for (int i = 2; i <= slab.planes(); ++i) EXPECT_EQ(data[static_cast<std::size_t>(i)], 1.0f);
    });
}

double wave(const std::array<int, 3>& k, double n, double x, double y, double z) {
    return std::cos(2.0 * std::numbers::pi * (k[0] * x + k[1] * y + k[2] * z) / n + 0.3);
}

std::vector<float> wave_planes(const Slab& slab, const SlabFft& fft, std::array<int, 3> k) {
    std::vector<float> planes(static_cast<std::size_t>(slab.planes()) * fft.plane_floats());
    const int n = slab.n();
    for (int x = slab.lo(); x < slab.hi(); ++x) {
        for (int y = 0; y < n; ++y) {
            for (int z = 0; z < n; ++z)
                planes[static_cast<std::size_t>(((x - slab.lo()) * n + y) * (n + 2) + z)] =
                    static_cast<float>(wave(k, n, x, y, z));
        }
    }
    return planes;
}

TEST(SlabFft, a_plane_wave_is_one_mode_and_comes_back) {
    on_all_rank_counts([](MPI_Comm comm) {
        constexpr int n = 10;
        const Slab slab(n, comm);
        SlabFft fft(slab);
        const std::array<int, 3> k = {-2, 3, 1};
        const auto original = wave_planes(slab, fft, k);
        auto planes = original;
        fft.forward_planes(planes.data());
        fft.transpose_forward(planes.data());
        fft.forward_lines();
        const double half = 0.5 * n * n * n;  // cos = half of e^{ikx}, half of its conjugate
        for (int y = slab.lo(); y < slab.hi(); ++y) {
            for (int x = 0; x < n; ++x) {
                for (int z = 0; z <= n / 2; ++z) {
                    const auto mode =
                        fft.modes()[static_cast<std::size_t>(((y - slab.lo()) * n + x) * 6 + z)];
                    const bool here = y == k[1] && x == n + k[0] && z == k[2];
                    EXPECT_NEAR(mode.real(), here ? half * std::cos(0.3) : 0.0, 1e-3);
                    EXPECT_NEAR(mode.imag(), here ? half * std::sin(0.3) : 0.0, 1e-3);
                }
            }
        }
        fft.backward_lines();
        fft.transpose_backward(planes.data());
        fft.backward_planes(planes.data());
        for (int row = 0; row < slab.planes() * n; ++row) {
            for (int z = 0; z < n; ++z) {
                const auto i = static_cast<std::size_t>(row * (n + 2) + z);
                EXPECT_NEAR(planes[i] / (n * n * n), original[i], 1e-5);
            }
        }
    });
}

TEST(Gravity, force_of_a_density_wave_is_the_analytic_one) {
    on_all_rank_counts([](MPI_Comm comm) {
        constexpr int n = 32;
        const Slab slab(n, comm);
        SlabFft fft(slab);
        const std::array<int, 3> k = {1, 2, -1};
        auto planes = wave_planes(slab, fft, k);
        fft.forward_planes(planes.data());
        fft.transpose_forward(planes.data());
        fft.forward_lines();
        solve_poisson(slab, 2.0 / 3.0, fft.modes());  // laplace(phi) = delta
        fft.backward_lines();
        std::vector<float> mesh(static_cast<std::size_t>(slab.planes() + 6) * fft.plane_floats());
        float* own = mesh.data() + k_potential_below * fft.plane_floats();
        fft.transpose_backward(own);
        fft.backward_planes(own);
        slab.fill_ghosts(mesh.data(), fft.plane_floats(), k_potential_below, k_potential_above);
        std::vector<Float4> gradient(static_cast<std::size_t>((slab.planes() + 2) * n * n));
        compute_gradient(slab, mesh.data(), gradient);
        // phi = -cos(k x + 0.3) / k^2, so its gradient is k sin(k x + 0.3) / k^2.
        const double unit = 2.0 * std::numbers::pi / n, k2 = 6.0 * unit * unit;
        std::size_t node = 0;
        for (int x = slab.lo() - 1; x <= slab.hi(); ++x) {
            for (int y = 0; y < n; ++y) {
                for (int z = 0; z < n; ++z, ++node) {
                    const double phase = unit * (k[0] * x + k[1] * y + k[2] * z) + 0.3;
                    for (std::size_t axis = 0; axis < 3; ++axis) {
                        const double exact = unit * k[axis] * std::sin(phase) / k2;
                        const double amplitude = unit * std::abs(k[axis]) / k2;
                        ASSERT_NEAR(gradient[node][static_cast<int>(axis)], exact,
                                    0.02 * amplitude);
                    }
                }
            }
        }
    });
}

Particles random_particles(const Slab& slab, std::size_t count, unsigned seed) {
    std::mt19937 random(seed);  // the same sequence on all ranks: all particles, own ones kept
    std::uniform_real_distribution<float> place(0.0f, static_cast<float>(slab.n()));
    Particles particles;
    for (std::size_t i = 0; i < count; ++i) {
        std::array<float, 6> p{};
        for (float& value : p)
            value = std::min(place(random), 0.9999f * static_cast<float>(slab.n()));
        if (p[0] < static_cast<float>(slab.lo()) || p[0] >= static_cast<float>(slab.hi())) continue;
        for (std::size_t a = 0; a < p.size(); ++a) particles.arrays[a].push_back(p[a]);
    }
    return particles;
}

TEST(Gravity, internal_forces_cancel) {
    on_all_rank_counts([](MPI_Comm comm) {
        constexpr int n = 12;
        const Slab slab(n, comm);
        SlabFft fft(slab);
        auto particles = random_particles(slab, 500, 7);
        for (int axis = 0; axis < 3; ++axis)
            std::fill_n(particles.p(axis), particles.count(), 0.0f);
        std::vector<float> mesh(static_cast<std::size_t>(slab.planes() + 6) * fft.plane_floats());
        float* own = mesh.data() + k_potential_below * fft.plane_floats();
        deposit_mass(slab, particles, 1.0f, mesh.data());
        slab.add_upper_ghost(mesh.data(), fft.plane_floats(), k_potential_below);
        fft.forward_planes(own);
        fft.transpose_forward(own);
        fft.forward_lines();
        solve_poisson(slab, 0.3, fft.modes());
        fft.backward_lines();
        fft.transpose_backward(own);
        fft.backward_planes(own);
        slab.fill_ghosts(mesh.data(), fft.plane_floats(), k_potential_below, k_potential_above);
        std::vector<Float4> gradient(static_cast<std::size_t>((slab.planes() + 2) * n * n));
        compute_gradient(slab, mesh.data(), gradient);
        kick(slab, particles, gradient, {0.5f, 0.5f}, 1.0f, nullptr);
        double sums[2] = {0, 0};
        for (std::size_t i = 0; i < particles.count(); ++i) {
            sums[0] += particles.p(0)[i];
            sums[1] += std::abs(particles.p(0)[i]);
        }
        MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, comm);
        EXPECT_GT(sums[1], 1.0);
        EXPECT_LT(std::abs(sums[0]) / sums[1], 1e-5);
    });
}

TEST(Particles, sorting_and_migration_keep_every_particle) {
    on_all_rank_counts([](MPI_Comm comm) {
        const Slab slab(10, comm);
        auto particles = random_particles(slab, 2000, 11);
        const auto sums = [&] {
            std::array<double, 7> s{static_cast<double>(particles.count())};
            for (std::size_t a = 0; a < 6; ++a) {
                for (const float v : particles.arrays[a]) s[a + 1] += v;
            }
            MPI_Allreduce(MPI_IN_PLACE, s.data(), 7, MPI_DOUBLE, MPI_SUM, comm);
            return s;
        };
        const auto before = sums();
        ASSERT_EQ(before[0], 2000);
        for (std::size_t i = 0; i < particles.count(); ++i)  // send everyone somewhere else
            particles.arrays[0][i] = std::fmod(particles.arrays[0][i] * 7.0f, 10.0f);
        const auto scattered = sums();
        Migration migration(slab);
        migration.pack(particles);
        migration.exchange(particles);
        RowSort sort(slab);
        sort(particles);
        const auto after = sums();
        EXPECT_EQ(after[0], 2000);
        for (std::size_t a = 1; a < 7; ++a) EXPECT_NEAR(after[a], scattered[a], 1e-6 * 2e4);
        int last_row = -1;
        for (std::size_t i = 0; i < particles.count(); ++i) {
            const int plane = static_cast<int>(particles.x(0)[i]);
            const int row = plane * 10 + static_cast<int>(particles.x(1)[i]);
            EXPECT_GE(plane, slab.lo());
            EXPECT_LT(plane, slab.hi());
            EXPECT_GE(row, last_row);
            last_row = row;
        }
    });
}

}  // namespace
}  // namespace cosmology
