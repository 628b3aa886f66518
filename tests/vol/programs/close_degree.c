/* Goal: closing a file while objects in it are open, for every close degree. */
#include "check.h"

static hid_t open_with(H5F_close_degree_t degree, bool create) {
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Pset_fclose_degree(access, degree));
    hid_t file = create ? H5Fcreate(path_of("degrees"), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                        : H5Fopen(path_of("degrees"), H5F_ACC_RDWR, access);
    OK(file);
    OK(H5Pclose(access));
    check_connector(file);
    return file;
}

/* The default with MPI: a close with open objects is refused and changes nothing. */
static void semi(void) {
    hid_t file = open_with(H5F_CLOSE_SEMI, true);
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "semi", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    FAILS(H5Fclose(file));
    check_rows(dataset, 64, 64, 1.0); /* usable after the refusal */
    put_int(dataset, "after_refusal", 1);
    CHECK(get_int(dataset, "after_refusal") == 1);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* Objects may outlive the file's identifier. */
static void weak(void) {
    hid_t file = open_with(H5F_CLOSE_WEAK, false);
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "weak", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    OK(H5Fclose(file));
    write_rows(dataset, 64, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, 64, 64, 2.0);
    put_int(dataset, "after_close", 2);
    OK(H5Dclose(dataset)); /* closes the file */
}

/* The close takes the objects along. */
static void strong(void) {
    hid_t file = open_with(H5F_CLOSE_STRONG, false);
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "strong", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Fclose(file));
    CHECK(H5Iis_valid(dataset) == 0);
    CHECK(H5Iis_valid(group) == 0);
}

/* An object without links is deleted when it is closed, here as the last one of its file: the group
 * that it holds has one link less then. */
static void deleted(H5F_close_degree_t degree) {
    hid_t file = open_with(degree, false);
    hid_t kept = OK(H5Gcreate2(file, "kept", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t gone = OK(H5Gcreate2(file, "gone", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_hard(file, "kept", gone, "again", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(kept));
    OK(H5Ldelete(file, "gone", H5P_DEFAULT));
    OK(H5Fclose(file));
    if (degree == H5F_CLOSE_WEAK) OK(H5Gclose(gone));
    file = open_with(degree, false);
    H5O_info2_t info;
    OK(H5Oget_info_by_name3(file, "kept", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    CHECK(info.rc == 1);
    OK(H5Ldelete(file, "kept", H5P_DEFAULT));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    semi();
    weak();
    strong();
    deleted(H5F_CLOSE_WEAK);
    deleted(H5F_CLOSE_STRONG);
    hid_t file = open_with(H5F_CLOSE_SEMI, false);
    const char* names[] = {"semi", "weak", "strong"};
    for (int i = 0; i < 3; ++i) {
        hid_t dataset = OK(H5Dopen2(file, names[i], H5P_DEFAULT));
        check_rows(dataset, 64, 64, i + 1.0);
        if (i == 1) CHECK(get_int(dataset, "after_close") == 2);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    return finish();
}
