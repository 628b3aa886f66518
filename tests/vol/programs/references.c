/* Goal: references to objects, regions and attributes, in their new and old forms. */
#include "check.h"

static void old_form(hid_t file) {
    hsize_t two[1] = {2};
    hobj_ref_t references[2], read[2];
    OK(H5Rcreate(&references[0], file, "group", H5R_OBJECT, -1));
    OK(H5Rcreate(&references[1], file, "field", H5R_OBJECT, -1));
    /* As an attribute: parallel HDF5 refuses datasets of references. */
    hid_t space = OK(H5Screate_simple(1, two, NULL));
    hid_t attribute =
        OK(H5Acreate2(file, "references", H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Awrite(attribute, H5T_STD_REF_OBJ, references));
    OK(H5Aread(attribute, H5T_STD_REF_OBJ, read));
    OK(H5Sclose(space));
    H5O_type_t type;
    OK(H5Rget_obj_type2(attribute, H5R_OBJECT, &read[1], &type));
    CHECK(type == H5O_TYPE_DATASET);
    hid_t object = OK(H5Rdereference2(attribute, H5P_DEFAULT, H5R_OBJECT, &read[0]));
    check_connector(object);
    CHECK(get_int(object, "answer") == 42);
    char name[32];
    CHECK(OK(H5Rget_name(attribute, H5R_OBJECT, &read[0], name, sizeof name)) == 6);
    OK(H5Gclose(object));
    OK(H5Aclose(attribute));
}

static void object_reference(hid_t file) {
    H5R_ref_t reference, copy;
    OK(H5Rcreate_object(file, "group", H5P_DEFAULT, &reference));
    CHECK(H5Rget_type(&reference) == H5R_OBJECT2);
    H5O_type_t type;
    OK(H5Rget_obj_type3(&reference, H5P_DEFAULT, &type));
    CHECK(type == H5O_TYPE_GROUP);
    char name[1024];
    CHECK(OK(H5Rget_obj_name(&reference, H5P_DEFAULT, name, sizeof name)) == 6);
    CHECK(OK(H5Rget_file_name(&reference, name, sizeof name)) > 0);
    OK(H5Rcopy(&reference, &copy));
    CHECK(OK(H5Requal(&reference, &copy)) > 0);
    hid_t group = OK(H5Ropen_object(&copy, H5P_DEFAULT, H5P_DEFAULT));
    check_connector(group);
    CHECK(get_int(group, "answer") == 42);
    OK(H5Gclose(group));
    OK(H5Rdestroy(&copy));
    OK(H5Rdestroy(&reference));
}

static void region_reference(hid_t file) {
    H5R_ref_t reference;
    hsize_t dims[2] = {64, 64}, offset[2] = {4, 8}, extent[2] = {3, 5};
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    OK(H5Rcreate_region(file, "field", space, H5P_DEFAULT, &reference));
    OK(H5Sclose(space));
    hid_t region = OK(H5Ropen_region(&reference, H5P_DEFAULT, H5P_DEFAULT));
    CHECK(OK(H5Sget_select_npoints(region)) == 15);
    hid_t dataset = OK(H5Ropen_object(&reference, H5P_DEFAULT, H5P_DEFAULT));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    double values[15];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, region, H5P_DEFAULT, values));
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 5; ++j)
            CHECK(near(values[i * 5 + j], field((uint64_t)((4 + i) * 64 + 8 + j), 64)));
    OK(H5Sclose(memory));
    OK(H5Sclose(region));
    OK(H5Dclose(dataset));
    OK(H5Rdestroy(&reference));
}

static void attribute_reference(hid_t file) {
    H5R_ref_t reference;
    OK(H5Rcreate_attr(file, "group", "answer", H5P_DEFAULT, &reference));
    char name[32];
    CHECK(OK(H5Rget_attr_name(&reference, name, sizeof name)) == 6);
    hid_t attribute = OK(H5Ropen_attr(&reference, H5P_DEFAULT, H5P_DEFAULT));
    int value = 0;
    OK(H5Aread(attribute, H5T_NATIVE_INT, &value));
    CHECK(value == 42);
    OK(H5Aclose(attribute));
    OK(H5Rdestroy(&reference));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("references");
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_int(group, "answer", 42);
    OK(H5Gclose(group));
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 0.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL)); /* each rank reads by itself what all wrote */
    MPI_Barrier(MPI_COMM_WORLD);
    old_form(file);
    object_reference(file);
    region_reference(file);
    attribute_reference(file);
    OK(H5Fclose(file));
    file = open_file("references", H5F_ACC_RDONLY);
    object_reference(file);
    region_reference(file);
    OK(H5Fclose(file));
    return finish();
}
