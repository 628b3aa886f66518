/* Goal: datasets of every layout, small and large, written by all ranks and read back. */
#include "check.h"

enum { k_rows = 96, k_width = 64 };

static void compact(hid_t file) {
    hsize_t dims[1] = {32};
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_layout(creation, H5D_COMPACT));
    hid_t dataset = make_dataset(file, "compact", H5T_IEEE_F64LE, 1, dims, creation);
    OK(H5Pclose(creation));
    double values[32];
    for (int i = 0; i < 32; ++i) values[i] = i * 0.5;
    /* All ranks hold it, all write the same. */
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    OK(H5Pclose(list));
    double read[32] = {0};
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
    CHECK(memcmp(values, read, sizeof read) == 0);
    creation = OK(H5Dget_create_plist(dataset));
    CHECK(H5Pget_layout(creation) == H5D_COMPACT);
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
}

static void by_rows(hid_t file, const char* name, hid_t creation, H5FD_mpio_xfer_t how) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, creation);
    write_rows(dataset, k_rows, k_width, 1.0, how);
    OK(H5Dclose(dataset));
}

static void filtered_integers(hid_t file) {
    hsize_t dims[2] = {k_rows, k_width};
    hsize_t chunk[2] = {16, k_width};
    hid_t creation = chunked(2, chunk);
    OK(H5Pset_shuffle(creation));
    OK(H5Pset_deflate(creation, 4));
    OK(H5Pset_fletcher32(creation));
    hid_t dataset = make_dataset(file, "deflated_integers", H5T_STD_I32LE, 2, dims, creation);
    OK(H5Pclose(creation));
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    int* values = malloc(sizeof(int) * (size_t)(count * k_width + 1));
    for (hsize_t i = 0; i < count * k_width; ++i) values[i] = (int)(begin * k_width + i);
    hid_t space = OK(H5Dget_space(dataset));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Sclose(memory));
    OK(H5Dclose(dataset));
    free(values);
}

static void check_all(hid_t file) {
    const char* names[] = {"contiguous",    "contiguous_independent",
                           "chunked",       "one_chunk",
                           "uneven_chunks", "deflated",
                           "early",         "alone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        hid_t dataset = OK(H5Dopen2(file, names[i], H5P_DEFAULT));
        check_rows(dataset, k_rows, k_width, 1.0);
        OK(H5Dclose(dataset));
    }
    static int values[k_rows * k_width];
    hid_t dataset = OK(H5Dopen2(file, "deflated_integers", H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < k_rows * k_width; ++i) CHECK(values[i] == i);
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, "scalar", H5P_DEFAULT));
    double value = 0;
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value));
    CHECK(value == 2.5);
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, "null", H5P_DEFAULT));
    hid_t space = OK(H5Dget_space(dataset));
    CHECK(H5Sget_simple_extent_type(space) == H5S_NULL);
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, "empty", H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value));
    OK(H5Dclose(dataset));
}

static void odd_spaces(hid_t file) {
    double value = 2.5;
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t dataset = OK(
        H5Dcreate2(file, "scalar", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value));
    OK(H5Dclose(dataset));
    OK(H5Sclose(space));
    space = OK(H5Screate(H5S_NULL));
    dataset =
        OK(H5Dcreate2(file, "null", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Dclose(dataset));
    OK(H5Sclose(space));
    hsize_t dims[2] = {0, 1000};
    dataset = make_dataset(file, "empty", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("layouts");
    compact(file);
    by_rows(file, "contiguous", H5P_DEFAULT, H5FD_MPIO_COLLECTIVE);
    by_rows(file, "contiguous_independent", H5P_DEFAULT, H5FD_MPIO_INDEPENDENT);
    const hsize_t chunks[][2] = {{16, 16}, {k_rows, k_width}, {37, 23}, {24, k_width}};
    const char* names[] = {"chunked", "one_chunk", "uneven_chunks", "early"};
    for (int i = 0; i < 4; ++i) {
        hid_t creation = chunked(2, chunks[i]);
        if (i == 3) OK(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY));
        by_rows(file, names[i], creation, H5FD_MPIO_COLLECTIVE);
        OK(H5Pclose(creation));
    }
    hid_t creation = chunked(2, chunks[0]);
    by_rows(file, "alone", creation, H5FD_MPIO_INDEPENDENT);
    OK(H5Pset_deflate(creation, 1));
    by_rows(file, "deflated", creation, H5FD_MPIO_COLLECTIVE);
    OK(H5Pclose(creation));
    filtered_integers(file);
    odd_spaces(file);
    OK(H5Fclose(file));
    file = open_file("layouts", H5F_ACC_RDONLY);
    check_all(file);
    OK(H5Fclose(file));
    return finish();
}
