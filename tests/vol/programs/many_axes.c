/* Goal: datasets of more axes than four: PETSc's grids over time, which grow; fixed ones of five to
 * seven axes; integers and compounds. Boxes, whole time steps, and files that are opened again. */
#include "check.h"

static double value_at(size_t index) { return (double)(index % 1000) + 0.25 * (double)(index / 7); }

/* Each rank its part of the second axis, of one index of the first. */
static void write_step(hid_t dataset, int rank, hid_t type, hsize_t step, const hsize_t* dims,
                       double base) {
    hsize_t offset[8] = {0}, extent[8], inner = 1, begin, count;
    memcpy(extent, dims, sizeof(hsize_t) * (size_t)rank);
    share(dims[1], &begin, &count);
    offset[0] = step;
    extent[0] = 1;
    offset[1] = begin;
    extent[1] = count;
    for (int i = 2; i < rank; ++i) inner *= dims[i];
    size_t n = (size_t)(count * inner);
    double* values = malloc(sizeof(double) * (n + 1));
    size_t first = (size_t)((step * dims[1] + begin) * inner);
    for (size_t i = 0; i < n; ++i) values[i] = base + value_at(first + i);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(rank, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

static void check_all(hid_t dataset, hid_t type, size_t n, double base, bool exact) {
    double* values = malloc(sizeof(double) * n);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, values));
    OK(H5Pclose(list));
    for (size_t i = 0; i < n; ++i)
        CHECK(exact ? values[i] == (double)(int64_t)(base + value_at(i))
                    : near(values[i], base + value_at(i)));
    free(values);
}

/* A box inside, of every other index along some axes. */
static void check_box(hid_t dataset, const hsize_t* dims) {
    hsize_t offset[5] = {1, 1, 0, 2, 0}, stride[5] = {1, 2, 3, 1, 1}, count[5] = {1, 2, 2, 3, 2};
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    double values[24];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_BLOCK, space, list, values));
    size_t n = 0;
    for (hsize_t i = 0; i < 24; ++i) {
        hsize_t c = i % 2, x = i / 2 % 3, y = i / 6 % 2, z = i / 12 % 2;
        size_t at =
            (size_t)(((((1 * dims[1]) + 1 + 2 * z) * dims[2] + 3 * y) * dims[3] + 2 + x) * dims[4] +
                     c);
        CHECK(near(values[n++], value_at(at)));
    }
    OK(H5Pclose(list));
    OK(H5Sclose(space));
}

static void grid_over_time(hid_t file, const char* name, const hsize_t* chunk) {
    hsize_t dims[5] = {1, 8, 6, 10, 2}, most[5] = {H5S_UNLIMITED, 8, 6, 10, 2};
    hid_t creation = chunked(5, chunk);
    hid_t space = OK(H5Screate_simple(5, dims, most));
    hid_t dataset =
        OK(H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    for (hsize_t step = 0; step < 4; ++step) {
        dims[0] = step + 1;
        OK(H5Dset_extent(dataset, dims));
        write_step(dataset, 5, H5T_NATIVE_DOUBLE, step, dims, 0.0);
    }
    check_all(dataset, H5T_NATIVE_DOUBLE, 4 * 960, 0.0, false);
    check_box(dataset, dims);
    dims[0] = 3;
    OK(H5Dset_extent(dataset, dims)); /* and shorter again */
    check_all(dataset, H5T_NATIVE_DOUBLE, 3 * 960, 0.0, false);
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
}

static void fixed(hid_t file, const char* name, hid_t type, int rank, const hsize_t* dims,
                  const hsize_t* chunk, bool exact) {
    hid_t creation = chunk == NULL ? H5P_DEFAULT : chunked(rank, chunk);
    hid_t dataset = make_dataset(file, name, type, rank, dims, creation);
    if (chunk != NULL) OK(H5Pclose(creation));
    size_t n = 1;
    for (int i = 0; i < rank; ++i) n *= (size_t)dims[i];
    for (hsize_t step = 0; step < dims[0]; ++step)
        write_step(dataset, rank, H5T_NATIVE_DOUBLE, step, dims, exact ? 5.0 : 0.0);
    check_all(dataset, H5T_NATIVE_DOUBLE, n, exact ? 5.0 : 0.0, exact);
    OK(H5Dclose(dataset));
}

/* A step more, by another opening. */
static void again(const char* name) {
    hsize_t dims[5] = {4, 8, 6, 10, 2};
    hid_t file = open_file(name, H5F_ACC_RDWR);
    hid_t dataset = OK(H5Dopen2(file, "slices", H5P_DEFAULT));
    check_all(dataset, H5T_NATIVE_DOUBLE, 3 * 960, 0.0, false);
    OK(H5Dset_extent(dataset, dims));
    write_step(dataset, 5, H5T_NATIVE_DOUBLE, 3, dims, 0.0);
    check_all(dataset, H5T_NATIVE_DOUBLE, 4 * 960, 0.0, false);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("many_axes");
    const hsize_t slices[5] = {1, 4, 6, 10, 2}, steps[5] = {2, 8, 6, 10, 2},
                  odd[5] = {2, 3, 4, 7, 2};
    grid_over_time(file, "slices", slices);
    grid_over_time(file, "steps", steps);
    grid_over_time(file, "odd", odd);
    const hsize_t six[6] = {3, 4, 5, 2, 6, 4}, seven[7] = {2, 4, 1, 5, 3, 2, 6};
    const hsize_t chunk[6] = {1, 2, 5, 2, 6, 4};
    fixed(file, "six", H5T_NATIVE_DOUBLE, 6, six, NULL, false);
    fixed(file, "six_chunks", H5T_NATIVE_DOUBLE, 6, six, chunk, false);
    fixed(file, "seven", H5T_NATIVE_DOUBLE, 7, seven, NULL, false);
    fixed(file, "integers", H5T_NATIVE_INT32, 6, six, NULL, true);
    OK(H5Fclose(file));
    again("many_axes");
    return finish();
}
