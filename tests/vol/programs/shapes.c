/* Goal: what the chunks of blocks are made of. A contiguous dataset is made before anybody knows
 * how it will be written. Natively all of this is contiguous; under the connector later dumps
 * have chunks that fit the boxes of the first, and rules of the configuration are followed
 * (beside_native.py has them). */
#include <stdio.h>

#include "check.h"

enum { k_side = 32 };

/* [k_side]^3 doubles; each rank writes pencils along the first axis: a share of the second. */
static void write_pencils(hid_t dataset, double base) {
    hsize_t begin, count;
    share(k_side, &begin, &count);
    hsize_t offset[3] = {0, begin, 0}, extent[3] = {k_side, count, k_side};
    double* values = malloc(sizeof(double) * k_side * (size_t)count * k_side);
    for (hsize_t z = 0, i = 0; z < k_side; ++z)
        for (hsize_t y = begin; y < begin + count; ++y)
            for (hsize_t x = 0; x < k_side; ++x)
                values[i++] = base + field((z * k_side + y) * k_side + x, k_side);
    write_box(dataset, 3, offset, extent, values);
    free(values);
}

/* The chunks of a dataset as they lie in the file, which is opened for reading alone: where it was
 * made, calls on chunks tell of those that the program asked for. */
static void stored_chunk(hid_t file, const char* path, int rank, hsize_t* chunk) {
    hid_t dataset = OK(H5Dopen2(file, path, H5P_DEFAULT));
    hid_t list = OK(H5Dget_create_plist(dataset));
    CHECK(H5Pget_chunk(list, rank, chunk) == rank);
    OK(H5Pclose(list));
    OK(H5Dclose(dataset));
}

/* @param fits  the chunks of /step_N/rho straddle no ranks. */
static void check_dump(hid_t file, int step, bool fits) {
    char path[32];
    snprintf(path, sizeof path, "step_%d/rho", step);
    hsize_t chunk[3];
    stored_chunk(file, path, 3, chunk);
    CHECK(!fits || (k_side / (hsize_t)g_ranks) % chunk[1] == 0);
    CHECK(fits || g_ranks == 1 || chunk[1] == k_side);
}

/* One dump: /step_N/rho. */
static void dump(hid_t file, int step) {
    char path[32];
    snprintf(path, sizeof path, "step_%d", step);
    hid_t group = OK(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t dims[3] = {k_side, k_side, k_side};
    hid_t dataset = make_dataset(group, "rho", H5T_IEEE_F64LE, 3, dims, H5P_DEFAULT);
    write_pencils(dataset, step);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    check_rows(dataset, k_side * k_side, k_side, step);
    OK(H5Dclose(dataset));
    OK(H5Gclose(group));
}

static void ruled_chunks(hid_t file) {
    hsize_t dims[3] = {k_side, k_side, k_side};
    hid_t dataset = make_dataset(file, "chunks_by_rule", H5T_IEEE_F64LE, 3, dims, H5P_DEFAULT);
    write_pencils(dataset, 0);
    OK(H5Dclose(dataset));
}

/* Rank 0 writes a part again that lies across two arrays: what the chunks hold besides stays. */
static void write_part_again(hid_t dataset, const double* values, hsize_t begin) {
    hsize_t few = 700;
    hid_t in_file = OK(H5Dget_space(dataset));
    hid_t in_memory = OK(H5Screate_simple(1, &few, NULL));
    OK(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &begin, NULL, &few, NULL));
    if (g_rank > 0) {
        OK(H5Sselect_none(in_file));
        OK(H5Sselect_none(in_memory));
    }
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, list, values + begin));
    OK(H5Pclose(list));
    OK(H5Sclose(in_memory));
    OK(H5Sclose(in_file));
}

/* Arrays of 16^3, flattened: eight for each rank, which writes its own and a bit of the next. */
static void ruled_boxes(hid_t file) {
    const hsize_t cells = 16 * 16 * 16, each = 8 * cells;
    hsize_t all = each * (hsize_t)g_ranks;
    hid_t dataset = make_dataset(file, "boxes_by_rule", H5T_IEEE_F64LE, 1, &all, H5P_DEFAULT);
    hsize_t begin = each * (hsize_t)g_rank;
    hsize_t count = g_rank + 1 < g_ranks ? each + 100 : each;
    double* values = malloc(sizeof(double) * (size_t)all);
    for (hsize_t i = 0; i < all; ++i) values[i] = field(i, 16);
    hid_t in_file = OK(H5Screate_simple(1, &all, NULL));
    hid_t in_memory = OK(H5Screate_simple(1, &count, NULL));
    OK(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, list, values + begin));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    write_part_again(dataset, values, cells - 300);
    double* read = malloc(sizeof(double) * (size_t)all);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (hsize_t i = 0; i < all; ++i) CHECK(near(read[i], values[i]));
    free(read);
    free(values);
    OK(H5Pclose(list));
    OK(H5Sclose(in_memory));
    OK(H5Sclose(in_file));
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("first");
    dump(file, 1);
    dump(file, 2);
    ruled_chunks(file);
    ruled_boxes(file);
    OK(H5Fclose(file));
    file = create_file("second"); /* what was learned goes from file to file */
    dump(file, 3);
    OK(H5Fclose(file));
    if (!captured()) return finish();
    hsize_t chunk[3];
    file = open_file("first", H5F_ACC_RDONLY);
    check_dump(file, 1, false);
    check_dump(file, 2, true);
    stored_chunk(file, "chunks_by_rule", 3, chunk);
    CHECK(chunk[0] == 8 && chunk[1] == 16 && chunk[2] == 32);
    stored_chunk(file, "boxes_by_rule", 1, chunk);
    CHECK(chunk[0] == 16 * 16 * 16);
    OK(H5Fclose(file));
    file = open_file("second", H5F_ACC_RDONLY);
    check_dump(file, 3, true);
    OK(H5Fclose(file));
    return finish();
}
