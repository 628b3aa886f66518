/* Goal: attributes of every kind on every kind of object, variable-length strings included; by
 * name and by index; renamed, deleted, iterated; few (compact) and many (dense). */
#include "check.h"

static void strings(hid_t object) {
    hid_t variable = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(variable, H5T_VARIABLE));
    OK(H5Tset_cset(variable, H5T_CSET_UTF8));
    hsize_t three[1] = {3};
    hid_t space = OK(H5Screate_simple(1, three, NULL));
    hid_t attribute = OK(H5Acreate2(object, "words", variable, space, H5P_DEFAULT, H5P_DEFAULT));
    const char* words[] = {"caesura", "", "a pause inside a line of verse, of any length at all"};
    OK(H5Awrite(attribute, variable, words));
    OK(H5Aclose(attribute));
    attribute = OK(H5Aopen(object, "words", H5P_DEFAULT));
    char* read[3];
    OK(H5Aread(attribute, variable, read));
    for (int i = 0; i < 3; ++i) CHECK(strcmp(read[i], words[i]) == 0);
    OK(H5Treclaim(variable, space, H5P_DEFAULT, read));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    space = OK(H5Screate(H5S_SCALAR));
    attribute = OK(H5Acreate2(object, "word", variable, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, variable, &words[2]));
    OK(H5Aclose(attribute));
    OK(H5Tclose(variable));
    hid_t fixed = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(fixed, 20));
    attribute = OK(H5Acreate2(object, "fixed", fixed, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, fixed, "twenty bytes of text"));
    OK(H5Aclose(attribute));
    OK(H5Tclose(fixed));
    OK(H5Sclose(space));
}

static void sequences(hid_t object) {
    hid_t type = OK(H5Tvlen_create(H5T_NATIVE_DOUBLE));
    hsize_t two[1] = {2};
    hid_t space = OK(H5Screate_simple(1, two, NULL));
    hid_t attribute = OK(H5Acreate2(object, "sequences", type, space, H5P_DEFAULT, H5P_DEFAULT));
    double values[5] = {1, 2, 3, 4, 5};
    hvl_t rows[2] = {{5, values}, {1, values + 4}};
    OK(H5Awrite(attribute, type, rows));
    hvl_t read[2];
    OK(H5Aread(attribute, type, read));
    CHECK(read[0].len == 5 && read[1].len == 1 && ((double*)read[1].p)[0] == 5);
    OK(H5Treclaim(type, space, H5P_DEFAULT, read));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    OK(H5Tclose(type));
}

static void arrays(hid_t object) {
    double values[6] = {1.5, -2, 3, 4, 5e300, 6}, read[6];
    hsize_t dims[2] = {2, 3};
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    hid_t attribute =
        OK(H5Acreate2(object, "matrix", H5T_IEEE_F64BE, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values));
    OK(H5Aread(attribute, H5T_NATIVE_DOUBLE, read));
    CHECK(memcmp(values, read, sizeof read) == 0);
    values[0] = 2.5; /* written twice: the second counts */
    OK(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values));
    OK(H5Aread(attribute, H5T_NATIVE_DOUBLE, read));
    CHECK(read[0] == 2.5);
    CHECK(OK(H5Aget_storage_size(attribute)) == 48);
    char name[32];
    CHECK(OK(H5Aget_name(attribute, sizeof name, name)) == 6 && strcmp(name, "matrix") == 0);
    H5A_info_t info;
    OK(H5Aget_info(attribute, &info));
    CHECK(info.data_size == 48);
    hid_t got = OK(H5Aget_space(attribute));
    CHECK(OK(H5Sextent_equal(got, space)) > 0);
    OK(H5Sclose(got));
    got = OK(H5Aget_type(attribute));
    CHECK(OK(H5Tequal(got, H5T_IEEE_F64BE)) > 0);
    OK(H5Tclose(got));
    got = OK(H5Aget_create_plist(attribute));
    OK(H5Pclose(got));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    space = OK(H5Screate(H5S_NULL));
    attribute = OK(H5Acreate2(object, "nothing", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    hsize_t large[1] = {12000}; /* 96 kB: dense storage, more than an object header holds */
    double* many = malloc(12000 * sizeof(double));
    for (int i = 0; i < 12000; ++i) many[i] = i;
    space = OK(H5Screate_simple(1, large, NULL));
    attribute = OK(H5Acreate2(object, "large", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, H5T_NATIVE_DOUBLE, many));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    free(many);
}

static herr_t count_names(hid_t location, const char* name, const H5A_info_t* info, void* data) {
    (void)info;
    CHECK(H5Aexists(location, name) > 0);
    ++*(int*)data;
    return 0;
}

static void names_and_numbers(hid_t file) {
    hid_t group = OK(H5Gcreate2(file, "numbered", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    char name[] = "n_00";
    for (int i = 0; i < 30; ++i) {
        name[2] = (char)('0' + i / 10);
        name[3] = (char)('0' + i % 10);
        put_int(group, name, i);
    }
    CHECK(OK(H5Aexists(group, "n_07")) == 1 && OK(H5Aexists(group, "m_07")) == 0);
    CHECK(OK(H5Aexists_by_name(file, "numbered", "n_08", H5P_DEFAULT)) == 1);
    OK(H5Arename(group, "n_07", "renamed"));
    OK(H5Arename_by_name(file, "numbered", "n_08", "renamed_too", H5P_DEFAULT));
    OK(H5Adelete(group, "n_09"));
    OK(H5Adelete_by_name(file, "numbered", "n_10", H5P_DEFAULT));
    OK(H5Adelete_by_idx(file, "numbered", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT));
    FAILS(H5Adelete(group, "n_09"));
    FAILS(H5Aopen(group, "n_07", H5P_DEFAULT));
    CHECK(get_int(group, "renamed") == 7);
    char found[32];
    CHECK(OK(H5Aget_name_by_idx(file, "numbered", H5_INDEX_NAME, H5_ITER_INC, 3, found,
                                sizeof found, H5P_DEFAULT)) == 4);
    CHECK(strcmp(found, "n_03") == 0);
    hid_t third = OK(
        H5Aopen_by_idx(file, "numbered", H5_INDEX_NAME, H5_ITER_INC, 3, H5P_DEFAULT, H5P_DEFAULT));
    int value = 0;
    OK(H5Aread(third, H5T_NATIVE_INT, &value));
    CHECK(value == 3);
    OK(H5Aclose(third));
    third = OK(H5Aopen_by_name(file, "numbered", "n_03", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Aclose(third));
    H5A_info_t info;
    OK(H5Aget_info_by_name(file, "numbered", "n_03", &info, H5P_DEFAULT));
    CHECK(info.data_size == 4);
    int seen = 0;
    hsize_t next = 0;
    OK(H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_NATIVE, &next, count_names, &seen));
    CHECK(seen == 27);
    seen = 0;
    OK(H5Aiterate_by_name(file, "numbered", H5_INDEX_NAME, H5_ITER_INC, NULL, count_names, &seen,
                          H5P_DEFAULT));
    CHECK(seen == 27);
    OK(H5Gclose(group));
}

enum { k_row = 1056 }; /* 8 KiB: a heap keeps such a value outside of itself */

/* A bound is said in attributes that come with the commit: with them there are too many for the
 * header, and all of them move into a heap. */
static void large_beside_few(hid_t file) {
    hsize_t dims[2] = {64, 64}, row[1] = {k_row};
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_attr_phase_change(creation, 2, 1));
    hid_t dataset = make_dataset(file, "few", H5T_IEEE_F64LE, 2, dims, creation);
    OK(H5Pclose(creation));
    double values[k_row];
    for (int i = 0; i < k_row; ++i) values[i] = 1.0 + i;
    hid_t space = OK(H5Screate_simple(1, row, NULL));
    hid_t attribute =
        OK(H5Acreate2(dataset, "row", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    write_rows(dataset, 64, 64, 0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
}

static void check_large(void) {
    hid_t file = open_file("attributes", H5F_ACC_RDONLY);
    hid_t attribute = OK(H5Aopen_by_name(file, "few", "row", H5P_DEFAULT, H5P_DEFAULT));
    double values[k_row];
    OK(H5Aread(attribute, H5T_NATIVE_DOUBLE, values));
    for (int i = 0; i < k_row; ++i) CHECK(values[i] == 1.0 + i);
    OK(H5Aclose(attribute));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST)); /* for the large one */
    hid_t file = OK(H5Fcreate(path_of("attributes"), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    OK(H5Pclose(access));
    check_connector(file);
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "dataset", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    hid_t type = OK(H5Tcopy(H5T_STD_I64LE));
    OK(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t objects[] = {file, dataset, type};
    for (int i = 0; i < 3; ++i) {
        strings(objects[i]);
        sequences(objects[i]);
        arrays(objects[i]);
        check_connector(objects[i]);
    }
    write_rows(dataset, 64, 64, 0, H5FD_MPIO_COLLECTIVE);
    put_int(dataset, "after_data", 1);
    OK(H5Tclose(type));
    OK(H5Dclose(dataset));
    names_and_numbers(file);
    large_beside_few(file);
    OK(H5Fclose(file));
    check_large();
    return finish();
}
