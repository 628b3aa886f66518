/* Goal: plotfiles as AMReX writes them. Rank 0 makes the file alone, with attributes, and closes
 * it; all ranks reopen it for writing and make a group for each level: the boxes, written by rank 0
 * alone, and one dataset of one axis with the data, box after box, component after component, each
 * component a 3-D array whose first axis runs fastest.
 *
 * Under the connector such data are recognised: where all boxes have one size, they take far less
 * space than the same values in a dataset of another name, of which nothing is known. Boxes of
 * several sizes that agree on their fast axes take less too, others no more. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_components = 3, k_boxes = 12, k_axes = 3 };

struct box {
    int32_t low[k_axes], high[k_axes];
};

struct level {
    const char* name;
    struct box boxes[k_boxes];
    hsize_t offsets[k_boxes + 1]; /* of the boxes' data */
};

/* Boxes side by side along x, of extents that depend on their number. */
static void lay_out(struct level* level, const char* name, const int extents[][k_axes], int kinds) {
    level->name = name;
    level->offsets[0] = 0;
    int x = 0;
    for (int b = 0; b < k_boxes; ++b) {
        const int* extent = extents[b % kinds];
        hsize_t cells = 1;
        for (int axis = 0; axis < k_axes; ++axis) {
            level->boxes[b].low[axis] = axis == 0 ? x : 0;
            level->boxes[b].high[axis] = level->boxes[b].low[axis] + extent[axis] - 1;
            cells *= (hsize_t)extent[axis];
        }
        x += extent[0];
        level->offsets[b + 1] = level->offsets[b] + k_components * cells;
    }
}

static double value_at(int component, int x, int y, int z) {
    return (1 + component) * sin(0.11 * x + component) * cos(0.17 * y) + 0.3 * sin(0.13 * z);
}

/* The values of one box, as they lie in the file. */
static void fill_box(const struct box* box, double* values) {
    for (int c = 0; c < k_components; ++c)
        for (int z = box->low[2]; z <= box->high[2]; ++z)
            for (int y = box->low[1]; y <= box->high[1]; ++y)
                for (int x = box->low[0]; x <= box->high[0]; ++x) *values++ = value_at(c, x, y, z);
}

static hid_t box_type(void) {
    static const char* const names[] = {"lo_i", "lo_j", "lo_k", "hi_i", "hi_j", "hi_k"};
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(struct box)));
    for (size_t i = 0; i < 2 * k_axes; ++i)
        OK(H5Tinsert(type, names[i], i * sizeof(int32_t), H5T_NATIVE_INT32));
    return type;
}

/* What rank 0 alone writes: the boxes, and where each one's data begin. */
static void describe(hid_t group, const struct level* level) {
    hsize_t n = k_boxes, ends = k_boxes + 1;
    hid_t type = box_type();
    hid_t boxes = make_dataset(group, "boxes", type, 1, &n, H5P_DEFAULT);
    hid_t offsets = make_dataset(group, "data:offsets=0", H5T_STD_I64LE, 1, &ends, H5P_DEFAULT);
    if (g_rank == 0) {
        OK(H5Dwrite(boxes, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, level->boxes));
        OK(H5Dwrite(offsets, H5T_NATIVE_HSIZE, H5S_ALL, H5S_ALL, H5P_DEFAULT, level->offsets));
    }
    OK(H5Dclose(offsets));
    OK(H5Dclose(boxes));
    OK(H5Tclose(type));
}

/* This rank's boxes are one slab of the dataset. */
static hid_t write_data(hid_t group, const char* name, const struct level* level) {
    hsize_t all = level->offsets[k_boxes], first_box, n_boxes;
    share(k_boxes, &first_box, &n_boxes);
    hsize_t begin = level->offsets[first_box];
    hsize_t count = level->offsets[first_box + n_boxes] - begin;
    double* values = malloc(sizeof(double) * (size_t)(count + 1));
    for (hsize_t b = first_box; b < first_box + n_boxes; ++b)
        fill_box(&level->boxes[b], values + (level->offsets[b] - begin));
    hid_t dataset = make_dataset(group, name, H5T_IEEE_F64LE, 1, &all, H5P_DEFAULT);
    hid_t in_file = OK(H5Screate_simple(1, &all, NULL));
    hid_t in_memory = OK(H5Screate_simple(1, &count, NULL));
    OK(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(in_memory));
    OK(H5Sclose(in_file));
    free(values);
    return dataset;
}

/* Reads all of it on every rank. */
static void check_data(hid_t dataset, const struct level* level) {
    hsize_t all = level->offsets[k_boxes];
    double* read = malloc(sizeof(double) * (size_t)all);
    double* expected = malloc(sizeof(double) * (size_t)all);
    for (int b = 0; b < k_boxes; ++b) fill_box(&level->boxes[b], expected + level->offsets[b]);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (hsize_t i = 0; i < all; ++i) CHECK(near(read[i], expected[i]));
    OK(H5Pclose(list));
    free(expected);
    free(read);
}

/* Values across the border of two boxes, in strides: what no box is. */
static void check_odd_part(hid_t dataset, const struct level* level) {
    hsize_t begin = level->offsets[1] - 40, stride = 3, count = 30;
    double read[30];
    double* expected = malloc(sizeof(double) * (size_t)level->offsets[2]);
    fill_box(&level->boxes[0], expected);
    fill_box(&level->boxes[1], expected + level->offsets[1]);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, &stride, &count, NULL));
    hid_t memory = OK(H5Screate_simple(1, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, list, read));
    for (hsize_t i = 0; i < count; ++i) CHECK(near(read[i], expected[begin + i * stride]));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(expected);
}

/* @param shares  what the known data may take of the unknown's space, at most. */
static void check_level(hid_t file, const struct level* level, double shares) {
    hid_t group = OK(H5Gcreate2(file, level->name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    describe(group, level);
    hid_t known = write_data(group, "data:datatype=0", level);
    hid_t unknown = write_data(group, "unknown", level);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    double known_bytes = (double)H5Dget_storage_size(known);
    double unknown_bytes = (double)H5Dget_storage_size(unknown);
    /* Only files that are captured have blocks. */
    if (captured() && getenv("VOL_TEST_BOUND") && atof(getenv("VOL_TEST_BOUND")) > 0) {
        if (g_rank == 0)
            printf("%s: %.0f bytes, unrecognised %.0f\n", level->name, known_bytes, unknown_bytes);
        CHECK(known_bytes <= shares * unknown_bytes);
    }
    check_data(known, level);
    check_odd_part(known, level);
    check_data(unknown, level);
    OK(H5Dclose(unknown));
    OK(H5Dclose(known));
    OK(H5Gclose(group));
}

static void make_alone(const char* name) {
    if (g_rank == 0) {
        hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        put_int(file, "num_levels", 3);
        for (int c = 0; c < k_components; ++c) {
            char component[32];
            snprintf(component, sizeof component, "component_%d", c);
            put_int(file, component, c);
        }
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    static const int equal[][k_axes] = {{16, 24, 20}};
    static const int slices[][k_axes] = {{24, 16, 16}, {24, 16, 8}, {24, 16, 32}};
    static const int any[][k_axes] = {{24, 16, 16}, {16, 24, 8}};
    struct level levels[3];
    lay_out(&levels[0], "level_0", equal, 1);
    lay_out(&levels[1], "level_1", slices, 3);
    lay_out(&levels[2], "level_2", any, 2);
    make_alone("plotfile");
    hid_t file = open_file("plotfile", H5F_ACC_RDWR);
    check_level(file, &levels[0], 0.5);
    check_level(file, &levels[1], 0.75);
    check_level(file, &levels[2], 1.1);
    OK(H5Fclose(file));
    file = open_file("plotfile", H5F_ACC_RDONLY);
    hid_t dataset = OK(H5Dopen2(file, "level_0/data:datatype=0", H5P_DEFAULT));
    check_data(dataset, &levels[0]);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
