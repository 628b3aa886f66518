/* Goal: a file is closed and opened again in the same run, read and extended, many times over. */
#include "check.h"

enum { k_rounds = 6 };

static void name_of(int round, char* name) {
    name[0] = 'd';
    name[1] = (char)('0' + round);
    name[2] = 0;
}

/* A bound that is relative to the values, which the configuration of the tests has for these names:
 * what is written after the file was opened again takes as little space as before. */
static void keeps_bound(void) {
    static const char* const names[] = {"relative", "psnr"};
    hsize_t dims[2] = {64, 64}, before[2];
    hid_t file = create_file("bounds");
    for (int i = 0; i < 2; ++i) {
        hid_t dataset = make_dataset(file, names[i], H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        write_rows(dataset, 64, 64, 1.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        before[i] = H5Dget_storage_size(dataset);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    file = open_file("bounds", H5F_ACC_RDWR);
    for (int i = 0; i < 2; ++i) {
        hid_t dataset = OK(H5Dopen2(file, names[i], H5P_DEFAULT));
        write_rows(dataset, 64, 64, 2.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        CHECK(2 * H5Dget_storage_size(dataset) <= 3 * before[i]);
        check_rows(dataset, 64, 64, 2.0);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("reopen");
    OK(H5Fclose(file));
    hsize_t dims[2] = {64, 64};
    char name[3];
    for (int round = 0; round < k_rounds; ++round) {
        file = open_file("reopen", H5F_ACC_RDWR);
        name_of(round, name);
        hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        write_rows(dataset, 64, 64, round, H5FD_MPIO_COLLECTIVE);
        put_int(dataset, "round", round);
        OK(H5Dclose(dataset));
        for (int earlier = 0; earlier < round; ++earlier) {
            name_of(earlier, name);
            dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
            check_rows(dataset, 64, 64, earlier);
            CHECK(get_int(dataset, "round") == earlier);
            OK(H5Dclose(dataset));
        }
        OK(H5Fclose(file));
    }
    file = open_file("reopen", H5F_ACC_RDONLY);
    for (int round = 0; round < k_rounds; ++round) {
        name_of(round, name);
        hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
        check_rows(dataset, 64, 64, round);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    /* Truncated: nothing of it is left. */
    file = create_file("reopen");
    CHECK(OK(H5Lexists(file, "d0", H5P_DEFAULT)) == 0);
    hid_t dataset = make_dataset(file, "new", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 9.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    keeps_bound();
    return finish();
}
