/* Goal: fill values: default, own and none; datasets that are written in part or never. */
#include "check.h"

enum { k_rows = 96, k_width = 64 };

/* Writes the rows of every second chunk of 16, all ranks together, rank 0 the values. */
static void write_every_second(hid_t dataset) {
    hsize_t offset[2] = {0, 0}, stride[2] = {32, 1}, count[2] = {3, 1}, block[2] = {16, k_width};
    hid_t space = OK(H5Dget_space(dataset));
    hsize_t all[2] = {48, k_width};
    hid_t memory = OK(H5Screate_simple(2, all, NULL));
    double* values = malloc(sizeof(double) * 48 * k_width);
    if (g_rank == 0) {
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, block));
        for (uint64_t i = 0; i < 48 * k_width; ++i) values[i] = field(i, k_width);
    } else {
        OK(H5Sselect_none(space));
        OK(H5Sselect_none(memory));
    }
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    free(values);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

/* Written rows hold their values, the others the fill value. */
static void check_filled(hid_t file, const char* name, double fill, bool written) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    double* read = malloc(sizeof(double) * k_rows * k_width);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (int row = 0; row < k_rows; ++row) {
        for (int i = 0; i < k_width; ++i) {
            int source = (row / 32) * 16 + row % 32; /* row among those written */
            double wanted = field((uint64_t)(source * k_width + i), k_width);
            double got = read[row * k_width + i];
            if (written && row % 32 < 16)
                CHECK(near(got, wanted));
            else
                CHECK(near(got, fill));
        }
    }
    OK(H5Pclose(list));
    free(read);
    hid_t creation = OK(H5Dget_create_plist(dataset));
    double stored = -1;
    OK(H5Pget_fill_value(creation, H5T_NATIVE_DOUBLE, &stored));
    CHECK(stored == fill);
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
}

static void make(hid_t file, const char* name, bool chunks, double fill, H5D_fill_time_t when,
                 bool write) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {16, 32};
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    if (chunks) OK(H5Pset_chunk(creation, 2, chunk));
    if (fill != 0) OK(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill));
    OK(H5Pset_fill_time(creation, when));
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, creation);
    OK(H5Pclose(creation));
    if (write) write_every_second(dataset);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("fill");
    make(file, "zero", false, 0, H5D_FILL_TIME_ALLOC, true);
    make(file, "own", false, -7.5, H5D_FILL_TIME_IFSET, true);
    make(file, "zero_chunks", true, 0, H5D_FILL_TIME_ALLOC, true);
    make(file, "own_chunks", true, 1e20, H5D_FILL_TIME_IFSET, true);
    make(file, "never_written", false, 3.25, H5D_FILL_TIME_IFSET, false);
    make(file, "never_written_chunks", true, 3.25, H5D_FILL_TIME_IFSET, false);
    for (int pass = 0; pass < 2; ++pass) { /* while it is open, and reopened */
        check_filled(file, "zero", 0, true);
        check_filled(file, "own", -7.5, true);
        check_filled(file, "zero_chunks", 0, true);
        check_filled(file, "own_chunks", 1e20, true);
        check_filled(file, "never_written", 3.25, false);
        check_filled(file, "never_written_chunks", 3.25, false);
        OK(H5Fclose(file));
        if (pass == 0) file = open_file("fill", H5F_ACC_RDONLY);
    }
    return finish();
}
