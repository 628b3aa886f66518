// Migration between slabs and sorting; see particles.hpp.

#include "particles.hpp"

#include <limits>
#include <stdexcept>

namespace cosmology {

Migration::Migration(const Slab& slab)
    : slab_(slab),
      owner_of_plane_(static_cast<std::size_t>(slab.n())),
      outgoing_(static_cast<std::size_t>(slab.size())) {
    for (int plane = 0; plane < slab.n(); ++plane)
        owner_of_plane_[static_cast<std::size_t>(plane)] = slab.owner(plane);
}

void Migration::pack(Particles& particles) {
    for (auto& packet : outgoing_) packet.clear();
    const auto lo = static_cast<float>(slab_.lo()), hi = static_cast<float>(slab_.hi());
    std::size_t count = particles.count();
    // The last particle fills each hole; the order stays a function of the run alone.
    for (std::size_t i = 0; i < count;) {
        const float x = particles.arrays[0][i];
        if (x >= lo && x < hi) {
            ++i;
            continue;
        }
        const int rank = owner_of_plane_[static_cast<std::size_t>(x)];
        auto& packet = outgoing_[static_cast<std::size_t>(rank)];
        --count;
        for (auto& array : particles.arrays) {
            packet.push_back(array[i]);
            array[i] = array[count];
        }
    }
    particles.resize(count);
}

void Migration::exchange(Particles& particles) {
    const auto ranks = static_cast<std::size_t>(slab_.size());
    std::vector<int> sent(ranks), received(ranks), sent_at(ranks), received_at(ranks);
    std::size_t send_total = 0, receive_total = 0;
    std::vector<float> send, receive;
    for (std::size_t r = 0; r < ranks; ++r) {
        sent[r] = static_cast<int>(outgoing_[r].size());
        sent_at[r] = static_cast<int>(send_total);
        send_total += outgoing_[r].size();
        if (send_total > static_cast<std::size_t>(std::numeric_limits<int>::max()))
            throw std::runtime_error(
                "more than 2^31 floats of particles leave one rank in a step: "
                "use more ranks or smaller steps");
        send.insert(send.end(), outgoing_[r].begin(), outgoing_[r].end());
    }
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, slab_.comm());
    for (std::size_t r = 0; r < ranks; ++r) {
        received_at[r] = static_cast<int>(receive_total);
        receive_total += static_cast<std::size_t>(received[r]);
    }
    receive.resize(receive_total);
    MPI_Alltoallv(send.data(), sent.data(), sent_at.data(), MPI_FLOAT, receive.data(),
                  received.data(), received_at.data(), MPI_FLOAT, slab_.comm());
    const std::size_t before = particles.count();
    const std::size_t arrivals = receive_total / Particles::k_arrays;
    particles.resize(before + arrivals);
    for (std::size_t i = 0; i < arrivals; ++i) {
        for (std::size_t a = 0; a < Particles::k_arrays; ++a)
            particles.arrays[a][before + i] = receive[i * Particles::k_arrays + a];
    }
}

void RowSort::operator()(Particles& particles) {
    const auto n = static_cast<std::uint32_t>(slab_.n());
    const auto lo = static_cast<std::uint32_t>(slab_.lo());
    const std::size_t count = particles.count();
    if (count > std::numeric_limits<std::uint32_t>::max())
        throw std::runtime_error("more than 2^32 particles on one rank: use more ranks");
    // 1. Rows and their sizes.
    target_.resize(count);
    starts_.assign(static_cast<std::size_t>(slab_.planes()) * n + 1, 0);
    const float *x = particles.x(0), *y = particles.x(1);
    for (std::size_t i = 0; i < count; ++i) {
        const auto row =
            (static_cast<std::uint32_t>(x[i]) - lo) * n + static_cast<std::uint32_t>(y[i]);
        target_[i] = row;
        ++starts_[row + 1];
    }
    // 2. Where each row starts, then where each particle goes.
    for (std::size_t row = 1; row < starts_.size(); ++row) starts_[row] += starts_[row - 1];
    for (std::size_t i = 0; i < count; ++i) target_[i] = starts_[target_[i]]++;
    // 3. One array at a time, so that the scratch memory is one array.
    scratch_.resize(count);
    for (auto& array : particles.arrays) {
        for (std::size_t i = 0; i < count; ++i) scratch_[target_[i]] = array[i];
        array.swap(scratch_);
    }
}

}  // namespace cosmology
