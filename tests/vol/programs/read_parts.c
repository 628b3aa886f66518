/* Goal: reads of less than a chunk, plane by plane, column by column and by points, give what was
 * written last: after flushes, after another part of the same chunk was written, after the dataset
 * has shrunk and grown, and from another dataset under the same name. */
#include "check.h"

enum { k_planes = 24, k_rows = 16, k_width = 20, k_plane = k_rows * k_width, k_fill = -7 };

static int32_t value_at(hsize_t i, int turn) { return (int32_t)(i * 7 + 1000000u * turn); }

static hid_t make(hid_t file, const char* name, bool deflates) {
    const hsize_t chunk[3] = {10, k_rows, k_width}, dims[3] = {k_planes, k_rows, k_width},
                  most[3] = {H5S_UNLIMITED, k_rows, k_width};
    const int32_t fill = k_fill;
    hid_t list = chunked(3, chunk), space = OK(H5Screate_simple(3, dims, most));
    OK(H5Pset_fill_value(list, H5T_NATIVE_INT32, &fill));
    if (deflates) OK(H5Pset_deflate(list, 2));
    hid_t dataset =
        OK(H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
    return dataset;
}

/* Planes [from, to), each rank its share. */
static void write_planes(hid_t dataset, hsize_t from, hsize_t to, int turn) {
    hsize_t begin, count;
    share(to - from, &begin, &count);
    const hsize_t offset[3] = {from + begin, 0, 0}, extent[3] = {count, k_rows, k_width};
    int32_t* values = malloc(sizeof(int32_t) * (count * k_plane + 1));
    for (hsize_t i = 0; i < count * k_plane; ++i)
        values[i] = value_at(offset[0] * k_plane + i, turn);
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(3, extent, NULL));
    if (count > 0)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_INT32, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

/* What is selected, collectively. */
static void read_selected(hid_t dataset, hid_t space, int32_t* values) {
    const hsize_t n = (hsize_t)H5Sget_select_npoints(space);
    hid_t memory = OK(H5Screate_simple(1, &n, NULL)), list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_INT32, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
}

/* @param turns  of each plane; -1: the fill value. */
static void check_parts(hid_t dataset, hsize_t planes, const int* turns) {
    hid_t space = OK(H5Dget_space(dataset));
    int32_t values[k_planes * k_rows];
    const hsize_t one_plane[3] = {1, k_rows, k_width}, column[3] = {planes, k_rows, 1};
    int32_t plane_values[k_plane];
    for (hsize_t z = 1; z < planes; z += 4) {
        const hsize_t offset[3] = {z, 0, 0};
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, one_plane, NULL));
        read_selected(dataset, space, plane_values);
        for (hsize_t i = 0; i < k_plane; ++i)
            CHECK(plane_values[i] == (turns[z] < 0 ? k_fill : value_at(z * k_plane + i, turns[z])));
    }
    const hsize_t begin[3] = {0, 0, 13};
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, column, NULL));
    read_selected(dataset, space, values);
    for (hsize_t i = 0; i < planes * k_rows; ++i) {
        const int turn = turns[i / k_rows];
        CHECK(values[i] == (turn < 0 ? k_fill : value_at(i * k_width + 13, turn)));
    }
    const hsize_t points[3][3] = {{0, 1, 2}, {11, 15, 19}, {planes - 1, 3, 4}};
    OK(H5Sselect_elements(space, H5S_SELECT_SET, 3, &points[0][0]));
    read_selected(dataset, space, values);
    for (int i = 0; i < 3; ++i) {
        const hsize_t at = (points[i][0] * k_rows + points[i][1]) * k_width + points[i][2];
        const int turn = turns[points[i][0]];
        CHECK(values[i] == (turn < 0 ? k_fill : value_at(at, turn)));
    }
    OK(H5Sclose(space));
}

static void set_planes(hid_t dataset, hsize_t planes) {
    const hsize_t dims[3] = {planes, k_rows, k_width};
    OK(H5Dset_extent(dataset, dims));
}

static void one_life(hid_t file, const char* name, bool deflates, int turn) {
    int turns[k_planes];
    for (int z = 0; z < k_planes; ++z) turns[z] = turn;
    hid_t dataset = make(file, name, deflates);
    write_planes(dataset, 0, k_planes, turn);
    check_parts(dataset, k_planes, turns);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    check_parts(dataset, k_planes, turns);
    write_planes(dataset, 5, 7, turn + 1);
    turns[5] = turns[6] = turn + 1;
    check_parts(dataset, k_planes, turns);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    check_parts(dataset, k_planes, turns);
    set_planes(dataset, 20); /* where a chunk ends: what is cut of one stays, through MPI-IO */
    check_parts(dataset, 20, turns);
    set_planes(dataset, k_planes);
    for (int z = 20; z < k_planes; ++z) turns[z] = -1;
    check_parts(dataset, k_planes, turns);
    write_planes(dataset, 21, 23, turn + 2);
    for (int z = 21; z < 23; ++z) turns[z] = turn + 2;
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    check_parts(dataset, k_planes, turns);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("read_parts");
    for (int deflates = 0; deflates < 2; ++deflates) {
        one_life(file, "u", deflates, 1);
        OK(H5Ldelete(file, "u", H5P_DEFAULT));
        one_life(file, "u", deflates, 5);
        OK(H5Lmove(file, "u", file, deflates ? "deflated" : "plain", H5P_DEFAULT, H5P_DEFAULT));
    }
    OK(H5Fclose(file));
    return finish();
}
