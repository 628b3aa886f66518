// AMReX itself: two levels with ghost cells, nodes and particles go through caesura/amrex.hpp and
// into a plotfile; what the Reader then has of each box is compared with what the plotfile has.
//
//     mpirun -np 2 amrex_program FOLDER
//
// Exit status: 0 if every value is within its bound and every id there.
#include <AMReX.H>
#include <AMReX_MultiFabUtil.H>
#include <AMReX_Particles.H>
#include <AMReX_PlotFileUtil.H>
#include <AMReX_VisMF.H>
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <span>

#include "caesura/amrex.hpp"
#include "caesura/mpi.hpp"
#include "caesura/reader.hpp"

namespace {

constexpr double k_bound = 1e-4, k_place_bound = 1e-5;
const std::vector<std::string> k_names{"density", "velocity/x", "Temp"};
using Particles = amrex::ParticleContainer<1, 1, 2, 1>;
using Arrays = amrex::ParticleContainerPureSoA<AMREX_SPACEDIM + 2, 1>;

struct Run {
    amrex::Vector<amrex::Geometry> geometry;
    amrex::Vector<amrex::BoxArray> boxes;
    amrex::Vector<amrex::DistributionMapping> ranks;
    amrex::Vector<amrex::IntVect> ratio{amrex::IntVect(2)};
};

Run make_run(int n) {
    Run run;
    const amrex::Box coarse(amrex::IntVect(0), amrex::IntVect(63));
    const amrex::RealBox real({-1.0, 0.0, 2.0}, {1.0, 4.0, 3.0});
    run.geometry = {amrex::Geometry(coarse, real, 0, {0, 0, 0}),
                    amrex::Geometry(amrex::refine(coarse, 2), real, 0, {0, 0, 0})};
    run.boxes = {amrex::BoxArray(coarse),
                 amrex::BoxArray(amrex::Box(amrex::IntVect(20 + 4 * n, 32, 40),
                                            amrex::IntVect(91 + 4 * n, 95, 87)))};
    run.boxes[0].maxSize(32);
    run.boxes[1].maxSize(24);
    for (const auto& boxes : run.boxes) run.ranks.emplace_back(boxes);
    return run;
}

void fill(amrex::MultiFab& state, const amrex::Geometry& geometry, int n) {
    state.setVal(1e30);  // ghost cells
    const auto dx = geometry.CellSizeArray();
    for (amrex::MFIter at(state); at.isValid(); ++at) {
        const auto values = state.array(at);
        amrex::ParallelFor(at.validbox(), state.nComp(), [=](int i, int j, int k, int c) {
            values(i, j, k, c) = (c + 1) * std::sin(5 * dx[0] * i + n) +
                                 std::cos(3 * dx[1] * j) * dx[2] * k + 1e-3 * ((i * 7 + j) % 3);
        });
    }
}

/// Values of this rank's boxes that are off by more than the bound.
template <class Fabs>
long wrong(const caesura::Reader& reader, const Fabs& fabs, const amrex::Geometry& geometry,
           int level, std::uint64_t dump, const std::vector<std::string>& names, double bound) {
    long wrong = 0;
    const amrex::Box domain = amrex::convert(geometry.Domain(), fabs.ixType());
    for (amrex::MFIter at(fabs); at.isValid(); ++at)
        for (int c = 0; c < fabs.nComp(); ++c) {
            const amrex::Box box = at.validbox();
            std::vector<double> values(static_cast<std::size_t>(box.numPts()));
            const std::string name =
                caesura::amrex_level_name(names[static_cast<std::size_t>(c)], level);
            const auto status = reader.read(
                reader.find(name, dump).value(),
                {caesura::detail::amrex_offset(box, domain), caesura::detail::amrex_shape(box)},
                std::as_writable_bytes(std::span(values)));
            if (!status.ok()) {
                std::fprintf(stderr, "%s\n", status.message().c_str());
                return 1;
            }
            std::size_t n = 0;
            const auto expected = fabs.const_array(at);
            amrex::LoopOnCpu(box, [&](int i, int j, int k) {
                wrong += !(std::abs(values[n++] - expected(i, j, k, c)) <= bound);
            });
        }
    return wrong;
}

long wrong_particles(const caesura::Reader& reader, const Particles& particles,
                     std::uint64_t dump) {
    std::map<std::uint64_t, const Particles::ParticleType*> mine;
    for (const auto& level : particles.GetParticles())
        for (const auto& [place, tile] : level)
            for (int i = 0; i < tile.numParticles(); ++i)
                if (const auto& p = tile.GetArrayOfStructs()[i]; p.id() > 0) mine[p.m_idcpu] = &p;
    const auto all = [&]<class T>(const char* name, T) {
        const auto field = reader.find(std::string("dust/") + name, dump).value();
        const caesura::Shape shape = reader.fields()[field].shape;
        std::vector<T> values(shape.count());
        (void)reader.read(field, {{0}, shape}, std::as_writable_bytes(std::span(values)));
        return values;
    };
    const auto id = all("id", std::uint64_t{});
    const auto x = all("position/x", 0.0), z = all("position/z", 0.0), mass = all("mass", 0.0);
    const auto kind = all("kind", std::int32_t{});
    std::size_t found = 0;
    long wrong = 0;
    for (std::size_t i = 0; i < id.size(); ++i) {
        const auto at = mine.find(id[i]);
        if (at == mine.end()) continue;  // another rank's
        ++found;
        wrong += std::abs(x[i] - at->second->pos(0)) > k_place_bound ||
                 std::abs(z[i] - at->second->pos(2)) > k_place_bound ||
                 mass[i] != at->second->rdata(0) || kind[i] != at->second->idata(0);
    }
    return wrong + std::abs(static_cast<long>(found) - static_cast<long>(mine.size()));
}

struct State {
    amrex::Vector<amrex::MultiFab> cells, nodes;
};

State make_state(const Run& run, int n) {
    State state;
    for (std::size_t l = 0; l < 2; ++l) {
        state.cells.emplace_back(run.boxes[l], run.ranks[l], 3, 2);
        fill(state.cells.back(), run.geometry[l], n);
        state.nodes.emplace_back(amrex::convert(run.boxes[l], amrex::IntVect(1)), run.ranks[l], 1,
                                 1);
        fill(state.nodes.back(), run.geometry[l], n);
    }
    return state;
}

caesura::Status write(const std::string& folder, const Run& first, Particles& dust) {
    auto made = caesura::Writer::create(folder + "/run.h5",
                                        caesura::mpi(amrex::ParallelDescriptor::Communicator()));
    if (!made.ok()) return made.status();
    caesura::Writer& writer = **made;
    caesura::AmrexMeshes meshes(writer, {.bound = caesura::absolute(k_bound)});
    caesura::AmrexParticles species(writer, "dust",
                                    {.bounds = {{"position/x", caesura::absolute(k_place_bound)},
                                                {"position/z", caesura::absolute(k_place_bound)}}});
    if (auto s = species.define(dust, {"mass", "a", "b"}, {"kind", "c"}); !s.ok()) return s;
    Arrays none(first.geometry, first.ranks, first.boxes, amrex::Vector<int>{2});
    caesura::AmrexParticles arrays(writer, "none");
    if (auto s = arrays.define(none, {"a", "b"}, {"c"}); !s.ok()) return s;
    for (int n = 0; n < 2; ++n) {
        const Run run = n == 0 ? first : make_run(n);
        const State state = make_state(run, n);
        auto iteration = writer.begin_iteration(static_cast<std::uint64_t>(n));
        auto dump = iteration.begin_dump(0.25 * n, 0.25);
        for (int level = 0; level < 2; ++level)
            if (auto s = meshes.put_boxes(dump, level, run.boxes[level]); !s.ok()) return s;
        if (auto s = meshes.put(dump, amrex::GetVecOfConstPtrs(state.cells), k_names, run.geometry,
                                run.ratio);
            !s.ok())
            return s;
        if (auto s = meshes.put(dump, amrex::GetVecOfConstPtrs(state.nodes), {"phi"}, run.geometry,
                                run.ratio);
            !s.ok())
            return s;
        if (auto s = species.put(dump, dust); !s.ok()) return s;
        if (auto s = arrays.put(dump, none); !s.ok()) return s;
        if (auto s = iteration.end(); !s.ok()) return s;
        amrex::WriteMultiLevelPlotfile(
            folder + "/plt" + std::to_string(n), 2, amrex::GetVecOfConstPtrs(state.cells),
            {k_names.begin(), k_names.end()}, run.geometry, 0.25 * n, {n, n}, run.ratio);
    }
    return writer.close();
}

long compare(const std::string& folder, const Particles& dust) {
    const auto reader = caesura::Reader::open(folder + "/run.h5").value();
    long bad = 0;
    for (int n = 0; n < 2; ++n) {
        const Run run = make_run(n);
        const auto dump = static_cast<std::uint64_t>(n);
        const State state = make_state(run, n);
        for (int level = 0; level < 2; ++level) {
            amrex::MultiFab plotted;
            amrex::VisMF::Read(plotted, folder + "/plt" + std::to_string(n) + "/Level_" +
                                            std::to_string(level) + "/Cell");
            bad += wrong(*reader, plotted, run.geometry[level], level, dump, k_names, k_bound);
            bad += wrong(*reader, state.nodes[level], run.geometry[level], level, dump, {"phi"},
                         k_bound);
        }
        bad += wrong_particles(*reader, dust, dump);
    }
    return bad;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string folder = argv[1];
    amrex::Initialize(argc, argv, false);
    long bad = 0;
    {
        const Run run = make_run(0);
        Particles dust(run.geometry, run.ranks, run.boxes, amrex::Vector<int>{2});
        Particles::ParticleInitData data = {{1.5}, {3}, {0.25, 0.5}, {7}};
        dust.InitRandom(20'000, 451, data);
        dust.Redistribute();
        const caesura::Status status = write(folder, run, dust);
        if (!status.ok()) amrex::Abort(status.message());
        amrex::ParallelDescriptor::Barrier();
        bad = compare(folder, dust);
        amrex::ParallelDescriptor::ReduceLongSum(bad);
        amrex::Print() << "AMReX " << amrex::Version() << ": " << dust.TotalNumberOfParticles()
                       << " particles, " << bad << " wrong values\n";
    }
    amrex::Finalize();
    return bad == 0 ? 0 : 1;
}
