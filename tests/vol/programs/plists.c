/* Goal: a dataset's properties are those it was created with, as far as the application asks. */
#include "check.h"

static void creation_properties(hid_t file) {
    hsize_t dims[2] = {64, 64}, chunk[2] = {16, 32};
    hid_t creation = chunked(2, chunk);
    double fill = 1.25;
    OK(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill));
    OK(H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED));
    OK(H5Pset_obj_track_times(creation, false));
    hid_t dataset = make_dataset(file, "dataset", H5T_IEEE_F64LE, 2, dims, creation);
    OK(H5Pclose(creation));
    write_rows(dataset, 64, 64, 0.0, H5FD_MPIO_COLLECTIVE);
    creation = OK(H5Dget_create_plist(dataset));
    hsize_t read[2] = {0, 0};
    double value = 0;
    unsigned order = 0;
    hbool_t times = true;
    CHECK(H5Pget_layout(creation) == H5D_CHUNKED);
    CHECK(OK(H5Pget_chunk(creation, 2, read)) == 2 && read[0] > 0 && read[1] > 0);
    OK(H5Pget_fill_value(creation, H5T_NATIVE_DOUBLE, &value));
    CHECK(value == 1.25);
    OK(H5Pget_attr_creation_order(creation, &order));
    CHECK(order == H5P_CRT_ORDER_TRACKED);
    OK(H5Pget_obj_track_times(creation, &times));
    CHECK(!times);
    /* The list made from a dataset makes another. */
    hid_t other = make_dataset(file, "same_again", H5T_IEEE_F64LE, 2, dims, creation);
    write_rows(other, 64, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    check_rows(other, 64, 64, 1.0);
    OK(H5Dclose(other));
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
}

static void access_properties(hid_t file) {
    hid_t access = OK(H5Pcreate(H5P_DATASET_ACCESS));
    OK(H5Pset_chunk_cache(access, 1009, 123456, 0.5));
    hid_t dataset = OK(H5Dopen2(file, "dataset", access));
    OK(H5Pclose(access));
    access = OK(H5Dget_access_plist(dataset));
    size_t slots, bytes;
    double preemption;
    OK(H5Pget_chunk_cache(access, &slots, &bytes, &preemption));
    CHECK(slots == 1009 && bytes == 123456 && preemption == 0.5);
    OK(H5Pclose(access));
    hid_t type = OK(H5Dget_type(dataset));
    CHECK(OK(H5Tequal(type, H5T_IEEE_F64LE)) > 0);
    OK(H5Tclose(type));
    hid_t space = OK(H5Dget_space(dataset));
    hsize_t dims[2], most[2];
    CHECK(OK(H5Sget_simple_extent_dims(space, dims, most)) == 2);
    CHECK(dims[0] == 64 && dims[1] == 64 && most[0] == 64 && most[1] == 64);
    OK(H5Sclose(space));
    check_rows(dataset, 64, 64, 0.0);
    OK(H5Dclose(dataset));
}

/* Anonymous datasets get their name later, or never. */
static void anonymous(hid_t file) {
    hsize_t dims[2] = {64, 64};
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    hid_t dataset = OK(H5Dcreate_anon(file, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    write_rows(dataset, 64, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Olink(dataset, file, "was_anonymous", H5P_DEFAULT, H5P_DEFAULT));
    check_rows(dataset, 64, 64, 2.0);
    OK(H5Dclose(dataset));
    dataset = OK(H5Dcreate_anon(file, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    write_rows(dataset, 64, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset)); /* nothing of it stays */
    OK(H5Sclose(space));
    hid_t links = OK(H5Pcreate(H5P_LINK_CREATE));
    OK(H5Pset_create_intermediate_group(links, 1));
    OK(H5Pset_char_encoding(links, H5T_CSET_UTF8));
    space = OK(H5Screate_simple(2, dims, NULL));
    dataset = OK(H5Dcreate2(file, "much/deeper/\xc3\xa9t\xc3\xa9", H5T_IEEE_F64LE, space, links,
                            H5P_DEFAULT, H5P_DEFAULT));
    write_rows(dataset, 64, 64, 4.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Sclose(space));
    OK(H5Pclose(links));
}

/* A dataset that is deleted leaves the others alone, written or pending. */
static void deletion(hid_t file) {
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "goes", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 5.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Ldelete(file, "goes", H5P_DEFAULT));
    FAILS(H5Dopen2(file, "goes", H5P_DEFAULT));
    dataset = make_dataset(file, "goes", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT); /* same name */
    write_rows(dataset, 64, 64, 6.0, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, 64, 64, 6.0);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("plists");
    creation_properties(file);
    access_properties(file);
    anonymous(file);
    deletion(file);
    OK(H5Fclose(file));
    file = open_file("plists", H5F_ACC_RDWR);
    access_properties(file);
    hid_t dataset = OK(H5Dopen2(file, "was_anonymous", H5P_DEFAULT));
    check_rows(dataset, 64, 64, 2.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
