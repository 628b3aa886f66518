/* Goal: MPI_Finalize right after a close, with a file that nobody closes: nothing of either is
 * lost.
 */
#include "check.h"

int main(int argc, char** argv) {
    start(&argc, &argv);
    write_file(MPI_COMM_WORLD, "closed", 256, 1.0);
    if (g_rank == 0) write_file(MPI_COMM_SELF, "of_rank_0", 64, 2.0);
    hid_t first = create_file("first_left_open"); /* HDF5 closes them in this order */
    hid_t file = create_file("left_open");
    hid_t again = OK(H5Freopen(file));
    hid_t type = OK(H5Tcopy(H5T_STD_I64LE)); /* HDF5 ends its types before its files */
    OK(H5Tcommit2(first, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t dims[2] = {256, 64};
    hid_t dataset = make_dataset(file, "flushed", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 256, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    dataset = make_dataset(first, "waits", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 256, 64, 5.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    dataset = make_dataset(file, "not_flushed", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 256, 64, 4.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    MPI_Finalize(); /* HDF5 closes itself there */
    FAILS(H5Fclose(file));
    FAILS(H5Fclose(again));
    FAILS(H5Fclose(first));
    return 0;
}
