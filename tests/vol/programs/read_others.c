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

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("read_others");
    run(file, "later", false);
    run(file, "at_once", true);
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
