/* Goal: integers of every width become blocks, without loss whatever bound there is: identifiers,
 * masks, sorted keys, noise; in any shape, with fill values, converted from other types, written in
 * parts, written again after a flush and in a file that is opened again, in datasets that grow. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 96, k_width = 64, k_types = 8, k_growing = 7000 };

static const char* const k_names[k_types] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};

static hid_t type_of(int which) {
    const hid_t types[k_types] = {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE,
                                  H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE};
    return types[which];
}

/* What any type holds: none is above 2^7. */
static int64_t small_at(hsize_t i, int turn) { return (int64_t)((i / 37 + 11u * turn) % 100); }

static uint64_t noise_at(hsize_t i) {
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 31);
}

/* Rows [from, to) of a [k_rows, k_width] dataset, each rank its share, of the memory type int64. */
static void write_some(hid_t dataset, hsize_t from, hsize_t to, int turn) {
    hsize_t begin, count, dims[2] = {k_rows, k_width};
    share(to - from, &begin, &count);
    hsize_t offset[2] = {from + begin, 0}, extent[2] = {count, k_width};
    int64_t* values = malloc(sizeof(int64_t) * (count * k_width + 1));
    for (hsize_t i = 0; i < count * k_width; ++i)
        values[i] = small_at(offset[0] * k_width + i, turn);
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    if (count > 0)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_INT64, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

/* @param cut, turn  rows from `cut` on are of that turn, those before it of turn 0. */
static void check_some(hid_t dataset, hsize_t cut, int turn) {
    int64_t* read = malloc(sizeof(int64_t) * k_rows * k_width);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, list, read));
    for (hsize_t i = 0; i < k_rows * k_width; ++i)
        CHECK(read[i] == small_at(i, i < cut * k_width ? 0 : turn));
    OK(H5Pclose(list));
    free(read);
}

static void every_width(hid_t file) {
    const hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {40, 50};
    for (int t = 0; t < k_types; ++t) {
        hid_t list = chunked(2, chunk);
        hid_t dataset =
            make_dataset(file, k_names[t], type_of(t), 2, dims, t % 2 ? list : H5P_DEFAULT);
        write_some(dataset, 0, k_rows, 0);
        check_some(dataset, k_rows, 0);
        OK(H5Dclose(dataset));
        OK(H5Pclose(list));
    }
}

static void again_in_part(hid_t file, int turn) {
    for (int t = 0; t < k_types; ++t) {
        hid_t dataset = OK(H5Dopen2(file, k_names[t], H5P_DEFAULT));
        write_some(dataset, 70, k_rows, turn);
        check_some(dataset, 70, turn);
        OK(H5Dclose(dataset));
    }
}

/* All bits count: nothing goes through a floating-point number. */
static void noise(hid_t file) {
    hsize_t n = 5000, begin, count;
    share(n, &begin, &count);
    uint64_t* all = malloc(sizeof(uint64_t) * n);
    for (hsize_t i = 0; i < n; ++i) all[i] = noise_at(i);
    hid_t dataset = make_dataset(file, "noise", H5T_NATIVE_UINT64, 1, &n, H5P_DEFAULT);
    hid_t space = OK(H5Screate_simple(1, &n, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_INDEPENDENT);
    OK(H5Dwrite(dataset, H5T_NATIVE_UINT64, space, space, list, all));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t* read = calloc(n, sizeof(uint64_t));
    OK(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, list, read));
    CHECK(memcmp(read, all, sizeof(uint64_t) * n) == 0);
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    free(read);
    free(all);
}

/* What nobody writes has the fill value; and identifiers take little space. */
static void identifiers(hid_t file) {
    const hsize_t dims[3] = {20, 30, 40};
    const int64_t fill = -77;
    hid_t list = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_fill_value(list, H5T_NATIVE_INT64, &fill));
    hid_t dataset = make_dataset(file, "identifiers", H5T_NATIVE_INT64, 3, dims, list);
    OK(H5Pclose(list));
    hsize_t begin, count;
    share(16, &begin, &count);
    const hsize_t offset[3] = {begin, 0, 0}, extent[3] = {count, 30, 40};
    int64_t* values = malloc(sizeof(int64_t) * 20 * 30 * 40);
    for (hsize_t i = 0; i < count * 1200; ++i)
        values[i] = (INT64_C(1) << 60) + (int64_t)(begin * 1200 + i);
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(3, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_INT64, memory, space, how, values));
    OK(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, how, values));
    for (hsize_t i = 0; i < 24000; ++i)
        CHECK(values[i] == (i < 16 * 1200 ? (INT64_C(1) << 60) + (int64_t)i : fill));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    if (captured()) CHECK(H5Dget_storage_size(dataset) < 24000 * sizeof(int64_t) / 20);
    OK(H5Pclose(how));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    free(values);
}

static void growing(hid_t file) {
    hsize_t now = 3000, most = H5S_UNLIMITED, chunk = 1024;
    hid_t list = chunked(1, &chunk), space = OK(H5Screate_simple(1, &now, &most));
    hid_t dataset =
        OK(H5Dcreate2(file, "growing", H5T_NATIVE_UINT16, space, H5P_DEFAULT, list, H5P_DEFAULT));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
    uint16_t* all = malloc(sizeof(uint16_t) * k_growing);
    uint16_t* read = malloc(sizeof(uint16_t) * k_growing);
    for (int i = 0; i < k_growing; ++i) all[i] = (uint16_t)(65000 + i / 3);
    hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
    hsize_t from = 0;
    for (now = 3000;; now = k_growing) {
        hsize_t begin, count;
        share(now - from, &begin, &count);
        begin += from;
        space = OK(H5Screate_simple(1, &now, NULL));
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
        OK(H5Dwrite(dataset, H5T_NATIVE_UINT16, space, space, how, all));
        OK(H5Sclose(space));
        OK(H5Dread(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, how, read));
        CHECK(memcmp(read, all, sizeof(uint16_t) * now) == 0);
        if (now == k_growing) break;
        from = now;
        const hsize_t end = k_growing;
        OK(H5Dset_extent(dataset, &end));
    }
    OK(H5Pclose(how));
    OK(H5Dclose(dataset));
    free(read);
    free(all);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("integers");
    every_width(file);
    noise(file);
    identifiers(file);
    growing(file);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    again_in_part(file, 1);
    OK(H5Fclose(file));
    file = open_file("integers", H5F_ACC_RDWR);
    again_in_part(file, 2);
    OK(H5Fclose(file));
    return finish();
}
