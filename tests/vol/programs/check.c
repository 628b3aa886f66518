#include "check.h"

#include <math.h>
#include <stdio.h>

int g_rank;
int g_ranks;

static const char* g_directory;
static double g_bound;

void check_that(bool holds, const char* text, const char* file, int line) {
    if (holds) return;
    fprintf(stderr, "%s:%d: rank %d of %d: not so: %s\n", file, line, g_rank, g_ranks, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Stops at the message that has the words. */
static herr_t look_for(unsigned n, const H5E_error2_t* error, void* words) {
    (void)n;
    return error->desc != NULL && strstr(error->desc, (const char*)words) != NULL;
}

void check_said(const char* words, const char* text, const char* file, int line) {
    if (H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for, (void*)words) > 0) return;
    H5Eprint2(H5E_DEFAULT, stderr);
    fprintf(stderr, "nothing above says: %s\n", words);
    check_that(false, text, file, line);
}

/* What HDF5 has told of errors since the last check. An application that has errors printed would
 * see them. */
static int g_told;
static char g_first_told[512];

static herr_t keep_first(unsigned n, const H5E_error2_t* error, void* unused) {
    (void)unused;
    if (n == 0 && g_told == 0)
        snprintf(g_first_told, sizeof g_first_told, "%s: %s", error->func_name,
                 error->desc ? error->desc : "");
    return 0;
}

static herr_t tell(hid_t stack, void* unused) {
    H5Ewalk2(stack, H5E_WALK_UPWARD, keep_first, unused);
    ++g_told;
    return 0;
}

void forget_told(void) { g_told = 0; }

int64_t check_ok(int64_t value, const char* text, const char* file, int line) {
    if (value < 0) {
        H5Eprint2(H5E_DEFAULT, stderr);
        check_that(false, text, file, line);
    }
    if (g_told > 0) {
        fprintf(stderr, "told of %d errors, and nothing failed: %s\n", g_told, g_first_told);
        check_that(false, text, file, line);
    }
    return value;
}

void start(int* argc, char*** argv) {
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
    CHECK(*argc >= 2); /* the directory */
    g_directory = (*argv)[1];
    const char* bound = getenv("VOL_TEST_BOUND");
    g_bound = bound ? atof(bound) : 0.0;
    H5Eset_auto2(H5E_DEFAULT, tell, NULL); /* OK prints the stack, FAILS wants silence */
    OK(H5open());
}

int finish(void) {
    /* Whatever a program forgot to close would be closed silently by the library. */
    CHECK(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

const char* path_of(const char* name) {
    static char buffers[4][1024];
    static int next;
    char* buffer = buffers[next++ % 4];
    snprintf(buffer, sizeof buffers[0], "%s/%s.h5", g_directory, name);
    return buffer;
}

hid_t mpi_access(MPI_Comm comm) {
    hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL));
    return access;
}

void check_connector(hid_t object) {
    char name[64] = "";
    const char* wanted = getenv("VOL_TEST_CONNECTOR");
    OK(H5VLget_connector_name(object, name, sizeof name));
    if (strcmp(name, wanted ? wanted : "native") != 0) {
        fprintf(stderr, "the connector is %s\n", name);
        CHECK(!"the connector that was asked for is there");
    }
}

bool captured(void) {
    return getenv("VOL_TEST_CONNECTOR") != NULL && getenv("VOL_TEST_HANDED_ON") == NULL;
}

hid_t create_file(const char* name) {
    hid_t access = mpi_access(MPI_COMM_WORLD);
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    OK(H5Pclose(access));
    check_connector(file);
    return file;
}

hid_t open_file(const char* name, unsigned flags) {
    hid_t access = mpi_access(MPI_COMM_WORLD);
    hid_t file = OK(H5Fopen(path_of(name), flags, access));
    OK(H5Pclose(access));
    check_connector(file);
    return file;
}

hid_t transfer(H5FD_mpio_xfer_t how) {
    hid_t list = OK(H5Pcreate(H5P_DATASET_XFER));
    OK(H5Pset_dxpl_mpio(list, how));
    return list;
}

double field(uint64_t index, uint64_t width) {
    double x = (double)(index % width) / (double)width;
    double y = (double)(index / width) * 0.05;
    return sin(6.0 * x + y) + 0.5 * cos(3.0 * y - 2.0 * x) + 0.01 * y;
}

bool near(double read, double written) { return fabs(read - written) <= g_bound; }

void share(hsize_t n, hsize_t* begin, hsize_t* count) {
    hsize_t ranks = (hsize_t)g_ranks;
    hsize_t rank = (hsize_t)g_rank;
    hsize_t each = n / ranks;
    hsize_t more = n % ranks;
    *begin = rank * each + (rank < more ? rank : more);
    *count = each + (rank < more ? 1 : 0);
}

hid_t make_dataset(hid_t place, const char* name, hid_t type, int rank, const hsize_t* dims,
                   hid_t creation) {
    hid_t space = OK(H5Screate_simple(rank, dims, NULL));
    hid_t dataset = OK(H5Dcreate2(place, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Sclose(space));
    return dataset;
}

hid_t chunked(int rank, const hsize_t* chunk) {
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_chunk(creation, rank, chunk));
    return creation;
}

void write_rows(hid_t dataset, hsize_t rows, hsize_t width, double base, H5FD_mpio_xfer_t how) {
    hsize_t begin;
    hsize_t count;
    share(rows, &begin, &count);
    hsize_t offset[2] = {begin, 0};
    hsize_t extent[2] = {count, width};
    double* values = malloc(sizeof(double) * (size_t)(count * width + 1));
    for (hsize_t i = 0; i < count * width; ++i) values[i] = base + field(begin * width + i, width);
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    hid_t space = OK(H5Dget_space(dataset));
    if (count > 0)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    hid_t list = transfer(how);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    for (hsize_t i = 0; i < count * width; ++i) values[i] = -1e30; /* the buffer is ours again */
    free(values);
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Sclose(memory));
}

void check_rows(hid_t dataset, hsize_t rows, hsize_t width, double base) {
    double* values = malloc(sizeof(double) * (size_t)(rows * width));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    for (hsize_t i = 0; i < rows * width; ++i) CHECK(near(values[i], base + field(i, width)));
    OK(H5Pclose(list));
    free(values);
}

void write_box(hid_t dataset, int rank, const hsize_t* offset, const hsize_t* extent,
               const double* values) {
    hid_t memory = OK(H5Screate_simple(rank, extent, NULL));
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Sclose(memory));
}

void write_file(MPI_Comm comm, const char* name, hsize_t rows, double base) {
    int rank;
    int ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    hid_t access = mpi_access(comm);
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    OK(H5Pclose(access));
    check_connector(file);
    hsize_t dims[2] = {rows, 64};
    hsize_t each = rows / (hsize_t)ranks;
    hsize_t offset[2] = {each * (hsize_t)rank, 0};
    hsize_t extent[2] = {rank + 1 == ranks ? rows - offset[0] : each, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    double* values = malloc(sizeof(double) * (size_t)(extent[0] * 64));
    for (hsize_t i = 0; i < extent[0] * 64; ++i) values[i] = base + field(offset[0] * 64 + i, 64);
    write_box(dataset, 2, offset, extent, values);
    free(values);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

void check_file(MPI_Comm comm, const char* name, hsize_t rows, double base) {
    hid_t access = mpi_access(comm);
    hid_t file = OK(H5Fopen(path_of(name), H5F_ACC_RDONLY, access));
    OK(H5Pclose(access));
    hid_t dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    check_rows(dataset, rows, 64, base);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

void put_int(hid_t object, const char* name, int value) {
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t attribute = OK(H5Acreate2(object, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, H5T_NATIVE_INT, &value));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
}

int get_int(hid_t object, const char* name) {
    int value = 0;
    hid_t attribute = OK(H5Aopen(object, name, H5P_DEFAULT));
    OK(H5Aread(attribute, H5T_NATIVE_INT, &value));
    OK(H5Aclose(attribute));
    return value;
}
