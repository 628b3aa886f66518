/* pfs_mpi_probe: what the synchronous baselines do, so that pfs_test can see that it is charged.
 *
 *   mpirun -n N pfs_mpi_probe mpiio FILE BYTES    collective, interleaved MPI-IO write
 *   mpirun -n N pfs_mpi_probe hdf5 FILE BYTES     collective parallel-HDF5 write, contiguous
 *   mpirun -n N pfs_mpi_probe filter FILE BYTES   the same, chunked and deflated
 *   mpirun -n N pfs_mpi_probe message - BYTES     a ring of Sendrecv, Isend/Wait and Alltoall
 *
 * BYTES: per rank, a multiple of 4096; for messages, of 4 N. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int g_rank, g_ranks;

static int write_mpiio(const char* path, const int* data, int n) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS) {
        return 1;
    }
    MPI_Datatype stripes;
    MPI_Type_vector(n / 1024, 1024, 1024 * g_ranks, MPI_INT, &stripes);
    MPI_Type_commit(&stripes);
    MPI_File_set_view(file, (MPI_Offset)g_rank * 4096, MPI_INT, stripes, "native", MPI_INFO_NULL);
    int code = MPI_File_write_all(file, data, n, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&stripes);
    return MPI_File_close(&file) | code;
}

static int write_hdf5(const char* path, const int* data, int n, int filter) {
    hsize_t all[2] = {(hsize_t)g_ranks, (hsize_t)n}, own[2] = {1, (hsize_t)n};
    hsize_t start[2] = {(hsize_t)g_rank, 0};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    if (filter) {
        H5Pset_chunk(create, 2, own);
        H5Pset_deflate(create, 1);
    }
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t space = H5Screate_simple(2, all, NULL), memory = H5Screate_simple(2, own, NULL);
    hid_t set = H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, create, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, own, NULL);
    herr_t code = H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, data);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(transfer);
    H5Pclose(create);
    H5Pclose(access);
    return H5Fclose(file) < 0 || code < 0;
}

/* Per rank: 2 n ints point to point, and (p - 1) n / p by the collective. */
static int exchange(const int* data, int n) {
    int* in = malloc((size_t)n * sizeof *in);
    int next = (g_rank + 1) % g_ranks, previous = (g_rank + g_ranks - 1) % g_ranks;
    MPI_Sendrecv(data, n, MPI_INT, next, 0, in, n, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Request requests[2];
    MPI_Irecv(in, n, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, n, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    int wrong = in[n - 1] != previous + n - 1;
    MPI_Alltoall(data, n / g_ranks, MPI_INT, in, n / g_ranks, MPI_INT, MPI_COMM_WORLD);
    free(in);
    return wrong;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
    if (argc != 4) {
        fprintf(stderr, "usage: pfs_mpi_probe mpiio|hdf5|filter|message FILE BYTES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int n = (int)(strtoll(argv[3], NULL, 10) / (long long)sizeof(int));
    int* data = malloc((size_t)n * sizeof *data);
    for (int i = 0; i < n; ++i) data[i] = g_rank + i;
    int failed = 1;
    if (!strcmp(argv[1], "mpiio")) failed = write_mpiio(argv[2], data, n);
    if (!strcmp(argv[1], "hdf5")) failed = write_hdf5(argv[2], data, n, 0);
    if (!strcmp(argv[1], "filter")) failed = write_hdf5(argv[2], data, n, 1);
    if (!strcmp(argv[1], "message")) failed = exchange(data, n);
    free(data);
    MPI_Finalize();
    return failed;
}
