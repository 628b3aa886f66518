/* Goal: inside the program, what was written is what is read: at once, in part, in other shapes,
 * by ranks that did not write it. */
#include "check.h"

enum { k_rows = 96, k_width = 64 };

/* Own rows, independently: no other rank takes part. */
static void own_rows(hid_t dataset, double base) {
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    double* read = malloc(sizeof(double) * (size_t)(count * k_width));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, read));
    for (uint64_t i = 0; i < count * k_width; ++i)
        CHECK(near(read[i], base + field(begin * k_width + i, k_width)));
    free(read);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

/* A column that all ranks have a part of, and rows of the next rank, collectively. */
static void others(hid_t dataset, double base) {
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    hid_t space = OK(H5Dget_space(dataset));
    hsize_t offset[2] = {0, 5}, extent[2] = {k_rows, 1}, dims[1] = {k_rows};
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(1, dims, NULL));
    double column[k_rows];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, list, column));
    for (uint64_t row = 0; row < k_rows; ++row)
        CHECK(near(column[row], base + field(row * k_width + 5, k_width)));
    OK(H5Sclose(memory));
    hsize_t each = (hsize_t)(k_rows / g_ranks);
    offset[0] = (hsize_t)((g_rank + 1) % g_ranks) * each;
    offset[1] = 0;
    extent[0] = each;
    extent[1] = k_width;
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    memory = OK(H5Screate_simple(2, extent, NULL));
    float* read = malloc(sizeof(float) * (size_t)(each * k_width));
    OK(H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, list, read));
    for (uint64_t i = 0; i < each * k_width; ++i) {
        double wanted = base + field(offset[0] * k_width + i, k_width);
        double away = read[i] - wanted;
        CHECK(near(read[i], wanted) || (away < 1e-5 && away > -1e-5));
    }
    free(read);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
}

static void run(hid_t file, const char* name, hid_t creation, H5FD_mpio_xfer_t how) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, creation);
    for (int round = 0; round < 3; ++round) {
        write_rows(dataset, k_rows, k_width, round, how);
        own_rows(dataset, round);
        MPI_Barrier(MPI_COMM_WORLD);
        others(dataset, round);
    }
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, name, H5P_DEFAULT)); /* another identifier of the same */
    own_rows(dataset, 2);
    others(dataset, 2);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hsize_t chunk[2] = {20, 64};
    hid_t creation = chunked(2, chunk);
    hid_t file = create_file("read_after_write");
    run(file, "contiguous", H5P_DEFAULT, H5FD_MPIO_COLLECTIVE);
    run(file, "contiguous_alone", H5P_DEFAULT, H5FD_MPIO_INDEPENDENT);
    run(file, "chunked", creation, H5FD_MPIO_COLLECTIVE);
    run(file, "chunked_alone", creation, H5FD_MPIO_INDEPENDENT);
    OK(H5Pclose(creation));
    OK(H5Fclose(file));
    return finish();
}
