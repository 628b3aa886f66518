// A program that writes by ADIOS2 and knows nothing of Caesura; its configuration says the engine.
// Boxes between ghost cells, dense ones, single and local values, shapes that change.
//
//     [mpirun -np 2] adios2_program CONFIG TARGET STEPS
//
// Values follow from step and place alone: test_adios2.py has the same formula.
#include <adios2.h>
#if ADIOS2_USE_MPI
#include <mpi.h>
#endif

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t k_rows = 37, k_columns = 24, k_ghosts = 2;

double value(std::size_t step, std::size_t row, std::size_t column) {
    return std::sin(0.2 * static_cast<double>(row) + 0.3 * static_cast<double>(step)) +
           0.01 * static_cast<double>(column);
}

struct Ranks {
    std::size_t rank = 0, size = 1;
};

/// Rows of a rank, with ghost cells around them that hold what must not get into a file.
struct Rows {
    std::size_t begin, count;
    std::vector<double> with_ghosts;
    std::vector<float> dense;
    std::vector<std::complex<double>> pairs;

    Rows(const Ranks& of, std::size_t step)
        : begin(k_rows * of.rank / of.size), count(k_rows * (of.rank + 1) / of.size - begin) {
        const std::size_t width = k_columns + 2 * k_ghosts;
        with_ghosts.assign((count + 2 * k_ghosts) * width, 1e30);
        for (std::size_t row = 0; row < count; ++row)
            for (std::size_t column = 0; column < k_columns; ++column) {
                const double v = value(step, begin + row, column);
                with_ghosts[(row + k_ghosts) * width + column + k_ghosts] = v;
                dense.push_back(static_cast<float>(v));
                pairs.emplace_back(v, -2 * v);
            }
    }
};

void write(adios2::IO io, adios2::Engine& engine, const Ranks& of, std::size_t steps) {
    const adios2::Dims whole{k_rows, k_columns};
    auto ghosts = io.DefineVariable<double>("ghosts", whole, {0, 0}, whole);
    auto dense = io.DefineVariable<float>("fields/dense", whole, {0, 0}, whole);
    auto pairs = io.DefineVariable<std::complex<double>>("pairs", whole, {0, 0}, whole);
    auto grows = io.DefineVariable<double>("grows", {of.size}, {of.rank}, {1});
    auto count = io.DefineVariable<std::int64_t>("count");
    auto share = io.DefineVariable<std::int32_t>("share", {adios2::LocalValueDim});
    io.DefineAttribute<double>("Du", 0.25);
    for (std::size_t step = 0; step < steps; ++step) {
        engine.BeginStep();
        const Rows rows(of, step);
        const adios2::Box<adios2::Dims> box{{rows.begin, 0}, {rows.count, k_columns}};
        ghosts.SetSelection(box);
        dense.SetSelection(box);
        pairs.SetSelection(box);
        ghosts.SetMemorySelection(
            {{k_ghosts, k_ghosts}, {rows.count + 2 * k_ghosts, k_columns + 2 * k_ghosts}});
        engine.Put(ghosts, rows.with_ghosts.data(),
                   step % 2 == 0 ? adios2::Mode::Deferred : adios2::Mode::Sync);
        engine.Put(dense, rows.dense.data(), adios2::Mode::Sync);
        engine.Put(pairs, rows.pairs.data());
        // A rank has `step + 1` of it more with each step.
        const std::size_t own = step + 1;
        grows.SetShape({own * of.size});
        grows.SetSelection({{own * of.rank}, {own}});
        const std::vector<double> few(own, static_cast<double>(10 * step + of.rank));
        engine.Put(grows, few.data(), adios2::Mode::Sync);
        if (of.rank == 0) engine.Put(count, static_cast<std::int64_t>(step + 7));
        engine.Put(share, static_cast<std::int32_t>(100 * step + of.rank));
        engine.EndStep();
    }
    engine.Close();
}

int run(const char* const* arguments) {
    Ranks of;
#if ADIOS2_USE_MPI
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    of = {static_cast<std::size_t>(rank), static_cast<std::size_t>(size)};
    adios2::ADIOS adios(arguments[1], MPI_COMM_WORLD);
#else
    adios2::ADIOS adios(arguments[1]);
#endif
    auto io = adios.DeclareIO("output");
    auto engine = io.Open(arguments[2], adios2::Mode::Write);
    write(io, engine, of, std::strtoul(arguments[3], nullptr, 10));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
#if ADIOS2_USE_MPI
    MPI_Init(&argc, &argv);
#endif
    int status = 1;
    try {
        status = run(argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
#if ADIOS2_USE_MPI
    if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
#endif
    // Not by exit(): the wheel's libldap and that of the system's HDF5 crash in one C++ program's
    // end.
    std::_Exit(status);
}
