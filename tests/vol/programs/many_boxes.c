/* Goal: plotfiles with as many boxes as a large run has in a level, 100,000, small ones of 8 cells
 * a side, in one dataset or in several of the same boxes. many_boxes.py runs it and looks at what
 * comes out. Arguments: a directory; boxes, cells of a side, components, datasets a file, files.
 *
 * Prints of each rank how much memory it had: of the values that it handed over in a file, most at
 * any time, and after the last close, when files may be pending. */
#include <stdio.h>

#include "check.h"

struct box {
    int32_t low[3], high[3];
};

static int g_side = 8, g_components = 2;
static hsize_t g_boxes = 100000;

/* Of cell i of a box: smooth in every eighth one, constant in the others, as around a few clumps;
 * of a range of its own in each component. */
static float value_at(hsize_t box, int component, int cell) {
    const int x = cell % g_side, y = cell / g_side % g_side, z = cell / (g_side * g_side);
    const double scale = component == 0 ? 1.0 : 1e6, base = 0.01 * (double)(box % 97);
    if (box % 8 != 0) return (float)(scale * base);
    return (float)(scale *
                   (base * (x + 2 * y + z) + 0.01 * (double)((x * x + 3 * y + z * x) % 32)));
}

static void put(hid_t file, const char* name, hid_t type, const void* value) {
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t attribute = OK(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, type, value));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
}

static void describe(hid_t file, hid_t level) {
    static const char* const names[] = {"lo_i", "lo_j", "lo_k", "hi_i", "hi_j", "hi_k"};
    put(file, "num_components", H5T_NATIVE_INT, &g_components);
    hid_t text = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(text, 3));
    for (int c = 0; c < g_components; ++c) {
        char name[32], value[16];
        snprintf(name, sizeof name, "component_%d", c);
        snprintf(value, sizeof value, "q%02d", c);
        put(file, name, text, value);
    }
    OK(H5Tclose(text));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(struct box)));
    for (size_t i = 0; i < 6; ++i)
        OK(H5Tinsert(type, names[i], i * sizeof(int32_t), H5T_NATIVE_INT32));
    hid_t dataset = make_dataset(level, "boxes", type, 1, &g_boxes, H5P_DEFAULT);
    if (g_rank == 0) {
        struct box* boxes = malloc(sizeof(struct box) * (size_t)g_boxes);
        for (hsize_t b = 0; b < g_boxes; ++b)
            for (int axis = 0; axis < 3; ++axis) {
                boxes[b].low[axis] = axis == 0 ? (int32_t)b * g_side : 0;
                boxes[b].high[axis] = boxes[b].low[axis] + g_side - 1;
            }
        OK(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, boxes));
        free(boxes);
    }
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

/* This rank's boxes, one slab. */
static size_t write_data(hid_t level, int number) {
    const int cells = g_side * g_side * g_side;
    const hsize_t of_box = (hsize_t)(g_components * cells), all = g_boxes * of_box;
    hsize_t first, n;
    share(g_boxes, &first, &n);
    const hsize_t begin = first * of_box, count = n * of_box;
    float* values = malloc(sizeof(float) * (size_t)(count + 1));
    float* next = values;
    for (hsize_t b = first; b < first + n; ++b)
        for (int c = 0; c < g_components; ++c)
            for (int i = 0; i < cells; ++i) *next++ = value_at(b, c, i);
    char name[32];
    snprintf(name, sizeof name, "data:datatype=%d", number);
    hid_t dataset = make_dataset(level, name, H5T_IEEE_F32LE, 1, &all, H5P_DEFAULT);
    hid_t in_file = OK(H5Screate_simple(1, &all, NULL));
    hid_t in_memory = OK(H5Screate_simple(1, &count, NULL));
    OK(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, in_memory, in_file, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(in_memory));
    OK(H5Sclose(in_file));
    OK(H5Dclose(dataset));
    free(values);
    return sizeof(float) * (size_t)count;
}

/* A line of /proc/self/status, in MB. */
static double memory_mb(const char* what) {
    char line[256];
    double found = 0;
    FILE* status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, what, strlen(what)) == 0) found = atof(line + strlen(what) + 1) / 1e3;
    if (status != NULL) fclose(status);
    return found;
}

int main(int argc, char** argv) {
    if (argc > 2) g_boxes = (hsize_t)atoll(argv[2]);
    if (argc > 3) g_side = atoi(argv[3]);
    if (argc > 4) g_components = atoi(argv[4]);
    const int datasets = argc > 5 ? atoi(argv[5]) : 1, files = argc > 6 ? atoi(argv[6]) : 1;
    start(&argc, &argv);
    double values_mb = 0;
    for (int plot = 0; plot < files; ++plot) {
        char name[32];
        snprintf(name, sizeof name, "plt%05d", plot);
        hid_t file = create_file(name);
        hid_t level = OK(H5Gcreate2(file, "level_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        describe(file, level);
        values_mb = 0;
        for (int d = 0; d < datasets; ++d) values_mb += 1e-6 * (double)write_data(level, d);
        OK(H5Gclose(level));
        OK(H5Fclose(file));
    }
    printf("rank %d: %.1f MB of values a file, at most %.1f MB of memory, at the end %.1f MB\n",
           g_rank, values_mb, memory_mb("VmHWM:"), memory_mb("VmRSS:"));
    return finish();
}
