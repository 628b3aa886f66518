/* Goal: a program that finds its own output again, and one that ends with everything open, as
 * own_output.py starts them: natively and under the connector, with no plugin but the connector.
 *
 * own_output STEP PATH: `write` makes a file and closes it; `read` reads it by the ordinary driver,
 * and where MPI is there also through MPI-IO; `both` does one after the other; `end` leaves file
 * and dataset open, after a close that was refused, and returns; `finalize` also calls
 * MPI_Finalize. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 200000 };
static double in[N], out[N];

static void need(int holds, const char* what) {
    if (holds) return;
    printf("own_output: %s\n", what);
    exit(1);
}

static hid_t access_of(int through_mpi) {
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (through_mpi) H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
    return list;
}

static hid_t make(const char* path, hid_t access, hid_t* dataset) {
    const hsize_t n = N;
    const hid_t space = H5Screate_simple(1, &n, NULL);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    *dataset = H5Dcreate2(file, "u", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    need(H5Dwrite(*dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, in) >= 0, "H5Dwrite");
    H5Sclose(space);
    return file;
}

static void read_back(const char* path, hid_t access) {
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    need(file >= 0, "H5Fopen");
    const hid_t dataset = H5Dopen2(file, "u", H5P_DEFAULT);
    memset(out, 0, sizeof out);
    need(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0, "H5Dread");
    need(memcmp(in, out, sizeof in) == 0, "values that were read");
    H5Dclose(dataset);
    need(H5Fclose(file) >= 0, "H5Fclose");
}

int main(int argc, char** argv) {
    need(argc == 3, "usage: own_output STEP PATH");
    const char *step = argv[1], *path = argv[2];
    for (int i = 0; i < N; ++i) in[i] = 1.0 + i * 0.25;
    MPI_Init(&argc, &argv);
    const hid_t ordinary = access_of(0), parallel = access_of(1);
    hid_t dataset = -1;
    if (strcmp(step, "write") == 0 || strcmp(step, "both") == 0) {
        const hid_t file = make(path, parallel, &dataset);
        H5Dclose(dataset);
        need(H5Fclose(file) >= 0, "H5Fclose");
    }
    if (strcmp(step, "read") == 0 || strcmp(step, "both") == 0) {
        read_back(path, ordinary);
        read_back(path, parallel);
    }
    if (strcmp(step, "end") == 0 || strcmp(step, "finalize") == 0) {
        const hid_t file = make(path, parallel, &dataset);
        herr_t closed = 0;
        H5E_BEGIN_TRY { closed = H5Fclose(file); }
        H5E_END_TRY
        need(closed < 0, "H5Fclose with an open dataset (close degree SEMI) must fail");
        if (strcmp(step, "end") == 0) return 0;
    }
    MPI_Finalize();
    return 0;
}
