/* Goal: oceans with land, each told in another way that land is no data: the dataset's fill value,
 * an attribute after the values, the configuration, or nothing. Rank 0 keeps what was meant in
 * "meant", without compression; missing.py compares. */
#include <math.h>

#include "check.h"

enum { k_rows = 96, k_width = 128 };

static float value_of(uint64_t i, float land, int dump) {
    uint64_t row = i / k_width, column = i % k_width;
    if (dump < 0) return i == 4000 ? land : 280.0f + 10.0f * (float)sin(1e-3 * (double)i);
    if (column < 30 + (row * (3 + (uint64_t)dump)) % 40) return land;
    return 280.0f + 10.0f * (float)sin(1e-3 * (double)i + dump);
}

/* Rows of the ranks in turn, all together; each dump once more over the last one. */
static void write_ocean(hid_t dataset, float land, int dump) {
    hsize_t begin = (hsize_t)(k_rows * g_rank / g_ranks),
            end = (hsize_t)(k_rows * (g_rank + 1) / g_ranks);
    hsize_t offset[2] = {begin, 0}, count[2] = {end - begin, k_width};
    float* values = malloc(sizeof(float) * k_rows * k_width);
    for (uint64_t i = begin * k_width; i < end * k_width; ++i)
        values[i - begin * k_width] = value_of(i, land, dump);
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(2, count, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

static void say(hid_t dataset, const char* name, float land) {
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t attribute =
        OK(H5Acreate2(dataset, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, H5T_NATIVE_FLOAT, &land));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
}

static void make(hid_t file, const char* name, float land, float fill, const char* attribute) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    if (fill != 0) OK(H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &fill));
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F32LE, 2, dims, creation);
    OK(H5Pclose(creation));
    write_ocean(dataset, land, name[0] == 'o' ? -1 : 0);
    if (attribute != NULL) say(dataset, attribute, land);
    if (name[0] == 't') { /* twice: the mask changes after a flush */
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        write_ocean(dataset, land, 1);
    }
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("missing");
    make(file, "by_fill_value", 9.9692099683868690e36f, 9.9692099683868690e36f, NULL);
    make(file, "by_fill_value_amid", 281.5f, 281.5f, NULL);
    make(file, "by_attribute_late", 279.5f, 0, "_FillValue");
    make(file, "by_missing_value_late", -123.25f, 0, "missing_value");
    make(file, "by_rule", 280.25f, 0, NULL);
    make(file, "by_all", 277.0f, 0, NULL);
    make(file, "suspected", -9999.0f, 0, NULL);
    make(file, "once", 1.5e5f, 0, NULL); /* a single value: nothing suspects it */
    make(file, "twice", 1e20f, 0, NULL);
    OK(H5Fclose(file));
    return finish();
}
