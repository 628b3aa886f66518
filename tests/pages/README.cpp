// What the ten lines of C++ take for granted: an array, its place, and what to do with errors.
// The headers that they include are here already: within a function they would not do.
#include <caesura/mpi.hpp>
#include <caesura/writer.hpp>
#include <cstdio>
#include <vector>

static int fail(const caesura::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

static void compute() {}

static int write() {
    const std::uint64_t nz = 16, ny = 16, nx = 16, steps = 12;
    const double time = 0.5;
    const caesura::Shape offset = {0, 0, 0}, extent = {nz, ny, nx};
    const std::vector<float> values(nz * ny * nx, 1.0f);
    const float* data = values.data();
    // block cpp 1
    return 0;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = write();
    MPI_Finalize();
    return code;
}
