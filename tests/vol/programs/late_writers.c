/* Goal: datasets of a file that was opened again, and copies: written by some of the ranks alone,
 * by each another one, found by name or as an object, resized, deleted. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 96, k_width = 64, k_own = 4 };

static hid_t make(hid_t file, const char* name) {
    hsize_t dims[2] = {k_rows, k_width}, most[2] = {H5S_UNLIMITED, k_width}, chunk[2] = {16, 32};
    hid_t creation = chunked(2, chunk);
    hid_t space = OK(H5Screate_simple(2, dims, most));
    hid_t dataset =
        OK(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    return dataset;
}

/* This rank alone: rows [first, first + rows) become base + field. */
static void overwrite(hid_t dataset, hsize_t first, hsize_t rows, double base) {
    hsize_t offset[2] = {first, 0}, extent[2] = {rows, k_width};
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    double* values = malloc(sizeof(double) * (size_t)(rows * k_width));
    for (uint64_t i = 0; i < rows * k_width; ++i)
        values[i] = base + field(first * k_width + i, k_width);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
    for (uint64_t i = 0; i < rows * k_width; ++i) values[i] = -1e30;
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
    for (uint64_t i = 0; i < rows * k_width; ++i)
        CHECK(near(values[i], base + field(first * k_width + i, k_width)));
    free(values);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

/* All: rows [first, first + rows) hold base + field. */
static void check(hid_t file, const char* name, hsize_t first, hsize_t rows, double base) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    hsize_t offset[2] = {first, 0}, extent[2] = {rows, k_width};
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    double* values = malloc(sizeof(double) * (size_t)(rows * k_width));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    for (uint64_t i = 0; i < rows * k_width; ++i)
        CHECK(near(values[i], base + field(first * k_width + i, k_width)));
    free(values);
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

static void write_alone(hid_t file) {
    if (g_rank == g_ranks - 1) { /* the others do not even open it */
        hid_t dataset = OK(H5Dopen2(file, "one_rank", H5P_DEFAULT));
        overwrite(dataset, 8, 24, 2.0);
        OK(H5Dclose(dataset));
    }
    /* Each rank its own rows; by name on even ranks, as an object on odd ones. */
    hid_t dataset = OK(g_rank % 2 == 0 ? H5Dopen2(file, "each", H5P_DEFAULT)
                                       : H5Oopen(file, "each", H5P_DEFAULT));
    overwrite(dataset, (hsize_t)g_rank * k_own, k_own, 3.0);
    OK(H5Dclose(dataset));
    char name[16];
    snprintf(name, sizeof name, "of_%d", g_rank);
    dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    overwrite(dataset, 5, 40, 4.0);
    OK(H5Dclose(dataset));
    if (g_rank == 0) { /* gone before anybody else hears of it */
        dataset = OK(H5Dopen2(file, "deleted", H5P_DEFAULT));
        overwrite(dataset, 0, 4, 5.0);
        OK(H5Dclose(dataset));
    }
    OK(H5Ldelete(file, "deleted", H5P_DEFAULT));
}

static void check_all(hid_t file) {
    check(file, "one_rank", 0, 8, 1.0);
    check(file, "one_rank", 8, 24, 2.0);
    check(file, "one_rank", 32, k_rows - 32, 1.0);
    check(file, "each", 0, (hsize_t)g_ranks * k_own, 3.0);
    check(file, "each", (hsize_t)g_ranks * k_own, k_rows - (hsize_t)g_ranks * k_own, 1.0);
    for (int rank = 0; rank < g_ranks; ++rank) {
        char name[16];
        snprintf(name, sizeof name, "of_%d", rank);
        check(file, name, 0, 5, 1.0);
        check(file, name, 5, 40, 4.0);
    }
    CHECK(OK(H5Lexists(file, "deleted", H5P_DEFAULT)) == 0);
}

/* A dataset that nobody has written to in this run grows, and is then written at its new end. */
static void grow(hid_t file) {
    hid_t dataset = OK(H5Dopen2(file, "grows", H5P_DEFAULT));
    hsize_t dims[2] = {k_rows + 20, k_width};
    OK(H5Dset_extent(dataset, dims));
    if (g_rank == 0) overwrite(dataset, k_rows, 20, 6.0);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("late_writers");
    const char* names[] = {"one_rank", "each", "deleted", "grows", "original"};
    for (int i = 0; i < 5; ++i) {
        hid_t dataset = make(file, names[i]);
        write_rows(dataset, k_rows, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Dclose(dataset));
    }
    for (int rank = 0; rank < g_ranks; ++rank) {
        char name[16];
        snprintf(name, sizeof name, "of_%d", rank);
        hid_t dataset = make(file, name);
        write_rows(dataset, k_rows, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Dclose(dataset));
    }
    OK(H5Ocopy(file, "original", file, "copy", H5P_DEFAULT, H5P_DEFAULT));
    MPI_Barrier(MPI_COMM_WORLD); /* every rank writes all of the copy */
    if (g_rank == g_ranks - 1) { /* a copy, in the run that made it */
        hid_t dataset = OK(H5Dopen2(file, "copy", H5P_DEFAULT));
        overwrite(dataset, 20, 10, 7.0);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    file = open_file("late_writers", H5F_ACC_RDWR);
    check(file, "original", 0, k_rows, 1.0);
    check(file, "copy", 20, 10, 7.0);
    check(file, "copy", 30, k_rows - 30, 1.0);
    write_alone(file);
    grow(file);
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(file); /* collectively */
    OK(H5Fclose(file));
    file = open_file("late_writers", H5F_ACC_RDONLY);
    check_all(file);
    check(file, "grows", 0, k_rows, 1.0);
    check(file, "grows", k_rows, 20, 6.0);
    OK(H5Fclose(file));
    return finish();
}
