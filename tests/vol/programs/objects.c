/* Goal: what H5O does with every kind of object: open by name, index and token, ask, link, count
 * references, comment; identifiers and their types. */
#include "check.h"

static const char* const k_names[] = {"dataset", "group", "type"};
static const H5O_type_t k_types[] = {H5O_TYPE_DATASET, H5O_TYPE_GROUP, H5O_TYPE_NAMED_DATATYPE};
static const H5I_type_t k_ids[] = {H5I_DATASET, H5I_GROUP, H5I_DATATYPE};

static void make(hid_t file) {
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(file, "dataset", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 0.0, H5FD_MPIO_COLLECTIVE);
    put_int(dataset, "one", 1);
    put_int(dataset, "two", 2);
    OK(H5Dclose(dataset));
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(group));
    hid_t type = OK(H5Tcopy(H5T_STD_I64BE));
    OK(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Tclose(type));
}

static void check_object(hid_t file, hid_t object, int which) {
    H5O_info2_t info;
    OK(H5Oget_info3(object, &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
    CHECK(info.type == k_types[which] && info.rc == 1);
    CHECK(info.num_attrs == (which == 0 ? 2u : 0u));
    CHECK(H5Iget_type(object) == k_ids[which]);
    check_connector(object);
    char name[32];
    CHECK(OK(H5Iget_name(object, name, sizeof name)) == (int64_t)strlen(k_names[which]) + 1);
    CHECK(strcmp(name + 1, k_names[which]) == 0);
    H5O_info2_t by_name;
    OK(H5Oget_info_by_name3(file, k_names[which], &by_name, H5O_INFO_BASIC, H5P_DEFAULT));
    int same = 1;
    OK(H5Otoken_cmp(file, &info.token, &by_name.token, &same));
    CHECK(same == 0 && info.fileno == by_name.fileno);
    H5O_native_info_t native;
    OK(H5Oget_native_info(object, &native, H5O_NATIVE_INFO_ALL));
    CHECK(native.hdr.space.total > 0);
    hid_t back = OK(H5Iget_file_id(object));
    OK(H5Fclose(back));
    CHECK(OK(H5Iinc_ref(object)) == 2);
    CHECK(OK(H5Idec_ref(object)) == 1);
    CHECK(OK(H5Iis_valid(object)) > 0);
}

static void open_in_every_way(hid_t file) {
    for (int i = 0; i < 3; ++i) {
        hid_t object = OK(H5Oopen(file, k_names[i], H5P_DEFAULT));
        check_object(file, object, i);
        H5O_info2_t info;
        OK(H5Oget_info3(object, &info, H5O_INFO_BASIC));
        OK(H5Oclose(object));
        object = OK(H5Oopen_by_token(file, info.token));
        OK(H5Oget_info3(object, &info, H5O_INFO_BASIC));
        CHECK(info.type == k_types[i]);
        OK(H5Oclose(object));
        object = OK(H5Oopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, H5P_DEFAULT));
        check_object(file, object, i);
        OK(H5Oclose(object));
        OK(H5Oget_info_by_idx3(file, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, &info,
                               H5O_INFO_BASIC, H5P_DEFAULT));
        CHECK(info.type == k_types[i]);
        char* text = NULL;
        OK(H5Otoken_to_str(file, &info.token, &text));
        H5O_token_t token;
        OK(H5Otoken_from_str(file, text, &token));
        int same = 1;
        OK(H5Otoken_cmp(file, &info.token, &token, &same));
        CHECK(same == 0);
        OK(H5free_memory(text));
    }
    CHECK(OK(H5Oexists_by_name(file, "group", H5P_DEFAULT)) > 0);
    FAILS(H5Oopen(file, "absent", H5P_DEFAULT));
}

static void references_counted(hid_t file) {
    hid_t group = OK(H5Oopen(file, "group", H5P_DEFAULT));
    OK(H5Oincr_refcount(group));
    H5O_info2_t info;
    OK(H5Oget_info3(group, &info, H5O_INFO_BASIC));
    CHECK(info.rc == 2);
    OK(H5Odecr_refcount(group));
    OK(H5Olink(group, file, "group_again", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Oget_info3(group, &info, H5O_INFO_BASIC));
    CHECK(info.rc == 2);
    OK(H5Oclose(group));
}

static void comments(hid_t file) {
    hid_t group = OK(H5Oopen(file, "group", H5P_DEFAULT));
    OK(H5Oset_comment(group, "a remark"));
    OK(H5Oset_comment_by_name(file, "dataset", "another", H5P_DEFAULT));
    char text[32];
    CHECK(OK(H5Oget_comment(group, text, sizeof text)) == 8 && strcmp(text, "a remark") == 0);
    CHECK(OK(H5Oget_comment_by_name(file, "dataset", text, sizeof text, H5P_DEFAULT)) == 7);
    OK(H5Oclose(group));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("objects");
    make(file);
    open_in_every_way(file);
    references_counted(file);
    comments(file);
    OK(H5Fclose(file));
    file = open_file("objects", H5F_ACC_RDONLY);
    hid_t dataset = OK(H5Dopen2(file, "dataset", H5P_DEFAULT));
    check_rows(dataset, 64, 64, 0.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
