/* Goal: what others have written, read by each rank for itself: after H5Fflush and a barrier, as
 * MPI demands, always; right after a collective write and a barrier where the configuration says
 * so ("at_once"), and otherwise rightly or not at all. */
#include "check.h"

enum { k_rows = 96, k_width = 64 };

/* Everything, by this rank alone. Whether HDF5 gave it. */
static bool reads(hid_t dataset, double base) {
    double* values = malloc(sizeof(double) * k_rows * k_width);
    herr_t status;
    H5E_BEGIN_TRY {
        status = H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    }
    H5E_END_TRY
    for (uint64_t i = 0; status >= 0 && i < k_rows * k_width; ++i)
        CHECK(near(values[i], base + field(i, k_width)));
    free(values);
    return status >= 0;
}

static void run(hid_t file, const char* name, bool at_once) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (int round = 0; round < 3; ++round) {
        write_rows(dataset, k_rows, k_width, round, H5FD_MPIO_COLLECTIVE);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(reads(dataset, round) || !at_once);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    write_rows(dataset, k_rows, k_width, 5.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(dataset, 5.0));
    MPI_Barrier(MPI_COMM_WORLD);
    write_rows(dataset, k_rows, k_width, 6.0, H5FD_MPIO_INDEPENDENT);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(dataset, 6.0));
    OK(H5Dclose(dataset));
}

static double* values_of(hsize_t rows) { return malloc(sizeof(double) * (size_t)rows * k_width); }

/* Rows [first, first + rows) by this rank alone; of what all wrote alone. */
static bool reads_rows(hid_t dataset, hsize_t first, hsize_t rows, double base) {
    hsize_t offset[2] = {first, 0}, extent[2] = {rows, k_width};
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    double* values = values_of(rows);
    herr_t status;
    H5E_BEGIN_TRY {
        status = H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);
    }
    H5E_END_TRY
    for (uint64_t i = 0; status >= 0 && i < rows * k_width; ++i)
        CHECK(near(values[i], base + field(first * k_width + i, k_width)));
    free(values);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    return status >= 0;
}

/* Written by each rank alone and not flushed: a rank reads its own, in as many pieces as it wrote
 * them, and of the others what is right or nothing. */
static void alone(hid_t file) {
    hsize_t dims[2] = {k_rows, k_width}, most[2] = {H5S_UNLIMITED, k_width}, chunk[2] = {16, 32};
    hid_t space = OK(H5Screate_simple(2, dims, most)), creation = chunked(2, chunk);
    hid_t dataset =
        OK(H5Dcreate2(file, "alone", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Pclose(creation));
    OK(H5Sclose(space));
    hsize_t begin, count;
    for (int half = 0; half < 2; ++half) {
        dims[0] = (hsize_t)(half + 1) * k_rows;
        OK(H5Dset_extent(dataset, dims)); /* the second half is new */
        share(k_rows, &begin, &count);
        begin += (hsize_t)half * k_rows;
        for (hsize_t row = begin; row < begin + count; row += 4) {
            hsize_t offset[2] = {row, 0}, extent[2] = {4, k_width};
            double* values = values_of(4);
            for (uint64_t i = 0; i < 4 * k_width; ++i)
                values[i] = 1.0 + field(row * k_width + i, k_width);
            hid_t memory = OK(H5Screate_simple(2, extent, NULL));
            space = OK(H5Dget_space(dataset));
            OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
            OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
            OK(H5Sclose(space));
            OK(H5Sclose(memory));
            free(values);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(reads_rows(dataset, begin, count, 1.0));
        bool others = reads_rows(dataset, (hsize_t)half * k_rows, k_rows, 1.0);
        CHECK(others == (!captured() || g_ranks == 1));
        if (half == 1) CHECK(reads_rows(dataset, 0, k_rows, 1.0)); /* that was flushed */
        MPI_Barrier(MPI_COMM_WORLD);
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(reads_rows(dataset, 0, dims[0], 1.0));
    }
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("read_others");
    run(file, "later", false);
    run(file, "at_once", true);
    alone(file);
    OK(H5Fclose(file));
    file = open_file("read_others", H5F_ACC_RDWR);
    hid_t dataset = OK(H5Dopen2(file, "at_once", H5P_DEFAULT));
    CHECK(reads(dataset, 6.0));
    MPI_Barrier(MPI_COMM_WORLD);
    write_rows(dataset, k_rows, k_width, 7.0, H5FD_MPIO_COLLECTIVE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(dataset, 7.0));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
