// Plane exchange of the slab decomposition; see slab.hpp.

#include "slab.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace cosmology {

Slab::Slab(int n, MPI_Comm comm) : SlabExtent(n, 0, n), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    if (size_ > n)
        throw std::invalid_argument(std::to_string(size_) + " ranks for " + std::to_string(n) +
                                    " planes: use at most one rank per plane of the mesh");
    lo_ = first(rank_);
    hi_ = first(rank_ + 1);
}

int Slab::first(int rank) const {
    return static_cast<int>(static_cast<long long>(n_) * rank / size_);
}

int Slab::owner(int plane) const {
    int rank = static_cast<int>(static_cast<long long>(plane) * size_ / n_);
    while (plane < first(rank)) --rank;
    while (plane >= first(rank + 1)) ++rank;
    return rank;
}

void Slab::fill_ghosts(float* data, std::size_t plane_floats, int below, int above) const {
    std::vector<MPI_Request> requests;
    const int ghosts = below + above;
    // Ghost g of a rank: planes lo - below ... lo - 1, then hi ... hi + above - 1.
    const auto ghost_plane = [&](int rank, int g) {
        return g < below ? first(rank) - below + g : first(rank + 1) + g - below;
    };
    const auto wrapped = [&](int plane) { return ((plane % n_) + n_) % n_; };
    const auto address = [&](int plane) {
        return data + static_cast<std::size_t>(plane - lo_ + below) * plane_floats;
    };
    const int count = static_cast<int>(plane_floats);
    for (int g = 0; g < ghosts; ++g) {
        const int plane = ghost_plane(rank_, g);
        const int source = owner(wrapped(plane));
        if (source == rank_) {
            std::memcpy(address(plane), address(wrapped(plane)), plane_floats * sizeof(float));
        } else {
            MPI_Irecv(address(plane), count, MPI_FLOAT, source, g, comm_, &requests.emplace_back());
        }
    }
    for (int rank = 0; rank < size_; ++rank) {
        for (int g = 0; g < ghosts && rank != rank_; ++g) {
            const int plane = wrapped(ghost_plane(rank, g));
            if (plane >= lo_ && plane < hi_)
                MPI_Isend(address(plane), count, MPI_FLOAT, rank, g, comm_,
                          &requests.emplace_back());
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void Slab::add_upper_ghost(float* data, std::size_t plane_floats, int below) const {
    float* const first_plane = data + static_cast<std::size_t>(below) * plane_floats;
    const float* const ghost = first_plane + static_cast<std::size_t>(planes()) * plane_floats;
    std::vector<float> received;
    const float* addend = ghost;
    if (size_ > 1) {
        received.resize(plane_floats);
        const int up = (rank_ + 1) % size_, down = (rank_ + size_ - 1) % size_;
        MPI_Sendrecv(ghost, static_cast<int>(plane_floats), MPI_FLOAT, up, 0, received.data(),
                     static_cast<int>(plane_floats), MPI_FLOAT, down, 0, comm_, MPI_STATUS_IGNORE);
        addend = received.data();
    }
    for (std::size_t i = 0; i < plane_floats; ++i) first_plane[i] += addend[i];
}

}  // namespace cosmology
