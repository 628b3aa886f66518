// A Writer and a dump of integers.
#include <caesura/writer.hpp>
#include <vector>

static int write() {
    const std::uint64_t nz = 4, ny = 4, nx = 4;
    const caesura::Box box = {{0, 0, 0}, {nz, ny, nx}};
    const std::vector<std::uint64_t> numbers(nz * ny * nx, 7);
    const std::uint64_t* ids = numbers.data();
    auto writer = caesura::Writer::create("run.h5", caesura::Communicator::self());
    if (!writer.ok()) return 1;
    auto iteration = (*writer)->begin_iteration(0);
    auto dump = iteration.begin_dump(0.0);
    // block cpp 1
    if (!iteration.end().ok()) return 4;
    return (*writer)->close().ok() ? 0 : 5;
}

int main() { return write(); }
