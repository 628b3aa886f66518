/* Goal: a plotfile as codes on AMReX write it: six components whose ranges have nothing in common,
 * two levels, boxes of unequal sizes. Rank 0 makes the file alone, with the components' names; all
 * ranks reopen it and write, for each level, the boxes and one dataset of one axis, box after box,
 * component after component.
 *
 * components.py runs it, and compares what comes out component by component. Arguments: a
 * directory, the number of plotfiles, and any of "each" for a dataset of each component
 * (WriteMultiLevelPlotfileHDF5 has both), "pieces": every rank writes its boxes in calls that end
 * inside boxes, and "again": the plotfiles are there, all data are written once more with other
 * values of three times the range, and the first ones of "lone" a third time. Where H5Dcreate2
 * fails it says why and ends with status 3. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_components = 6, k_axes = 3, k_most_boxes = 64, k_pieces = 7 };

static const char* const k_names[k_components] = {"density", "xmom", "ymom",
                                                  "zmom",    "Temp", "phi_grav"};

static bool g_again, g_in_pieces;

struct box {
    int32_t low[k_axes], high[k_axes];
};

struct level {
    int number, n_boxes;
    struct box boxes[k_most_boxes];
    hsize_t offsets[k_most_boxes + 1];
};

static void add_box(struct level* level, const int low[k_axes], const int extent[k_axes]) {
    const int b = level->n_boxes++;
    hsize_t cells = 1;
    for (int axis = 0; axis < k_axes; ++axis) {
        level->boxes[b].low[axis] = low[axis];
        level->boxes[b].high[axis] = low[axis] + extent[axis] - 1;
        cells *= (hsize_t)extent[axis];
    }
    level->offsets[b + 1] = level->offsets[b] + k_components * cells;
}

/* A cube of 64 cells, as max_grid_size = 24 cuts it. */
static void lay_out_coarse(struct level* level) {
    static const int lows[] = {0, 24, 48}, extents[] = {24, 24, 16};
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 3; ++x)
                add_box(level, (const int[]){lows[x], lows[y], lows[z]},
                        (const int[]){extents[x], extents[y], extents[z]});
}

/* Around two clumps, with a blocking factor of 8. */
static void lay_out_fine(struct level* level) {
    static const int extents[][k_axes] = {{8, 8, 8},   {16, 8, 24}, {32, 16, 8}, {24, 24, 24},
                                          {8, 40, 16}, {16, 16, 8}, {8, 8, 32},  {40, 8, 8}};
    for (int b = 0; b < 21; ++b) {
        const int* extent = extents[(b * 5 + b / 8) % 8];
        add_box(level, (const int[]){40 * (b % 3), 40 * (b / 3 % 3), 24 * (b / 9)}, extent);
    }
}

/* Smooth, with a front and a little noise, of magnitude 1. */
static double shape_at(int component, int plot, double x, double y, double z) {
    const double r = sqrt(x * x + y * y + 2 * z * z);
    const double noise = sin(12.9898 * x + 78.233 * y + 37.719 * z + component) * 43758.5453;
    return sin(3 * x + component) * cos(2 * y + 0.1 * plot) + 0.5 * tanh(9 * (r - 0.6)) +
           0.3 * sin(5 * z) + 1e-5 * (noise - floor(noise));
}

static double value_at(int component, int plot, double x, double y, double z) {
    static const double scales[k_components] = {0.4, 5e11, 3e11, 7e11, 2e3, 3e-7};
    static const double bases[k_components] = {1.5, 0, 1e10, 0, 9e3, 4e-6};
    const double scale = scales[component] * (g_again ? 3 : 1);
    return bases[component] + scale * shape_at(component, plot + (g_again ? 5 : 0), x, y, z);
}

/* Components [first, end). */
static void fill_box(const struct level* level, const struct box* box, int plot, int first, int end,
                     double* values) {
    const double cell = 1.0 / (32 << level->number);
    for (int c = first; c < end; ++c)
        for (int z = box->low[2]; z <= box->high[2]; ++z)
            for (int y = box->low[1]; y <= box->high[1]; ++y)
                for (int x = box->low[0]; x <= box->high[0]; ++x)
                    *values++ = value_at(c, plot, x * cell, y * cell, z * cell);
}

static hid_t box_type(void) {
    static const char* const names[] = {"lo_i", "lo_j", "lo_k", "hi_i", "hi_j", "hi_k"};
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(struct box)));
    for (size_t i = 0; i < 2 * k_axes; ++i)
        OK(H5Tinsert(type, names[i], i * sizeof(int32_t), H5T_NATIVE_INT32));
    return type;
}

static void describe(hid_t group, const struct level* level) {
    hsize_t n = (hsize_t)level->n_boxes;
    hid_t type = box_type();
    hid_t boxes = make_dataset(group, "boxes", type, 1, &n, H5P_DEFAULT);
    if (g_rank == 0) OK(H5Dwrite(boxes, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, level->boxes));
    OK(H5Dclose(boxes));
    OK(H5Tclose(type));
}

/* AMReX prints HDF5's error here and goes on without the data; a test is to read it. */
static hid_t data_of(hid_t group, int number, hsize_t all) {
    char name[32];
    snprintf(name, sizeof name, "data:datatype=%d", number);
    if (g_again) return OK(H5Dopen2(group, name, H5P_DEFAULT));
    hid_t space = OK(H5Screate_simple(1, &all, NULL));
    hid_t dataset =
        H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset < 0 && g_rank == 0) H5Eprint2(H5E_DEFAULT, stderr);
    OK(H5Sclose(space));
    if (dataset >= 0) return dataset;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return dataset;
}

/* Components [first, end) of this rank's boxes: one slab of the dataset, or its pieces. */
static void write_data(hid_t group, const struct level* level, int plot, int first, int end) {
    const hsize_t of = k_components, n = (hsize_t)(end - first);
    hsize_t all = level->offsets[level->n_boxes] / of * n, first_box, n_boxes;
    share((hsize_t)level->n_boxes, &first_box, &n_boxes);
    hsize_t begin = level->offsets[first_box] / of * n;
    hsize_t count = level->offsets[first_box + n_boxes] / of * n - begin;
    double* values = malloc(sizeof(double) * (size_t)(count + 1));
    for (hsize_t b = first_box; b < first_box + n_boxes; ++b)
        fill_box(level, &level->boxes[b], plot, first, end,
                 values + (level->offsets[b] / of * n - begin));
    hid_t dataset = data_of(group, first, all);
    const hsize_t pieces = g_in_pieces ? k_pieces : 1;
    for (hsize_t p = 0; p < pieces; ++p) {
        const hsize_t from = count * p / pieces, to = count * (p + 1) / pieces;
        const hsize_t offset = begin + from, extent = to - from;
        write_box(dataset, 1, &offset, &extent, values + from);
    }
    OK(H5Dclose(dataset));
    free(values);
}

static void write_level(hid_t file, const struct level* level, int plot, bool each) {
    char name[32];
    snprintf(name, sizeof name, "level_%d", level->number);
    hid_t group = OK(g_again ? H5Gopen2(file, name, H5P_DEFAULT)
                             : H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (!g_again) describe(group, level);
    const int step = each ? 1 : k_components;
    for (int c = 0; c < k_components; c += step) write_data(group, level, plot, c, c + step);
    OK(H5Gclose(group));
}

static void put(hid_t file, const char* name, hid_t type, const void* value) {
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t attribute = OK(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, type, value));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
}

/* What rank 0 makes alone, as WriteGenericPlotfileHeaderHDF5 does. */
static void make_alone(const char* name) {
    if (g_rank == 0) {
        hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const int n = k_components;
        put(file, "num_components", H5T_NATIVE_INT, &n);
        for (int c = 0; c < k_components; ++c) {
            char component[32];
            snprintf(component, sizeof component, "component_%d", c);
            hid_t type = OK(H5Tcopy(H5T_C_S1));
            OK(H5Tset_size(type, strlen(k_names[c])));
            put(file, component, type, k_names[c]);
            OK(H5Tclose(type));
        }
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Quantities along an axis, first or last, and boxes of which only a rule knows. */
enum { k_z = 24, k_y = 20, k_x = 36, k_quantities = 3 };
struct declared {
    const char* name;
    int rank, axis, side, quantities; /* of the quantities; of boxes where axis < 0 */
    hsize_t dims[4];
};

/* This rank's values of its part. */
static void fill_declared(const struct declared* set, int plot, hsize_t begin, hsize_t count,
                          hsize_t inner, double* values) {
    for (hsize_t i = 0; i < count; ++i) {
        hsize_t n = begin + i;
        const hsize_t cells = (hsize_t)(set->side * set->side * set->side);
        int c = 0;
        if (set->axis < 0)
            c = (int)(n / cells) % set->quantities;
        else if (set->axis == 0)
            c = (int)(i / inner), n = i % inner;
        else
            c = (int)(i % k_quantities), n = i / k_quantities;
        values[i] = value_at(2 * c, plot, 0.02 * (double)(n % k_x), 0.02 * (double)(n / k_x % k_y),
                             0.02 * (double)g_rank);
    }
}

static void write_declared(hid_t file, int plot) {
    const struct declared sets[] = {
        {"first_axis", 4, 0, 0, k_quantities, {k_quantities, k_z, k_y, k_x}},
        {"last_axis", 4, 3, 0, k_quantities, {k_z, k_y, k_x, k_quantities}},
        {"cubes", 1, -1, 16, k_quantities, {10 * k_quantities * 16 * 16 * 16}},
        /* One quantity; its last chunk has fewer cubes than the others. */
        {"lone", 1, -1, 24, 1, {13 * 24 * 24 * 24}},
        /* One array that is cut into slices, the last one thinner. */
        {"prime", 1, -1, 1, 1, {131 * 128 * 128}},
    };
    for (int s = 0; s < 5; ++s) {
        /* This rank's share of the first axis that is not that of the quantities. */
        const int cut = sets[s].axis == 0 ? 1 : 0;
        hsize_t offset[4] = {0, 0, 0, 0}, extent[4], count = 1, inner = 1;
        memcpy(extent, sets[s].dims, sizeof extent);
        share(sets[s].dims[cut], &offset[cut], &extent[cut]);
        for (int axis = 0; axis < sets[s].rank; ++axis) count *= extent[axis];
        for (int axis = 1; axis < sets[s].rank; ++axis) inner *= extent[axis];
        double* values = malloc(sizeof(double) * (size_t)(count + 1));
        fill_declared(&sets[s], plot, offset[0], count, inner, values);
        hid_t dataset = g_again ? OK(H5Dopen2(file, sets[s].name, H5P_DEFAULT))
                                : make_dataset(file, sets[s].name, H5T_IEEE_F64LE, sets[s].rank,
                                               sets[s].dims, H5P_DEFAULT);
        write_box(dataset, sets[s].rank, offset, extent, values);
        OK(H5Dclose(dataset));
        free(values);
    }
}

/* A part of a block after a flush: the rest of it stays as it is. */
static void write_some_again(hid_t file) {
    const hsize_t offset = 0, extent = g_rank == 0 ? 100 : 0;
    double values[100];
    for (int i = 0; i < 100; ++i) values[i] = value_at(0, 1, 0.01 * i, 0, 0);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    hid_t dataset = OK(H5Dopen2(file, "lone", H5P_DEFAULT));
    write_box(dataset, 1, &offset, &extent, values);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    const int plots = argc > 2 ? atoi(argv[2]) : 2;
    bool each = false;
    for (int i = 3; i < argc; ++i) {
        each = each || strcmp(argv[i], "each") == 0;
        g_again = g_again || strcmp(argv[i], "again") == 0;
        g_in_pieces = g_in_pieces || strcmp(argv[i], "pieces") == 0;
    }
    start(&argc, &argv);
    static struct level coarse = {.number = 0}, fine = {.number = 1};
    lay_out_coarse(&coarse);
    lay_out_fine(&fine);
    for (int plot = 0; plot < plots; ++plot) {
        char name[32];
        snprintf(name, sizeof name, "plt%05d", plot);
        if (!g_again) make_alone(name);
        hid_t file = open_file(name, H5F_ACC_RDWR);
        write_level(file, &coarse, plot, each);
        write_level(file, &fine, plot, each);
        write_declared(file, plot);
        if (g_again) write_some_again(file);
        OK(H5Fclose(file));
    }
    return finish();
}
