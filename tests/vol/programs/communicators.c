/* Goal: files of a part of the ranks: halves write files of their own at the same time, every rank
 * one of its own, then all together; a file with MPI-IO beside one without. */
#include <stdio.h>

#include "check.h"

/* All ranks of `comm` write a file of rows and read it back. */
static void file_of(MPI_Comm comm, const char* name, double base) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    hid_t access = mpi_access(comm);
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    check_connector(file);
    hsize_t dims[2] = {(hsize_t)ranks * 32, 64}, offset[2] = {(hsize_t)rank * 32, 0};
    hsize_t extent[2] = {32, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    double values[32 * 64];
    for (uint64_t i = 0; i < 32 * 64; ++i) values[i] = base + field(offset[0] * 64 + i, 64);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    put_int(file, "ranks", ranks);
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of(name), H5F_ACC_RDONLY, access));
    dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    check_rows(dataset, dims[0], 64, base);
    OK(H5Dclose(dataset));
    CHECK(get_int(file, "ranks") == ranks);
    OK(H5Fclose(file));
    OK(H5Pclose(access));
}

/* A file without MPI on one rank, while another with MPI is open on all. */
static void serial_beside_parallel(void) {
    hid_t parallel = create_file("beside");
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(parallel, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    if (g_rank == 0) {
        hid_t serial = OK(H5Fcreate(path_of("serial"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        hid_t alone = make_dataset(serial, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        double* values = malloc(sizeof(double) * 4096);
        for (uint64_t i = 0; i < 4096; ++i) values[i] = 7.0 + field(i, 64);
        OK(H5Dwrite(alone, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        free(values);
        OK(H5Dclose(alone));
        OK(H5Fclose(serial));
        serial = OK(H5Fopen(path_of("serial"), H5F_ACC_RDONLY, H5P_DEFAULT));
        alone = OK(H5Dopen2(serial, "field", H5P_DEFAULT));
        values = malloc(sizeof(double) * 4096);
        OK(H5Dread(alone, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        for (uint64_t i = 0; i < 4096; ++i) CHECK(near(values[i], 7.0 + field(i, 64)));
        free(values);
        OK(H5Dclose(alone));
        OK(H5Fclose(serial));
    }
    write_rows(dataset, 64, 64, 8.0, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, 64, 64, 8.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(parallel));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
    file_of(half, g_rank % 2 ? "odd" : "even", g_rank % 2);
    MPI_Comm_free(&half);
    char name[32];
    snprintf(name, sizeof name, "own_%d", g_rank);
    file_of(MPI_COMM_SELF, name, g_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    file_of(MPI_COMM_WORLD, "together", 3.0);
    serial_beside_parallel();
    return finish();
}
