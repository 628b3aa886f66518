/* Goal: H5Fflush makes data readable by others while the file stays open; object flushes, which
 * parallel HDF5 refuses, are refused and do no harm. */
#include "check.h"

/* After a flush and a barrier another program's eyes: rank 0 reads a copy of the file's bytes. */
static void read_serially(double base) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
        hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
        OK(H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL));
        hid_t file = OK(H5Fopen(path_of("flush"), H5F_ACC_RDONLY, access));
        OK(H5Pclose(access));
        hid_t dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
        double* values = malloc(sizeof(double) * 4096);
        OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        for (uint64_t i = 0; i < 4096; ++i) CHECK(near(values[i], base + field(i, 64)));
        free(values);
        OK(H5Dclose(dataset));
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Refreshing is refused or done; both leave everything as it is. */
static void flush_objects(hid_t file, hid_t dataset) {
    FAILS(H5Oflush(dataset));
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Oflush(group));
    FAILS(H5Gflush(group));
    OK(H5Gclose(group));
    hid_t type = OK(H5Tcopy(H5T_NATIVE_INT));
    OK(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Oflush(type));
    FAILS(H5Tflush(type));
    OK(H5Tclose(type));
    int refused = 0, least, most;
    H5E_BEGIN_TRY { refused = H5Orefresh(dataset) < 0; }
    H5E_END_TRY
    MPI_Allreduce(&refused, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&refused, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == most); /* all ranks get the same answer */
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("flush");
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (int round = 0; round < 3; ++round) {
        write_rows(dataset, 64, 64, round, H5FD_MPIO_COLLECTIVE);
        OK(H5Fflush(round % 2 ? dataset : file, H5F_SCOPE_GLOBAL));
        check_rows(dataset, 64, 64, round);
    }
    flush_objects(file, dataset);
    check_rows(dataset, 64, 64, 2.0);
    OK(H5Fflush(file, H5F_SCOPE_LOCAL));
    OK(H5Fflush(file, H5F_SCOPE_LOCAL)); /* nothing new */
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    read_serially(2.0);
    return finish();
}
