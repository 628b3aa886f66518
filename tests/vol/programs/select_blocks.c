/* Goal: one hyperslab a rank, in 1 to 3 dimensions: slabs, pencils, boxes that straddle chunks. */
#include "selections.h"

static void slabs(hid_t file, const char* name, int rank, const hsize_t* dims, const hsize_t* chunk,
                  int axis, H5FD_mpio_xfer_t how) {
    Target target = make_target(file, name, rank, dims, chunk, 0);
    hsize_t offset[3] = {0, 0, 0}, extent[3] = {dims[0], dims[1], dims[2]};
    share(dims[axis], &offset[axis], &extent[axis]);
    hid_t space = OK(H5Dget_space(target.dataset));
    if (extent[axis] == 0)
        OK(H5Sselect_none(space));
    else
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    write_selected(&target, space, 0, how);
    check_target(&target, space);
    OK(H5Sclose(space));
    close_target(&target);
}

/* Memory has halo cells around what is written. */
static void from_a_box_with_halo(hid_t file) {
    enum { n = 24, halo = 2 };
    hsize_t dims[3] = {(hsize_t)g_ranks * n, n, n};
    hid_t dataset = make_dataset(file, "halo", H5T_IEEE_F64LE, 3, dims, H5P_DEFAULT);
    hsize_t padded[3] = {n + 2 * halo, n + 2 * halo, n + 2 * halo};
    hsize_t inside[3] = {halo, halo, halo}, extent[3] = {n, n, n};
    hsize_t offset[3] = {(hsize_t)g_rank * n, 0, 0};
    double* values = malloc(sizeof(double) * (size_t)(padded[0] * padded[1] * padded[2]));
    for (size_t i = 0; i < padded[0] * padded[1] * padded[2]; ++i) values[i] = 1e30;
    for (int z = 0; z < n; ++z)
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x)
                values[((z + halo) * (n + 2 * halo) + y + halo) * (n + 2 * halo) + x + halo] =
                    field((uint64_t)(((int)offset[0] + z) * n * n + y * n + x), n);
    hid_t memory = OK(H5Screate_simple(3, padded, NULL));
    OK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, inside, NULL, extent, NULL));
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    free(values);
    size_t all = (size_t)(dims[0] * dims[1] * dims[2]);
    values = malloc(sizeof(double) * all);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    for (size_t i = 0; i < all; ++i) CHECK(near(values[i], field(i, n)));
    free(values);
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Sclose(memory));
    OK(H5Dclose(dataset));
}

/* A rank's lower part is written into a larger array's middle. */
static void in_the_middle(hid_t file) {
    hsize_t dims[2] = {100, 90}, chunk[2] = {32, 32};
    Target target = make_target(file, "middle", 2, dims, chunk, -1.0);
    hsize_t offset[2] = {10, 7}, extent[2] = {0, 71};
    share(80, &offset[0], &extent[0]);
    offset[0] += 10;
    hid_t space = OK(H5Dget_space(target.dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    write_selected(&target, space, 0, H5FD_MPIO_COLLECTIVE);
    check_target(&target, space);
    OK(H5Sclose(space));
    close_target(&target);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("select_blocks");
    const hsize_t line[3] = {10007, 0, 0}, line_chunk[1] = {1000};
    const hsize_t plane[3] = {97, 83, 0}, plane_chunk[2] = {20, 30};
    const hsize_t box[3] = {33, 34, 35}, box_chunk[3] = {16, 16, 16};
    const H5FD_mpio_xfer_t all = H5FD_MPIO_COLLECTIVE, alone = H5FD_MPIO_INDEPENDENT;
    slabs(file, "line", 1, line, NULL, 0, all);
    slabs(file, "line_chunks", 1, line, line_chunk, 0, all);
    slabs(file, "plane_rows", 2, plane, NULL, 0, all);
    slabs(file, "plane_columns", 2, plane, NULL, 1, all);
    slabs(file, "plane_columns_alone", 2, plane, NULL, 1, alone);
    slabs(file, "plane_chunks", 2, plane, plane_chunk, 1, all);
    slabs(file, "box_0", 3, box, NULL, 0, all);
    slabs(file, "box_1", 3, box, NULL, 1, all);
    slabs(file, "box_2", 3, box, box_chunk, 2, all);
    slabs(file, "box_2_alone", 3, box, box_chunk, 2, alone);
    from_a_box_with_halo(file);
    in_the_middle(file);
    OK(H5Fclose(file));
    return finish();
}
