// An application whose first rank holds noise and whose others hold smooth data, as one node's
// ranks may (S0 §3.4): every iteration computes, talks, waits for a device, and dumps.
//
// Invariants:
//  - The device is emulated: the host sleeps for the rest of the iteration. Computing and talking
//    are marked, and the ranks meet at the end of each iteration, as their messages would make
//    them.
//  - Timed is all from the first iteration to the end of close(), the last flush included.
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "caesura/mpi.hpp"
#include "caesura/writer.hpp"

namespace {

using namespace caesura;

struct Options {
    std::string path;
    std::string balance = "on";  // or off
    double noise = 0.0;          // of the first rank, in error bounds; the others have `least`
    double least = 0.0;
    int iterations = 12, blocks = 6;
    double iteration_s = 0.4, compute_s = 0.08, talk_s = 0.04;
};

constexpr std::uint64_t k_side = 128;  // 8 MiB a block
constexpr double k_bound = 1e-3;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void expect(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "spread: %s\n", status.message().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// Takes the core, as computing does.
void compute(double seconds) {
    volatile double sum = 0.0;
    for (const double end_s = now_s() + seconds; now_s() < end_s;)
        for (int i = 0; i < 1000; ++i) sum = sum + std::sqrt(static_cast<double>(i));
}

void rest_until(double end_s) {
    const double left_s = end_s - now_s();
    if (left_s > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(left_s));
}

std::vector<float> values(double noise, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-noise * k_bound, noise * k_bound);
    std::vector<float> out(k_side * k_side * k_side);
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(std::sin(1e-4 * static_cast<double>(i)) + uniform(random));
    return out;
}

struct Totals {
    double raw = 0, stored = 0, helped = 0, taken_back = 0, put_wait_s = 0, close_s = 0;
};

Totals totals_of(const WriterReport& r) {
    const double mine[] = {static_cast<double>(r.raw_bytes),
                           static_cast<double>(r.stored_bytes),
                           static_cast<double>(r.helped_blocks),
                           static_cast<double>(r.taken_back_blocks),
                           r.put_wait_s,
                           r.close_s};
    double all[6] = {};
    MPI_Allreduce(mine, all, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return {all[0], all[1], all[2], all[3], all[4], all[5]};
}

void run(const Options& options) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    WriterOptions writer_options;
    writer_options.bound = absolute(k_bound);
    writer_options.balance_writes = options.balance == "on";
    writer_options.on_message = [](std::string_view text) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
    auto writer = Writer::create(options.path, mpi(MPI_COMM_WORLD), writer_options);
    expect(writer.status());
    std::vector<Field> fields;
    std::vector<std::vector<float>> data;
    const auto ranks = static_cast<std::uint64_t>(size);
    for (int f = 0; f < options.blocks; ++f) {
        auto field = (*writer)->define_field("f" + std::to_string(f), float32,
                                             {ranks * k_side, k_side, k_side});
        expect(field.status());
        fields.push_back(*field);
        data.push_back(values(rank == 0 ? options.noise : options.least,
                              static_cast<unsigned>(100 * rank + f)));
    }
    const Box box{{static_cast<std::uint64_t>(rank) * k_side, 0, 0}, {k_side, k_side, k_side}};
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = now_s();
    for (int n = 0; n < options.iterations; ++n) {
        const double iteration_s = now_s();
        auto iteration = (*writer)->begin_iteration(static_cast<std::uint64_t>(n));
        {
            const Busy busy = iteration.busy(Lane::compress);
            compute(options.compute_s);
        }
        {
            const Busy busy = iteration.busy(Lane::write);
            rest_until(iteration_s + options.compute_s + options.talk_s);
        }
        rest_until(iteration_s + options.iteration_s);
        Dump dump = iteration.begin_dump(n);
        for (std::size_t f = 0; f < fields.size(); ++f)
            expect(dump.put(fields[f], box, data[f].data(), Ownership::borrow));
        expect(iteration.end());
    }
    expect((*writer)->close());
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = now_s() - begin_s;
    const WriterReport report = (*writer)->report();
    const double ratio =
        static_cast<double>(report.raw_bytes) / static_cast<double>(report.stored_bytes);
    double low = ratio, high = ratio;
    MPI_Allreduce(MPI_IN_PLACE, &low, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &high, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const Totals all = totals_of(report);
    if (rank == 0)
        std::printf(
            "{\"balance\": \"%s\", \"ranks\": %d, \"seconds\": %.6f, \"compute_only_s\": %.6f, "
            "\"ratio_low\": %.3f, \"ratio_high\": %.3f, \"stored_bytes\": %.0f, "
            "\"helped_blocks\": %.0f, \"taken_back_blocks\": %.0f, \"put_wait_s\": %.4f}\n",
            options.balance.c_str(), size, seconds, options.iterations * options.iteration_s, low,
            high, all.stored, all.helped, all.taken_back, all.put_wait_s);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--out") options.path = value;
        if (name == "--balance") options.balance = value;
        if (name == "--noise") options.noise = std::atof(value.c_str());
        if (name == "--least") options.least = std::atof(value.c_str());
        if (name == "--iterations") options.iterations = std::atoi(value.c_str());
        if (name == "--blocks") options.blocks = std::atoi(value.c_str());
        if (name == "--iteration-s") options.iteration_s = std::atof(value.c_str());
    }
    run(options);
    MPI_Finalize();
    return 0;
}
