// A program of openPMD-api that knows nothing of Caesura: meshes, particles that become more, and
// constants, each rank its share. Where they go its configuration says.
//
//     mpirun -np 2 openpmd_program NAME CONFIG
//
// test_adios2.py compares what HDF5's backend and the ADIOS2 engine make of it.
#include <mpi.h>

#include <cmath>
#include <openPMD/openPMD.hpp>

namespace {

using openPMD::Dataset;
using openPMD::Datatype;
using openPMD::UnitDimension;

constexpr std::uint64_t k_rows = 4, k_columns = 6, k_depth = 5;

struct Ranks {
    std::uint64_t rank, size;
};

void write_meshes(openPMD::Iteration& iteration, const Ranks& of, std::uint64_t n) {
    const openPMD::Extent whole{k_rows * of.size, k_columns, k_depth};
    const openPMD::Offset begin{k_rows * of.rank, 0, 0};
    const openPMD::Extent own{k_rows, k_columns, k_depth};
    auto E = iteration.meshes["E"];
    E.setAxisLabels({"z", "y", "x"});
    E.setGridSpacing(std::vector<double>{1, 2, 3});
    E.setGridGlobalOffset({0, 0.5, 1});
    E.setGridUnitSI(1e-6);
    E.setUnitDimension({{UnitDimension::L, 1}, {UnitDimension::M, 1}, {UnitDimension::T, -3}});
    for (const char* axis : {"x", "y"}) {
        const std::size_t count = k_rows * k_columns * k_depth;
        auto values = std::make_unique<double[]>(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = std::sin(0.1 * static_cast<double>(i) + static_cast<double>(of.rank)) +
                        static_cast<double>(n) + (axis[0] == 'y' ? 1.0 : 0.0);
        auto component = E[axis];
        component.setUnitSI(2.5);
        component.setPosition(std::vector<double>{0.5, 0, 0});
        component.resetDataset({Datatype::DOUBLE, whole});
        component.storeChunk(std::move(values), begin, own);
    }
    E["z"].setPosition(std::vector<double>{0, 0, 0});
    E["z"].resetDataset({Datatype::DOUBLE, whole});
    E["z"].makeConstant(7.5);
}

template <class T>
void store(openPMD::RecordComponent component, const Ranks& of, std::uint64_t each, T first) {
    auto values = std::make_unique<T[]>(each);
    for (std::size_t i = 0; i < each; ++i) values[i] = first + static_cast<T>(i);
    component.resetDataset({openPMD::determineDatatype<T>(), {each * of.size}});
    component.storeChunk(std::move(values), {each * of.rank}, {each});
}

void write_particles(openPMD::Iteration& iteration, const Ranks& of, std::uint64_t n) {
    const std::uint64_t each = 5 + n;
    const Dataset all(Datatype::DOUBLE, {each * of.size});
    auto e = iteration.particles["e"];
    for (const char* axis : {"x", "y"}) {
        for (const char* record : {"position", "momentum"})
            store<double>(e[record][axis], of, each, 0.25 + static_cast<double>(n + of.rank));
        e["positionOffset"][axis].resetDataset(all);
        e["positionOffset"][axis].makeConstant(0.0);
    }
    auto charge = e["charge"][openPMD::RecordComponent::SCALAR];
    charge.resetDataset(all);
    charge.makeConstant(-1.6e-19);
    store<std::uint64_t>(e["id"][openPMD::RecordComponent::SCALAR], of, each, each * of.rank);
    e.setAttribute("form", std::string("cloud in cell"));
}

void write(const char* name, const std::string& config) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const Ranks of{static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(size)};
    openPMD::Series series(name, openPMD::Access::CREATE_LINEAR, MPI_COMM_WORLD, config);
    series.setAuthor("somebody");
    series.setAttribute("numbers", std::vector<double>{1, 2, 3});
    for (const std::uint64_t n : {0u, 10u, 20u}) {
        auto iteration = series.snapshots()[n];
        iteration.open();
        iteration.setTime(0.5 * static_cast<double>(n)).setDt(0.05).setTimeUnitSI(1e-15);
        write_meshes(iteration, of, n);
        write_particles(iteration, of, n / 10);
        series.flush();
        iteration.close();
    }
    series.close();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    try {
        write(argv[1], argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
