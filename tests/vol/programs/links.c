/* Goal: hard, soft, external and user-defined links: made, asked, followed, moved, copied, gone. */
#include "check.h"

static void target_file(void) {
    hid_t file = create_file("links_target");
    hid_t group = OK(H5Gcreate2(file, "there", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_int(group, "answer", 42);
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(group, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 64, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Gclose(group));
    OK(H5Fclose(file));
}

static void make(hid_t file) {
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t dims[2] = {64, 64};
    hid_t dataset = make_dataset(group, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    OK(H5Lcreate_hard(file, "group/field", file, "hard", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_soft("/group/field", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_soft("nowhere", group, "dangling", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_external("links_target.h5", "/there", file, "external", H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Lcreate_soft("again", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    write_rows(dataset, 64, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Gclose(group));
}

static void ask(hid_t file) {
    H5L_info2_t info;
    OK(H5Lget_info2(file, "hard", &info, H5P_DEFAULT));
    CHECK(info.type == H5L_TYPE_HARD);
    H5L_info2_t original;
    OK(H5Lget_info2(file, "group/field", &original, H5P_DEFAULT));
    int same = 1;
    OK(H5Otoken_cmp(file, &info.u.token, &original.u.token, &same));
    CHECK(same == 0);
    OK(H5Lget_info2(file, "soft", &info, H5P_DEFAULT));
    CHECK(info.type == H5L_TYPE_SOFT && info.u.val_size == 13);
    char value[64];
    OK(H5Lget_val(file, "soft", value, sizeof value, H5P_DEFAULT));
    CHECK(strcmp(value, "/group/field") == 0);
    OK(H5Lget_info2(file, "external", &info, H5P_DEFAULT));
    CHECK(info.type == H5L_TYPE_EXTERNAL);
    OK(H5Lget_val(file, "external", value, sizeof value, H5P_DEFAULT));
    const char *name, *object;
    OK(H5Lunpack_elink_val(value, info.u.val_size, NULL, &name, &object));
    CHECK(strcmp(name, "links_target.h5") == 0 && strcmp(object, "/there") == 0);
    CHECK(OK(H5Lexists(file, "group/dangling", H5P_DEFAULT)) == 1);
    CHECK(OK(H5Oexists_by_name(file, "group/dangling", H5P_DEFAULT)) == 0);
    CHECK(OK(H5Lexists(file, "absent", H5P_DEFAULT)) == 0);
    FAILS(H5Lget_info2(file, "absent", &info, H5P_DEFAULT));
    OK(H5Lget_info_by_idx2(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT));
    CHECK(info.type == H5L_TYPE_EXTERNAL);
    CHECK(OK(H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_DEC, 0, value, sizeof value,
                                H5P_DEFAULT)) == 4);
    CHECK(strcmp(value, "soft") == 0);
    OK(H5Lget_val_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_DEC, 0, value, sizeof value,
                         H5P_DEFAULT));
    CHECK(strcmp(value, "/group/field") == 0);
}

static void follow(hid_t file) {
    const char* names[] = {"hard", "soft", "group/field"};
    for (int i = 0; i < 3; ++i) {
        hid_t dataset = OK(H5Dopen2(file, names[i], H5P_DEFAULT));
        check_rows(dataset, 64, 64, 2.0);
        OK(H5Dclose(dataset));
    }
    FAILS(H5Dopen2(file, "group/dangling", H5P_DEFAULT));
    hid_t through = OK(H5Gopen2(file, "external", H5P_DEFAULT));
    check_connector(through);
    CHECK(get_int(through, "answer") == 42);
    OK(H5Gclose(through));
    hid_t dataset = OK(H5Dopen2(file, "external/field", H5P_DEFAULT));
    check_rows(dataset, 64, 64, 3.0);
    OK(H5Dclose(dataset));
}

static void move_and_delete(hid_t file) {
    OK(H5Lmove(file, "soft", file, "group/moved_soft", H5P_DEFAULT, H5P_DEFAULT));
    CHECK(OK(H5Lexists(file, "soft", H5P_DEFAULT)) == 0);
    OK(H5Lcopy(file, "group/moved_soft", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcopy(file, "hard", H5L_SAME_LOC, "harder", H5P_DEFAULT, H5P_DEFAULT));
    H5O_info2_t info;
    OK(H5Oget_info_by_name3(file, "hard", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    CHECK(info.rc == 3);
    OK(H5Ldelete(file, "hard", H5P_DEFAULT));
    FAILS(H5Ldelete(file, "hard", H5P_DEFAULT));
    OK(H5Oget_info_by_name3(file, "harder", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    CHECK(info.rc == 2);
    hid_t extra = OK(H5Gcreate2(file, "aaa_goes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(extra));
    OK(H5Ldelete_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
    CHECK(OK(H5Lexists(file, "aaa_goes", H5P_DEFAULT)) == 0);
}

/* A class of links of the application's own: its value names a group beside it. */
static hid_t traverse(const char* name, hid_t group, const void* data, size_t bytes, hid_t access,
                      hid_t transfer_list) {
    (void)name;
    (void)transfer_list;
    CHECK(bytes > 0);
    return H5Oopen(group, data, access);
}

static void user_defined(hid_t file) {
    const H5L_class_t own = {
        .version = H5L_LINK_CLASS_T_VERS, .id = 187, .comment = "own", .trav_func = traverse};
    OK(H5Lregister(&own));
    CHECK(OK(H5Lis_registered(187)) > 0);
    OK(H5Lcreate_ud(file, "own_link", 187, "group", 6, H5P_DEFAULT, H5P_DEFAULT));
    hid_t group = OK(H5Gopen2(file, "own_link", H5P_DEFAULT));
    char name[32];
    CHECK(OK(H5Iget_name(group, name, sizeof name)) > 0);
    OK(H5Gclose(group));
    OK(H5Ldelete(file, "own_link", H5P_DEFAULT)); /* foreign tools do not know the class */
    OK(H5Lunregister(187));
}

static void creation_order(hid_t file) {
    hid_t creation = OK(H5Pcreate(H5P_GROUP_CREATE));
    OK(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    hid_t group = OK(H5Gcreate2(file, "in_order", H5P_DEFAULT, creation, H5P_DEFAULT));
    const char* names[] = {"z", "m", "a"};
    for (int i = 0; i < 3; ++i)
        OK(H5Lcreate_soft("/group", group, names[i], H5P_DEFAULT, H5P_DEFAULT));
    char name[8];
    for (int i = 0; i < 3; ++i) {
        OK(H5Lget_name_by_idx(group, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, (hsize_t)i, name,
                              sizeof name, H5P_DEFAULT));
        CHECK(strcmp(name, names[i]) == 0);
    }
    OK(H5Gclose(group));
    OK(H5Pclose(creation));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    target_file();
    hid_t file = create_file("links");
    make(file);
    ask(file);
    follow(file);
    move_and_delete(file);
    user_defined(file);
    creation_order(file);
    OK(H5Fclose(file));
    file = open_file("links", H5F_ACC_RDONLY);
    hid_t dataset = OK(H5Dopen2(file, "soft", H5P_DEFAULT));
    check_rows(dataset, 64, 64, 2.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
