/* Goal: what HDF5 tells of a dataset beside its values is what it tells natively: the chunk cache
 * of a dataset that is open twice, its creation list while it is open and after, the offsets of
 * chunks along each axis that grows, fill values through a data transform. A file that is not
 * captured is known to be open while an object of it is. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 12, k_width = 40 };
static const hsize_t k_dims[2] = {k_rows, k_width}, k_chunk[2] = {5, 16};

static size_t cache_of(hid_t dataset) {
    size_t slots = 0, bytes = 0;
    double preemption = 0;
    hid_t access = OK(H5Dget_access_plist(dataset));
    OK(H5Pget_chunk_cache(access, &slots, &bytes, &preemption));
    OK(H5Pclose(access));
    return bytes;
}

/* All identifiers share the cache of the first one. */
static void one_cache(hid_t file, const char* name, hid_t type, bool filtered) {
    hid_t creation = chunked(2, k_chunk), access = OK(H5Pcreate(H5P_DATASET_ACCESS));
    if (filtered) OK(H5Pset_deflate(creation, 4));
    OK(H5Pset_chunk_cache(access, 101, 54321, 0.5));
    hid_t first = make_dataset(file, name, type, 2, k_dims, creation);
    const size_t bytes = cache_of(first);
    hid_t second = OK(H5Dopen2(file, name, access));
    CHECK(cache_of(second) == bytes && bytes != 54321);
    OK(H5Dclose(first));
    CHECK(cache_of(second) == bytes);
    OK(H5Dclose(second));
    first = OK(H5Dopen2(file, name, access));
    second = OK(H5Dopen2(file, name, H5P_DEFAULT));
    CHECK(cache_of(first) == 54321 && cache_of(second) == 54321);
    OK(H5Dclose(first));
    OK(H5Dclose(second));
    OK(H5Pclose(access));
    OK(H5Pclose(creation));
}

static H5D_alloc_time_t allocation_of(hid_t dataset) {
    H5D_alloc_time_t time = H5D_ALLOC_TIME_ERROR;
    hid_t creation = OK(H5Dget_create_plist(dataset));
    OK(H5Pget_alloc_time(creation, &time));
    OK(H5Pclose(creation));
    return time;
}

static void allocation_times(hid_t file, const char* name, hid_t type) {
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_LATE));
    hid_t first = make_dataset(file, name, type, 2, k_dims, creation);
    hid_t second = OK(H5Dopen2(file, name, H5P_DEFAULT));
    CHECK(allocation_of(first) == H5D_ALLOC_TIME_LATE);
    CHECK(allocation_of(second) == H5D_ALLOC_TIME_LATE);
    OK(H5Dclose(first));
    OK(H5Dclose(second));
    first = OK(H5Dopen2(file, name, H5P_DEFAULT));
    CHECK(allocation_of(first) == H5D_ALLOC_TIME_EARLY);
    OK(H5Dclose(first));
    OK(H5Pclose(creation));
}

/* Shuffle keeps the size of an element. */
static void filter_values(hid_t file) {
    hid_t creation = chunked(2, k_chunk);
    OK(H5Pset_shuffle(creation));
    OK(H5Pset_deflate(creation, 4));
    hid_t dataset = make_dataset(file, "shuffled", H5T_NATIVE_DOUBLE, 2, k_dims, creation);
    OK(H5Pclose(creation));
    creation = OK(H5Dget_create_plist(dataset));
    unsigned flags = 0, values[8] = {0}, config = 0;
    size_t count = 8;
    char name[32];
    CHECK(OK(H5Pget_filter2(creation, 0, &flags, &count, values, sizeof name, name, &config)) ==
          H5Z_FILTER_SHUFFLE);
    CHECK(count == 1 && values[0] == sizeof(double));
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
}

typedef struct {
    hsize_t count;
    unsigned seen[2][3][4];
} Seen;

static void see(Seen* seen, const hsize_t* offset) {
    CHECK(offset[0] % 2 == 0 && offset[0] < 4 && offset[1] < 3 && offset[2] % 3 == 0 &&
          offset[2] < 12);
    ++seen->seen[offset[0] / 2][offset[1]][offset[2] / 3];
    ++seen->count;
}

static int see_chunk(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes,
                     void* data) {
    (void)mask;
    CHECK(address != HADDR_UNDEF && bytes == 2 * 1 * 3 * 4);
    see(data, offset);
    return 0;
}

static void check_seen(const Seen* seen) {
    CHECK(seen->count == 24);
    for (int i = 0; i < 24; ++i) CHECK((&seen->seen[0][0][0])[i] == 1);
}

/* Of values that do not become blocks, in every format: one axis has no limit. */
static void offsets(hid_t file, int axis) {
    hsize_t dims[3] = {4, 3, 10}, most[3] = {4, 3, 12}, chunk[3] = {2, 1, 3};
    char name[32];
    snprintf(name, sizeof name, "along_%d", axis);
    most[axis] = H5S_UNLIMITED;
    hid_t type = OK(H5Tcreate(H5T_OPAQUE, 4)), space = OK(H5Screate_simple(3, dims, most));
    hid_t creation = chunked(3, chunk);
    OK(H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC));
    hid_t dataset = OK(H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    Seen all = {0}, one_by_one = {0};
    OK(H5Dchunk_iter(dataset, H5P_DEFAULT, see_chunk, &all));
    check_seen(&all);
    for (hsize_t n = 0; n < 24; ++n) {
        hsize_t offset[3], bytes = 0;
        unsigned mask = 9;
        haddr_t address = HADDR_UNDEF, again = HADDR_UNDEF;
        OK(H5Dget_chunk_info(dataset, H5S_ALL, n, offset, &mask, &address, &bytes));
        CHECK(mask == 0 && address != HADDR_UNDEF && bytes == 24);
        see(&one_by_one, offset);
        OK(H5Dget_chunk_info_by_coord(dataset, offset, &mask, &again, &bytes));
        CHECK(mask == 0 && again == address && bytes == 24);
    }
    check_seen(&one_by_one);
    OK(H5Dclose(dataset));
    OK(H5Pclose(creation));
    OK(H5Sclose(space));
    OK(H5Tclose(type));
}

static void check_transformed(hid_t dataset, double expected) {
    double values[k_rows * k_width];
    hid_t list = OK(H5Pcreate(H5P_DATASET_XFER));
    OK(H5Pset_data_transform(list, "2*x+1"));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    for (int i = 0; i < k_rows * k_width; ++i) CHECK(values[i] == expected);
    OK(H5Pclose(list));
}

/* Parallel HDF5 makes the space of a dataset at once, and transforms what lies there. */
static void transformed_fills(hid_t file) {
    hid_t creation = chunked(2, k_chunk);
    hid_t dataset = make_dataset(file, "unwritten", H5T_NATIVE_DOUBLE, 2, k_dims, creation);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    check_transformed(dataset, 1.0);
    OK(H5Dclose(dataset));
    OK(H5Pclose(creation));
}

/* This rank's own, by the ordinary driver. */
static hid_t own_file(const char* name, hid_t creation, H5F_close_degree_t degree) {
    hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_fclose_degree(access, degree));
    hid_t file = creation < 0 ? H5Fopen(name, H5F_ACC_RDWR, access)
                              : H5Fcreate(name, H5F_ACC_TRUNC, creation, access);
    OK(H5Pclose(access));
    return file;
}

/* HDF5 itself makes space when it is written, and has nothing to transform before. */
static void plain_fills(void) {
    char name[32];
    snprintf(name, sizeof name, "own_%d", g_rank);
    hid_t file = OK(own_file(path_of(name), H5P_DEFAULT, H5F_CLOSE_SEMI));
    hid_t dataset = make_dataset(file, "unwritten", H5T_NATIVE_DOUBLE, 2, k_dims, H5P_DEFAULT);
    check_transformed(dataset, 0.0);
    double* ones = malloc(sizeof *ones * k_rows * k_width);
    for (int i = 0; i < k_rows * k_width; ++i) ones[i] = 1.0;
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones));
    check_transformed(dataset, 3.0);
    free(ones);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* A user block keeps the connector from the file. */
static void left_open(void) {
    char name[32], before[1024], after[1024];
    snprintf(name, sizeof name, "left_open_%d", g_rank);
    snprintf(before, sizeof before, "%s", path_of(name));
    snprintf(name, sizeof name, "renamed_%d", g_rank);
    snprintf(after, sizeof after, "%s", path_of(name));
    hid_t creation = OK(H5Pcreate(H5P_FILE_CREATE));
    OK(H5Pset_userblock(creation, 512));
    hid_t file = OK(own_file(before, creation, H5F_CLOSE_WEAK));
    hid_t dataset = make_dataset(file, "dataset", H5T_NATIVE_INT, 2, k_dims, H5P_DEFAULT);
    OK(H5Fclose(file));
    FAILS(own_file(before, H5P_DEFAULT, H5F_CLOSE_WEAK));
    file = OK(own_file(before, H5I_INVALID_HID, H5F_CLOSE_WEAK));
    OK(H5Fclose(file));
    OK(H5Dclose(dataset));
    OK(rename(before, after));
    file = OK(own_file(after, H5I_INVALID_HID, H5F_CLOSE_SEMI));
    OK(H5Fclose(file));
    OK(H5Pclose(creation));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t text = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(text, 6));
    hid_t file = create_file("told");
    one_cache(file, "cache", H5T_NATIVE_DOUBLE, false);
    one_cache(file, "filtered", H5T_NATIVE_DOUBLE, true);
    one_cache(file, "text", text, false);
    allocation_times(file, "late", H5T_NATIVE_DOUBLE);
    allocation_times(file, "late_text", text);
    filter_values(file);
    for (int axis = 0; axis < 3; ++axis) offsets(file, axis);
    transformed_fills(file);
    OK(H5Fclose(file));
    OK(H5Tclose(text));
    plain_fills();
    left_open();
    return finish();
}
