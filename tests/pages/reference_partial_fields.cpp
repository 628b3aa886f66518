// A Writer of a field of which one box is put.
#include <caesura/codec.hpp>
#include <caesura/writer.hpp>
#include <vector>

static int write() {
    const auto bound = caesura::absolute(1e-3);
    auto writer = caesura::Writer::create("run.h5", caesura::Communicator::self());
    if (!writer.ok()) return 1;
    // block cpp 1
    if (!rho.ok()) return 2;
    auto iteration = (*writer)->begin_iteration(0);
    const std::vector<double> values(4096, 1.0);
    auto dump = iteration.begin_dump(0.0);
    if (!dump.put(*rho, {{512, 0, 16}, {16, 16, 16}}, values.data()).ok()) return 3;
    if (!iteration.end().ok()) return 4;
    return (*writer)->close().ok() ? 0 : 5;
}

int main() { return write(); }
