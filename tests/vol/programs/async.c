/* Goal: the _async calls with event sets do what the plain calls do. */
#include "check.h"

enum { k_rows = 64, k_width = 64 };

static void wait_all(hid_t events) {
    size_t left = 1;
    hbool_t failed = true;
    OK(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed));
    CHECK(left == 0 && !failed);
    hbool_t status = true;
    OK(H5ESget_err_status(events, &status));
    CHECK(!status);
}

static void write_async(hid_t file, hid_t events, const char* name, double base) {
    hsize_t dims[2] = {k_rows, k_width}, begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    hid_t dataset = OK(H5Dcreate_async(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                                       H5P_DEFAULT, events));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    double* values = malloc(sizeof(double) * (size_t)(count * k_width));
    for (uint64_t i = 0; i < count * k_width; ++i)
        values[i] = base + field(begin * k_width + i, k_width);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite_async(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values, events));
    wait_all(events); /* only then is the buffer ours */
    free(values);
    OK(H5Dclose_async(dataset, events));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

static void attributes(hid_t group, hid_t events) {
    int value = 5, read = 0;
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t attribute =
        OK(H5Acreate_async(group, "five", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, events));
    OK(H5Awrite_async(attribute, H5T_NATIVE_INT, &value, events));
    OK(H5Aclose_async(attribute, events));
    attribute = OK(H5Aopen_async(group, "five", H5P_DEFAULT, events));
    OK(H5Aread_async(attribute, H5T_NATIVE_INT, &read, events));
    OK(H5Aclose_async(attribute, events));
    wait_all(events);
    CHECK(read == 5);
    hbool_t exists = false;
    OK(H5Aexists_async(group, "five", &exists, events));
    OK(H5Arename_async(group, "five", "still_five", events));
    wait_all(events);
    CHECK(exists);
    OK(H5Sclose(space));
}

static void read_async(hid_t file, hid_t events, const char* name, double base) {
    double* values = malloc(sizeof(double) * k_rows * k_width);
    hid_t dataset = OK(H5Dopen_async(file, name, H5P_DEFAULT, events));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread_async(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values, events));
    hid_t space = OK(H5Dget_space_async(dataset, events));
    wait_all(events);
    for (uint64_t i = 0; i < k_rows * k_width; ++i)
        CHECK(near(values[i], base + field(i, k_width)));
    OK(H5Sclose(space));
    OK(H5Dclose_async(dataset, events));
    OK(H5Pclose(list));
    free(values);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t access = mpi_access(MPI_COMM_WORLD);
    hid_t events = OK(H5EScreate());
    hid_t file = OK(H5Fcreate_async(path_of("async"), H5F_ACC_TRUNC, H5P_DEFAULT, access, events));
    hid_t group = OK(H5Gcreate_async(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, events));
    attributes(group, events);
    write_async(group, events, "a", 1.0);
    write_async(group, events, "b", 2.0);
    OK(H5Gclose_async(group, events));
    OK(H5Lcreate_soft_async("/group/a", file, "soft", H5P_DEFAULT, H5P_DEFAULT, events));
    OK(H5Fflush_async(file, H5F_SCOPE_LOCAL, events));
    read_async(file, events, "soft", 1.0);
    OK(H5Fclose_async(file, events));
    wait_all(events);
    file = OK(H5Fopen_async(path_of("async"), H5F_ACC_RDONLY, access, events));
    wait_all(events);
    check_connector(file);
    group = OK(H5Gopen_async(file, "group", H5P_DEFAULT, events));
    read_async(group, events, "b", 2.0);
    hid_t object = OK(H5Oopen_async(file, "group/a", H5P_DEFAULT, events));
    OK(H5Oclose_async(object, events));
    OK(H5Gclose_async(group, events));
    OK(H5Fclose_async(file, events));
    wait_all(events);
    OK(H5ESclose(events));
    OK(H5Pclose(access));
    return finish();
}
