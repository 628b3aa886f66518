/* Goal: mistakes get the same answers on every rank, and what follows them works. */
#include "check.h"

static herr_t first_record(unsigned n, const H5E_error2_t* error, void* data) {
    (void)n;
    *(hid_t*)data = error->maj_num;
    return 1;
}

static void names(hid_t file) {
    FAILS(H5Dopen2(file, "absent", H5P_DEFAULT));
    hid_t major = -1;
    H5E_BEGIN_TRY { (void)H5Gopen2(file, "absent", H5P_DEFAULT); }
    H5E_END_TRY
    CHECK(H5Eget_num(H5E_DEFAULT) > 0); /* the stack says why */
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_record, &major);
    CHECK(major != -1);
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    FAILS(H5Dcreate2(file, "field", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Gopen2(file, "field", H5P_DEFAULT)); /* of another kind */
    OK(H5Sclose(space));
    write_rows(dataset, 64, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, 64, 64, 1.0);
    OK(H5Dclose(dataset));
}

static void transfers(hid_t file) {
    hid_t dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    static double values[64 * 64];
    hsize_t small[1] = {5}, beyond[2] = {60, 60}, extent[2] = {8, 8};
    hid_t memory = OK(H5Screate_simple(1, small, NULL));
    /* As many elements as the file's selection has, or it is refused. */
    FAILS(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Sclose(memory));
    memory = OK(H5Screate_simple(2, extent, NULL));
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, beyond, NULL, extent, NULL));
    FAILS(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
    FAILS(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
    OK(H5Sclose(space));
    OK(H5Sclose(memory));
    FAILS(H5Dwrite(dataset, H5T_C_S1, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   values)); /* no such conversion */
    FAILS(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    check_rows(dataset, 64, 64, 1.0); /* nothing of all this has arrived */
    OK(H5Dclose(dataset));
}

static void chunks(hid_t file) {
    hsize_t dims[2] = {64, 64}, large[2] = {128, 128};
    hid_t creation = chunked(2, large);
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    FAILS(H5Dcreate2(file, "large_chunk", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation,
                     H5P_DEFAULT)); /* larger than a fixed extent */
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    hsize_t most[2] = {H5S_UNLIMITED, 64};
    space = OK(H5Screate_simple(2, dims, most));
    FAILS(H5Dcreate2(file, "contiguous", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                     H5P_DEFAULT)); /* grows, so it needs chunks */
    OK(H5Sclose(space));
    CHECK(OK(H5Lexists(file, "large_chunk", H5P_DEFAULT)) == 0);
    CHECK(OK(H5Lexists(file, "contiguous", H5P_DEFAULT)) == 0);
}

/* What could not be made takes no name away: neither from a later try nor from what has it. */
static void made_again(void) {
    hsize_t dims[2] = {64, 64};
    hid_t file = open_file("errors", H5F_ACC_RDWR);
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    FAILS(H5Dcreate2(file, "group/late", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                     H5P_DEFAULT)); /* no such group yet */
    FAILS(H5Dcreate2(file, "field", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
                     H5P_DEFAULT)); /* one of an earlier open */
    OK(H5Sclose(space));
    OK(H5Gclose(OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    hid_t late = make_dataset(file, "group/late", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    hid_t field = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    write_rows(late, 64, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    write_rows(field, 64, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    check_rows(late, 64, 64, 2.0);
    check_rows(field, 64, 64, 3.0);
    OK(H5Dclose(late));
    OK(H5Dclose(field));
    OK(H5Fclose(file));
    file = open_file("errors", H5F_ACC_RDONLY);
    late = OK(H5Dopen2(file, "group/late", H5P_DEFAULT));
    field = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    check_rows(late, 64, 64, 2.0);
    check_rows(field, 64, 64, 3.0);
    OK(H5Dclose(late));
    OK(H5Dclose(field));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("errors");
    names(file);
    transfers(file);
    chunks(file);
    FAILS(H5Fopen(path_of("absent"), H5F_ACC_RDWR, H5P_DEFAULT));
    OK(H5Fclose(file));
    FAILS(H5Fclose(file));
    file = open_file("errors", H5F_ACC_RDONLY);
    hid_t dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    FAILS(
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &file)); /* read-only */
    check_rows(dataset, 64, 64, 1.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    made_again();
    return finish();
}
