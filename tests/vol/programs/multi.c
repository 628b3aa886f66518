/* Goal: H5Dwrite_multi and H5Dread_multi over datasets of different kinds, ranks with parts. */
#include "check.h"

enum { k_rows = 60, k_width = 64, k_sets = 4 };

typedef struct {
    hid_t datasets[k_sets], types[k_sets], memory[k_sets], file[k_sets];
} Sets;

static Sets make(hid_t file) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {16, 32};
    hid_t creation = chunked(2, chunk);
    Sets sets = {.types = {H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, H5T_NATIVE_INT}};
    sets.datasets[0] = make_dataset(file, "contiguous", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    sets.datasets[1] = make_dataset(file, "chunked", H5T_IEEE_F64LE, 2, dims, creation);
    sets.datasets[2] = make_dataset(file, "floats", H5T_IEEE_F32LE, 2, dims, H5P_DEFAULT);
    sets.datasets[3] = make_dataset(file, "integers", H5T_STD_I32LE, 2, dims, H5P_DEFAULT);
    OK(H5Pclose(creation));
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    for (int i = 0; i < k_sets; ++i) {
        sets.memory[i] = OK(H5Screate_simple(2, extent, NULL));
        sets.file[i] = OK(H5Dget_space(sets.datasets[i]));
        OK(H5Sselect_hyperslab(sets.file[i], H5S_SELECT_SET, offset, NULL, extent, NULL));
    }
    if (g_ranks > 1 && g_rank == 1) { /* nothing of the second dataset on this rank */
        OK(H5Sselect_none(sets.memory[1]));
        OK(H5Sselect_none(sets.file[1]));
    }
    return sets;
}

static void close_sets(Sets* sets) {
    for (int i = 0; i < k_sets; ++i) {
        OK(H5Sclose(sets->memory[i]));
        OK(H5Sclose(sets->file[i]));
        OK(H5Dclose(sets->datasets[i]));
    }
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    static double doubles[2][k_rows * k_width];
    static float floats[k_rows * k_width];
    static int integers[k_rows * k_width];
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    for (uint64_t i = 0; i < count * k_width; ++i) {
        uint64_t at = begin * k_width + i;
        doubles[0][i] = field(at, k_width);
        doubles[1][i] = 1.0 + field(at, k_width);
        floats[i] = (float)field(at, k_width);
        integers[i] = (int)at;
    }
    hid_t file = create_file("multi");
    Sets sets = make(file);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    const void* values[k_sets] = {doubles[0], doubles[1], floats, integers};
    OK(H5Dwrite_multi(k_sets, sets.datasets, sets.types, sets.memory, sets.file, list, values));
    static double read_doubles[2][k_rows * k_width];
    static float read_floats[k_rows * k_width];
    static int read_integers[k_rows * k_width];
    void* read[k_sets] = {read_doubles[0], read_doubles[1], read_floats, read_integers};
    OK(H5Dread_multi(k_sets, sets.datasets, sets.types, sets.memory, sets.file, list, read));
    for (uint64_t i = 0; i < count * k_width; ++i) {
        CHECK(near(read_doubles[0][i], doubles[0][i]));
        if (!(g_ranks > 1 && g_rank == 1)) CHECK(near(read_doubles[1][i], doubles[1][i]));
        CHECK(near(read_floats[i], floats[i]));
        CHECK(read_integers[i] == integers[i]);
    }
    /* An independent call for some of them, the same values again. */
    hid_t alone = transfer(H5FD_MPIO_INDEPENDENT);
    OK(H5Dwrite_multi(2, sets.datasets, sets.types, sets.memory, sets.file, alone, values));
    OK(H5Pclose(alone));
    /* Datasets of two files, whatever their kind. */
    hid_t other = create_file("multi_other");
    Sets others = make(other);
    hid_t mixed[2] = {sets.datasets[0], others.datasets[0]};
    FAILS(H5Dwrite_multi(2, mixed, sets.types, sets.memory, sets.file, list, values));
    FAILS(H5Dread_multi(2, mixed, sets.types, sets.memory, sets.file, list, read));
    close_sets(&others);
    OK(H5Fclose(other));
    OK(H5Pclose(list));
    close_sets(&sets);
    OK(H5Fclose(file));
    file = open_file("multi", H5F_ACC_RDONLY);
    hid_t dataset = OK(H5Dopen2(file, "contiguous", H5P_DEFAULT));
    check_rows(dataset, k_rows, k_width, 0.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
