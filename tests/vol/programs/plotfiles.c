/* Goal: a run that keeps every core busy and makes no call between its plotfiles, killed at any
 * moment. One file a step, or several: created, written, closed; then each rank computes by itself.
 *
 * From the environment: VOL_TEST_DUMPS (1000000), VOL_TEST_EDGE (96: cells along an axis),
 * VOL_TEST_COMPUTE_MS (500), VOL_TEST_BURST (1: files a step), VOL_TEST_IDLE_PERCENT (0: of that
 * time), VOL_TEST_WRITE (1; 0: only compute), VOL_TEST_APPEND (0; 1: rank 0 alone makes the file,
 * and opens it once more for each field), VOL_TEST_LOG (1: lines of a file, with times) and
 * VOL_TEST_OWN_HANDLER (0; 1: SIGTERM has it make two more files and end as a program does).
 * closed_killed.py knows the formula of the values, and bench/vol/delays.py reads the log. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { k_fields = 3 };
static const char* const k_names[k_fields] = {"density", "pressure", "velocity"};

static int g_log = -1;
static volatile sig_atomic_t g_told_to_end;

static void tell_to_end(int number) {
    (void)number;
    g_told_to_end = 1;
}

static int number_from(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One line a call of write, so that it is there whole or not at all. Rank 0's. */
static void note(const char* what, int dump, double at_s) {
    if (g_log < 0) return;
    char line[96];
    const int n = snprintf(line, sizeof line, "%s %d %.6f\n", what, dump, at_s);
    CHECK(write(g_log, line, (size_t)n) == n);
}

/* Smooth along the fastest axis, and no two files alike. */
static float value(int dump, int which, uint64_t row, uint64_t column) {
    return (float)(dump % 1000) + 0.25f * (float)which + 0.001f * (float)(row * 7919 % 509) +
           0.0001f * (float)(column * column % 1021);
}

/* Planes [begin, begin + count) of the first axis. */
static void write_field(hid_t file, int dump, int which, hsize_t edge, hsize_t begin, hsize_t count,
                        hid_t list) {
    const hsize_t dims[3] = {edge, edge, edge};
    hid_t dataset = make_dataset(file, k_names[which], H5T_IEEE_F32LE, 3, dims, H5P_DEFAULT);
    const hsize_t offset[3] = {begin, 0, 0}, extent[3] = {count, edge, edge};
    float* values = malloc(sizeof(float) * (size_t)(count * edge * edge));
    for (hsize_t row = 0; row < count * edge; ++row)
        for (hsize_t i = 0; i < edge; ++i)
            values[row * edge + i] = value(dump, which, begin * edge + row, i);
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(3, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, list, values));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    free(values);
}

/* @return  when the last close began. */
static double write_together(const char* name, int dump, hsize_t edge) {
    hsize_t begin, count;
    share(edge, &begin, &count);
    hid_t file = create_file(name), list = transfer(H5FD_MPIO_COLLECTIVE);
    for (int which = 0; which < k_fields; ++which)
        write_field(file, dump, which, edge, begin, count, list);
    OK(H5Pclose(list));
    put_int(file, "dump", dump);
    const double close_s = now_s();
    OK(H5Fclose(file));
    return close_s;
}

static double append_alone(const char* name, int dump, hsize_t edge) {
    double close_s = now_s();
    if (g_rank != 0) return close_s;
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    put_int(file, "dump", dump);
    OK(H5Fclose(file));
    for (int which = 0; which < k_fields; ++which) {
        file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT));
        write_field(file, dump, which, edge, 0, edge, H5P_DEFAULT);
        close_s = now_s();
        OK(H5Fclose(file));
    }
    return close_s;
}

/* Without a call of anything: the same work every time, or waiting as for an accelerator. */
static void compute(double seconds, int idle_percent) {
    const double busy_s = seconds * (100 - idle_percent) / 100.0;
    struct timespec cpu;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    const double begin_s = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
    volatile double sum = 0.0;
    for (double spent_s = 0.0; spent_s < busy_s;) {
        for (int i = 0; i < 100000; ++i) sum = sum * 0.999 + i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
        spent_s = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec - begin_s;
    }
    const double left_s = seconds * idle_percent / 100.0;
    struct timespec wait = {(time_t)left_s, (long)((left_s - (double)(time_t)left_s) * 1e9)};
    if (left_s > 0.0) nanosleep(&wait, NULL);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    const int dumps = number_from("VOL_TEST_DUMPS", 1000000);
    const hsize_t edge = (hsize_t)number_from("VOL_TEST_EDGE", 96);
    const double compute_s = 1e-3 * number_from("VOL_TEST_COMPUTE_MS", 500);
    const int idle_percent = number_from("VOL_TEST_IDLE_PERCENT", 0);
    const int burst = number_from("VOL_TEST_BURST", 1);
    const int appends = number_from("VOL_TEST_APPEND", 0);
    if (g_rank == 0 && number_from("VOL_TEST_LOG", 1)) {
        char log[1100];
        snprintf(log, sizeof log, "%s.log", path_of("plotfiles"));
        g_log = open(log, O_CREAT | O_WRONLY | O_APPEND, 0644);
        CHECK(g_log >= 0);
    }
    const int own_handler = number_from("VOL_TEST_OWN_HANDLER", 0);
    if (own_handler) {
        struct sigaction action = {.sa_handler = tell_to_end, .sa_flags = SA_RESTART};
        CHECK(sigaction(SIGTERM, &action, NULL) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = now_s();
    int dumps_end = dumps;
    for (int dump = 0; dump < dumps_end; ++dump) {
        if (dump % burst == 0) compute(compute_s, idle_percent);
        if (!number_from("VOL_TEST_WRITE", 1)) {
            MPI_Barrier(MPI_COMM_WORLD);
            continue;
        }
        char name[32];
        snprintf(name, sizeof name, "plt%05d", dump);
        const double enter_s = now_s();
        const double close_s =
            appends ? append_alone(name, dump, edge) : write_together(name, dump, edge);
        note("close_took", dump, now_s() - close_s);
        note("calls_took", dump, now_s() - enter_s);
        /* It is closed when it is on all ranks. */
        MPI_Barrier(MPI_COMM_WORLD);
        note("closed", dump, now_s());
        if (!own_handler || dumps_end < dumps) continue;
        int told = g_told_to_end, all_told = 0;
        MPI_Allreduce(&told, &all_told, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!all_told) continue;
        dumps_end = dump + 3;
        note("told_to_end", dump, now_s());
    }
    note("computed", dumps_end, now_s() - begin_s);
    const int result = finish();
    note("ended", dumps_end, now_s() - begin_s);
    return result;
}
