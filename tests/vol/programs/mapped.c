/* Goal: fields whose bounds a rule maps: a fixed one with jumps, one that grows along its first
 * axis, and one of which only a part is ever written.
 *
 * maps.py runs it, and compares what comes out value by value. Arguments: a directory, and "again":
 * the file is there, the fixed field is written once more with other values, and the other grows.
 * Where H5Dcreate2 fails it says why and ends with status 3. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_slow = 96, k_side = 64, k_plane = k_side * k_side, k_step = 40 };

static bool g_again = false;

/* Smooth, but for a step of 5 in a few places. */
static double value_at(uint64_t i, double phase) {
    const double x = (double)(i % k_side), y = (double)(i / k_side % k_side);
    const double z = (double)(i / k_plane);
    const double jump = ((uint64_t)z % 50 == 41 && i * 2654435761u % 997 < 40) ? 5.0 : 0.0;
    return sin(0.11 * x + phase) * cos(0.07 * y) + 0.02 * z + jump +
           1e-3 * (double)(i * 2654435761u % 1000) * 1e-3;
}

static hid_t dataset_of(hid_t file, const char* name, hid_t type, int rank, const hsize_t* dims,
                        const hsize_t* most, hid_t creation) {
    if (g_again) return OK(H5Dopen2(file, name, H5P_DEFAULT));
    hid_t space = OK(H5Screate_simple(rank, dims, most));
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (dataset < 0 && g_rank == 0) H5Eprint2(H5E_DEFAULT, stderr);
    OK(H5Sclose(space));
    if (dataset >= 0) return dataset;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return dataset;
}

/* This rank's share of planes [first, first + planes), as values of `type`. */
static void write_planes(hid_t dataset, hid_t type, hsize_t first, hsize_t planes, double phase) {
    hsize_t begin, count;
    share(planes, &begin, &count);
    begin += first;
    double* values = malloc(sizeof(double) * (size_t)(count * k_plane + 1));
    for (hsize_t i = 0; i < count * k_plane; ++i) values[i] = value_at(begin * k_plane + i, phase);
    /* Of the file's type, so that nothing is rounded on the way. */
    OK(H5Tconvert(H5T_NATIVE_DOUBLE, type, (size_t)(count * k_plane), values, NULL, H5P_DEFAULT));
    const hsize_t offset[3] = {begin, 0, 0}, extent[3] = {count, k_side, k_side};
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(3, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

static void write_fixed(hid_t file) {
    const hsize_t dims[3] = {k_slow, k_side, k_side};
    hid_t dataset = dataset_of(file, "fixed", H5T_NATIVE_FLOAT, 3, dims, NULL, H5P_DEFAULT);
    write_planes(dataset, H5T_NATIVE_FLOAT, 0, k_slow, g_again ? 1.0 : 0.0);
    OK(H5Dclose(dataset));
}

/* Two steps, with a commit between them; the next opening brings a third. */
static void write_growing(hid_t file) {
    hsize_t dims[3] = {k_step, k_side, k_side};
    const hsize_t most[3] = {H5S_UNLIMITED, k_side, k_side}, chunk[3] = {24, k_side, k_side};
    hid_t creation = chunked(3, chunk);
    hid_t dataset = dataset_of(file, "growing", H5T_NATIVE_DOUBLE, 3, dims, most, creation);
    const int from = g_again ? 2 : 0, to = g_again ? 3 : 2;
    for (int step = from; step < to; ++step) {
        dims[0] = (hsize_t)(step + 1) * k_step;
        OK(H5Dset_extent(dataset, dims));
        write_planes(dataset, H5T_NATIVE_DOUBLE, (hsize_t)step * k_step, k_step, 0.3 * step);
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    }
    OK(H5Dclose(dataset));
    OK(H5Pclose(creation));
}

/* The rest keeps the fill value, which rules of values look at too. */
static void write_part(hid_t file) {
    const hsize_t dims[3] = {k_slow, k_side, k_side};
    hid_t dataset = dataset_of(file, "part", H5T_NATIVE_FLOAT, 3, dims, NULL, H5P_DEFAULT);
    if (!g_again) write_planes(dataset, H5T_NATIVE_FLOAT, 10, 38, 0.5);
    OK(H5Dclose(dataset));
}

/* Nobody writes to it before the file is opened again. */
static void write_late(hid_t file) {
    const hsize_t dims[3] = {k_slow, k_side, k_side};
    hid_t dataset = dataset_of(file, "late", H5T_NATIVE_FLOAT, 3, dims, NULL, H5P_DEFAULT);
    if (g_again) write_planes(dataset, H5T_NATIVE_FLOAT, 0, k_slow, 2.0);
    OK(H5Dclose(dataset));
}

static void write_line(hid_t file) {
    const hsize_t dims[1] = {k_slow * k_plane};
    hid_t dataset = dataset_of(file, "line", H5T_NATIVE_FLOAT, 1, dims, NULL, H5P_DEFAULT);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    g_again = argc > 2 && strcmp(argv[2], "again") == 0;
    start(&argc, &argv);
    hid_t file = g_again ? open_file("mapped", H5F_ACC_RDWR) : create_file("mapped");
    write_fixed(file);
    write_growing(file);
    write_part(file);
    write_late(file);
    write_line(file);
    OK(H5Fclose(file));
    return finish();
}
