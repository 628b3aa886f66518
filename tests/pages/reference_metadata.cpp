// A Writer, its field and a dump, to which the page gives attributes.
#include <caesura/codec.hpp>
#include <caesura/writer.hpp>
#include <cstdio>
#include <vector>

static int write() {
    const double time = 0.5;
    auto writer = caesura::Writer::create("run.h5", caesura::Communicator::self());
    if (!writer.ok()) return 1;
    auto defined = (*writer)->define_field("rho", caesura::float32, {16}, caesura::absolute(1e-3));
    if (!defined.ok()) return 2;
    const caesura::Field rho = *defined;
    auto iteration = (*writer)->begin_iteration(0);
    // block cpp 1
    const std::vector<float> values(16, 1.0f);
    if (!dump.put(rho, {{0}, {16}}, values.data()).ok()) return 3;
    if (!iteration.end().ok()) return 4;
    return (*writer)->close().ok() ? 0 : 5;
}

int main() { return write(); }
