/* Goal: memory types that differ from the file's are converted, both ways. */
#include "check.h"

enum { k_rows = 64, k_width = 64, k_n = k_rows * k_width };

static double whole(uint64_t i) { return (double)((int64_t)(i * 7 % 2001) - 1000); }

/* Writes this rank's rows from `memory` elements of `size` bytes, reads all back as double. */
static void through(hid_t file, const char* name, hid_t stored, hid_t memory, const void* values,
                    size_t size, double (*expected)(uint64_t), double rounding) {
    hsize_t dims[2] = {k_rows, k_width}, begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    hid_t dataset = make_dataset(file, name, stored, 2, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t mine = OK(H5Screate_simple(2, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, memory, mine, space, list, (const char*)values + begin * k_width * size));
    double* read = malloc(sizeof(double) * k_n);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (uint64_t i = 0; i < k_n; ++i) {
        double away = read[i] - expected(i);
        CHECK(near(read[i], expected(i)) || (away < rounding && -away < rounding));
    }
    if (expected == whole) { /* small fractions of big-endian data become INT_MIN in 1.14.5 */
        int* integers = malloc(sizeof(int) * k_n);
        OK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, list, integers));
        for (uint64_t i = 0; i < k_n; ++i) {
            double away = integers[i] - expected(i);
            CHECK(away < 1.5 && away > -1.5);
        }
        free(integers);
    }
    OK(H5Pclose(list));
    OK(H5Sclose(mine));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

static double smooth(uint64_t i) { return field(i, k_width); }

int main(int argc, char** argv) {
    start(&argc, &argv);
    static double doubles[k_n], swapped[k_n];
    static float floats[k_n];
    static int integers[k_n];
    static short shorts[k_n];
    for (uint64_t i = 0; i < k_n; ++i) {
        doubles[i] = smooth(i);
        swapped[i] = smooth(i);
        floats[i] = (float)smooth(i);
        integers[i] = (int)whole(i);
        shorts[i] = (short)whole(i);
    }
    OK(H5Tconvert(H5T_NATIVE_DOUBLE, H5T_IEEE_F64BE, k_n, swapped, NULL, H5P_DEFAULT));
    hid_t file = create_file("convert");
    through(file, "double_from_float", H5T_IEEE_F64LE, H5T_NATIVE_FLOAT, floats, 4, smooth, 1e-6);
    through(file, "float_from_double", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, doubles, 8, smooth, 1e-6);
    through(file, "double_from_int", H5T_IEEE_F64LE, H5T_NATIVE_INT, integers, 4, whole, 0);
    through(file, "float_from_short", H5T_IEEE_F32LE, H5T_NATIVE_SHORT, shorts, 2, whole, 0);
    through(file, "int_from_double", H5T_STD_I32LE, H5T_NATIVE_DOUBLE, doubles, 8, smooth, 1.0);
    through(file, "long_from_int", H5T_STD_I64BE, H5T_NATIVE_INT, integers, 4, whole, 0);
    through(file, "native_from_big", H5T_IEEE_F64LE, H5T_IEEE_F64BE, swapped, 8, smooth, 0);
    through(file, "big_from_native", H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, doubles, 8, smooth, 0);
    through(file, "big_float_from_int", H5T_IEEE_F32BE, H5T_NATIVE_INT, integers, 4, whole, 0);
    OK(H5Fclose(file));
    return finish();
}
