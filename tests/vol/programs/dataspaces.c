/* Goal: the file's dataspace may be older or larger than the dataset is now, as long as what is
 * selected lies inside the dataset; selections without values take any memory, null too. */
#include "check.h"

enum { k_rows = 64, k_width = 48 };

static double value_at(hsize_t row, hsize_t column) { return (double)(1000 * row + column); }

/* This rank's rows of the first `rows`, by a dataspace of its own making. */
static void write_by(hid_t dataset, hid_t space, hsize_t first, hsize_t rows, hid_t list) {
    hsize_t begin, count;
    share(rows, &begin, &count);
    hsize_t offset[2] = {first + begin, 0}, extent[2] = {count, k_width};
    double* values = malloc(sizeof(double) * (size_t)(count * k_width + 1));
    for (hsize_t i = 0; i < count * k_width; ++i)
        values[i] = value_at(offset[0] + i / k_width, i % k_width);
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Sclose(memory));
    free(values);
}

static void check_by(hid_t dataset, hid_t space, hsize_t rows, hid_t list) {
    hsize_t offset[2] = {0, 0}, extent[2] = {rows, k_width};
    double* values = malloc(sizeof(double) * (size_t)(rows * k_width));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    for (hsize_t i = 0; i < rows * k_width; ++i)
        CHECK(near(values[i], value_at(i / k_width, i % k_width)));
    OK(H5Sclose(memory));
    free(values);
}

static void other_extents(hid_t file, hid_t list) {
    hsize_t dims[2] = {k_rows, k_width}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
    hsize_t chunk[2] = {16, 24}, larger[2] = {2 * k_rows, 2 * k_width};
    hid_t creation = chunked(2, chunk);
    hid_t space = OK(H5Screate_simple(2, dims, most));
    hid_t dataset =
        OK(H5Dcreate2(file, "grown", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    write_by(dataset, space, 0, k_rows, list);
    OK(H5Dset_extent(dataset, larger));
    hid_t now = OK(H5Dget_space(dataset));
    check_by(dataset, space, k_rows, list); /* the one from before it grew */
    write_by(dataset, space, 0, k_rows / 2, list);
    write_by(dataset, now, k_rows, k_rows, list);
    check_by(dataset, now, 2 * k_rows, list);
    OK(H5Dset_extent(dataset, dims));
    check_by(dataset, now, k_rows, list); /* larger than the dataset by now */
    /* Points, whose numbers depend on the extents of their dataspace. */
    hsize_t points[6] = {63, 47, 0, 5, 17, 30};
    double read[3];
    OK(H5Sselect_elements(now, H5S_SELECT_SET, 3, points));
    hid_t memory = OK(H5Screate_simple(1, &(hsize_t){3}, NULL));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, now, list, read));
    for (int i = 0; i < 3; ++i) CHECK(near(read[i], value_at(points[2 * i], points[2 * i + 1])));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_BLOCK, now, list, read));
    for (int i = 0; i < 3; ++i) CHECK(near(read[i], value_at(points[2 * i], points[2 * i + 1])));
    OK(H5Sclose(memory));
    OK(H5Sclose(now));
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
}

/* What the transfer list says of the last call. */
static void check_how(hid_t list, H5D_mpio_actual_io_mode_t wanted) {
    H5D_mpio_actual_io_mode_t mode = H5D_MPIO_NO_COLLECTIVE;
    uint32_t local = 77, global = 77;
    OK(H5Pget_mpio_actual_io_mode(list, &mode));
    OK(H5Pget_mpio_no_collective_cause(list, &local, &global));
    CHECK(mode == wanted);
    CHECK(local == H5D_MPIO_COLLECTIVE && global == H5D_MPIO_COLLECTIVE);
}

/* Of a file without MPI-IO it says nothing. */
static void ordinary_driver(void) {
    if (g_rank != 0) return;
    hid_t file = OK(H5Fcreate(path_of("ordinary"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t list = transfer(H5FD_MPIO_INDEPENDENT);
    hsize_t dims[2] = {k_rows, k_width};
    for (int large = 0; large < 2; ++large) {
        double value = 0.0;
        hid_t dataset = make_dataset(file, large ? "large" : "small", H5T_NATIVE_DOUBLE,
                                     large ? 2 : 0, dims, H5P_DEFAULT);
        hid_t space = OK(H5Dget_space(dataset));
        hid_t one = OK(H5Screate(H5S_SCALAR));
        if (large) OK(H5Sselect_elements(space, H5S_SELECT_SET, 1, (hsize_t[2]){7, 9}));
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, one, space, list, &value));
        check_how(list, H5D_MPIO_NO_COLLECTIVE);
        OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, one, space, list, &value));
        check_how(list, H5D_MPIO_NO_COLLECTIVE);
        OK(H5Sclose(one));
        OK(H5Sclose(space));
        OK(H5Dclose(dataset));
    }
    OK(H5Pclose(list));
    OK(H5Fclose(file));
}

static void nothing(hid_t file, hid_t list) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, "nothing", H5T_NATIVE_DOUBLE, 2, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    write_by(dataset, space, 0, k_rows, list);
    check_how(list, H5D_MPIO_CONTIGUOUS_COLLECTIVE);
    OK(H5Sselect_none(space));
    hid_t none = OK(H5Screate(H5S_NULL));
    hid_t empty = OK(H5Screate_simple(1, &(hsize_t){0}, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, none, space, list, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, empty, space, list, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, space, list, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_BLOCK, space, list, NULL));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, none, space, list, NULL));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, empty, space, list, NULL));
    /* One value, of a dataspace without axes. */
    hid_t one = OK(H5Screate(H5S_SCALAR));
    double value = 0.0;
    OK(H5Sselect_elements(space, H5S_SELECT_SET, 1, (hsize_t[2]){7, 9}));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, one, space, list, &value));
    CHECK(near(value, value_at(7, 9)));
    OK(H5Sclose(one));
    OK(H5Sclose(none));
    OK(H5Sclose(empty));
    /* No memory for values, and dataspaces that do not fit. */
    hid_t alone = transfer(H5FD_MPIO_INDEPENDENT);
    OK(H5Sselect_all(space));
    FAILS(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, alone, NULL));
    FAILS(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_BLOCK, alone, &value));
    hid_t few = OK(H5Screate_simple(1, &(hsize_t){5}, NULL));
    FAILS(H5Dread(dataset, H5T_NATIVE_DOUBLE, few, space, alone, &value));
    OK(H5Sclose(few));
    OK(H5Pclose(alone));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("dataspaces");
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    other_extents(file, list);
    nothing(file, list);
    OK(H5Pclose(list));
    OK(H5Fclose(file));
    ordinary_driver();
    return finish();
}
