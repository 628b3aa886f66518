/* Goal: a file mounted in another; virtual datasets, which parallel HDF5 creates but does not
 * read, seen by a serial reader. */
#include "check.h"

static void mounted(void) {
    hid_t inner = create_file("mounts_inner");
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(inner, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    hid_t outer = create_file("mounts_outer");
    hid_t place = OK(H5Gcreate2(outer, "place", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(place));
    OK(H5Fmount(outer, "place", inner, H5P_DEFAULT));
    dataset = OK(H5Dopen2(outer, "place/field", H5P_DEFAULT));
    check_connector(dataset);
    check_rows(dataset, 64, 64, 1.0);
    write_rows(dataset, 64, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    place = OK(H5Gcreate2(outer, "place/made_through", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(place));
    OK(H5Funmount(outer, "place"));
    FAILS(H5Dopen2(outer, "place/field", H5P_DEFAULT));
    CHECK(OK(H5Lexists(inner, "made_through", H5P_DEFAULT)) > 0);
    dataset = OK(H5Dopen2(inner, "field", H5P_DEFAULT));
    check_rows(dataset, 64, 64, 2.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(outer));
    OK(H5Fclose(inner));
}

static void virtual_over_parts(void) {
    hid_t file = create_file("virtual");
    hsize_t dims[2] = {128, 64}, half[2] = {64, 64};
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    hid_t part_space = OK(H5Screate_simple(2, half, NULL));
    const char* names[] = {"/upper", "/lower"};
    for (int i = 0; i < 2; ++i) {
        hid_t part = make_dataset(file, names[i], H5T_IEEE_F64LE, 2, half, H5P_DEFAULT);
        write_rows(part, 64, 64, i + 1.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Dclose(part));
        hsize_t offset[2] = {(hsize_t)i * 64, 0};
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, half, NULL));
        OK(H5Pset_virtual(creation, space, ".", names[i], part_space));
    }
    OK(H5Sselect_all(space));
    hid_t dataset =
        OK(H5Dcreate2(file, "both", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Pclose(creation));
    creation = OK(H5Dget_create_plist(dataset));
    size_t maps = 0;
    OK(H5Pget_virtual_count(creation, &maps));
    CHECK(maps == 2 && H5Pget_layout(creation) == H5D_VIRTUAL);
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
    OK(H5Sclose(part_space));
    OK(H5Sclose(space));
    OK(H5Fclose(file));
    /* For the last writer to be done, whatever it does in the background: all open it once. */
    file = open_file("virtual", H5F_ACC_RDONLY);
    OK(H5Fclose(file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank != 0) return;
    file = OK(H5Fopen(path_of("virtual"), H5F_ACC_RDONLY, H5P_DEFAULT));
    dataset = OK(H5Dopen2(file, "both", H5P_DEFAULT));
    double* values = malloc(sizeof(double) * 128 * 64);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (uint64_t i = 0; i < 128 * 64; ++i)
        CHECK(near(values[i], (double)(1 + i / 4096) + field(i % 4096, 64)));
    free(values);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* One process. What was written through a virtual dataset is what its source says, also where a
 * part of a chunk has been read before. */
static void written_through(void) {
    enum { k_all = 8192, k_first = 100, k_few = 50 };
    const hsize_t dims[1] = {k_all}, chunk[1] = {1024}, first[1] = {k_first}, few[1] = {k_few};
    hid_t file = OK(H5Fcreate(path_of("through"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE)), space = OK(H5Screate_simple(1, dims, NULL));
    OK(H5Pset_chunk(creation, 1, chunk));
    hid_t source = make_dataset(file, "source", H5T_IEEE_F64LE, 1, dims, creation);
    OK(H5Pclose(creation));
    creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_virtual(creation, space, ".", "/source", space));
    hid_t through =
        OK(H5Dcreate2(file, "through", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    hid_t memory = OK(H5Screate_simple(1, few, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, few, NULL));
    static double values[k_all];
    for (int i = 0; i < k_all; ++i) values[i] = i;
    OK(H5Dwrite(source, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Fflush(file, H5F_SCOPE_LOCAL));
    for (int round = 0; round < 3; ++round) {
        double part[k_few];
        OK(H5Dread(source, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, part));
        for (int i = 0; i < k_few; ++i) CHECK(near(part[i], (round + 1.0) * (k_first + i)));
        for (int i = 0; i < k_few; ++i) part[i] = (round + 2.0) * (k_first + i);
        OK(H5Dwrite(through, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, part));
    }
    OK(H5Pclose(creation));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(through));
    OK(H5Dclose(source));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    mounted();
    virtual_over_parts();
    if (g_rank == 0) written_through();
    return finish();
}
