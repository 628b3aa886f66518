/* Goal: a run that is killed at any moment. It goes on writing dumps into one file, flushes after
 * each, closes the file now and then, and says in a side file what HDF5 has told it is done.
 *
 * VOL_TEST_DUMPS (1000000) and VOL_TEST_CLOSE_EVERY (3) from the environment. killed.py knows the
 * formula of the values; nothing else is shared with it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 96, k_columns = 64 };

static int g_log = -1;

static int number_from(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* One line a call of write, so that it is there whole or not at all. Rank 0's. */
static void note(const char* what, int dump) {
    if (g_rank != 0) return;
    char line[64];
    const int n = snprintf(line, sizeof line, "%s %d\n", what, dump);
    CHECK(write(g_log, line, (size_t)n) == n);
}

static double value(int dump, int which, hsize_t index) {
    return (double)(dump % 1000) + 0.25 * which + 0.125 * (double)(index * 7919 % 509);
}

/* Rows [first, first + n) of a dataset, each rank its share of them. */
static void write_some(hid_t dataset, int dump, int which, hsize_t first, hsize_t n) {
    hsize_t begin, count;
    share(n, &begin, &count);
    hsize_t offset[2] = {first + begin, 0}, extent[2] = {count, k_columns};
    double* values = malloc(sizeof(double) * (size_t)(count * k_columns));
    for (hsize_t i = 0; i < count * k_columns; ++i)
        values[i] = value(dump, which, offset[0] * k_columns + i);
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    free(values);
}

static void write_dump(hid_t file, int dump) {
    static const hsize_t dims[2] = {k_rows, k_columns}, chunk[2] = {20, 48};
    char name[32];
    snprintf(name, sizeof name, "dump_%06d", dump);
    hid_t group = OK(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t creation = chunked(2, chunk);
    hid_t wide = make_dataset(group, "wide", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    hid_t parts = make_dataset(group, "parts", H5T_IEEE_F32LE, 2, dims, creation);
    hid_t counts = make_dataset(group, "counts", H5T_STD_I32LE, 2, dims, H5P_DEFAULT);
    write_some(wide, dump, 0, 0, k_rows);
    write_some(parts, dump, 1, 0, k_rows / 2);
    write_some(counts, dump, 2, 0, k_rows);
    if (dump % 2) OK(H5Fflush(file, H5F_SCOPE_GLOBAL)); /* blocks of "parts" are stored twice */
    write_some(parts, dump, 1, k_rows / 2, k_rows - k_rows / 2);
    put_int(group, "dump", dump);
    OK(H5Dclose(counts));
    OK(H5Dclose(parts));
    OK(H5Dclose(wide));
    OK(H5Pclose(creation));
    OK(H5Gclose(group));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    const int dumps = number_from("VOL_TEST_DUMPS", 1000000);
    const int close_every = number_from("VOL_TEST_CLOSE_EVERY", 3);
    if (g_rank == 0) {
        char log[1100];
        snprintf(log, sizeof log, "%s.log", path_of("killable"));
        g_log = open(log, O_CREAT | O_WRONLY | O_APPEND, 0644);
        CHECK(g_log >= 0);
    }
    hid_t file = create_file("killable");
    note("created", 0);
    for (int dump = 0; dump < dumps; ++dump) {
        write_dump(file, dump);
        if (dump % close_every != close_every - 1) {
            OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
            note("flushed", dump);
            continue;
        }
        note("closing", dump);
        OK(H5Fclose(file));
        note("closed", dump);
        file = open_file("killable", H5F_ACC_RDWR);
    }
    OK(H5Fclose(file));
    note("done", dumps);
    return finish();
}
