/* Goal: HDF5's calls on chunks answer for the chunks and the filters that the application asked
 * for, at once: how many there are, which, how large, their bytes; direct writes of chunks; how
 * much space a dataset has. Of a file that one process has, before and after a flush, of integers
 * and of floating point, without and with filters, with chunks that the array does not fill. Every
 * output is set, also where there is nothing to say. */
#include <stdio.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 50, k_width = 44, k_chunk_rows = 8, k_chunk_width = 16 };
static const hsize_t k_dims[2] = {k_rows, k_width};
static const hsize_t k_chunk[2] = {k_chunk_rows, k_chunk_width};

typedef struct {
    hsize_t offset[2], bytes;
    unsigned mask;
} Chunk;

static herr_t list_chunk(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes,
                         void* data) {
    Chunk** next = data;
    (void)address;
    **next = (Chunk){{offset[0], offset[1]}, bytes, mask};
    ++*next;
    return 0;
}

/* Values that tell where they are; of all chunk rows that `wanted` says. */
static void write_block(hid_t dataset, hsize_t row, hsize_t column, hsize_t rows, hsize_t columns) {
    hsize_t offset[2] = {row, column}, count[2] = {rows, columns};
    hid_t space = OK(H5Screate_simple(2, k_dims, NULL)),
          memory = OK(H5Screate_simple(2, count, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, count, NULL));
    int32_t* values = malloc(sizeof *values * rows * columns);
    for (hsize_t i = 0; i < rows * columns; ++i)
        values[i] = (int32_t)((row + i / columns) * 100 + column + i % columns);
    OK(H5Dwrite(dataset, H5T_NATIVE_INT32, memory, space, H5P_DEFAULT, values));
    free(values);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

static hsize_t count_of(hid_t dataset) {
    hsize_t count = 999;
    OK(H5Dget_num_chunks(dataset, H5S_ALL, &count));
    return count;
}

static H5D_space_status_t space_of(hid_t dataset) {
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    OK(H5Dget_space_status(dataset, &status));
    return status;
}

/* The chunk's values, by whatever filters it was stored. */
static void check_bytes(hid_t dataset, const Chunk* chunk, bool filtered) {
    char* stored = malloc(chunk->bytes);
    uint32_t mask = 77;
    hsize_t bytes = 999;
    OK(H5Dget_chunk_storage_size(dataset, chunk->offset, &bytes));
    CHECK(bytes == chunk->bytes);
    OK(H5Dread_chunk(dataset, H5P_DEFAULT, chunk->offset, &mask, stored));
    CHECK(mask == 0);
    /* Into a dataset that is made alike, as a program does that copies chunks. */
    hid_t list = OK(H5Dget_create_plist(dataset)), type = OK(H5Dget_type(dataset));
    hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_fapl_core(access, 4096, 0));
    hid_t file = OK(H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access));
    hid_t twin = make_dataset(file, "twin", type, 2, k_chunk, list);
    const hsize_t none[2] = {0, 0};
    OK(H5Dwrite_chunk(twin, H5P_DEFAULT, mask, none, bytes, stored));
    double values[k_chunk_rows][k_chunk_width];
    OK(H5Dread(twin, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (hsize_t i = 0; i < k_chunk_rows; ++i)
        for (hsize_t j = 0; j < k_chunk_width; ++j) {
            const hsize_t row = chunk->offset[0] + i, column = chunk->offset[1] + j;
            if (row < k_rows && column < k_width)
                CHECK(near(values[i][j], (double)(row * 100 + column)) || near(values[i][j], -5));
        }
    CHECK(filtered || bytes == sizeof values / sizeof(double) * H5Tget_size(type));
    OK(H5Dclose(twin));
    OK(H5Fclose(file));
    OK(H5Pclose(access));
    OK(H5Tclose(type));
    OK(H5Pclose(list));
    free(stored);
}

static void check_chunks(hid_t dataset, const hsize_t offsets[][2], hsize_t n, bool filtered) {
    CHECK(count_of(dataset) == n);
    Chunk* all = calloc(n + 1, sizeof *all);
    Chunk* next = all;
    OK(H5Dchunk_iter(dataset, H5P_DEFAULT, list_chunk, &next));
    CHECK(next == all + n);
    for (hsize_t i = 0; i < n; ++i) {
        CHECK(all[i].offset[0] == offsets[i][0] && all[i].offset[1] == offsets[i][1]);
        CHECK(all[i].mask == 0);
        hsize_t offset[2] = {999, 999}, bytes = 999;
        unsigned mask = 77;
        haddr_t address = 99;
        OK(H5Dget_chunk_info(dataset, H5S_ALL, i, offset, &mask, &address, &bytes));
        CHECK(offset[0] == offsets[i][0] && offset[1] == offsets[i][1] && mask == 0);
        CHECK(bytes == all[i].bytes && address != 99);
        bytes = 999;
        OK(H5Dget_chunk_info_by_coord(dataset, offsets[i], &mask, &address, &bytes));
        CHECK(bytes == all[i].bytes && mask == 0);
        check_bytes(dataset, &all[i], filtered);
    }
    free(all);
    hsize_t offset[2] = {0, 0}, bytes = 999;
    unsigned mask = 77;
    haddr_t address = 99;
    FAILS(H5Dget_chunk_info(dataset, H5S_ALL, n, offset, &mask, &address, &bytes));
    const hsize_t inside[2] = {3, 5};
    uint32_t masked = 0;
    char buffer[16];
    FAILS(H5Dread_chunk(dataset, H5P_DEFAULT, inside, &masked, buffer));
}

static void one_dataset(hid_t file, const char* name, hid_t type, bool filtered) {
    hid_t list = chunked(2, k_chunk);
    const int32_t fill = -5;
    OK(H5Pset_fill_value(list, H5T_NATIVE_INT32, &fill));
    if (filtered) OK(H5Pset_shuffle(list) + H5Pset_deflate(list, 6));
    hid_t dataset = make_dataset(file, name, type, 2, k_dims, list);
    CHECK(space_of(dataset) == H5D_SPACE_STATUS_NOT_ALLOCATED);
    CHECK(H5Dget_storage_size(dataset) == 0);
    hsize_t bytes = 999;
    haddr_t address = 99;
    unsigned mask = 77;
    CHECK(count_of(dataset) == 0);
    const hsize_t first[2] = {0, 0};
    OK(H5Dget_chunk_info_by_coord(dataset, first, &mask, &address, &bytes));
    CHECK(bytes == 0 && address == HADDR_UNDEF);
    write_block(dataset, 9, 17, 3, 2); /* in one chunk */
    const hsize_t one[][2] = {{8, 16}};
    check_chunks(dataset, one, 1, filtered);
    CHECK(space_of(dataset) == H5D_SPACE_STATUS_PART_ALLOCATED);
    write_block(dataset, 46, 30, 4, 14); /* in two at the edge and one beside */
    const hsize_t four[][2] = {{8, 16}, {40, 16}, {40, 32}, {48, 16}, {48, 32}};
    check_chunks(dataset, four, 5, filtered);
    OK(H5Fflush(file, H5F_SCOPE_LOCAL));
    check_chunks(dataset, four, 5, filtered);
    write_block(dataset, 0, 0, k_rows, k_width);
    CHECK(count_of(dataset) == 7 * 3);
    CHECK(space_of(dataset) == H5D_SPACE_STATUS_ALLOCATED);
    if (!filtered && !captured())
        CHECK(H5Dget_storage_size(dataset) ==
              21 * k_chunk_rows * k_chunk_width * H5Tget_size(type));
    OK(H5Dclose(dataset));
    OK(H5Pclose(list));
}

/* Chunks written as they are to be stored, and read as values. */
static void direct_writes(hid_t file, const char* name, bool filtered) {
    hid_t list = chunked(2, k_chunk);
    hid_t plain = make_dataset(file, "values", H5T_NATIVE_INT32, 2, k_dims, list);
    if (filtered) OK(H5Pset_deflate(list, 4));
    hid_t source = make_dataset(file, "source", H5T_NATIVE_INT32, 2, k_dims, list);
    hid_t target = make_dataset(file, name, H5T_NATIVE_INT32, 2, k_dims, list);
    write_block(source, 0, 0, k_rows, k_width);
    const hsize_t offsets[][2] = {{0, 0}, {16, 32}, {48, 16}};
    for (int i = 0; i < 3; ++i) {
        hsize_t bytes = 0;
        uint32_t mask = 77;
        char stored[4096];
        OK(H5Dget_chunk_storage_size(source, offsets[i], &bytes));
        CHECK(bytes > 0 && bytes <= sizeof stored);
        OK(H5Dread_chunk(source, H5P_DEFAULT, offsets[i], &mask, stored));
        OK(H5Dwrite_chunk(target, H5P_DEFAULT, mask, offsets[i], bytes, stored));
    }
    int32_t values[k_rows][k_width];
    OK(H5Dread(target, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < 3; ++i)
        CHECK(values[offsets[i][0] + 1][offsets[i][1] + 2] ==
              (int32_t)((offsets[i][0] + 1) * 100 + offsets[i][1] + 2));
    CHECK(values[30][30] == 0);
    write_block(target, 0, 0, 2, 2); /* part of a chunk that was written directly */
    OK(H5Dread(target, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    CHECK(values[1][1] == 101 && values[5][3] == 503);
    FAILS(H5Dwrite_chunk(target, H5P_DEFAULT, 0, (const hsize_t[]){1, 0}, 512, values));
    OK(H5Dclose(plain));
    OK(H5Ldelete(file, "values", H5P_DEFAULT));
    OK(H5Dclose(source));
    OK(H5Ldelete(file, "source", H5P_DEFAULT));
    OK(H5Dclose(target));
    OK(H5Pclose(list));
}

enum { k_edge = 64, k_values = k_edge * k_edge };

/* A program that opens its own file again knows nothing of a filter, and writes values. */
static void direct_write_again(void) {
    const hsize_t edge[2] = {8, 8}, dims[2] = {k_edge, k_edge}, first[2] = {0, 0};
    hid_t file = OK(H5Fcreate(path_of("direct_again"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t list = chunked(2, edge);
    hid_t dataset = make_dataset(file, "values", H5T_NATIVE_INT32, 2, dims, list);
    static int32_t values[k_edge][k_edge], chunk[k_values];
    for (int i = 0; i < k_values; ++i) values[i / k_edge][i % k_edge] = i, chunk[i] = -i;
    OK(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of("direct_again"), H5F_ACC_RDONLY, H5P_DEFAULT)); /* completes it */
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of("direct_again"), H5F_ACC_RDWR, H5P_DEFAULT));
    dataset = OK(H5Dopen2(file, "values", H5P_DEFAULT));
    hid_t told = OK(H5Dget_create_plist(dataset));
    hsize_t stored[2] = {0, 0};
    OK(H5Pget_chunk(told, 2, stored)); /* blocks may have chunks of their own */
    OK(H5Pclose(told));
    CHECK(stored[0] <= k_edge && stored[1] <= k_edge);
    const size_t bytes = sizeof *chunk * stored[0] * stored[1];
    if (captured()) FAILS(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, first, bytes / 2, chunk));
    OK(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, first, bytes, chunk));
    OK(H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (hsize_t i = 0; i < k_values; ++i) {
        const hsize_t row = i / k_edge, column = i % k_edge;
        const bool written = row < stored[0] && column < stored[1];
        CHECK(values[row][column] == (written ? -(int)(row * stored[1] + column) : (int)i));
    }
    for (int n = 0; n < k_values; ++n) values[n / k_edge][n % k_edge] = n;
    OK(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    OK(H5Pclose(list));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    if (g_rank == 0) {
        hid_t file = OK(H5Fcreate(path_of("chunk_calls"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        check_connector(file);
        one_dataset(file, "int32", H5T_NATIVE_INT32, false);
        one_dataset(file, "int32_filtered", H5T_NATIVE_INT32, true);
        one_dataset(file, "float64", H5T_NATIVE_DOUBLE, false);
        one_dataset(file, "float64_filtered", H5T_NATIVE_DOUBLE, true);
        direct_writes(file, "direct", false);
        direct_writes(file, "direct_filtered", true);
        hid_t contiguous =
            make_dataset(file, "contiguous", H5T_NATIVE_INT32, 2, k_dims, H5P_DEFAULT);
        write_block(contiguous, 0, 0, k_rows, k_width);
        hsize_t count = 999;
        FAILS(H5Dget_num_chunks(contiguous, H5S_ALL, &count));
        const hsize_t stored = H5Dget_storage_size(contiguous); /* under the connector fewer */
        CHECK(stored > 0 && stored <= sizeof(int32_t) * k_rows * k_width);
        CHECK(captured() || stored == sizeof(int32_t) * k_rows * k_width);
        CHECK(space_of(contiguous) == H5D_SPACE_STATUS_ALLOCATED);
        OK(H5Dclose(contiguous));
        OK(H5Fclose(file));
        direct_write_again();
    }
    return finish();
}
