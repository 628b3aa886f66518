// Migration between slabs and sorting; see particles.hpp.

#include "particles.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cosmology {

namespace {

/// What each rank has for each other one; what arrives, in the order of the ranks. Collective.
template <class T>
std::vector<T> exchanged(const Slab& slab, const std::vector<std::vector<T>>& outgoing,
                         MPI_Datatype type) {
    const auto ranks = static_cast<std::size_t>(slab.size());
    std::vector<int> sent(ranks), received(ranks), sent_at(ranks), received_at(ranks);
    std::size_t send_total = 0, receive_total = 0;
    std::vector<T> send, receive;
    for (std::size_t r = 0; r < ranks; ++r) {
        sent[r] = static_cast<int>(outgoing[r].size());
        sent_at[r] = static_cast<int>(send_total);
        send_total += outgoing[r].size();
        if (send_total > static_cast<std::size_t>(std::numeric_limits<int>::max()))
            throw std::runtime_error(
                "more than 2^31 numbers of particles leave one rank in a step: "
                "use more ranks or smaller steps");
        send.insert(send.end(), outgoing[r].begin(), outgoing[r].end());
    }
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, slab.comm());
    for (std::size_t r = 0; r < ranks; ++r) {
        received_at[r] = static_cast<int>(receive_total);
        receive_total += static_cast<std::size_t>(received[r]);
    }
    receive.resize(receive_total);
    MPI_Alltoallv(send.data(), sent.data(), sent_at.data(), type, receive.data(), received.data(),
                  received_at.data(), type, slab.comm());
    return receive;
}

}  // namespace

Migration::Migration(const Slab& slab)
    : slab_(slab),
      owner_of_plane_(static_cast<std::size_t>(slab.n())),
      outgoing_(static_cast<std::size_t>(slab.size())),
      outgoing_ids_(static_cast<std::size_t>(slab.size())) {
    for (int plane = 0; plane < slab.n(); ++plane)
        owner_of_plane_[static_cast<std::size_t>(plane)] = slab.owner(plane);
}

void Migration::pack(Particles& particles) {
    for (auto& packet : outgoing_) packet.clear();
    for (auto& packet : outgoing_ids_) packet.clear();
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
        if (!particles.have_ids) continue;
        outgoing_ids_[static_cast<std::size_t>(rank)].push_back(particles.ids[i]);
        particles.ids[i] = particles.ids[count];
    }
    particles.resize(count);
}

void Migration::exchange(Particles& particles) {
    const std::vector<float> receive = exchanged(slab_, outgoing_, MPI_FLOAT);
    const std::size_t before = particles.count();
    const std::size_t arrivals = receive.size() / Particles::k_arrays;
    particles.resize(before + arrivals);
    for (std::size_t i = 0; i < arrivals; ++i) {
        for (std::size_t a = 0; a < Particles::k_arrays; ++a)
            particles.arrays[a][before + i] = receive[i * Particles::k_arrays + a];
    }
    if (!particles.have_ids) return;
    const std::vector<std::uint64_t> ids = exchanged(slab_, outgoing_ids_, MPI_UINT64_T);
    std::copy(ids.begin(), ids.end(), particles.ids.begin() + static_cast<std::ptrdiff_t>(before));
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
    if (!particles.have_ids) return;
    scratch_ids_.resize(count);
    for (std::size_t i = 0; i < count; ++i) scratch_ids_[target_[i]] = particles.ids[i];
    particles.ids.swap(scratch_ids_);
}

}  // namespace cosmology
