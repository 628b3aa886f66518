// pmpi_probe: applications that mark nothing; pmpi_test runs them with the MPI layer and without.
//
//   mpirun -n N pmpi_probe waiting [funneled]   compute, wait for a slower rank, compute
//                          bursts               thousands of short calls, in a row and strewn
//                          files                collective MPI-IO, which sends messages inside
//                          threads              another thread communicates all the time
//                          alone                no writer at all; exit status says if MPI works
//                          cost                 prints what one call costs, in ns
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "caesura/wait.hpp"
#include "probe_writer.h"

namespace {

constexpr int k_iterations = 4;
int g_rank = 0, g_size = 1;

template <class Call>
void timed(Call call) {
    const double begin_s = probe_now_s();
    call();
    probe_called(probe_now_s() - begin_s);
}

void waiting() {
    for (int n = 0; n < k_iterations; ++n) {
        probe_begin(n);
        probe_compute(g_rank == 0 ? 0.05 : 0.01);
        timed([] { MPI_Barrier(MPI_COMM_WORLD); });
        probe_compute(0.01);
        int sum = 0;
        timed([&] { MPI_Allreduce(&g_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
        probe_end();
    }
}

void bursts() {
    int found = 0;
    for (int n = 0; n < k_iterations; ++n) {
        probe_begin(n);
        probe_compute(0.005);
        for (int i = 0; i < 1000; ++i) {
            probe_compute(20e-6);
            MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        }
        probe_end();
    }
}

void files() {
    std::vector<char> data(4u << 20, 'x');
    MPI_File file = MPI_FILE_NULL;
    const std::string path = std::string(std::getenv("PMPI_PROBE_OUT")) + "/raw";
    for (int n = 0; n < k_iterations; ++n) {
        probe_begin(n);
        probe_compute(0.01);
        timed([&] {
            MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                          MPI_INFO_NULL, &file);
            MPI_File_write_at_all(file, static_cast<MPI_Offset>(g_rank) * (4 << 20), data.data(),
                                  static_cast<int>(data.size()), MPI_CHAR, MPI_STATUS_IGNORE);
            MPI_File_close(&file);
        });
        probe_compute(0.01);
        probe_end();
    }
}

void threads() {
    MPI_Comm theirs = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &theirs);
    std::atomic<long> rounds{0};
    std::atomic<bool> stop{false};
    std::thread other([&] {
        // All ranks stop after the same round: rank 0 says when.
        for (int go = 1; go != 0;) {
            if (g_rank == 0) go = stop.load() ? 0 : 1;
            MPI_Bcast(&go, 1, MPI_INT, 0, theirs);
            ++rounds;
        }
    });
    for (int n = 0; n < k_iterations; ++n) {
        probe_begin(n);
        probe_compute(0.02);
        probe_end();
    }
    stop.store(true);
    other.join();
    MPI_Comm_free(&theirs);
    if (rounds.load() < 10) MPI_Abort(MPI_COMM_WORLD, 4);
}

void alone() {
    int sum = 0;
    MPI_Allreduce(&g_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int from_left = -1;
    MPI_Request requests[2];
    MPI_Irecv(&from_left, 1, MPI_INT, (g_rank + g_size - 1) % g_size, 1, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(&g_rank, 1, MPI_INT, (g_rank + 1) % g_size, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (sum != g_size * (g_size - 1) / 2 || from_left != (g_rank + g_size - 1) % g_size)
        MPI_Abort(MPI_COMM_WORLD, 5);
}

void cost() {
    constexpr int k_calls = 1'000'000;
    int found = 0;
    const auto per_call_ns = [&] {
        const double begin_s = probe_now_s();
        for (int i = 0; i < k_calls; ++i)
            MPI_Iprobe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        return (probe_now_s() - begin_s) / k_calls * 1e9;
    };
    const double without_ns = per_call_ns();
    probe_open();
    probe_begin(0);
    const double with_ns = per_call_ns();
    const double begin_s = probe_now_s();
    for (int i = 0; i < k_calls; ++i) caesura::wait([] {});
    const double wait_ns = (probe_now_s() - begin_s) / k_calls * 1e9;
    probe_end();
    probe_close();
    std::printf("{\"outside_ns\": %.1f, \"inside_ns\": %.1f, \"wait_ns\": %.1f}\n", without_ns,
                with_ns, wait_ns);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const bool multiple = mode == "threads";
    int provided = 0;
    if (argc > 2 || multiple)
        MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                        &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g_size);
    if (mode == "alone") alone();
    if (mode == "cost") cost();
    if (mode != "alone" && mode != "cost") {
        probe_open();
        if (mode == "waiting") waiting();
        if (mode == "bursts") bursts();
        if (mode == "files") files();
        if (mode == "threads") threads();
        probe_close();
    }
    MPI_Finalize();
    return 0;
}
