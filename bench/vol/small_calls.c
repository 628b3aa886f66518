/* Many small calls of plain HDF5: objects of 1 KiB, made, written, described, opened and read one
 * by one, and a dataset written and read in pieces of 1 KiB.
 *
 *     [mpirun -n 2] small_calls FILE.h5 COUNT [KIND [rows]]
 *
 * Under mpirun KIND says how ranks share the file: "collective" or "independent" (the default)
 * transfers through MPI-IO. KIND "one": the ordinary driver, without MPI-IO. Each rank writes its
 * part of every object. `rows`: the rows are read, too. Prints one line of JSON for rank 0: for
 * each kind of call [wall seconds, CPU seconds of the thread that calls]. Exit status 0 or 1. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { k_values = 128, k_group = 100 };

static int g_rank, g_ranks;
static int g_first = 1;

static hid_t good(hid_t value, const char* what) {
    if (value >= 0) return value;
    fprintf(stderr, "small_calls: rank %d: HDF5 cannot %s\n", g_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return value;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Say what was taken since the last call; without a name only begin anew. */
static void lap(const char* name) {
    static double wall, cpu;
    double wall_now = seconds_of(CLOCK_MONOTONIC), cpu_now = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    if (name && g_rank == 0) {
        printf("%s\"%s\": [%.6f, %.6f]", g_first ? "{" : ", ", name, wall_now - wall,
               cpu_now - cpu);
        g_first = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    wall = seconds_of(CLOCK_MONOTONIC);
    cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static hid_t open_file(const char* path, const char* kind, int create) {
    hid_t access = good(H5Pcreate(H5P_FILE_ACCESS), "make a list");
    if (strcmp(kind, "one") != 0)
        good(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "use MPI-IO");
    hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                        : H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    return good(file, "open the file");
}

static const char* path_of(int i) {
    static char path[48];
    snprintf(path, sizeof path, "/group_%03d/dataset_%05d", i / k_group, i);
    return path;
}

static void make_all(hid_t file, hid_t* datasets, int n) {
    hsize_t dims = k_values;
    hid_t space = good(H5Screate_simple(1, &dims, NULL), "make a dataspace");
    for (int i = 0; i < n; ++i) {
        if (i % k_group == 0) {
            char name[32];
            snprintf(name, sizeof name, "group_%03d", i / k_group);
            H5Gclose(good(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                          "make a group"));
        }
        datasets[i] = good(H5Dcreate2(file, path_of(i), H5T_IEEE_F64LE, space, H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           "make a dataset");
    }
    H5Sclose(space);
}

/* An attribute of 1 KiB for each dataset. */
static void describe_all(const hid_t* datasets, int n) {
    double values[k_values];
    hsize_t dims = k_values;
    hid_t space = good(H5Screate_simple(1, &dims, NULL), "make a dataspace");
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < k_values; ++k) values[k] = i + 0.5 * k;
        hid_t attribute =
            good(H5Acreate2(datasets[i], "about", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT),
                 "make an attribute");
        good(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values), "write an attribute");
        H5Aclose(attribute);
    }
    H5Sclose(space);
}

static void read_descriptions(const hid_t* datasets, int n) {
    double values[k_values];
    for (int i = 0; i < n; ++i) {
        hid_t attribute = good(H5Aopen(datasets[i], "about", H5P_DEFAULT), "open an attribute");
        good(H5Aread(attribute, H5T_NATIVE_DOUBLE, values), "read an attribute");
        H5Aclose(attribute);
        if (values[1] != i + 0.5) good(-1, "give back an attribute");
    }
}

/* Each rank has its part of every object. */
typedef struct {
    hid_t in_memory, in_file, list;
    int first, count;
} Part;

static Part make_part(const char* kind) {
    Part part = {.first = k_values / g_ranks * g_rank, .count = k_values / g_ranks};
    hsize_t all = k_values, first = (hsize_t)part.first, count = (hsize_t)part.count;
    part.in_memory = good(H5Screate_simple(1, &count, NULL), "make a dataspace");
    part.in_file = good(H5Screate_simple(1, &all, NULL), "make a dataspace");
    good(H5Sselect_hyperslab(part.in_file, H5S_SELECT_SET, &first, NULL, &count, NULL), "select");
    part.list = good(H5Pcreate(H5P_DATASET_XFER), "make a list");
    if (strcmp(kind, "collective") == 0)
        good(H5Pset_dxpl_mpio(part.list, H5FD_MPIO_COLLECTIVE), "write collectively");
    return part;
}

static void write_all(const hid_t* datasets, int n, const Part* part) {
    double values[k_values];
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < part->count; ++k) values[k] = i + part->first + k;
        good(H5Dwrite(datasets[i], H5T_NATIVE_DOUBLE, part->in_memory, part->in_file, part->list,
                      values),
             "write");
    }
}

static void read_all(const hid_t* datasets, int n, const Part* part) {
    double values[k_values];
    for (int i = 0; i < n; ++i) {
        good(H5Dread(datasets[i], H5T_NATIVE_DOUBLE, part->in_memory, part->in_file, part->list,
                     values),
             "read");
        if (values[0] != i + part->first) good(-1, "give back a dataset");
    }
}

static void close_all(hid_t* datasets, int n) {
    for (int i = 0; i < n; ++i) good(H5Dclose(datasets[i]), "close a dataset");
}

static void open_all(hid_t file, hid_t* datasets, int n) {
    for (int i = 0; i < n; ++i)
        datasets[i] = good(H5Dopen2(file, path_of(i), H5P_DEFAULT), "open a dataset");
}

/* One dataset, a row of 1 KiB a call and rank: what becomes blocks under the connector. */
static void pieces(hid_t file, int n, const Part* part, int write) {
    double values[k_values];
    hsize_t dims[2] = {(hsize_t)n, k_values};
    hid_t space = good(H5Screate_simple(2, dims, NULL), "make a dataspace");
    hid_t dataset = write ? H5Dcreate2(file, "rows", H5T_IEEE_F64LE, space, H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT)
                          : H5Dopen2(file, "rows", H5P_DEFAULT);
    good(dataset, "open the rows");
    for (int i = 0; i < n; ++i) {
        hsize_t offset[2] = {(hsize_t)i, (hsize_t)part->first};
        hsize_t extent[2] = {1, (hsize_t)part->count};
        good(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL), "select");
        if (write) {
            for (int k = 0; k < part->count; ++k) values[k] = i + part->first + k;
            good(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, part->in_memory, space, part->list, values),
                 "write a row");
        } else {
            good(H5Dread(dataset, H5T_NATIVE_DOUBLE, part->in_memory, space, part->list, values),
                 "read a row");
            if (values[0] != i + part->first) good(-1, "give back a row");
        }
    }
    H5Dclose(dataset);
    H5Sclose(space);
}

static void run(const char* path, const char* kind, int rows, hid_t* datasets, int n) {
    Part part = make_part(kind);
    lap(NULL);
    hid_t file = open_file(path, kind, 1);
    make_all(file, datasets, n);
    lap("create datasets");
    write_all(datasets, n, &part);
    lap("write datasets");
    describe_all(datasets, n);
    lap("create attributes");
    read_descriptions(datasets, n);
    lap("read attributes");
    read_all(datasets, n, &part);
    lap("read what was written");
    close_all(datasets, n);
    lap("close datasets");
    pieces(file, n, &part, 1);
    lap("write rows");
    good(H5Fclose(file), "close the file");
    lap("close the file");
    file = open_file(path, kind, 0);
    lap("open the file");
    open_all(file, datasets, n);
    lap("open datasets");
    read_all(datasets, n, &part);
    lap("read datasets");
    read_descriptions(datasets, n);
    lap("read their attributes");
    write_all(datasets, n, &part);
    lap("write again");
    close_all(datasets, n);
    lap("close them again");
    if (rows) {
        pieces(file, n, &part, 0);
        lap("read rows");
    }
    good(H5Fclose(file), "close the file");
    good(H5close(), "close itself");
    lap("close the file again");
    if (g_rank == 0) printf("}\n");
}

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (n < 1) {
        if (g_rank == 0) fprintf(stderr, "usage: small_calls FILE.h5 COUNT [KIND [rows]]\n");
        MPI_Finalize();
        return 1;
    }
    hid_t* datasets = malloc(sizeof(hid_t) * (size_t)n);
    good(H5open(), "start");
    run(argv[1], argc > 3 ? argv[3] : "independent", argc > 4, datasets, n);
    free(datasets);
    MPI_Finalize();
    return 0;
}
