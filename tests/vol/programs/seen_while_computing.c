/* Goal: what others see of a file that the application has closed, while the application computes
 * and calls neither HDF5 nor MPI. After each step every rank computes until the file go.<step> is
 * there, which seen_while_computing.py makes when it has seen enough. */
#include <stdio.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 8192 }; /* 4 MiB a file */

static void compute_until_told(const char* directory) {
    static int step = 0;
    char go[1100], said[1100];
    snprintf(go, sizeof go, "%s/go.%d", directory, step);
    snprintf(said, sizeof said, "%s/computes.%d.%d", directory, step++, g_rank);
    FILE* const file = fopen(said, "w");
    CHECK(file != NULL && fclose(file) == 0);
    volatile double sum = 0.0;
    while (access(go, F_OK) != 0)
        for (int i = 0; i < 1000000; ++i) sum = sum * 0.999 + i;
}

/* One rank of several asks for a file that only their next call completes. */
static void told_to_open_together(void) {
    if (g_rank == 0 && g_ranks > 1)
        FAILS_SAYING(H5Fopen(path_of("together"), H5F_ACC_RDONLY, H5P_DEFAULT),
                     "durability = \"durable\"");
}

/* Closed, and opened once more before anything can have been written. */
static void reopened(void) {
    write_file(MPI_COMM_WORLD, "reopened", k_rows, 5.0);
    hid_t file = open_file("reopened", H5F_ACC_RDWR);
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "more", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 6.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* One rank has it for itself, without MPI-IO, and opens it once for each field. */
static void alone(void) {
    if (g_rank != 0) return;
    OK(H5Fclose(OK(H5Fcreate(path_of("alone"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))));
    double* values = malloc(sizeof(double) * k_rows * 64);
    const char* const names[] = {"field", "more"};
    for (int n = 0; n < 2; ++n) {
        hid_t file = OK(H5Fopen(path_of("alone"), H5F_ACC_RDWR, H5P_DEFAULT));
        hsize_t dims[2] = {k_rows, 64};
        hid_t dataset = make_dataset(file, names[n], H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        for (uint64_t i = 0; i < k_rows * 64; ++i) values[i] = 7.0 + n + field(i, 64);
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        OK(H5Dclose(dataset));
        OK(H5Fclose(file));
    }
    free(values);
}

int main(int argc, char** argv) {
    const char* const directory = argc > 1 ? argv[1] : ".";
    start(&argc, &argv);
    write_file(MPI_COMM_WORLD, "together", k_rows, 1.0);
    if (getenv("VOL_TEST_NOBODY_COMPLETES")) told_to_open_together();
    compute_until_told(directory);
    write_file(MPI_COMM_WORLD, "before", k_rows, 2.0);
    BY_ONE(rename(path_of("before"), path_of("renamed")));
    compute_until_told(directory);
    write_file(MPI_COMM_WORLD, "before", k_rows, 3.0);
    BY_ONE(rename(path_of("before"), path_of("together")));
    compute_until_told(directory);
    write_file(MPI_COMM_WORLD, "before", k_rows, 4.0);
    BY_ONE(link(path_of("before"), path_of("linked")));
    BY_ONE(unlink(path_of("before")));
    compute_until_told(directory);
    reopened();
    compute_until_told(directory);
    alone();
    compute_until_told(directory);
    write_file(MPI_COMM_WORLD, "deleted", k_rows, 9.0);
    BY_ONE(unlink(path_of("deleted")));
    compute_until_told(directory);
    check_file(MPI_COMM_WORLD, "renamed", k_rows, 2.0);
    return finish();
}
