/* Goal: a file that was flushed, written again and closed does not pass for complete before it is:
 * until then its superblock says that a writer has it open, and HDF5 refuses it. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 256 };

/* The consistency flags that stock HDF5 looks at, by plain file calls. */
static int status_flags(const char* name) {
    unsigned char front[12];
    FILE* file = fopen(path_of(name), "rb");
    CHECK(file != NULL);
    CHECK(fread(front, 1, sizeof front, file) == sizeof front);
    fclose(file);
    CHECK(front[0] == 0x89 && front[1] == 'H');
    return front[8] >= 2 ? front[11] : 0;
}

/* As a reader that knows nothing of the connector. */
static hid_t stock_open(const char* name) {
    hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_vol(access, H5VL_NATIVE, NULL));
    hid_t file;
    H5E_BEGIN_TRY { file = H5Fopen(path_of(name), H5F_ACC_RDONLY, access); }
    H5E_END_TRY
    OK(H5Pclose(access));
    return file;
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("in_flight");
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "first", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    if (captured()) CHECK(status_flags("in_flight") == 0); /* complete so far */
    dataset = make_dataset(file, "second", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (captured() && g_rank == 0) {
        CHECK(status_flags("in_flight") == 1);
        CHECK(stock_open("in_flight") < 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    file = open_file("in_flight", H5F_ACC_RDONLY);
    CHECK(status_flags("in_flight") == 0);
    const char* names[] = {"first", "second"};
    for (int i = 0; i < 2; ++i) {
        dataset = OK(H5Dopen2(file, names[i], H5P_DEFAULT));
        check_rows(dataset, k_rows, 64, i + 1.0);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    file = stock_open("in_flight");
    OK(file);
    OK(H5Fclose(file));
    return finish();
}
