#include "vol/ranks.hpp"

#include <algorithm>
#include <numeric>

namespace caesura::vol {

bool inside_mpi() {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

Ranks ranks_of(MPI_Comm communicator) {
    MPI_Group own = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int size = 0;
    MPI_Comm_size(communicator, &size);
    MPI_Comm_group(communicator, &own);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> numbers(static_cast<std::size_t>(size)), in_world(numbers.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    MPI_Group_translate_ranks(own, size, numbers.data(), world, in_world.data());
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    if (std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) return {};
    return in_world;
}

bool covers(const Ranks& all, const Ranks& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [&](int rank) {
        return std::find(all.begin(), all.end(), rank) != all.end();
    });
}

}  // namespace caesura::vol
