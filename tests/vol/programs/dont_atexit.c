/* Goal: a process that has told HDF5 not to close itself at exit, and ends without MPI_Finalize,
 * has closed its file all the same: it is complete. "DIRECTORY write", then "DIRECTORY read"
 * without the connector. */
#include "check.h"

enum { k_rows = 4096 };

int main(int argc, char** argv) {
    const bool writes = argc == 3 && strcmp(argv[2], "write") == 0;
    if (writes) OK(H5dont_atexit());
    start(&argc, &argv);
    static double values[k_rows * 64];
    hsize_t dims[2] = {k_rows, 64};
    if (!writes) {
        hid_t file = OK(H5Fopen(path_of("dont_atexit"), H5F_ACC_RDONLY, H5P_DEFAULT));
        hid_t dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
        OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        for (uint64_t i = 0; i < k_rows * 64; ++i) CHECK(near(values[i], field(i, 64)));
        OK(H5Dclose(dataset));
        OK(H5Fclose(file));
        return finish();
    }
    OK(H5Fclose(OK(H5Fcreate(path_of("dont_atexit"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))));
    /* What is opened again is still being written when it has been closed. */
    hid_t file = OK(H5Fopen(path_of("dont_atexit"), H5F_ACC_RDWR, H5P_DEFAULT));
    check_connector(file);
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (uint64_t i = 0; i < k_rows * 64; ++i) values[i] = field(i, 64);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    exit(0);
}
