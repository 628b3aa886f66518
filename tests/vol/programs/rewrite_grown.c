/* Goal: part of a chunk that has been committed is written again, in datasets of which another axis
 * than the first may grow: what the chunk held besides stays. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 20, k_width = 30, k_depth = 6, k_all = k_rows * k_width * k_depth };

static void one(hid_t file, const char* name, const hsize_t* most) {
    const hsize_t dims[3] = {k_rows, k_width, k_depth}, chunk[3] = {7, 10, 6};
    hid_t list = chunked(3, chunk), space = OK(H5Screate_simple(3, dims, most));
    hid_t dataset =
        OK(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    double* values = malloc(sizeof *values * k_all);
    double* read = malloc(sizeof *read * k_all);
    for (hsize_t i = 0; i < k_all; ++i) values[i] = 5 + field(i, k_width);
    hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
    hid_t mine = OK(H5Scopy(space));
    if (g_rank > 0) OK(H5Sselect_none(mine));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, mine, mine, how, values));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, how, read)); /* commits */
    const hsize_t offset[3] = {8, 12, 3}, extent[3] = {1, 2, 2};
    OK(H5Sselect_hyperslab(mine, H5S_SELECT_SET, offset, NULL, extent, NULL));
    for (hsize_t y = 12; y < 14; ++y)
        for (hsize_t x = 3; x < 5; ++x) values[(8 * k_width + y) * k_depth + x] = 3;
    if (g_rank > 0) OK(H5Sselect_none(mine));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, mine, mine, how, values));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, how, read));
    for (hsize_t i = 0; i < k_all; ++i) CHECK(near(read[i], values[i]));
    OK(H5Pclose(how));
    OK(H5Sclose(mine));
    free(read);
    free(values);
    OK(H5Dclose(dataset));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("rewrite_grown");
    one(file, "first", (const hsize_t[]){H5S_UNLIMITED, k_width, k_depth});
    one(file, "middle", (const hsize_t[]){k_rows, H5S_UNLIMITED, k_depth});
    one(file, "last", (const hsize_t[]){k_rows, k_width, H5S_UNLIMITED});
    one(file, "larger", (const hsize_t[]){2 * k_rows, k_width, H5S_UNLIMITED});
    one(file, "several", (const hsize_t[]){H5S_UNLIMITED, k_width, H5S_UNLIMITED});
    OK(H5Fclose(file));
    return finish();
}
