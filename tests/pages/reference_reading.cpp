// A file with the field that the page reads a box of. Its header is here already: within a function
// the page's line for it would not do.
#include <caesura/reader.hpp>
#include <caesura/writer.hpp>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

static int fail(const caesura::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

static int write() {
    const std::vector<float> values(64 * 64 * 64, 1.0f);
    auto writer = caesura::Writer::create("run.h5", caesura::Communicator::self());
    if (!writer.ok()) return fail(writer.status());
    auto ex =
        (*writer)->define_field("E/x", caesura::float32, {64, 64, 64}, caesura::absolute(0.1));
    if (!ex.ok()) return fail(ex.status());
    auto iteration = (*writer)->begin_iteration(3);
    (void)iteration.begin_dump(0.0).put(*ex, {{0, 0, 0}, {64, 64, 64}}, values.data());
    if (auto status = iteration.end(); !status.ok()) return fail(status);
    if (auto status = (*writer)->close(); !status.ok()) return fail(status);
    return 0;
}

static int read() {
    std::vector<float> all(10 * 64 * 64);
    const std::span<float> values(all);
    // block cpp 1
    if (!status.ok()) return fail(status);
    for (const float value : all)
        if (!(std::abs(value - 1.0f) <= 0.1f)) return 2;
    return 0;
}

int main() {
    if (const int code = write()) return code;
    return read();
}
