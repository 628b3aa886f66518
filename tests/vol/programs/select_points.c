/* Goal: point selections in scattered order, few and many, on several ranks. */
#include "selections.h"

/* A permutation of [0, n): step and n have no common divisor. */
static void scattered(hid_t file, const char* name, const hsize_t* chunk, size_t points,
                      H5FD_mpio_xfer_t how) {
    hsize_t dims[2] = {61, 67};
    const size_t n = 61 * 67, step = 1009;
    Target target = make_target(file, name, 2, dims, chunk, 0.5);
    size_t mine = points / (size_t)g_ranks;
    hsize_t* at = malloc(sizeof(hsize_t) * 2 * mine);
    hid_t space = OK(H5Dget_space(target.dataset));
    for (int round = 0; round < 2; ++round) {
        for (size_t i = 0; i < mine; ++i) {
            size_t element =
                ((i * (size_t)g_ranks + (size_t)g_rank + 11u * (size_t)round) * step) % n;
            at[2 * i] = element / 67;
            at[2 * i + 1] = element % 67;
        }
        OK(H5Sselect_elements(space, H5S_SELECT_SET, mine, at));
        write_selected(&target, space, round, how);
        check_target(&target, space);
    }
    OK(H5Sclose(space));
    free(at);
    close_target(&target);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("select_points");
    const hsize_t chunk[2] = {16, 16};
    scattered(file, "few", NULL, 64, H5FD_MPIO_COLLECTIVE);
    scattered(file, "few_chunks", chunk, 64, H5FD_MPIO_COLLECTIVE);
    scattered(file, "few_alone", NULL, 64, H5FD_MPIO_INDEPENDENT);
    scattered(file, "most", NULL, 4000, H5FD_MPIO_COLLECTIVE);
    scattered(file, "most_chunks", chunk, 4000, H5FD_MPIO_COLLECTIVE);
    OK(H5Fclose(file));
    return finish();
}
