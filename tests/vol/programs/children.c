/* Goal: a child that was forked beside open files reads complete files, writes files of its own and
 * closes what it has inherited, and its parent's files are none the worse for it. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 64 };

static char g_mine[32], g_childs[32];

static hid_t write_alone(hid_t file, const char* name, double base) {
    hsize_t dims[2] = {k_rows, 64};
    double values[k_rows * 64];
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (uint64_t i = 0; i < k_rows * 64; ++i) values[i] = base + field(i, 64);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    return dataset;
}

static void read_alone(const char* file_name, const char* name, double base) {
    hid_t file = OK(H5Fopen(path_of(file_name), H5F_ACC_RDONLY, H5P_DEFAULT));
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    double values[k_rows * 64];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (uint64_t i = 0; i < k_rows * 64; ++i) CHECK(near(values[i], base + field(i, 64)));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

static void child(hid_t file, hid_t dataset) {
    CHECK(OK(H5Fis_accessible(path_of("complete"), H5P_DEFAULT)) > 0);
    read_alone("complete", "field", 1.0);
    hid_t own = OK(H5Fcreate(path_of(g_childs), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Dclose(write_alone(own, "field", 5.0)));
    OK(H5Fclose(own));
    read_alone(g_childs, "field", 5.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    snprintf(g_mine, sizeof g_mine, "parent_%d", g_rank);
    snprintf(g_childs, sizeof g_childs, "child_%d", g_rank);
    write_file(MPI_COMM_WORLD, "complete", k_rows, 1.0);
    check_file(MPI_COMM_WORLD, "complete", k_rows, 1.0);
    write_file(MPI_COMM_WORLD, "on_its_way", k_rows, 2.0);
    hid_t file = OK(H5Fcreate(path_of(g_mine), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t dataset = write_alone(file, "field", 3.0);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    OK(H5Dclose(write_alone(file, "later", 4.0)));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    for (int i = 0; i < 2; ++i) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            child(file, dataset);
            if (i == 0) _exit(0);
            exit(0); /* HDF5 closes the rest */
        }
        int status = 0;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    OK(H5Dclose(write_alone(file, "last", 6.0)));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    read_alone(g_mine, "field", 3.0);
    read_alone(g_mine, "later", 4.0);
    read_alone(g_mine, "last", 6.0);
    read_alone(g_childs, "field", 5.0);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(MPI_COMM_WORLD, "on_its_way", k_rows, 2.0);
    return finish();
}
