/* Goal: what is asked about storage and chunks, and chunks written and read directly. */
#include "check.h"

enum { k_rows = 64, k_width = 64, k_chunk = 16 };

static int on_chunk(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes,
                    void* data) {
    (void)mask;
    CHECK(offset[0] % k_chunk == 0 && offset[1] % k_width == 0);
    CHECK(address != HADDR_UNDEF && bytes > 0);
    ++*(int*)data;
    return 0;
}

static void questions(hid_t file, const char* name, bool exact) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    H5D_space_status_t status;
    OK(H5Dget_space_status(dataset, &status));
    CHECK(status == H5D_SPACE_STATUS_ALLOCATED);
    hsize_t chunks = 0;
    OK(H5Dget_num_chunks(dataset, H5S_ALL, &chunks));
    CHECK(chunks == k_rows / k_chunk);
    int seen = 0;
    OK(H5Dchunk_iter(dataset, H5P_DEFAULT, on_chunk, &seen));
    CHECK(seen == k_rows / k_chunk);
    for (hsize_t i = 0; i < chunks; ++i) {
        hsize_t offset[2], bytes = 0, again = 0;
        unsigned mask = 99;
        haddr_t address = HADDR_UNDEF, same = HADDR_UNDEF;
        OK(H5Dget_chunk_info(dataset, H5S_ALL, i, offset, &mask, &address, &bytes));
        OK(H5Dget_chunk_info_by_coord(dataset, offset, &mask, &same, &again));
        CHECK(same == address && again == bytes && address != HADDR_UNDEF);
        OK(H5Dget_chunk_storage_size(dataset, offset, &again));
        CHECK(again == bytes);
        if (exact) CHECK(bytes == k_chunk * k_width * sizeof(double));
    }
    hsize_t stored = H5Dget_storage_size(dataset);
    CHECK(stored > 0);
    if (exact) CHECK(stored == k_rows * k_width * sizeof(double));
    OK(H5Dclose(dataset));
}

/* Integers of another machine: these bytes are what the file holds, with and without the
 * connector. */
static void direct(hid_t file) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {k_chunk, k_width};
    hid_t creation = chunked(2, chunk);
    hid_t dataset = make_dataset(file, "direct", H5T_STD_I32BE, 2, dims, creation);
    OK(H5Pclose(creation));
    int values[k_chunk * k_width];
    for (hsize_t i = 0; i < k_rows / k_chunk; ++i) {
        hsize_t offset[2] = {i * k_chunk, 0};
        for (int j = 0; j < k_chunk * k_width; ++j) values[j] = (int)i * 100000 + j;
        if ((int)(i % (hsize_t)g_ranks) == g_rank)
            OK(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, sizeof values, values));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    static int all[k_rows * k_width];
    OK(H5Dread(dataset, H5T_STD_I32BE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
    for (int i = 0; i < k_rows * k_width; ++i) {
        int in_chunk = i % (k_chunk * k_width);
        CHECK(all[i] == i / (k_chunk * k_width) * 100000 + in_chunk);
    }
    hsize_t offset[2] = {k_chunk, 0};
    uint32_t mask = 99;
#if H5_VERSION_GE(2, 0, 0)
    OK(H5Dread_chunk1(dataset, H5P_DEFAULT, offset, &mask, values));
#else
    OK(H5Dread_chunk(dataset, H5P_DEFAULT, offset, &mask, values));
#endif
    CHECK(mask == 0 && values[5] == 100005);
    OK(H5Dclose(dataset));
}

/* Of a dataset that becomes blocks the values of a chunk are written, also of one that reaches
 * beyond the dataset. */
static void direct_values(hid_t file) {
    enum { k_n = 3000, k_own = 700 };
    hsize_t n = k_n, own = k_own;
    hid_t creation = chunked(1, &own);
    hid_t dataset = make_dataset(file, "direct_values", H5T_NATIVE_INT, 1, &n, creation);
    OK(H5Pclose(creation));
    static int values[k_own], all[k_n];
    for (hsize_t begin = 0; begin < k_n; begin += k_own) {
        for (int j = 0; j < k_own; ++j) values[j] = 3 * ((int)begin + j);
        if ((int)(begin / k_own % (hsize_t)g_ranks) == g_rank)
            OK(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &begin, sizeof values, values));
    }
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
    for (int i = 0; i < k_n; ++i) CHECK(all[i] == 3 * i);
    const hsize_t odd = 5;
    FAILS(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &odd, sizeof values, values));
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("chunks");
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {k_chunk, k_width};
    hid_t creation = chunked(2, chunk);
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, creation);
    write_rows(dataset, k_rows, k_width, 0.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Pset_deflate(creation, 6));
    dataset = make_dataset(file, "deflated", H5T_IEEE_F64LE, 2, dims, creation);
    write_rows(dataset, k_rows, k_width, 0.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Pclose(creation));
    direct(file);
    direct_values(file);
    OK(H5Fclose(file));
    file = open_file("chunks", H5F_ACC_RDONLY);
    questions(file, "field", getenv("VOL_TEST_CONNECTOR") == NULL);
    questions(file, "deflated", false);
    OK(H5Fclose(file));
    return finish();
}
