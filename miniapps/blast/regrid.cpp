// Where levels lie; see hierarchy.hpp. The finest level is placed first, and the one below it
// around it.

#include "hierarchy.hpp"

namespace blast {

namespace {

constexpr double k_fill = 0.7;   // of a box's blocks, the least share that is tagged
constexpr int k_max_blocks = 4;  // of a box along an axis: 32 fine cells

/// Boxes of level 0: the domain in cubes.
std::vector<Box> cubes(const Box& domain, int side) {
    std::vector<Box> boxes;
    for_each(coarsen(domain, side), [&](int i, int j, int k) {
        boxes.push_back(intersect(refine({{i, j, k}, {i + 1, j + 1, k + 1}}, side), domain));
    });
    return boxes;
}

/// Whether the union of disjoint boxes has the whole box.
bool covers(const std::vector<Box>& boxes, const Box& box) {
    std::int64_t cells = 0;
    for (const Box& other : boxes) cells += intersect(other, box).cells();
    return cells == box.cells();
}

}  // namespace

void Hierarchy::start() {
    levels_[0] = Level(distribute(cubes(domain(0), 16), ranks_), 1, k_components, rank_);
    for (std::size_t l = 1; l < k_levels; ++l) levels_[l] = Level({}, 1, k_components, rank_);
    for (int pass = 0; pass < k_levels; ++pass) {  // each can place one level more
        for (int l = 0; l < k_levels; ++l)
            set_initial_values(levels_[static_cast<std::size_t>(l)], l);
        average_down();
        if (pass + 1 < k_levels) regrid();
    }
}

void Hierarchy::set_initial_values(Level& level, int number) const {
    const double h = spacing(number);
    for (std::size_t b = 0; b < level.patches.size(); ++b) {
        if (level.layout.owners[b] != rank_) continue;
        for_each(level.layout.boxes[b], [&](int i, int j, int k) {
            const State u = initial_state((i + 0.5) * h, (j + 0.5) * h, (k + 0.5) * h);
            for (int c = 0; c < k_components; ++c)
                level.patches[b].at(c, i, j, k) = u[static_cast<std::size_t>(c)];
        });
    }
}

/// Of the start alone: later steps keep coarse cells the means of the fine ones.
void Hierarchy::average_down() {
    for (std::size_t l = k_levels - 1; l > 0; --l) {
        const Level& fine = levels_[l];
        Layout layout = fine.layout;
        for (Box& box : layout.boxes) box = coarsen(box, k_ratio);
        Level mean(layout, 0, k_components, rank_);
        for (std::size_t b = 0; b < mean.patches.size(); ++b) {
            if (layout.owners[b] != rank_) continue;
            for (int c = 0; c < k_components; ++c)
                for_each(layout.boxes[b], [&](int i, int j, int k) {
                    double sum = 0.0;
                    for_each(refine({{i, j, k}, {i + 1, j + 1, k + 1}}, k_ratio),
                             [&](int x, int y, int z) { sum += fine.patches[b].at(c, x, y, z); });
                    mean.patches[b].at(c, i, j, k) = sum / (k_ratio * k_ratio * k_ratio);
                });
        }
        copy(mean, levels_[l - 1], comm_);
    }
}

/// Blocks of a level in which density or energy jump to a neighbour, on all ranks alike.
Tags Hierarchy::tags(int number) {
    fill_ghosts(number);
    const Level& here = level(number);
    Tags tags(coarsen(domain(number), k_block));
    for (std::size_t b = 0; b < here.patches.size(); ++b) {
        if (here.layout.owners[b] != rank_) continue;
        const Patch& patch = here.patches[b];
        for_each(here.layout.boxes[b], [&](int i, int j, int k) {
            bool jumps = false;
            for (const int c : {0, 4})
                for (int axis = 0; axis < 3; ++axis)
                    for (const int side : {-1, 1}) {
                        Cell next{i, j, k};
                        next[axis] += side;
                        const double own = patch.at(c, i, j, k);
                        const double other = patch.at(c, next[0], next[1], next[2]);
                        jumps |= std::abs(other - own) > options_.threshold * own;
                    }
            if (jumps) tags.at(i / k_block, j / k_block, k / k_block) = 1;
        });
    }
    MPI_Allreduce(MPI_IN_PLACE, tags.set.data(), static_cast<int>(tags.set.size()),
                  MPI_UNSIGNED_CHAR, MPI_MAX, comm_);
    return tags;
}

std::vector<Box> Hierarchy::boxes_around(const Tags& tags) const {
    auto boxes = cluster(tags, k_fill, k_max_blocks);
    for (Box& box : boxes) box = refine(box, k_block * k_ratio);
    return boxes;
}

/// The level in other boxes: its values where it had them, else those of the coarser level.
Level Hierarchy::refined(int number, std::vector<Box> boxes) {
    const std::size_t l = static_cast<std::size_t>(number);
    Level made(distribute(std::move(boxes), ranks_), 1, k_components, rank_);
    Layout below = made.layout;
    for (Box& box : below.boxes) box = coarsen(box, k_ratio);
    Level coarse(below, 0, k_components, rank_);
    copy(levels_[l - 1], coarse, comm_);
    for (std::size_t b = 0; b < made.patches.size(); ++b) {
        if (made.layout.owners[b] != rank_) continue;
        for (int c = 0; c < k_components; ++c)
            for_each(made.layout.boxes[b], [&](int i, int j, int k) {
                made.patches[b].at(c, i, j, k) =
                    coarse.patches[b].at(c, i / k_ratio, j / k_ratio, k / k_ratio);
            });
    }
    made.ghosts = 0;  // of the old values those inside of the new boxes alone are wanted
    copy(levels_[l], made, comm_);
    made.ghosts = 1;
    return made;
}

bool Hierarchy::regrid() {
    std::array<std::vector<Box>, k_levels> boxes;
    for (int l = k_levels - 1; l > 0; --l) {
        Tags wanted = tags(l - 1);
        if (l + 1 <
            k_levels)  // around the finer level's boxes, one block of this level on all sides
            for (const Box& fine : boxes[static_cast<std::size_t>(l) + 1]) {
                const Box around = intersect(grow(coarsen(fine, k_ratio), k_block), domain(l));
                for_each(coarsen(around, k_block * k_ratio),
                         [&](int i, int j, int k) { wanted.at(i, j, k) = 1; });
            }
        boxes[static_cast<std::size_t>(l)] = boxes_around(wanted);
    }
    bool changed = false;
    for (int l = 1; l < k_levels; ++l) {
        const auto& now = boxes[static_cast<std::size_t>(l)];
        if (now == level(l).layout.boxes) continue;
        levels_[static_cast<std::size_t>(l)] = refined(l, now);
        changed = true;
    }
    return changed;
}

bool Hierarchy::nested() const {
    for (int l = 1; l < k_levels; ++l)
        for (const Box& box : level(l).layout.boxes) {
            const Box around = coarsen(intersect(grow(box, k_ratio), domain(l)), k_ratio);
            if (!covers(level(l - 1).layout.boxes, around)) return false;
        }
    return true;
}

}  // namespace blast
