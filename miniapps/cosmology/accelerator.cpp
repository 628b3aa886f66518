// The choice, and the three kernels as phases; see accelerator.hpp.

#include "accelerator.hpp"

#include <algorithm>
#include <stdexcept>

namespace cosmology {

namespace {

int rank_on_node(MPI_Comm comm) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int rank = 0;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

}  // namespace

Accelerator::Accelerator(const std::string& choice, MPI_Comm comm) {
    if (choice == "emulated") {
        reason_ = "--device emulated";
        return;
    }
    OpenedDevice opened = open_device(rank_on_node(comm));
    if (choice == "cuda" && !opened.kernels)
        throw std::runtime_error("--device cuda: " + opened.reason +
                                 "; --device emulated runs anywhere");
    int everywhere = opened.kernels ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm);
    if (everywhere) {
        device_ = std::move(opened.kernels);
    } else {
        reason_ = opened.kernels ? "another rank has no CUDA device" : opened.reason;
    }
}

void Accelerator::deposit(StepClock& clock, double share, const SlabExtent& slab,
                          const Particles& particles, float mass, std::vector<float>& mesh) {
    const auto clear = [&] { std::fill(mesh.begin(), mesh.end(), 0.0f); };
    if (!device_) {
        clock.kernel("deposit", share, [&] {
            clear();
            deposit_mass(slab, particles, mass, mesh.data());
        });
        return;
    }
    clock.device_kernel(
        "deposit", [&] { device_->begin_deposit(slab, particles, mass); }, [&] { device_->wait(); },
        [&] {
            clear();
            device_->end_deposit(mesh.data());
        });
}

void Accelerator::kick(StepClock& clock, double share, const SlabExtent& slab, Particles& particles,
                       const std::vector<Float4>& gradient, KickFactors factors, float mass,
                       std::vector<Float4>* moments) {
    const auto clear = [&] {
        if (moments) std::fill(moments->begin(), moments->end(), Float4{});
    };
    if (!device_) {
        clock.kernel("kick", share, [&] {
            clear();
            cosmology::kick(slab, particles, gradient, factors, mass, moments);
        });
        return;
    }
    clock.device_kernel(
        "kick",
        [&] {
            device_->begin_kick(slab, particles, reinterpret_cast<const float*>(gradient.data()),
                                factors, mass, moments != nullptr);
        },
        [&] { device_->wait(); },
        [&] {
            clear();
            device_->end_kick(particles,
                              moments ? reinterpret_cast<float*>(moments->data()) : nullptr);
        });
}

void Accelerator::drift(StepClock& clock, double share, int n, Particles& particles, float factor) {
    if (!device_) {
        clock.kernel("drift", share, [&] { cosmology::drift(n, particles, factor); });
        return;
    }
    clock.device_kernel(
        "drift", [&] { device_->begin_drift(n, particles, factor); }, [&] { device_->wait(); },
        [&] { device_->end_drift(particles); });
}

}  // namespace cosmology
