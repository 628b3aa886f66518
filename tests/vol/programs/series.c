/* Goal: a simulation's usual output: one file a dump, several fields, the next dump while the last
 * may still be on its way; then everything is read back. */
#include <stdio.h>

#include "check.h"

enum { k_dumps = 5, k_n = 32 };

static const char* const k_fields[] = {"density", "temperature", "velocity_x"};

static double at(int dump, int which, uint64_t i) { return dump + 0.1 * which + field(i, k_n); }

static void write_dump(int dump) {
    char name[32];
    snprintf(name, sizeof name, "series_%04d", dump);
    hid_t file = create_file(name);
    put_int(file, "step", dump);
    hid_t group = OK(H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t dims[3] = {k_n, k_n, k_n}, offset[3] = {0, 0, 0}, extent[3] = {0, k_n, k_n};
    share(k_n, &offset[0], &extent[0]);
    size_t n = (size_t)(extent[0] * k_n * k_n);
    float* values = malloc(sizeof(float) * n);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    hid_t memory = OK(H5Screate_simple(3, extent, NULL));
    for (int which = 0; which < 3; ++which) {
        hid_t dataset = make_dataset(group, k_fields[which], H5T_IEEE_F32LE, 3, dims, H5P_DEFAULT);
        hid_t space = OK(H5Dget_space(dataset));
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
        for (size_t i = 0; i < n; ++i)
            values[i] = (float)at(dump, which, offset[0] * k_n * k_n + i);
        OK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, list, values));
        OK(H5Sclose(space));
        OK(H5Dclose(dataset));
    }
    OK(H5Sclose(memory));
    OK(H5Pclose(list));
    free(values);
    OK(H5Gclose(group));
    OK(H5Fclose(file));
}

static void check_dump(int dump) {
    char name[32];
    snprintf(name, sizeof name, "series_%04d", dump);
    hid_t file = open_file(name, H5F_ACC_RDONLY);
    CHECK(get_int(file, "step") == dump);
    float* read = malloc(sizeof(float) * k_n * k_n * k_n);
    for (int which = 0; which < 3; ++which) {
        char path[64];
        snprintf(path, sizeof path, "/fields/%s", k_fields[which]);
        hid_t dataset = OK(H5Dopen2(file, path, H5P_DEFAULT));
        OK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
        for (uint64_t i = 0; i < k_n * k_n * k_n; ++i) {
            double wanted = at(dump, which, i), away = read[i] - wanted;
            CHECK(near(read[i], wanted) || (away < 1e-5 && away > -1e-5));
        }
        OK(H5Dclose(dataset));
    }
    free(read);
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    for (int dump = 0; dump < k_dumps; ++dump) write_dump(dump);
    for (int dump = k_dumps - 1; dump >= 0; --dump) check_dump(dump);
    write_dump(1); /* a restart writes some of them again */
    check_dump(1);
    return finish();
}
