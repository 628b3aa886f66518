// A file of an earlier run, with which the page goes on.
#include <caesura/mpi.hpp>
#include <caesura/reader.hpp>
#include <caesura/writer.hpp>
#include <vector>

static int write(MPI_Comm comm) {
    const std::vector<float> values(16, 1.0f);
    auto writer = caesura::Writer::create("run.h5", caesura::mpi(comm));
    if (!writer.ok()) return 1;
    auto rho = (*writer)->define_field("rho", caesura::float32, {16}, caesura::absolute(0.1));
    if (!rho.ok()) return 2;
    auto iteration = (*writer)->begin_iteration(40);
    (void)iteration.begin_dump(0.0).put(*rho, {{0}, {16}}, values.data());
    if (!iteration.end().ok()) return 3;
    return (*writer)->close().ok() ? 0 : 4;
}

static int go_on() {
    const caesura::WriterOptions options;
    // block cpp 1
    if (!writer.ok() || !reader.ok()) return 5;
    if (last != 40) return 6;
    if ((*reader)->dumps().size() != 1 || (*reader)->dumps()[0].iteration != 40) return 7;
    return (*writer)->close().ok() ? 0 : 8;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int code = write(MPI_COMM_WORLD);
    if (code == 0) code = go_on();
    MPI_Finalize();
    return code;
}
