// Dumps for the files that the page names.
#include <caesura/mpi.hpp>
#include <caesura/writer.hpp>
#include <filesystem>
#include <vector>

static int write() {
    std::filesystem::create_directory("out");
    // block cpp 1
    if (!writer.ok()) return 1;
    const std::vector<float> values(16, 1.0f);
    auto rho = (*writer)->define_field("rho", caesura::float32, {16}, caesura::absolute(0.1));
    if (!rho.ok()) return 2;
    for (std::uint64_t n = 0; n <= 200; n += 100) {
        auto iteration = (*writer)->begin_iteration(n);
        (void)iteration.begin_dump(double(n)).put(*rho, {{0}, {16}}, values.data());
        if (!iteration.end().ok()) return 3;
    }
    if (!(*writer)->close().ok()) return 4;
    for (const char* name : {"out/run_000000.h5", "out/run_000100.h5", "out/run_000200.h5"})
        if (!std::filesystem::exists(name)) return 5;
    return 0;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = write();
    MPI_Finalize();
    return code;
}
