/* Goal: groups of every kind of storage, nested, anonymous, and what is asked about them. */
#include "check.h"

static void nested(hid_t file) {
    hid_t links = OK(H5Pcreate(H5P_LINK_CREATE));
    OK(H5Pset_create_intermediate_group(links, 1));
    hid_t deep = OK(H5Gcreate2(file, "a/b/c/d", links, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Pclose(links));
    put_int(deep, "depth", 4);
    OK(H5Gclose(deep));
    hid_t middle = OK(H5Gopen2(file, "/a/b", H5P_DEFAULT));
    hid_t below = OK(H5Gopen2(middle, "c/d", H5P_DEFAULT));
    CHECK(get_int(below, "depth") == 4);
    OK(H5Gclose(below));
    FAILS(H5Gopen2(middle, "missing", H5P_DEFAULT));
    FAILS(H5Gcreate2(file, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Gcreate2(file, "no/intermediate", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(middle));
}

static void many_children(hid_t file, const char* name, unsigned order, int children) {
    hid_t creation = OK(H5Pcreate(H5P_GROUP_CREATE));
    OK(H5Pset_link_creation_order(creation, order));
    OK(H5Pset_link_phase_change(creation, 8, 6));
    hid_t group = OK(H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Pclose(creation));
    char child[16] = "child_00";
    for (int i = 0; i < children; ++i) {
        child[6] = (char)('0' + i / 10);
        child[7] = (char)('0' + i % 10);
        hid_t made = OK(H5Gcreate2(group, child, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        OK(H5Gclose(made));
    }
    H5G_info_t info;
    OK(H5Gget_info(group, &info));
    CHECK(info.nlinks == (hsize_t)children);
    OK(H5Gget_info_by_name(file, name, &info, H5P_DEFAULT));
    CHECK(info.nlinks == (hsize_t)children);
    OK(H5Gget_info_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT));
    creation = OK(H5Gget_create_plist(group));
    unsigned read = 99;
    OK(H5Pget_link_creation_order(creation, &read));
    CHECK(read == order);
    OK(H5Pclose(creation));
    OK(H5Gclose(group));
}

static void anonymous(hid_t file) {
    hid_t group = OK(H5Gcreate_anon(file, H5P_DEFAULT, H5P_DEFAULT));
    put_int(group, "was_anonymous", 1);
    OK(H5Olink(group, file, "named_later", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(group));
    hid_t forgotten = OK(H5Gcreate_anon(file, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(forgotten));
    group = OK(H5Gopen2(file, "named_later", H5P_DEFAULT));
    CHECK(get_int(group, "was_anonymous") == 1);
    OK(H5Gclose(group));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("groups");
    nested(file);
    many_children(file, "few", 0, 5);
    many_children(file, "many", 0, 40);
    many_children(file, "ordered", H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED, 40);
    anonymous(file);
    OK(H5Fclose(file));
    file = open_file("groups", H5F_ACC_RDONLY);
    hid_t group = OK(H5Gopen2(file, "ordered/child_39", H5P_DEFAULT));
    OK(H5Gclose(group));
    OK(H5Fclose(file));
    return finish();
}
