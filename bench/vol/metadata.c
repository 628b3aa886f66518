/* Many small things, as tools that write one dataset per particle species, detector or station do:
 * groups of 100 small datasets with 20 attributes each, all calls collective.
 *
 *     mpirun -n 4 metadata FILE.h5 DATASETS [collective]
 *
 * Plain parallel HDF5. Prints one line of JSON: seconds of the slowest rank for creating (groups,
 * datasets, attributes), writing (one collective H5Dwrite a dataset) and closing (datasets, file
 * and library: whatever was put off is done then). `collective` asks HDF5 for collective metadata
 * operations. Exit status 0 or 1. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_attributes = 20, k_rows = 8, k_columns = 8, k_group = 100 };

static int g_rank, g_ranks;

static hid_t good(hid_t value, const char* what) {
    if (value >= 0) return value;
    fprintf(stderr, "metadata: rank %d: HDF5 cannot %s\n", g_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return value;
}

/* Since the last call, on the slowest rank. */
static double lap(void) {
    static double last;
    MPI_Barrier(MPI_COMM_WORLD);
    double now = MPI_Wtime(), took = now - last;
    last = now;
    return took;
}

static hid_t create_file(const char* path, int collective) {
    hid_t access = good(H5Pcreate(H5P_FILE_ACCESS), "make a list");
    good(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "use MPI-IO");
    if (collective) {
        good(H5Pset_coll_metadata_write(access, 1), "write metadata collectively");
        good(H5Pset_all_coll_metadata_ops(access, 1), "read metadata collectively");
    }
    hid_t file = good(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), "create the file");
    H5Pclose(access);
    return file;
}

static void describe(hid_t dataset, int which) {
    hid_t scalar = good(H5Screate(H5S_SCALAR), "make a dataspace");
    for (int i = 0; i < k_attributes; ++i) {
        char name[32];
        snprintf(name, sizeof name, "attribute_%02d", i);
        double value = which + 0.01 * i;
        hid_t attribute =
            good(H5Acreate2(dataset, name, H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5P_DEFAULT),
                 "make an attribute");
        good(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value), "write an attribute");
        H5Aclose(attribute);
    }
    H5Sclose(scalar);
}

static void create_all(hid_t file, hid_t* datasets, int n) {
    hsize_t dims[2] = {(hsize_t)g_ranks * k_rows, k_columns};
    hid_t space = good(H5Screate_simple(2, dims, NULL), "make a dataspace");
    hid_t group = -1;
    for (int i = 0; i < n; ++i) {
        char name[32];
        if (i % k_group == 0) {
            if (group >= 0) H5Gclose(group);
            snprintf(name, sizeof name, "group_%03d", i / k_group);
            group =
                good(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "make a group");
        }
        snprintf(name, sizeof name, "dataset_%04d", i);
        datasets[i] = good(
            H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
            "make a dataset");
        describe(datasets[i], i);
    }
    if (group >= 0) H5Gclose(group);
    H5Sclose(space);
}

static void write_all(const hid_t* datasets, int n) {
    hsize_t dims[2] = {(hsize_t)g_ranks * k_rows, k_columns};
    hsize_t offset[2] = {(hsize_t)g_rank * k_rows, 0}, extent[2] = {k_rows, k_columns};
    double values[k_rows * k_columns];
    hid_t in_file = good(H5Screate_simple(2, dims, NULL), "make a dataspace");
    hid_t in_memory = good(H5Screate_simple(2, extent, NULL), "make a dataspace");
    hid_t list = good(H5Pcreate(H5P_DATASET_XFER), "make a list");
    good(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, offset, NULL, extent, NULL), "select");
    good(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE), "write collectively");
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < k_rows * k_columns; ++k) values[k] = i + 1e-3 * k + g_rank;
        good(H5Dwrite(datasets[i], H5T_NATIVE_DOUBLE, in_memory, in_file, list, values), "write");
    }
    H5Pclose(list);
    H5Sclose(in_memory);
    H5Sclose(in_file);
}

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (n < 1) {
        if (g_rank == 0) fprintf(stderr, "usage: metadata FILE.h5 DATASETS [collective]\n");
        MPI_Finalize();
        return 1;
    }
    hid_t* datasets = malloc(sizeof(hid_t) * (size_t)n);
    good(H5open(), "start");
    lap();
    hid_t file = create_file(argv[1], argc > 3 && strcmp(argv[3], "collective") == 0);
    create_all(file, datasets, n);
    double create_s = lap();
    write_all(datasets, n);
    double write_s = lap();
    for (int i = 0; i < n; ++i) good(H5Dclose(datasets[i]), "close a dataset");
    good(H5Fclose(file), "close the file");
    good(H5close(), "close itself");
    double close_s = lap();
    if (g_rank == 0)
        printf("{\"create_s\": %.6f, \"write_s\": %.6f, \"close_s\": %.6f, \"total_s\": %.6f}\n",
               create_s, write_s, close_s, create_s + write_s + close_s);
    free(datasets);
    MPI_Finalize();
    return 0;
}
