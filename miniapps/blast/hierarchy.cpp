// Time steps and ghost cells; see hierarchy.hpp. Levels are placed in regrid.cpp.

#include "hierarchy.hpp"

namespace blast {

namespace {

State state(const Patch& patch, int i, int j, int k) {
    State u;
    for (int c = 0; c < k_components; ++c) u[static_cast<std::size_t>(c)] = patch.at(c, i, j, k);
    return u;
}

}  // namespace

Hierarchy::Hierarchy(const Options& options, MPI_Comm comm) : options_(options), comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    start();
}

Box Hierarchy::domain(int number) const {
    const int n = options_.grid << number;
    return {{0, 0, 0}, {n, n, n}};
}

double Hierarchy::spacing(int number) const { return 1.0 / (options_.grid << number); }

void Hierarchy::step() {
    const double dt = stable_step();
    std::array<std::array<Level, 3>, k_levels> flux;
    for (int l = 0; l < k_levels; ++l) {
        fill_ghosts(l);
        flux[static_cast<std::size_t>(l)] = fluxes(level(l));
    }
    for (std::size_t l = k_levels - 1; l > 0; --l) take_fine_fluxes(flux[l], flux[l - 1]);
    for (std::size_t l = 0; l < k_levels; ++l)
        update(levels_[l], flux[l], dt / spacing(static_cast<int>(l)));
    time_ += dt;
}

double Hierarchy::stable_step() const {
    double fastest = 0.0;  // cell widths per unit of time, added up over the axes
    for (std::size_t l = 0; l < k_levels; ++l)
        for (std::size_t b = 0; b < levels_[l].patches.size(); ++b) {
            if (levels_[l].layout.owners[b] != rank_) continue;
            const Patch& patch = levels_[l].patches[b];
            for_each(levels_[l].layout.boxes[b], [&](int i, int j, int k) {
                const State u = state(patch, i, j, k);
                const double speed = signal_speed(u, 0) + signal_speed(u, 1) + signal_speed(u, 2);
                fastest = std::max(fastest, speed / spacing(static_cast<int>(l)));
            });
        }
    MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return 0.9 / fastest;
}

void Hierarchy::fill_ghosts(int number) {
    Level& level = levels_[static_cast<std::size_t>(number)];
    if (number > 0) fill_from_coarser(number);
    copy(level, level, comm_);
    mirror_at_walls(level, number);
}

/// Ghost cells get the value of the coarse cell that they lie in.
void Hierarchy::fill_from_coarser(int number) {
    Level& level = levels_[static_cast<std::size_t>(number)];
    Layout below;
    for (const Box& box : level.layout.boxes)
        below.boxes.push_back(coarsen(intersect(grow(box, level.ghosts), domain(number)), k_ratio));
    below.owners = level.layout.owners;
    Level coarse(below, 0, k_components, rank_);
    copy(levels_[static_cast<std::size_t>(number) - 1], coarse, comm_);
    for (std::size_t b = 0; b < level.patches.size(); ++b) {
        if (level.layout.owners[b] != rank_) continue;
        Patch& patch = level.patches[b];
        const Box& own = level.layout.boxes[b];
        for_each(intersect(patch.box, domain(number)), [&](int i, int j, int k) {
            if (own.contains({{i, j, k}, {i + 1, j + 1, k + 1}})) return;
            for (int c = 0; c < k_components; ++c)
                patch.at(c, i, j, k) =
                    coarse.patches[b].at(c, i / k_ratio, j / k_ratio, k / k_ratio);
        });
    }
}

/// Beyond the domain lies its mirror image: nothing passes the walls.
void Hierarchy::mirror_at_walls(Level& level, int number) const {
    const Box inside = domain(number);
    for (std::size_t b = 0; b < level.patches.size(); ++b) {
        if (level.layout.owners[b] != rank_) continue;
        Patch& patch = level.patches[b];
        for (int axis = 0; axis < 3; ++axis)
            for_each(patch.box, [&](int i, int j, int k) {
                const Cell cell{i, j, k};
                Cell image = cell;
                if (cell[axis] < 0) image[axis] = -1 - cell[axis];
                if (cell[axis] >= inside.hi[axis])
                    image[axis] = 2 * inside.hi[axis] - 1 - cell[axis];
                if (image == cell) return;
                for (int c = 0; c < k_components; ++c)
                    patch.at(c, i, j, k) =
                        (c == axis + 1 ? -1.0 : 1.0) * patch.at(c, image[0], image[1], image[2]);
            });
    }
}

std::array<Level, 3> Hierarchy::fluxes(const Level& level) const {
    std::array<Level, 3> all;
    for (int axis = 0; axis < 3; ++axis) {
        Layout layout = level.layout;
        for (Box& box : layout.boxes) box = faces(box, axis);
        Level& flux = all[static_cast<std::size_t>(axis)];
        flux = Level(layout, 0, k_components, rank_);
        for (std::size_t b = 0; b < flux.patches.size(); ++b) {
            if (layout.owners[b] != rank_) continue;
            for_each(layout.boxes[b], [&](int i, int j, int k) {
                const State high = state(level.patches[b], i, j, k);
                const State low =
                    state(level.patches[b], i - (axis == 0), j - (axis == 1), k - (axis == 2));
                const State f = numerical_flux(low, high, axis);
                for (int c = 0; c < k_components; ++c)
                    flux.patches[b].at(c, i, j, k) = f[static_cast<std::size_t>(c)];
            });
        }
    }
    return all;
}

void Hierarchy::take_fine_fluxes(const std::array<Level, 3>& fine,
                                 std::array<Level, 3>& coarse) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        Layout layout = fine[axis].layout;
        // Faces of both levels lie at even fine faces, of which a box's last one is one.
        for (Box& box : layout.boxes) box = coarsen(box, k_ratio);
        Level mean(layout, 0, k_components, rank_);
        const int a = axis == 0 ? 1 : k_ratio, b = axis == 1 ? 1 : k_ratio,
                  c = axis == 2 ? 1 : k_ratio;
        for (std::size_t p = 0; p < mean.patches.size(); ++p) {
            if (layout.owners[p] != rank_) continue;
            for (int n = 0; n < k_components; ++n)
                for_each(layout.boxes[p], [&](int i, int j, int k) {
                    double sum = 0.0;
                    const Cell first{k_ratio * i, k_ratio * j, k_ratio * k};
                    for_each(
                        {first, {first[0] + a, first[1] + b, first[2] + c}},
                        [&](int x, int y, int z) { sum += fine[axis].patches[p].at(n, x, y, z); });
                    mean.patches[p].at(n, i, j, k) = sum / (k_ratio * k_ratio);
                });
        }
        copy(mean, coarse[axis], comm_);
    }
}

void Hierarchy::update(Level& level, const std::array<Level, 3>& flux, double over_spacing) const {
    for (std::size_t b = 0; b < level.patches.size(); ++b) {
        if (level.layout.owners[b] != rank_) continue;
        for (int c = 0; c < k_components; ++c)
            for_each(level.layout.boxes[b], [&](int i, int j, int k) {
                const double net =
                    flux[0].patches[b].at(c, i + 1, j, k) - flux[0].patches[b].at(c, i, j, k) +
                    flux[1].patches[b].at(c, i, j + 1, k) - flux[1].patches[b].at(c, i, j, k) +
                    flux[2].patches[b].at(c, i, j, k + 1) - flux[2].patches[b].at(c, i, j, k);
                level.patches[b].at(c, i, j, k) -= over_spacing * net;
            });
    }
}

double Hierarchy::total(int component) const {
    double sum = 0.0;
    for (int l = 0; l < k_levels; ++l) {
        const Level& here = level(l);
        const double volume = spacing(l) * spacing(l) * spacing(l);
        for (std::size_t b = 0; b < here.patches.size(); ++b) {
            if (here.layout.owners[b] != rank_) continue;
            const auto add = [&](const Box& box, double sign) {
                for_each(box, [&](int i, int j, int k) {
                    sum += sign * volume * here.patches[b].at(component, i, j, k);
                });
            };
            add(here.layout.boxes[b], 1.0);
            if (l + 1 == k_levels) continue;
            for (const Box& fine : level(l + 1).layout.boxes) {
                const Box covered = intersect(here.layout.boxes[b], coarsen(fine, k_ratio));
                if (!covered.empty()) add(covered, -1.0);
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return sum;
}

}  // namespace blast
