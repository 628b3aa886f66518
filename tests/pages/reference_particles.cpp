// A Writer of a species of four particles.
#include <caesura/codec.hpp>
#include <caesura/writer.hpp>

static int write() {
    const double time = 0.5, positions[4] = {0.1, 0.2, 0.3, 0.4};
    const std::uint64_t count = 4, ids[4] = {7, 8, 9, 10};
    auto writer = caesura::Writer::create("run.h5", caesura::Communicator::self());
    if (!writer.ok()) return 1;
    auto iteration = (*writer)->begin_iteration(0);
    // block cpp 1
    if (!iteration.end().ok()) return 4;
    return (*writer)->close().ok() ? 0 : 5;
}

int main() { return write(); }
