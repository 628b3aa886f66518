/* Goal: datasets that grow and shrink: H5Dset_extent, unlimited dimensions, appended time steps. */
#include "check.h"

enum { k_width = 64, k_step = 32, k_steps = 5 };

static hid_t make(hid_t file, const char* name, hid_t type, hsize_t rows) {
    hsize_t dims[2] = {rows, k_width}, most[2] = {H5S_UNLIMITED, k_width}, chunk[2] = {24, 32};
    hid_t space = OK(H5Screate_simple(2, dims, most));
    hid_t creation = chunked(2, chunk);
    double fill = -3.0;
    OK(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill));
    hid_t dataset = OK(H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Pclose(creation));
    OK(H5Sclose(space));
    return dataset;
}

static hsize_t rows_of(hid_t dataset) {
    hsize_t dims[2], most[2];
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sget_simple_extent_dims(space, dims, most));
    CHECK(most[0] == H5S_UNLIMITED && dims[1] == k_width);
    OK(H5Sclose(space));
    return dims[0];
}

/* Appends k_step rows: every rank its share. */
static void append(hid_t dataset, int step) {
    hsize_t dims[2] = {(hsize_t)(step + 1) * k_step, k_width}, begin, count;
    OK(H5Dset_extent(dataset, dims));
    CHECK(rows_of(dataset) == dims[0]);
    share(k_step, &begin, &count);
    hsize_t offset[2] = {(hsize_t)step * k_step + begin, 0}, extent[2] = {count, k_width};
    double values[k_step * k_width];
    for (uint64_t i = 0; i < count * k_width; ++i)
        values[i] = field(offset[0] * k_width + i, k_width);
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

static void grows(hid_t file, const char* name, hid_t type, double rounding) {
    hid_t dataset = make(file, name, type, 0);
    for (int step = 0; step < k_steps; ++step) append(dataset, step);
    enum { n = k_steps * k_step * k_width };
    double* read = malloc(sizeof(double) * n);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    OK(H5Pclose(list));
    for (uint64_t i = 0; i < n; ++i) {
        double away = read[i] - field(i, k_width);
        CHECK(near(read[i], field(i, k_width)) || (away < rounding && -away < rounding));
    }
    free(read);
    OK(H5Dclose(dataset));
}

/* What is cut off is gone; what comes back is the fill value. The cut is at a chunk's edge: inside
 * a chunk, parallel HDF5 1.14.5 leaves the old values. */
static void shrinks(hid_t file) {
    hid_t dataset = make(file, "shrinks", H5T_IEEE_F64LE, 100);
    write_rows(dataset, 100, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
    hsize_t dims[2] = {48, k_width};
    OK(H5Dset_extent(dataset, dims));
    check_rows(dataset, 48, k_width, 1.0);
    dims[0] = 60;
    OK(H5Dset_extent(dataset, dims));
    double read[60 * k_width];
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    OK(H5Pclose(list));
    for (uint64_t i = 0; i < 60 * k_width; ++i)
        CHECK(near(read[i], i < 48 * k_width ? 1.0 + field(i, k_width) : -3.0));
    dims[0] = 41;
    OK(H5Dset_extent(dataset, dims));
    check_rows(dataset, 41, k_width, 1.0);
    OK(H5Dclose(dataset));
}

static void read_all(hid_t dataset, double* values) {
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    OK(H5Pclose(list));
}

/* Cuts through chunks along both axes, twice: what is kept reads as before, to the last bit, so
 * that a bound is spent once only. */
static void keeps(hid_t file, const char* name, int flushed) {
    hsize_t dims[2] = {100, k_width}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED}, chunk[2] = {24, 28};
    static double before[100 * k_width], after[100 * k_width];
    hid_t space = OK(H5Screate_simple(2, dims, most));
    hid_t creation = chunked(2, chunk);
    hid_t dataset =
        OK(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Pclose(creation));
    OK(H5Sclose(space));
    write_rows(dataset, 100, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
    if (flushed) OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    read_all(dataset, before);
    for (int cut = 1; cut <= 2; ++cut) {
        hsize_t cut_dims[2] = {100 - (hsize_t)cut * 30, k_width - (hsize_t)cut * 13};
        OK(H5Dset_extent(dataset, cut_dims));
        read_all(dataset, after);
        for (hsize_t row = 0; row < cut_dims[0]; ++row)
            CHECK(memcmp(after + row * cut_dims[1], before + row * k_width,
                         cut_dims[1] * sizeof(double)) == 0);
    }
    for (uint64_t i = 0; i < 100 * k_width; ++i) CHECK(near(before[i], 1.0 + field(i, k_width)));
    OK(H5Dclose(dataset));
}

/* The same of a dataset that lay in the file before. */
static void keeps_later(hid_t file, const char* name) {
    static double before[40 * 38], after[40 * 38];
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    hsize_t dims[2] = {20, 33};
    read_all(dataset, before);
    OK(H5Dset_extent(dataset, dims));
    read_all(dataset, after);
    for (hsize_t row = 0; row < dims[0]; ++row)
        CHECK(memcmp(after + row * dims[1], before + row * 38, dims[1] * sizeof(double)) == 0);
    OK(H5Dclose(dataset));
}

static void refusals(hid_t file) {
    hsize_t dims[2] = {64, 64}, larger[2] = {65, 64};
    hid_t dataset = make_dataset(file, "fixed", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    FAILS(H5Dset_extent(dataset, larger)); /* its maximum is what it has */
    hid_t space = OK(H5Dget_space(dataset));
    hsize_t most[2];
    OK(H5Sget_simple_extent_dims(space, dims, most));
    CHECK(dims[0] == 64 && most[0] == 64);
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

/* A dataset of words, which do not become blocks, begins empty: a second identifier may write it.
 */
static void from_nothing(hid_t file) {
    const hsize_t none[1] = {0}, chunk[1] = {4}, most[1] = {H5S_UNLIMITED}, some[1] = {8};
    hid_t type = OK(H5Tcopy(H5T_C_S1)), creation = chunked(1, chunk);
    OK(H5Tset_size(type, 4));
    hid_t space = OK(H5Screate_simple(1, none, most));
    hid_t first = OK(H5Dcreate2(file, "words", type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    hid_t second = OK(H5Dopen2(file, "words", H5P_DEFAULT));
    char words[8][4], read[8][4];
    for (int i = 0; i < 8; ++i) memcpy(words[i], "a_z", 4), words[i][1] = (char)('0' + i);
    OK(H5Sselect_none(space));
    OK(H5Dwrite(second, type, space, space, H5P_DEFAULT, words));
    OK(H5Dset_extent(second, some));
    hsize_t begin, count;
    share(8, &begin, &count);
    hid_t now = OK(H5Dget_space(second));
    OK(H5Sselect_hyperslab(now, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(second, type, now, now, how, words));
    OK(H5Dread(first, type, H5S_ALL, H5S_ALL, how, read));
    CHECK(memcmp(words, read, sizeof read) == 0);
    OK(H5Pclose(how));
    OK(H5Sclose(now));
    OK(H5Sclose(space));
    OK(H5Dclose(second));
    OK(H5Dclose(first));
    OK(H5Tclose(type));
    OK(H5Pclose(creation));
}

/* Numbers of another machine do not become blocks. What was cut off is gone when the dataset grows
 * again, also where all chunks have their place for good. */
static void regrown(void) {
    const hsize_t dims[2] = {11, 8}, chunk[2] = {7, 3}, fewer[2] = {4, 8};
    hid_t file = OK(H5Fcreate(path_of("regrown"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t creation = chunked(2, chunk);
    hid_t dataset = make_dataset(file, "of_another_machine", H5T_STD_U16BE, 2, dims, creation);
    OK(H5Pclose(creation));
    uint16_t values[11][8];
    for (int flushed = 0; flushed < 2; ++flushed) {
        for (int i = 0; i < 88; ++i) values[i / 8][i % 8] = (uint16_t)(1000 + i);
        OK(H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        if (flushed) OK(H5Fflush(file, H5F_SCOPE_LOCAL));
        OK(H5Dset_extent(dataset, fewer));
        OK(H5Dset_extent(dataset, dims));
        OK(H5Dread(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        for (int i = 0; i < 88; ++i) CHECK(values[i / 8][i % 8] == (i / 8 < 4 ? 1000 + i : 0));
    }
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* A chunk with the application's filters is cut, then others are written: all can be read later. */
static void cut_with_filters(void) {
    enum { k_all = 645, k_less = 346 };
    const hsize_t dims[1] = {k_all}, most[1] = {654}, chunk[1] = {66}, fewer[1] = {k_less};
    hid_t file = OK(H5Fcreate(path_of("cut"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t creation = chunked(1, chunk), space = OK(H5Screate_simple(1, dims, most));
    OK(H5Pset_shuffle(creation));
    OK(H5Pset_deflate(creation, 4));
    hid_t dataset =
        OK(H5Dcreate2(file, "y", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    double values[k_all];
    for (int i = 0; i < k_all; ++i) values[i] = i;
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dset_extent(dataset, fewer));
    const hsize_t begin[1] = {205}, count[1] = {43};
    hid_t part = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(1, count, NULL));
    OK(H5Sselect_hyperslab(part, H5S_SELECT_SET, begin, NULL, count, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, part, H5P_DEFAULT, values + 1));
    OK(H5Sclose(memory));
    OK(H5Sclose(part));
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of("cut"), H5F_ACC_RDONLY, H5P_DEFAULT));
    dataset = OK(H5Dopen2(file, "y", H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < k_less; ++i) CHECK(values[i] == (i >= 205 && i < 248 ? i - 204 : i));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* Chunks that deflate does not make smaller are cut, and HDF5 stores them anew: many at the length
 * that their values have, which it must not take for values. */
static void cut_noise(void) {
    enum { k_rows = 6000, k_columns = 5, k_left = 4 };
    const hsize_t dims[2] = {k_rows, k_columns}, chunk[2] = {3, k_columns};
    const hsize_t most[2] = {H5S_UNLIMITED, H5S_UNLIMITED}, fewer[2] = {k_rows, k_left};
    hid_t file = OK(H5Fcreate(path_of("cut_noise"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t creation = chunked(2, chunk), space = OK(H5Screate_simple(2, dims, most));
    OK(H5Pset_deflate(creation, 4));
    hid_t dataset =
        OK(H5Dcreate2(file, "y", H5T_NATIVE_UINT8, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    static unsigned char values[k_rows][k_columns], read[k_rows][k_left];
    unsigned random = 1;
    for (int i = 0; i < k_rows * k_columns; ++i) {
        random = random * 1103515245 + 12345;
        values[i / k_columns][i % k_columns] = random >> 16 & 1 ? 255 : 0;
    }
    OK(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dset_extent(dataset, fewer));
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of("cut_noise"), H5F_ACC_RDONLY, H5P_DEFAULT));
    dataset = OK(H5Dopen2(file, "y", H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
    for (int i = 0; i < k_rows; ++i) CHECK(memcmp(read[i], values[i], k_left) == 0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* Chunks that do not shrink are written again in a file that is opened again: the connector asks
 * HDF5 for chunks that are not there, and the application is told of no error. */
static void rewritten_noise(void) {
    enum { k_rows = 120, k_columns = 40, k_turns = 4 };
    const hsize_t dims[2] = {k_rows, k_columns}, chunk[2] = {30, 30}, count[2] = {20, 20};
    const hsize_t most[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
    hid_t creation = chunked(2, chunk), space = OK(H5Screate_simple(2, dims, most));
    hid_t memory = OK(H5Screate_simple(2, count, NULL)), together = transfer(H5FD_MPIO_COLLECTIVE);
    unsigned values[20 * 20], random = 1, read[20 * 20];
    hid_t file = create_file("noise");
    OK(H5Dclose(
        OK(H5Dcreate2(file, "d", H5T_NATIVE_UINT, space, H5P_DEFAULT, creation, H5P_DEFAULT))));
    for (int turn = 0; turn < k_turns; ++turn) {
        for (int i = 0; i < 20 * 20; ++i) values[i] = random = random * 1103515245 + 12345;
        const hsize_t begin[2] = {(hsize_t)(g_rank * 20 + turn * 3), 10};
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, count, NULL));
        hid_t dataset = OK(H5Dopen2(file, "d", H5P_DEFAULT));
        OK(H5Dwrite(dataset, H5T_NATIVE_UINT, memory, space, together, values));
        OK(H5Dread(dataset, H5T_NATIVE_UINT, memory, space, together, read));
        CHECK(memcmp(read, values, sizeof read) == 0);
        OK(H5Dclose(dataset));
        OK(H5Fclose(file));
        file = open_file("noise", H5F_ACC_RDWR);
    }
    OK(H5Fclose(file));
    OK(H5Pclose(together));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
}

/* A dataset is deleted, grows, is written and closed, after a flush: HDF5 has then nothing left in
 * which what waits could be put, and the file can be closed all the same. */
static void deleted(void) {
    hid_t file = create_file("deleted");
    hid_t dataset = make(file, "gone", H5T_IEEE_F64LE, 0),
          kept = make(file, "kept", H5T_IEEE_F64LE, 0);
    append(dataset, 0);
    append(kept, 0);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    OK(H5Ldelete(file, "gone", H5P_DEFAULT));
    append(dataset, 1);
    append(kept, 1);
    OK(H5Dclose(dataset));
    append(kept, 2);
    check_rows(kept, 3 * k_step, k_width, 0.0);
    OK(H5Dclose(kept));
    OK(H5Fclose(file));
    file = open_file("deleted", H5F_ACC_RDWR);
    CHECK(OK(H5Lexists(file, "gone", H5P_DEFAULT)) == 0);
    kept = OK(H5Dopen2(file, "kept", H5P_DEFAULT));
    check_rows(kept, 3 * k_step, k_width, 0.0);
    OK(H5Dclose(kept));
    OK(H5Fclose(file));
}

/* An extent becomes 0, which takes the only chunk away, and grows again: in a file that is opened
 * later, too, there are fill values. */
static void emptied(const char* name, hsize_t rows, hid_t access, H5FD_mpio_xfer_t how) {
    enum { k_long = 1024, k_short = 24 };
    const hsize_t none[2] = {rows, 0}, some[2] = {rows, 5};
    hsize_t dims[2] = {rows, k_short};
    hid_t list = chunked(2, dims);
    float fill = 17.0f, values[k_long * 5];
    OK(H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &fill));
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    hid_t dataset = make_dataset(file, "d", H5T_IEEE_F32LE, 2, dims, list);
    if (how == H5FD_MPIO_COLLECTIVE)
        write_rows(dataset, rows, k_short, 0.0, how);
    else {
        for (int i = 0; i < k_long; ++i) values[i] = (float)i;
        OK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    }
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    const hsize_t beyond[2] = {rows + 1, 0};
    FAILS(H5Dset_extent(dataset, beyond)); /* and loses nothing */
    float first = 0;
    hsize_t one = 1, offset[2] = {0, 1}, extent[2] = {1, 1};
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(1, &one, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    OK(H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, &first));
    CHECK(first != fill);
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dset_extent(dataset, none));
    OK(H5Dset_extent(dataset, some));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    OK(H5Pclose(list));
    file = OK(H5Fopen(path_of(name), H5F_ACC_RDONLY, access));
    dataset = OK(H5Dopen2(file, "d", H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (hsize_t i = 0; i < rows * 5; ++i) CHECK(values[i] == fill);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("extent");
    grows(file, "doubles", H5T_IEEE_F64LE, 0);
    grows(file, "floats", H5T_IEEE_F32LE, 1e-6);
    shrinks(file);
    keeps(file, "kept", 0);
    keeps(file, "kept_after_flush", 1);
    refusals(file);
    from_nothing(file);
    OK(H5Fclose(file));
    file = open_file("extent", H5F_ACC_RDWR); /* and goes on growing later */
    hid_t dataset = OK(H5Dopen2(file, "doubles", H5P_DEFAULT));
    append(dataset, k_steps);
    check_rows(dataset, (k_steps + 1) * k_step, k_width, 0.0);
    OK(H5Dclose(dataset));
    keeps_later(file, "kept");
    OK(H5Fclose(file));
    rewritten_noise();
    deleted();
    hid_t access = mpi_access(MPI_COMM_WORLD);
    emptied("extent_emptied", 1024, access, H5FD_MPIO_COLLECTIVE);
    OK(H5Pclose(access));
    /* Too small for blocks. Through MPI-IO HDF5 cannot make it grow again in newer formats. */
    if (g_rank == 0) emptied("extent_emptied_small", 16, H5P_DEFAULT, H5FD_MPIO_INDEPENDENT);
    if (g_rank == 0) regrown();
    if (g_rank == 0) cut_with_filters();
    if (g_rank == 0) cut_noise();
    return finish();
}
