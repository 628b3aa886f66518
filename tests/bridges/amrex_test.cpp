// Goal: what AMReX has on two levels lies in the file where openPMD looks for it, within its bound,
// from any ranks, with and without ghost cells, through a regrid; so do particles and their ids.
// AMReX is a stand-in here; amrex_program.cpp runs the same header with AMReX itself.
#include "caesura/amrex.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"

namespace caesura {
namespace {

using amrex::Box;
using amrex::BoxArray;
using amrex::IntVect;

// A domain whose first cell is not cell 0, as after a moving window.
const Box k_domain(IntVect(-4, 0, 2), IntVect(27, 15, 17));
const std::vector<amrex::Geometry> k_geometry{
    {k_domain, {1.0, 2.0, 3.0}, {0.5, 0.25, 0.125}},
    {Box(IntVect(-8, 0, 4), IntVect(55, 31, 35)), {1.0, 2.0, 3.0}, {0.25, 0.125, 0.0625}}};
const std::vector<IntVect> k_ratio{IntVect(2)};

/// What a cell or node has, and how far its parts are from each other.
double value_at(int level, int component, const IntVect& at) {
    return 10.0 * component + level + std::sin(0.1 * at[0]) + 0.3 * std::cos(0.2 * at[1]) +
           0.05 * at[2];
}

BoxArray coarse() {  // 32 x 16 x 16 cells in boxes of 16 x 16 x 8
    amrex::BoxList boxes;
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < 2; ++i)
            boxes.emplace_back(IntVect(16 * i - 4, 0, 8 * k + 2),
                               IntVect(16 * i + 11, 15, 8 * k + 9));
    return BoxArray(boxes);
}
BoxArray fine(int shift) {  // of one size or not, in parts of the domain
    return BoxArray({{IntVect(8 + shift, 8, 12), IntVect(15 + shift, 15, 19)},
                     {IntVect(16 + shift, 8, 12), IntVect(23 + shift, 15, 19)},
                     {IntVect(8 + shift, 16, 12), IntVect(20 + shift, 23, 14)}});
}

template <class Fabs>
Fabs make_fabs(const BoxArray& boxes, int ranks, int level, int components, int ghosts) {
    amrex::Vector<int> owner;
    for (int i = 0; i < static_cast<int>(boxes.size()); ++i) owner.push_back(i % ranks);
    Fabs fabs(boxes, amrex::DistributionMapping(owner), components, ghosts);
    for (amrex::MFIter at(fabs); at.isValid(); ++at)
        for (int c = 0; c < components; ++c) {
            auto& fab = fabs[at];
            const Box all = fab.box(), valid = at.validbox();
            for (int k = all.smallEnd(2); k <= all.bigEnd(2); ++k)
                for (int j = all.smallEnd(1); j <= all.bigEnd(1); ++j)
                    for (int i = all.smallEnd(0); i <= all.bigEnd(0); ++i) {
                        const IntVect cell(i, j, k);
                        const bool inside = valid.contains(Box(cell, cell));
                        fab(cell, c) = static_cast<typename Fabs::value_type>(
                            inside ? value_at(level, c, cell) : 1e9);
                    }
        }
    return fabs;
}

class Amrex : public ::testing::TestWithParam<int> {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_amrex_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }

    void on_ranks(const std::function<void(Writer&, int ranks)>& program) {
        std::mutex mutex;
        base::run_ranks(GetParam(), [&](std::unique_ptr<Communicator> comm) {
            amrex::ParallelDescriptor::t_my_proc = comm->rank();
            WriterOptions options;
            options.durable = false;
            auto writer = Writer::create(path_, std::move(comm), options);
            ASSERT_TRUE(writer.ok()) << writer.status().message();
            program(**writer, GetParam());
            const Status status = (*writer)->close();
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(status.ok()) << status.message();
        });
    }
    void open() { reader_ = Reader::open(path_).value(); }
    const FieldInfo& info(const std::string& name, std::uint64_t dump = 0) {
        return reader_->fields()[reader_->find(name, dump).value()];
    }
    template <class T>
    std::vector<T> read(const std::string& name, std::uint64_t dump = 0) {
        const FieldInfo& field = info(name, dump);
        std::vector<T> values(field.shape.count());
        const Status status = reader_->read(reader_->find(name, dump).value(),
                                            {Shape::filled(field.shape.rank(), 0), field.shape},
                                            std::as_writable_bytes(std::span(values)));
        EXPECT_TRUE(status.ok()) << status.message();
        return values;
    }
    /// Every value of the boxes within the bound; NaN everywhere else.
    void expect_level(const std::string& name, std::uint64_t dump, int level, int component,
                      const BoxArray& boxes, double bound) {
        const auto values = read<double>(name, dump);
        const Box domain =
            amrex::convert(k_geometry[static_cast<std::size_t>(level)].Domain(), boxes.ixType());
        std::size_t n = 0, wrong = 0;
        for (int k = domain.smallEnd(2); k <= domain.bigEnd(2); ++k)
            for (int j = domain.smallEnd(1); j <= domain.bigEnd(1); ++j)
                for (int i = domain.smallEnd(0); i <= domain.bigEnd(0); ++i, ++n) {
                    const IntVect at(i, j, k);
                    const bool there = !boxes.intersections(Box(at, at)).empty();
                    const double off = std::abs(values[n] - value_at(level, component, at));
                    wrong += there ? !(off <= bound) : !std::isnan(values[n]);
                }
        ASSERT_EQ(n, values.size());
        EXPECT_EQ(wrong, 0U) << name << " of dump " << dump;
    }
    std::unique_ptr<Reader> reader_;
};
INSTANTIATE_TEST_SUITE_P(Ranks, Amrex, ::testing::Values(1, 2));

TEST_P(Amrex, levels_are_within_their_bounds_through_a_regrid) {
    on_ranks([](Writer& writer, int ranks) {
        AmrexMeshes meshes(writer, {.bound = absolute(1e-3), .bounds = {{"Temp", absolute(0.1)}}});
        for (int n = 0; n < 3; ++n) {
            amrex::Vector<amrex::MultiFab> state;
            state.push_back(make_fabs<amrex::MultiFab>(coarse(), ranks, 0, 2, n));
            if (n < 2) state.push_back(make_fabs<amrex::MultiFab>(fine(8 * n), ranks, 1, 2, n));
            auto iteration = writer.begin_iteration(static_cast<std::uint64_t>(n));
            auto dump = iteration.begin_dump(0.5 * n);
            const Status put = meshes.put(dump, amrex::GetVecOfConstPtrs(state),
                                          {"velocity/x", "Temp"}, k_geometry, k_ratio);
            EXPECT_TRUE(put.ok()) << put.message();
            if (n < 2) {
                EXPECT_TRUE(meshes.put_boxes(dump, 1, fine(8 * n)).ok());
            }
            const Status end = iteration.end();
            EXPECT_TRUE(end.ok()) << end.message();
        }
    });
    open();
    for (std::uint64_t n = 0; n < 3; ++n) {
        expect_level("velocity/x", n, 0, 0, coarse(), 1e-3);
        expect_level("Temp", n, 0, 1, coarse(), 0.1);
        if (n == 2) continue;  // the level is gone
        const auto boxes = fine(8 * static_cast<int>(n));
        expect_level("velocity_lvl1/x", n, 1, 0, boxes, 1e-3);
        expect_level("Temp_lvl1", n, 1, 1, boxes, 0.1);
        const auto corners = read<std::int32_t>("amrex_boxes_lvl1", n);
        ASSERT_EQ(corners.size(), 18U);
        for (int b = 0; b < 3; ++b)
            for (int d = 0; d < 3; ++d) {
                const auto at = static_cast<std::size_t>(6 * b + d);
                EXPECT_EQ(corners[at], boxes[b].smallEnd(d));
                EXPECT_EQ(corners[at + 3], boxes[b].bigEnd(d));
            }
    }
    EXPECT_FALSE(reader_->find("Temp_lvl1", 2).ok());
}

TEST_P(Amrex, attributes_say_geometry_centring_and_level) {
    on_ranks([](Writer& writer, int ranks) {
        AmrexMeshes meshes(writer, {.length_unit_si = 1e-6});
        const amrex::IndexType face(IntVect(1, 0, 0));
        amrex::Vector<amrex::MultiFab> cells, faces;
        for (int level = 0; level < 2; ++level) {
            const BoxArray boxes = level == 0 ? coarse() : fine(0);
            cells.push_back(make_fabs<amrex::MultiFab>(boxes, ranks, level, 1, 1));
            faces.push_back(
                make_fabs<amrex::MultiFab>(amrex::convert(boxes, face), ranks, level, 1, 1));
        }
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        for (const auto& [state, name] : {std::pair{&cells, "rho"}, std::pair{&faces, "flux"}}) {
            const Status put =
                meshes.put(dump, amrex::GetVecOfConstPtrs(*state), {name}, k_geometry, k_ratio);
            EXPECT_TRUE(put.ok()) << put.message();
        }
        const Status end = iteration.end();
        EXPECT_TRUE(end.ok()) << end.message();
    });
    open();
    using Numbers = std::vector<double>;
    EXPECT_EQ(info("rho").shape, (Shape{16, 16, 32}));
    EXPECT_EQ(info("flux_lvl1").shape, (Shape{32, 32, 65}));
    EXPECT_EQ(info("rho").axis_labels, (std::vector<std::string>{"z", "y", "x"}));
    EXPECT_EQ(info("rho").grid_spacing, (Numbers{0.125, 0.25, 0.5}));
    EXPECT_EQ(info("rho_lvl1").grid_spacing, (Numbers{0.0625, 0.125, 0.25}));
    // As amrex::CoordSys counts, from index 0: x begins at cell -4, z at cell 2.
    EXPECT_EQ(info("rho").grid_offset, (Numbers{3.25, 2.0, -1.0}));
    EXPECT_EQ(info("rho_lvl1").grid_offset, (Numbers{3.25, 2.0, -1.0}));
    EXPECT_EQ(info("rho").grid_unit_si, 1e-6);
    const auto numbers = [&](const char* field, const char* name) {
        return std::get<Numbers>(find_attribute(info(field), name)->value);
    };
    EXPECT_EQ(numbers("rho", "position"), (Numbers{0.5, 0.5, 0.5}));
    EXPECT_EQ(numbers("flux", "position"), (Numbers{0.5, 0.5, 0.0}));
    using Counts = std::vector<std::int64_t>;
    EXPECT_EQ(std::get<Counts>(find_attribute(info("rho_lvl1"), "refinementRatio")->value),
              (Counts{2, 2, 2}));
    EXPECT_EQ(std::get<std::int64_t>(find_attribute(info("rho_lvl1"), "level")->value), 1);
    EXPECT_EQ(find_attribute(info("rho"), "refinementRatio"), nullptr);
}

TEST_P(Amrex, nodes_that_several_boxes_have_are_written_once) {
    const amrex::IndexType nodal(IntVect(1, 1, 1));
    on_ranks([&](Writer& writer, int ranks) {
        AmrexMeshes meshes(writer);
        amrex::Vector<amrex::MultiFab> state;
        for (int level = 0; level < 2; ++level)
            state.push_back(make_fabs<amrex::MultiFab>(
                amrex::convert(level == 0 ? coarse() : fine(0), nodal), ranks, level, 1, 1));
        // Box 1's copies of what box 0 has too are others.
        for (amrex::MFIter at(state[0]); at.isValid(); ++at)
            for (int k = 2; at.index() == 1 && k <= 10; ++k)
                for (int j = 0; j <= 16; ++j) state[0][at](IntVect(12, j, k), 0) = -5.0;
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        const Status put =
            meshes.put(dump, amrex::GetVecOfConstPtrs(state), {"phi"}, k_geometry, k_ratio);
        EXPECT_TRUE(put.ok()) << put.message();
        const Status end = iteration.end();
        EXPECT_TRUE(end.ok()) << end.message();
    });
    open();
    expect_level("phi", 0, 0, 0, amrex::convert(coarse(), nodal), 0.0);
    expect_level("phi_lvl1", 0, 1, 0, amrex::convert(fine(0), nodal), 0.0);
}

TEST_P(Amrex, integers_are_exact_and_zero_where_no_box_lies) {
    on_ranks([](Writer& writer, int ranks) {
        AmrexMeshes meshes(writer, {.bound = absolute(0.5)});
        amrex::Vector<amrex::iMultiFab> tags;
        tags.push_back(make_fabs<amrex::iMultiFab>(fine(0), ranks, 1, 1, 1));
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        const amrex::Vector<const amrex::iMultiFab*> levels{nullptr, &tags[0]};
        EXPECT_TRUE(meshes.put(dump, levels, {"tag"}, k_geometry, k_ratio).ok());
        const Status end = iteration.end();
        EXPECT_TRUE(end.ok()) << end.message();
    });
    open();
    const auto values = read<std::int32_t>("tag_lvl1");
    std::size_t n = 0;
    for (int k = 4; k < 36; ++k)
        for (int j = 0; j < 32; ++j)
            for (int i = -8; i < 56; ++i, ++n) {
                const IntVect at(i, j, k);
                const bool there = !fine(0).intersections(Box(at, at)).empty();
                ASSERT_EQ(values[n], there ? static_cast<std::int32_t>(value_at(1, 0, at)) : 0);
            }
}

TEST_P(Amrex, fabs_without_ghost_cells_are_borrowed_and_others_copied) {
    on_ranks([](Writer& writer, int ranks) {
        AmrexMeshes meshes(writer, {.own = Ownership::borrow});
        amrex::Vector<amrex::MultiFab> kept;
        for (const int ghosts : {0, 1}) {
            kept.push_back(make_fabs<amrex::MultiFab>(coarse(), ranks, 0, 1, ghosts));
            const amrex::Vector<const amrex::MultiFab*> levels{&kept.back()};
            const std::uint64_t before = writer.report().peak_memory_bytes;
            auto iteration = writer.begin_iteration(static_cast<std::uint64_t>(ghosts));
            auto dump = iteration.begin_dump(0.0);
            EXPECT_TRUE(meshes.put(dump, levels, {"rho"}, k_geometry).ok());
            const std::uint64_t fabs_bytes = 16 * 16 * 8 * 4 / static_cast<unsigned>(ranks) * 8;
            const std::uint64_t taken = writer.report().peak_memory_bytes - before;
            if (ghosts == 0)
                EXPECT_LT(taken, fabs_bytes);
            else
                EXPECT_GE(writer.report().peak_memory_bytes, fabs_bytes);
            const Status end = iteration.end();
            EXPECT_TRUE(end.ok()) << end.message();
            kept.reserve(2);
        }
        EXPECT_TRUE(writer.close().ok());
    });
    open();
    for (const std::uint64_t n : {0, 1}) expect_level("rho", n, 0, 0, coarse(), 0.0);
}

TEST_P(Amrex, what_does_not_fit_together_is_said) {
    on_ranks([](Writer& writer, int ranks) {
        AmrexMeshes meshes(writer);
        const auto state = make_fabs<amrex::MultiFab>(coarse(), ranks, 0, 2, 0);
        const amrex::Vector<const amrex::MultiFab*> one{&state}, two{&state, &state};
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        const auto said = [](const Status& status, const char* words) {
            EXPECT_EQ(status.code(), StatusCode::invalid_argument);
            EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
        };
        said(meshes.put(dump, one, {"rho"}, k_geometry), "2 components and 1 names");
        said(meshes.put(dump, one, {"rho", "T"}, {}), "level 0: there are 0 geometries");
        said(meshes.put(dump, amrex::Vector<const amrex::MultiFab*>{nullptr, &state}, {"rho", "T"},
                        k_geometry),
             "0 refinement ratios");
        const std::vector<amrex::Geometry> small{
            {Box(IntVect(-4, 0, 2), IntVect(10, 15, 17)), {0, 0, 0}, {1, 1, 1}}};
        said(meshes.put(dump, one, {"a", "b"}, small), "leaves the level's domain");
        (void)iteration.end();
    });
}

/// Particle number n of a rank, and is it one that AMReX has given up?
struct Made {
    double position[3], mass;
    int kind;
    std::uint64_t id;
    bool valid;
};
Made make(int rank, int n) {
    const bool valid = n % 5 != 3;
    const amrex::Long id = 1 + n + 1000L * rank;
    return {{0.1 * n, 0.5 * n + rank, -1.0 * n},
            3.0 + n,
            n % 4,
            amrex::SetParticleIDandCPU(valid ? id : -id, rank),
            valid};
}
constexpr int k_each = 40;  // on each rank but the last of several, which has none

template <class Container>
Container make_particles(int rank, int ranks);
using Structs = amrex::ParticleContainer<1, 1, 1, 1>;
using Arrays = amrex::ParticleContainerPureSoA<5, 2>;

template <>
Structs make_particles<Structs>(int rank, int ranks) {
    Structs made(2);
    for (int n = 0; n < k_each && (ranks == 1 || rank + 1 < ranks); ++n) {
        const Made one = make(rank, n);
        auto& tile = made.GetParticles()[n < 30 ? 0 : 1][{n / 10, 0}];
        tile.m_arrays.m_reals.resize(1);
        tile.m_arrays.m_ints.resize(1);
        amrex::Particle<1, 1> p;
        for (std::size_t d = 0; d < 3; ++d) p.m_pos[d] = one.position[d];
        p.m_reals[0] = one.mass;
        p.m_ints[0] = one.kind;
        p.m_idcpu = one.id;
        tile.m_structs.push_back(p);
        tile.m_arrays.m_reals[0].push_back(-one.mass);
        tile.m_arrays.m_ints[0].push_back(-one.kind);
    }
    return made;
}
template <>
Arrays make_particles<Arrays>(int rank, int ranks) {
    Arrays made(2);
    for (int n = 0; n < k_each && (ranks == 1 || rank + 1 < ranks); ++n) {
        const Made one = make(rank, n);
        auto& arrays = made.GetParticles()[n < 30 ? 0 : 1][{n / 10, 0}].m_arrays;
        arrays.m_reals.resize(5);
        arrays.m_ints.resize(2);
        for (std::size_t d = 0; d < 3; ++d) arrays.m_reals[d].push_back(one.position[d]);
        arrays.m_reals[3].push_back(one.mass);
        arrays.m_reals[4].push_back(-one.mass);
        arrays.m_ints[0].push_back(one.kind);
        arrays.m_ints[1].push_back(-one.kind);
        arrays.m_ids.push_back(one.id);
    }
    return made;
}

TEST_P(Amrex, particles_of_both_kinds_come_with_their_ids) {
    on_ranks([](Writer& writer, int ranks) {
        const int rank = amrex::ParallelDescriptor::MyProc();
        const auto structs = make_particles<Structs>(rank, ranks);
        const auto arrays = make_particles<Arrays>(rank, ranks);
        const AmrexOptions options{.bounds = {{"position/y", absolute(0.25)}}};
        AmrexParticles electrons(writer, "electrons", options), ions(writer, "ions", options);
        EXPECT_TRUE(electrons.define(structs, {"mass", "less"}, {"kind", "unkind"}).ok());
        EXPECT_TRUE(ions.define(arrays).ok());
        EXPECT_TRUE(writer.define_constant(ions.species(), "charge", 2.0).ok());
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        EXPECT_TRUE(electrons.put(dump, structs).ok());
        EXPECT_TRUE(ions.put(dump, arrays).ok());
        const Status end = iteration.end();
        EXPECT_TRUE(end.ok()) << end.message();
    });
    open();
    std::vector<Made> expected;
    for (int n = 0; n < k_each; ++n)
        if (make(0, n).valid) expected.push_back(make(0, n));
    struct Names {
        const char *species, *mass, *less, *kind, *unkind;
    };
    for (const Names& names :
         {Names{"electrons", "mass", "less", "kind", "unkind"},
          Names{"ions", "real_comp0", "real_comp1", "int_comp0", "int_comp1"}}) {
        const auto record = [&](const char* name) {
            return std::string(names.species) + "/" + name;
        };
        const auto x = read<double>(record("position/x")), y = read<double>(record("position/y"));
        const auto mass = read<double>(record(names.mass)), less = read<double>(record(names.less));
        const auto kind = read<std::int32_t>(record(names.kind));
        const auto unkind = read<std::int32_t>(record(names.unkind));
        const auto id = read<std::uint64_t>(record("id"));
        ASSERT_EQ(x.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(x[i], expected[i].position[0]);
            EXPECT_NEAR(y[i], expected[i].position[1], 0.25);
            EXPECT_EQ(mass[i], expected[i].mass);
            EXPECT_EQ(less[i], -expected[i].mass);
            EXPECT_EQ(kind[i], expected[i].kind);
            EXPECT_EQ(unkind[i], -expected[i].kind);
            EXPECT_EQ(id[i], expected[i].id);
        }
    }
}

TEST_P(Amrex, particles_with_the_wrong_number_of_names_are_refused) {
    on_ranks([](Writer& writer, int) {
        AmrexParticles electrons(writer, "electrons");
        const Status status = electrons.define(Structs(1), {"mass"});
        EXPECT_NE(status.message().find("has 2 components 'real_comp...' and 1 names"),
                  std::string::npos)
            << status.message();
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        EXPECT_FALSE(electrons.put(dump, Structs(1)).ok());
        EXPECT_TRUE(iteration.end().ok());
    });
}

}  // namespace
}  // namespace caesura
