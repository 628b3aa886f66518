/* Goal: the order of calls of AMReX plotfiles: rank 0 creates the file serially with attributes and
 * closes it; all reopen it; rank 0 alone writes the boxes; all write one flattened array of them.
 */
#include <stdio.h>

#include "check.h"

enum { k_box = 16, k_components = 3, k_cells = k_box * k_box * k_box };

typedef struct {
    int lo[3], hi[3];
} Box;

static void header(const char* name, int boxes) {
    if (g_rank == 0) {
        hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        put_int(file, "num_levels", 1);
        put_int(file, "num_components", k_components);
        put_int(file, "num_boxes", boxes);
        hid_t string = OK(H5Tcopy(H5T_C_S1));
        OK(H5Tset_size(string, 16));
        hid_t scalar = OK(H5Screate(H5S_SCALAR));
        for (int i = 0; i < 20; ++i) {
            char attribute[16], text[16] = "field";
            snprintf(attribute, sizeof attribute, "component_%d", i);
            hid_t a = OK(H5Acreate2(file, attribute, string, scalar, H5P_DEFAULT, H5P_DEFAULT));
            OK(H5Awrite(a, string, text));
            OK(H5Aclose(a));
        }
        OK(H5Sclose(scalar));
        OK(H5Tclose(string));
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static hid_t reopen(const char* name) {
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Pset_alignment(access, 16 << 20, 1 << 12));
    OK(H5Pset_coll_metadata_write(access, true));
    OK(H5Pset_all_coll_metadata_ops(access, true));
    OK(H5Pset_meta_block_size(access, 4 << 20));
    hid_t file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, access));
    OK(H5Pclose(access));
    check_connector(file);
    return file;
}

static void write_boxes(hid_t level, int boxes) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Box)));
    const char* names[] = {"lo_i", "lo_j", "lo_k", "hi_i", "hi_j", "hi_k"};
    for (size_t i = 0; i < 6; ++i) OK(H5Tinsert(type, names[i], i * sizeof(int), H5T_NATIVE_INT));
    hsize_t dims[1] = {(hsize_t)boxes};
    hid_t dataset = make_dataset(level, "boxes", type, 1, dims, H5P_DEFAULT);
    hsize_t more[1] = {(hsize_t)boxes + 1};
    hid_t offsets = make_dataset(level, "data:offsets=0", H5T_NATIVE_LLONG, 1, more, H5P_DEFAULT);
    if (g_rank == 0) { /* independent: the others do not call */
        Box* all = calloc((size_t)boxes, sizeof(Box));
        long long* begin = calloc((size_t)boxes + 1, sizeof(long long));
        for (int b = 0; b < boxes; ++b) {
            all[b].lo[0] = b * k_box;
            for (int k = 0; k < 3; ++k) all[b].hi[k] = all[b].lo[k] + k_box - 1;
            begin[b + 1] = (long long)(b + 1) * k_components * k_cells;
        }
        OK(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
        OK(H5Dwrite(offsets, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, begin));
        free(all);
        free(begin);
    }
    OK(H5Dclose(offsets));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

static void write_data(hid_t level, int boxes) {
    const hsize_t each = k_components * k_cells;
    hsize_t dims[1] = {(hsize_t)boxes * each}, begin, count;
    share((hsize_t)boxes, &begin, &count);
    hsize_t offset[1] = {begin * each}, extent[1] = {count * each};
    hid_t dataset = make_dataset(level, "data:datatype=0", H5T_NATIVE_DOUBLE, 1, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(1, extent, NULL));
    double* values = malloc(sizeof(double) * (size_t)(extent[0] + 1));
    for (hsize_t i = 0; i < extent[0]; ++i) values[i] = field(offset[0] + i, k_box);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    free(values);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

static void check_data(const char* name, int boxes) {
    hid_t file = open_file(name, H5F_ACC_RDONLY);
    CHECK(get_int(file, "num_boxes") == boxes);
    hid_t dataset = OK(H5Dopen2(file, "level_0/data:datatype=0", H5P_DEFAULT));
    size_t n = (size_t)boxes * k_components * k_cells;
    double* read = malloc(sizeof(double) * n);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
    for (size_t i = 0; i < n; ++i) CHECK(near(read[i], field(i, k_box)));
    free(read);
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, "level_0/data:offsets=0", H5P_DEFAULT));
    long long* offsets = malloc(sizeof(long long) * ((size_t)boxes + 1));
    OK(H5Dread(dataset, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, offsets));
    CHECK(offsets[boxes] == (long long)n);
    free(offsets);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    const int boxes = 7;
    const char* names[] = {"plt00000", "plt00010"};
    for (int dump = 0; dump < 2; ++dump) {
        header(names[dump], boxes);
        hid_t file = reopen(names[dump]);
        hid_t level = OK(H5Gcreate2(file, "level_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        put_int(level, "Level", 0);
        write_boxes(level, boxes);
        write_data(level, boxes);
        OK(H5Gclose(level));
        OK(H5Fclose(file));
    }
    for (int dump = 0; dump < 2; ++dump) check_data(names[dump], boxes);
    return finish();
}
