/* Goal: strided hyperslabs: ranks interleaved cell by cell, row by row, block by block. */
#include "selections.h"

/* Rank r takes blocks r, r + ranks, ... along the axis. */
static void interleaved(hid_t file, const char* name, const hsize_t* dims, const hsize_t* chunk,
                        int axis, hsize_t width, H5FD_mpio_xfer_t how) {
    Target target = make_target(file, name, 2, dims, chunk, 0);
    hsize_t offset[2] = {0, 0}, stride[2] = {1, 1}, count[2] = {1, 1}, block[2];
    block[0] = dims[0];
    block[1] = dims[1];
    offset[axis] = (hsize_t)g_rank * width;
    stride[axis] = (hsize_t)g_ranks * width;
    count[axis] = dims[axis] / stride[axis];
    block[axis] = width;
    hid_t space = OK(H5Dget_space(target.dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, block));
    write_selected(&target, space, 0, how);
    check_target(&target, space);
    write_selected(&target, space, 1, how); /* and over it */
    check_target(&target, space);
    OK(H5Sclose(space));
    close_target(&target);
}

/* Every third cell in both directions, three passes: most of the array stays as it was. */
static void sparse(hid_t file, const hsize_t* chunk, const char* name) {
    hsize_t dims[2] = {96, 96};
    Target target = make_target(file, name, 2, dims, chunk, 2.0);
    hid_t space = OK(H5Dget_space(target.dataset));
    for (int round = 0; round < 3; ++round) {
        hsize_t begin, rows;
        share(32, &begin, &rows);
        hsize_t offset[2] = {begin * 3, (hsize_t)round}, stride[2] = {3, 3}, count[2] = {rows, 32};
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, NULL));
        write_selected(&target, space, round, H5FD_MPIO_COLLECTIVE);
        check_target(&target, space);
    }
    OK(H5Sclose(space));
    close_target(&target);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("select_strided");
    const hsize_t dims[2] = {64, 96}, chunk[2] = {24, 40};
    interleaved(file, "cells", dims, NULL, 1, 1, H5FD_MPIO_COLLECTIVE);
    interleaved(file, "rows", dims, NULL, 0, 1, H5FD_MPIO_COLLECTIVE);
    interleaved(file, "blocks", dims, NULL, 1, 3, H5FD_MPIO_COLLECTIVE);
    interleaved(file, "rows_chunks", dims, chunk, 0, 2, H5FD_MPIO_COLLECTIVE);
    interleaved(file, "cells_chunks", dims, chunk, 1, 1, H5FD_MPIO_COLLECTIVE);
    interleaved(file, "rows_alone", dims, NULL, 0, 1, H5FD_MPIO_INDEPENDENT);
    sparse(file, NULL, "sparse");
    sparse(file, chunk, "sparse_chunks");
    OK(H5Fclose(file));
    return finish();
}
