/* Goal: data transforms of transfer lists, on the way in and on the way out, alone and together. */
#include "check.h"

enum { k_rows = 64, k_width = 64, k_n = k_rows * k_width };

static hid_t list_with(const char* expression, H5FD_mpio_xfer_t how) {
    hid_t list = transfer(how);
    OK(H5Pset_data_transform(list, expression));
    return list;
}

static void run(hid_t file, const char* name, hid_t stored, hid_t creation, H5FD_mpio_xfer_t how) {
    hsize_t dims[2] = {k_rows, k_width}, begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    hid_t dataset = make_dataset(file, name, stored, 2, dims, creation);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    double values[k_n];
    for (uint64_t i = 0; i < count * k_width; ++i) values[i] = field(begin * k_width + i, k_width);
    hid_t list = list_with("2*x + 1", how);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    OK(H5Pclose(list));
    for (uint64_t i = 0; i < k_n; ++i) {
        double away = values[i] - (2 * field(i, k_width) + 1);
        CHECK(near(away, 0) || (away < 1e-6 && -away < 1e-6));
    }
    list = list_with("(x - 1)*0.5", H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    OK(H5Pclose(list));
    for (uint64_t i = 0; i < k_n; ++i) {
        double away = values[i] - field(i, k_width);
        CHECK(near(away, 0) || (away < 1e-6 && -away < 1e-6));
    }
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hsize_t chunk[2] = {16, 32};
    hid_t creation = chunked(2, chunk);
    hid_t file = create_file("transforms");
    run(file, "doubles", H5T_IEEE_F64LE, H5P_DEFAULT, H5FD_MPIO_COLLECTIVE);
    run(file, "alone", H5T_IEEE_F64LE, H5P_DEFAULT, H5FD_MPIO_INDEPENDENT);
    run(file, "floats", H5T_IEEE_F32LE, creation, H5FD_MPIO_COLLECTIVE);
    OK(H5Fclose(file));
    OK(H5Pclose(creation));
    return finish();
}
