/* Goal: walking links and objects, in every order, from within callbacks that use the file. */
#include "check.h"

typedef struct {
    int links;
    int objects;
    int datasets;
    int stop_at;
    char last[64];
} Seen;

static herr_t on_link(hid_t group, const char* name, const H5L_info2_t* info, void* data) {
    Seen* seen = data;
    CHECK(info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT);
    if (info->type == H5L_TYPE_HARD) { /* the group handed to a callback can be used */
        hid_t object = OK(H5Oopen(group, name, H5P_DEFAULT));
        check_connector(object);
        OK(H5Oclose(object));
    }
    strncpy(seen->last, name, sizeof seen->last - 1);
    return ++seen->links == seen->stop_at ? 1 : 0;
}

static herr_t on_object(hid_t object, const char* name, const H5O_info2_t* info, void* data) {
    Seen* seen = data;
    (void)object;
    ++seen->objects;
    if (info->type == H5O_TYPE_DATASET) ++seen->datasets;
    strncpy(seen->last, name, sizeof seen->last - 1);
    return 0;
}

static herr_t on_element(void* element, hid_t type, unsigned rank, const hsize_t* point,
                         void* data) {
    (void)type;
    (void)point;
    CHECK(rank == 1);
    *(double*)data += *(double*)element;
    return 0;
}

static void make(hid_t file) {
    char name[] = "g0/d0";
    hsize_t dims[2] = {16, 16};
    for (int g = 0; g < 4; ++g) {
        name[1] = (char)('0' + g);
        name[2] = 0;
        hid_t group = OK(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        OK(H5Gclose(group));
        name[2] = '/';
        for (int d = 0; d < 3; ++d) {
            name[4] = (char)('0' + d);
            hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
            write_rows(dataset, 16, 16, g + d, H5FD_MPIO_COLLECTIVE);
            OK(H5Dclose(dataset));
        }
    }
    OK(H5Lcreate_soft("/g0/d0", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
}

static void links(hid_t file) {
    Seen seen = {0};
    hsize_t next = 0;
    CHECK(OK(H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, &next, on_link, &seen)) == 0);
    CHECK(seen.links == 5 && next == 5 && strcmp(seen.last, "soft") == 0);
    seen = (Seen){.stop_at = 2};
    next = 1;
    CHECK(OK(H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, &next, on_link, &seen)) == 1);
    CHECK(next == 3 && strcmp(seen.last, "g2") == 0);
    seen = (Seen){0};
    OK(H5Literate_by_name2(file, "g1", H5_INDEX_NAME, H5_ITER_DEC, NULL, on_link, &seen,
                           H5P_DEFAULT));
    CHECK(seen.links == 3 && strcmp(seen.last, "d0") == 0);
    seen = (Seen){0};
    OK(H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, on_link, &seen));
    CHECK(seen.links == 17);
    seen = (Seen){0};
    OK(H5Lvisit_by_name2(file, "g3", H5_INDEX_NAME, H5_ITER_NATIVE, on_link, &seen, H5P_DEFAULT));
    CHECK(seen.links == 3);
}

static void objects(hid_t file) {
    Seen seen = {0};
    OK(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, on_object, &seen, H5O_INFO_BASIC));
    CHECK(seen.objects == 17 && seen.datasets == 12 && strcmp(seen.last, "g3/d2") == 0);
    seen = (Seen){0};
    OK(H5Ovisit_by_name3(file, "g2", H5_INDEX_NAME, H5_ITER_INC, on_object, &seen, H5O_INFO_BASIC,
                         H5P_DEFAULT));
    CHECK(seen.objects == 4 && seen.datasets == 3);
}

static void elements(void) {
    double values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;
    hsize_t dims[1] = {8}, offset[1] = {1}, stride[1] = {2}, count[1] = {3};
    hid_t space = OK(H5Screate_simple(1, dims, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, NULL));
    OK(H5Diterate(values, H5T_NATIVE_DOUBLE, space, on_element, &sum));
    CHECK(sum == 2 + 4 + 6);
    OK(H5Sclose(space));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("iterate");
    make(file);
    links(file);
    objects(file);
    OK(H5Fclose(file));
    file = open_file("iterate", H5F_ACC_RDONLY);
    links(file);
    objects(file);
    OK(H5Fclose(file));
    elements();
    return finish();
}
