// See level.hpp.

#include "level.hpp"

#include <numeric>

namespace blast {

Layout distribute(std::vector<Box> boxes, int ranks) {
    Layout layout{std::move(boxes), {}};
    const std::size_t count = layout.boxes.size();
    layout.owners.resize(count);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return layout.boxes[a].cells() > layout.boxes[b].cells();
    });
    std::vector<std::int64_t> load(static_cast<std::size_t>(ranks));
    for (const std::size_t box : order) {
        const auto least = std::min_element(load.begin(), load.end());
        layout.owners[box] = static_cast<int>(least - load.begin());
        *least += layout.boxes[box].cells();
    }
    return layout;
}

Level::Level(Layout where, int ghost_cells, int component_count, int rank)
    : layout(std::move(where)), ghosts(ghost_cells), components(component_count) {
    patches.resize(layout.boxes.size());
    for (std::size_t b = 0; b < patches.size(); ++b)
        if (layout.owners[b] == rank) patches[b] = Patch(grow(layout.boxes[b], ghosts), components);
}

namespace {

/// Calls f(common part, source box, target box) for each pair that meets, on all ranks alike.
template <class F>
void for_each_pair(const Level& source, const Level& target, F&& f) {
    for (std::size_t t = 0; t < target.layout.boxes.size(); ++t) {
        const Box with_ghosts = grow(target.layout.boxes[t], target.ghosts);
        for (std::size_t s = 0; s < source.layout.boxes.size(); ++s) {
            const Box part = intersect(source.layout.boxes[s], with_ghosts);
            if (!part.empty()) f(part, s, t);
        }
    }
}

std::vector<int> begins(const std::vector<int>& counts) {
    std::vector<int> first(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), first.begin(), 0);
    return first;
}

}  // namespace

void copy(const Level& source, Level& target, MPI_Comm comm) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const auto at = [](int owner) { return static_cast<std::size_t>(owner); };
    std::vector<std::vector<double>> parts(at(ranks));
    std::vector<int> sent(at(ranks)), received(at(ranks));
    for_each_pair(source, target, [&](const Box& part, std::size_t s, std::size_t t) {
        const int from = source.layout.owners[s], to = target.layout.owners[t];
        if (to == rank) received[at(from)] += static_cast<int>(part.cells()) * source.components;
        if (from != rank) return;
        for (int c = 0; c < source.components; ++c)
            for_each(part, [&](int i, int j, int k) {
                parts[at(to)].push_back(source.patches[s].at(c, i, j, k));
            });
    });
    std::vector<double> outgoing;
    for (std::size_t r = 0; r < parts.size(); ++r) {
        sent[r] = static_cast<int>(parts[r].size());
        outgoing.insert(outgoing.end(), parts[r].begin(), parts[r].end());
    }
    const auto sent_begins = begins(sent);
    auto next = begins(received);
    std::vector<double> incoming(at(next.back() + received.back()));
    MPI_Alltoallv(outgoing.data(), sent.data(), sent_begins.data(), MPI_DOUBLE, incoming.data(),
                  received.data(), next.data(), MPI_DOUBLE, comm);
    for_each_pair(source, target, [&](const Box& part, std::size_t s, std::size_t t) {
        if (target.layout.owners[t] != rank) return;
        int& place = next[at(source.layout.owners[s])];
        for (int c = 0; c < source.components; ++c)
            for_each(part, [&](int i, int j, int k) {
                target.patches[t].at(c, i, j, k) = incoming[at(place++)];
            });
    });
}

}  // namespace blast
