/* Goal: ranks that have nothing to write take part: in the data, in the call, or not at all. */
#include "selections.h"

/* Only the given rank writes, collectively with the others. */
static void only(Target* target, int writer, int round) {
    hid_t space = OK(H5Dget_space(target->dataset));
    hsize_t half = target->dims[0] / 2, offset[2] = {round % 2 ? half : 0, 0};
    hsize_t extent[2] = {half, target->dims[1]};
    if (g_rank == writer % g_ranks)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    write_selected(target, space, round, H5FD_MPIO_COLLECTIVE);
    check_target(target, space);
    OK(H5Sclose(space));
}

/* An independent write by one rank alone; the others do not call. */
static void alone(hid_t file) {
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "alone", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    if (g_rank == g_ranks - 1) {
        double* values = malloc(sizeof(double) * 4096);
        for (uint64_t i = 0; i < 4096; ++i) values[i] = field(i, 64);
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        free(values);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_rows(dataset, 64, 64, 0.0);
    OK(H5Dclose(dataset));
}

/* Nobody has anything. */
static void nobody(hid_t file) {
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "nobody", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_none(space));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, space, space, list, NULL));
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("select_none");
    hsize_t dims[2] = {80, 64}, chunk[2] = {20, 64};
    Target target = make_target(file, "contiguous", 2, dims, NULL, 0);
    for (int round = 0; round < 4; ++round) only(&target, round, round);
    close_target(&target);
    target = make_target(file, "chunked", 2, dims, chunk, 0);
    for (int round = 0; round < 4; ++round) only(&target, round + 1, round);
    close_target(&target);
    alone(file);
    nobody(file);
    OK(H5Fclose(file));
    return finish();
}
