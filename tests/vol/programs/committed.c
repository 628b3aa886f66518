/* Goal: committed datatypes: made, opened, shared by datasets and attributes, copied. */
#include "check.h"

typedef struct {
    double mass;
    int id;
} Body;

static hid_t body_type(void) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Body)));
    OK(H5Tinsert(type, "mass", HOFFSET(Body, mass), H5T_NATIVE_DOUBLE));
    OK(H5Tinsert(type, "id", HOFFSET(Body, id), H5T_NATIVE_INT));
    return type;
}

static void commit(hid_t file) {
    hid_t type = body_type();
    CHECK(OK(H5Tcommitted(type)) == 0);
    OK(H5Tcommit2(file, "Body", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    CHECK(OK(H5Tcommitted(type)) > 0);
    check_connector(type);
    put_int(type, "version", 3);
    FAILS(H5Tcommit2(file, "Body2", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Tclose(type));
    type = body_type();
    FAILS(H5Tcommit2(file, "Body", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Tcommit_anon(file, type, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Olink(type, file, "linked", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Tclose(type));
    type = OK(H5Tcopy(H5T_IEEE_F64LE));
    OK(H5Tcommit2(file, "real", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Tclose(type));
}

static void use(hid_t file) {
    hid_t type = OK(H5Topen2(file, "Body", H5P_DEFAULT));
    hsize_t dims[1] = {16};
    hid_t dataset = make_dataset(file, "bodies", type, 1, dims, H5P_DEFAULT);
    Body bodies[16], read[16];
    memset(bodies, 0, sizeof bodies);
    for (int i = 0; i < 16; ++i) {
        bodies[i].mass = i * 0.5;
        bodies[i].id = i;
    }
    hid_t memory = body_type();
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, list, bodies));
    OK(H5Dread(dataset, memory, H5S_ALL, H5S_ALL, list, read));
    for (int i = 0; i < 16; ++i) CHECK(read[i].id == i && read[i].mass == i * 0.5);
    /* One member of it. */
    hid_t masses = OK(H5Tcreate(H5T_COMPOUND, sizeof(double)));
    OK(H5Tinsert(masses, "mass", 0, H5T_NATIVE_DOUBLE));
    double mass[16];
    OK(H5Dread(dataset, masses, H5S_ALL, H5S_ALL, list, mass));
    CHECK(mass[15] == 7.5);
    OK(H5Tclose(masses));
    OK(H5Pclose(list));
    OK(H5Tclose(memory));
    hid_t stored = OK(H5Dget_type(dataset));
    CHECK(OK(H5Tcommitted(stored)) > 0);
    CHECK(get_int(stored, "version") == 3);
    CHECK(OK(H5Tequal(stored, type)) > 0);
    hid_t creation = OK(H5Tget_create_plist(stored));
    OK(H5Pclose(creation));
    OK(H5Tclose(stored));
    hid_t space = OK(H5Screate(H5S_SCALAR));
    hid_t attribute = OK(H5Acreate2(dataset, "heaviest", type, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, type, &bodies[15]));
    OK(H5Aclose(attribute));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    /* A committed floating point type is a floating point type. */
    type = OK(H5Topen2(file, "real", H5P_DEFAULT));
    hsize_t field_dims[2] = {64, 64};
    dataset = make_dataset(file, "field", type, 2, field_dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("committed");
    commit(file);
    use(file);
    OK(H5Fclose(file));
    file = open_file("committed", H5F_ACC_RDONLY);
    hid_t dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    check_rows(dataset, 64, 64, 1.0);
    hid_t type = OK(H5Dget_type(dataset));
    CHECK(OK(H5Tcommitted(type)) > 0);
    OK(H5Tclose(type));
    OK(H5Dclose(dataset));
    type = OK(H5Topen2(file, "linked", H5P_DEFAULT));
    CHECK(OK(H5Tget_nmembers(type)) == 2);
    OK(H5Tclose(type));
    OK(H5Fclose(file));
    return finish();
}
