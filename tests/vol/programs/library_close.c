/* Goal: H5close after a close: every file is complete, for whoever opens it then; and HDF5 can be
 * used again. */
#include "check.h"

int main(int argc, char** argv) {
    start(&argc, &argv);
    for (int round = 0; round < 2; ++round) {
        write_file(MPI_COMM_WORLD, "library_close", 256, round);
        OK(H5close());
        OK(H5open());
        OK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
        MPI_Barrier(MPI_COMM_WORLD);
        check_file(MPI_COMM_SELF, "library_close", 256, round); /* each rank by itself */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
