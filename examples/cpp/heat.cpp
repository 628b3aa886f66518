// Heat that spreads in a box, cut into slabs along its first axis; every tenth step goes into the
// file that the command line names while the next ones are computed.
#include <algorithm>
#include <caesura/writer.hpp>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#ifdef HEAT_WITH_MPI
#include <caesura/mpi.hpp>
#endif

namespace {

constexpr std::uint64_t k_cells = 48, k_steps = 30;

int fail(const caesura::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

// One step, within each slab: the slabs do not speak to each other here.
std::vector<double> spread(const std::vector<double>& now, std::uint64_t planes) {
    std::vector<double> next(now);
    const auto at = [](std::uint64_t z, std::uint64_t y, std::uint64_t x) {
        return (z * k_cells + y) * k_cells + x;
    };
    for (std::uint64_t z = 1; z + 1 < planes; ++z)
        for (std::uint64_t y = 1; y + 1 < k_cells; ++y)
            for (std::uint64_t x = 1; x + 1 < k_cells; ++x)
                next[at(z, y, x)] +=
                    0.1 * (now[at(z - 1, y, x)] + now[at(z + 1, y, x)] + now[at(z, y - 1, x)] +
                           now[at(z, y + 1, x)] + now[at(z, y, x - 1)] + now[at(z, y, x + 1)] -
                           6 * now[at(z, y, x)]);
    return next;
}

int run(const char* path, std::unique_ptr<caesura::Communicator> ranks) {
    const auto rank = static_cast<std::uint64_t>(ranks->rank());
    const auto size = static_cast<std::uint64_t>(ranks->size());
    const std::uint64_t begin = k_cells * rank / size, end = k_cells * (rank + 1) / size;
    std::vector<double> heat((end - begin) * k_cells * k_cells);
    for (std::size_t i = 0; i < heat.size(); ++i) heat[i] = std::sin(0.001 * double(i));

    auto made = caesura::Writer::create(path, std::move(ranks));
    if (!made.ok()) return fail(made.status());
    caesura::Writer& writer = **made;
    const auto field = writer.define_field("temperature", caesura::float64,
                                           {k_cells, k_cells, k_cells}, caesura::absolute(1e-4));
    if (!field.ok()) return fail(field.status());
    for (std::uint64_t n = 0; n < k_steps; ++n) {
        auto iteration = writer.begin_iteration(n);
        if (n > 0) heat = spread(heat, end - begin);
        if (n % 10 == 0) {
            auto dump = iteration.begin_dump(0.1 * double(n), 0.1);
            (void)dump.put(*field, {{begin, 0, 0}, {end - begin, k_cells, k_cells}}, heat.data());
        }
        if (const auto status = iteration.end(); !status.ok()) return fail(status);
    }
    if (const auto status = writer.close(); !status.ok()) return fail(status);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const char* path = argc > 1 ? argv[1] : "heat.h5";
#ifdef HEAT_WITH_MPI
    MPI_Init(&argc, &argv);
    const int code = run(path, caesura::mpi(MPI_COMM_WORLD));
    MPI_Finalize();
    return code;
#else
    return run(path, caesura::Communicator::self());
#endif
}
