/* Goal: another program, started by fork and exec while a file is open and has values that wait,
 * uses HDF5 for itself and takes nothing from its parent's file. */
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 64 };

/* In the other program, which is no part of the MPI job: it reads a file that is complete, and
 * writes one of its own. 0: all is well. */
static int other_program(const char* complete, const char* own) {
    static double values[k_rows * 64];
    const char* bound = getenv("VOL_TEST_BOUND");
    const double limit = bound != NULL ? atof(bound) : 0.0;
    hid_t file = H5Fopen(complete, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "field", H5P_DEFAULT);
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) return 2;
    for (uint64_t i = 0; i < k_rows * 64; ++i)
        if (fabs(values[i] - (1.0 + field(i, 64))) > limit) return 3;
    if (H5Dclose(dataset) < 0 || H5Fclose(file) < 0) return 4;
    file = H5Fcreate(own, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t dims[2] = {k_rows, 64};
    hid_t space = H5Screate_simple(2, dims, NULL);
    dataset =
        H5Dcreate2(file, "field", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) return 5;
    return H5Dclose(dataset) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0 ? 6 : 0;
}

static void run_other(const char* program) {
    char own[32], complete[1024], written[1024];
    snprintf(own, sizeof own, "other_%d", g_rank);
    snprintf(complete, sizeof complete, "%s", path_of("complete"));
    snprintf(written, sizeof written, "%s", path_of(own));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, "other", complete, written, (char*)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv) {
    if (argc == 4 && strcmp(argv[1], "other") == 0) return other_program(argv[2], argv[3]);
    start(&argc, &argv);
    write_file(MPI_COMM_WORLD, "complete", k_rows, 1.0);
    check_file(MPI_COMM_WORLD, "complete", k_rows, 1.0);
    hsize_t dims[2] = {k_rows, 64};
    hid_t file = create_file("beside_exec");
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    MPI_Barrier(MPI_COMM_WORLD);
    run_other(argv[0]);
    check_rows(dataset, k_rows, 64, 2.0);
    write_rows(dataset, k_rows, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    run_other(argv[0]); /* while blocks may be on their way */
    check_file(MPI_COMM_WORLD, "beside_exec", k_rows, 3.0);
    return finish();
}
