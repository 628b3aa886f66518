// Around the lines of the page about SIGTERM: a loop that a signal ends.
#include <caesura/mpi.hpp>
#include <caesura/writer.hpp>
#include <csignal>
#include <vector>

static volatile std::sig_atomic_t told = 0;

static int run(MPI_Comm comm) {
    auto writer = caesura::Writer::create("run.h5", caesura::mpi(comm));
    if (!writer.ok()) return 1;
    auto field =
        (*writer)->define_field("rho", caesura::float32, {16, 16}, caesura::absolute(1e-3));
    if (!field.ok()) return 2;
    const std::vector<float> values(256, 1.0f);
    std::uint64_t n = 0;
    caesura::Status status;
    for (; n < 1000; ++n) {
        auto iteration = (*writer)->begin_iteration(n);
        (void)iteration.begin_dump(double(n)).put(*field, {{0, 0}, {16, 16}}, values.data());
        if (!iteration.end().ok()) return 3;
        if (n == 5) std::raise(SIGTERM);
        // block cpp 1
    }
    if (!status.ok()) return 6;
    if (n != 5 || (*writer)->committed() != 5) return 4;
    return (*writer)->close().ok() ? 0 : 5;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = run(MPI_COMM_WORLD);
    MPI_Finalize();
    return code;
}
