/* Goal: values that are written a few at a time, in whatever order, are there at once and later:
 * one by one, row by row, backwards, scattered, over others. */
#include "check.h"

enum { k_rows = 96, k_width = 40 };

typedef struct {
    hid_t dataset, space;
    double* replica; /* this rank's rows */
    hsize_t begin, count;
} Rows;

static void put(Rows* rows, hsize_t row, hsize_t column, hsize_t n, double first) {
    hsize_t offset[2] = {rows->begin + row, column}, extent[2] = {1, n};
    double values[k_width];
    for (hsize_t i = 0; i < n; ++i)
        rows->replica[row * k_width + column + i] = values[i] = first + (double)i;
    OK(H5Sselect_hyperslab(rows->space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(1, &n, NULL));
    OK(H5Dwrite(rows->dataset, H5T_NATIVE_DOUBLE, memory, rows->space, H5P_DEFAULT, values));
    OK(H5Sclose(memory));
}

/* What a box of this rank's rows holds. */
static void check_box(Rows* rows, hsize_t row, hsize_t column, hsize_t n, hsize_t width) {
    hsize_t offset[2] = {rows->begin + row, column}, extent[2] = {n, width};
    double* values = malloc(sizeof(double) * (size_t)(n * width));
    OK(H5Sselect_hyperslab(rows->space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Dread(rows->dataset, H5T_NATIVE_DOUBLE, memory, rows->space, H5P_DEFAULT, values));
    for (hsize_t i = 0; i < n * width; ++i)
        CHECK(near(values[i], rows->replica[(row + i / width) * k_width + column + i % width]));
    free(values);
    OK(H5Sclose(memory));
}

static void run(hid_t file, const char* name, int order, bool part) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {20, 16};
    hid_t creation = part ? chunked(2, chunk) : H5P_DEFAULT;
    Rows rows = {make_dataset(file, name, H5T_NATIVE_DOUBLE, 2, dims, creation), 0, NULL, 0, 0};
    if (part) OK(H5Pclose(creation));
    rows.space = OK(H5Dget_space(rows.dataset));
    share(k_rows, &rows.begin, &rows.count);
    rows.replica = calloc((size_t)(rows.count * k_width), sizeof(double));
    /* Before a flush the connector lets no rank read by itself what nobody has written. */
    for (hsize_t row = 0; row < rows.count; ++row) put(&rows, row, 0, k_width, 1.0);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    unsigned seed = 20261128u + (unsigned)g_rank;
    for (hsize_t row = 0; row < rows.count; ++row) {
        hsize_t at = order == 1 ? rows.count - 1 - row : row;
        if (order == 0 || order == 1) {
            for (hsize_t column = 0; column < k_width; ++column)
                put(&rows, at, column, 1, (double)(at * 100 + column));
        } else if (order == 2) {
            put(&rows, at, 0, k_width, (double)(at * 100));
        } else {
            for (int i = 0; i < 40; ++i) {
                seed = seed * 1103515245u + 12345u;
                hsize_t column = seed / 65536 % k_width, line = seed / 1024 % rows.count;
                hsize_t n = 1 + seed / 16 % (k_width - column);
                put(&rows, line, column, n, (double)(seed % 100000));
                if (i % 8 == 0) check_box(&rows, line, 0, 1, k_width);
            }
        }
        check_box(&rows, at, 3, 1, 20);
    }
    check_box(&rows, 0, 0, rows.count, k_width);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    check_box(&rows, 0, 0, rows.count, k_width);
    put(&rows, 1, 7, 3, -5.0); /* over what is in the file */
    put(&rows, 1, 10, 2, -50.0);
    check_box(&rows, 0, 0, rows.count, k_width);
    free(rows.replica);
    OK(H5Sclose(rows.space));
    OK(H5Dclose(rows.dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("small_writes");
    run(file, "one_by_one", 0, false);
    run(file, "backwards", 1, false);
    run(file, "rows", 2, true);
    run(file, "scattered", 3, true);
    run(file, "one_by_one_chunks", 0, true);
    OK(H5Fclose(file));
    return finish();
}
