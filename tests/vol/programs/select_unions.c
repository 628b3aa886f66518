/* Goal: unions, differences and exclusive-ors of hyperslabs as file selections. */
#include "selections.h"

static void box(hid_t space, H5S_seloper_t how, hsize_t row, hsize_t column, hsize_t rows,
                hsize_t columns) {
    hsize_t offset[2] = {row, column}, extent[2] = {rows, columns};
    OK(H5Sselect_hyperslab(space, how, offset, NULL, extent, NULL));
}

static void combined(hid_t file, const char* name, const hsize_t* chunk, H5FD_mpio_xfer_t how) {
    hsize_t dims[2] = {(hsize_t)g_ranks * 40, 100};
    Target target = make_target(file, name, 2, dims, chunk, 0);
    hsize_t top = (hsize_t)g_rank * 40;
    hid_t space = OK(H5Dget_space(target.dataset));
    /* An L, a frame, two boxes apart, two crossing, a box without its corner. */
    box(space, H5S_SELECT_SET, top, 0, 40, 10);
    box(space, H5S_SELECT_OR, top + 30, 0, 10, 50);
    write_selected(&target, space, 0, how);
    check_target(&target, space);
    box(space, H5S_SELECT_SET, top, 10, 40, 90);
    box(space, H5S_SELECT_NOTB, top + 5, 15, 30, 80);
    write_selected(&target, space, 1, how);
    check_target(&target, space);
    box(space, H5S_SELECT_SET, top + 6, 16, 3, 5);
    box(space, H5S_SELECT_OR, top + 20, 60, 7, 11);
    write_selected(&target, space, 2, how);
    check_target(&target, space);
    box(space, H5S_SELECT_SET, top, 20, 40, 4);
    box(space, H5S_SELECT_XOR, top + 10, 0, 4, 100);
    write_selected(&target, space, 3, how);
    check_target(&target, space);
    box(space, H5S_SELECT_SET, top, 0, 40, 100); /* whole once more */
    write_selected(&target, space, 4, how);
    check_target(&target, space);
    OK(H5Sclose(space));
    close_target(&target);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("select_unions");
    const hsize_t chunk[2] = {16, 32};
    combined(file, "contiguous", NULL, H5FD_MPIO_COLLECTIVE);
    combined(file, "chunked", chunk, H5FD_MPIO_COLLECTIVE);
    combined(file, "alone", NULL, H5FD_MPIO_INDEPENDENT);
    OK(H5Fclose(file));
    return finish();
}
