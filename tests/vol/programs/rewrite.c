/* Goal: data written again: whole, in part of a chunk, across flushes and across reopening; by the
 * ranks in turn, without a barrier of the program's own. */
#include "check.h"

enum { k_rows = 96, k_width = 64 };

/* All ranks together overwrite rows [first, first + rows) with base + field of the row in it. */
static void overwrite(hid_t dataset, hsize_t first, hsize_t rows, double base) {
    hsize_t begin, count;
    share(rows, &begin, &count);
    hsize_t offset[2] = {first + begin, 0}, extent[2] = {count, k_width};
    hid_t space = OK(H5Dget_space(dataset));
    if (count > 0)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    double* values = malloc(sizeof(double) * (size_t)(count * k_width + 1));
    for (uint64_t i = 0; i < count * k_width; ++i)
        values[i] = base + field((first + begin) * k_width + i, k_width);
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

/* Row r holds base[r] + field. */
static void check_bases(hid_t dataset, const double* base) {
    double* read = malloc(sizeof(double) * k_rows * k_width);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (uint64_t i = 0; i < k_rows * k_width; ++i)
        CHECK(near(read[i], base[i / k_width] + field(i, k_width)));
    OK(H5Pclose(list));
    free(read);
}

static void set(double* base, int first, int rows, double value) {
    for (int i = first; i < first + rows; ++i) base[i] = value;
}

static void run(const char* name, hid_t creation) {
    double base[k_rows];
    hid_t file = create_file(name);
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, creation);
    write_rows(dataset, k_rows, k_width, 0.0, H5FD_MPIO_COLLECTIVE);
    set(base, 0, k_rows, 0.0);
    overwrite(dataset, 0, k_rows, 1.0); /* whole, before anything could be flushed */
    set(base, 0, k_rows, 1.0);
    check_bases(dataset, base);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    overwrite(dataset, 10, 30, 2.0); /* parts of chunks that are in the file */
    set(base, 10, 30, 2.0);
    check_bases(dataset, base);
    overwrite(dataset, 20, 4, 3.0); /* twice without a read or flush between */
    overwrite(dataset, 22, 4, 4.0);
    set(base, 20, 4, 3.0);
    set(base, 22, 4, 4.0);
    check_bases(dataset, base);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    file = open_file(name, H5F_ACC_RDWR);
    dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    check_bases(dataset, base);
    overwrite(dataset, 0, 16, 5.0); /* a whole chunk in a reopened file */
    set(base, 0, 16, 5.0);
    overwrite(dataset, 90, 3, 6.0);
    set(base, 90, 3, 6.0);
    check_bases(dataset, base);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    file = open_file(name, H5F_ACC_RDONLY);
    dataset = OK(H5Dopen2(file, "field", H5P_DEFAULT));
    check_bases(dataset, base);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* In each collective write another rank has all rows, and the last write wins.
 * Every third write goes through the dataset opened anew. Whole numbers are stored as they are,
 * others become blocks. */
static void take_turns(const char* name, hid_t type) {
    enum { k_turns = 60, k_values = 4096 };
    hid_t file = create_file(name);
    hsize_t dims[1] = {k_values};
    hid_t dataset = make_dataset(file, "number", type, 1, dims, H5P_DEFAULT);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    int values[k_values];
    for (int turn = 0; turn < k_turns; ++turn) {
        for (int i = 0; i < k_values; ++i) values[i] = turn;
        hid_t space = OK(H5Dget_space(dataset));
        if (turn % g_ranks != g_rank) OK(H5Sselect_none(space));
        OK(H5Dwrite(dataset, H5T_NATIVE_INT, space, space, list, values));
        OK(H5Sclose(space));
        if (turn % 3 > 0) continue;
        OK(H5Dclose(dataset));
        dataset = OK(H5Dopen2(file, "number", H5P_DEFAULT));
    }
    OK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, list, values));
    for (int i = 0; i < k_values; ++i) CHECK(values[i] == k_turns - 1);
    OK(H5Pclose(list));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hsize_t chunk[2] = {16, 32};
    hid_t creation = chunked(2, chunk);
    run("rewrite", H5P_DEFAULT);
    run("rewrite_chunks", creation);
    OK(H5Pset_deflate(creation, 1));
    run("rewrite_deflated", creation);
    OK(H5Pclose(creation));
    take_turns("rewrite_in_turn", H5T_STD_I32LE);
    take_turns("rewrite_blocks_in_turn", H5T_IEEE_F64LE);
    return finish();
}
