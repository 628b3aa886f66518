/* Goal: filters that the application asked for are those of datasets that do not become blocks, in
 * a file that all ranks write: small ones, ones of types that are no numbers, ones that are to be
 * stored as asked. They take less space for it, come back to the last bit, can grow, be written
 * again in part, and be written in a file that is opened again. A filter that HDF5 alone has is
 * left out under the connector, and the data are there. On one rank HDF5 itself runs the filters,
 * and what has none becomes blocks. */
#include <stdio.h>

#include "check.h"

enum { k_n = 6000, k_chunk = 700, k_rows = 90, k_width = 64, k_tag = 16 };

typedef struct {
    int32_t id;
    double at[2];
    char tag[k_tag];
} Record;

static hid_t filtered(int rank, const hsize_t* chunk, bool shuffle, int level, bool checksum) {
    hid_t list = chunked(rank, chunk);
    if (shuffle) OK(H5Pset_shuffle(list));
    if (level >= 0) OK(H5Pset_deflate(list, (unsigned)level));
    if (checksum) OK(H5Pset_fletcher32(list));
    return list;
}

static hid_t tag_type(void) {
    hid_t type = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(type, k_tag));
    return type;
}

static hid_t flag_type(void) {
    static const char* const names[] = {"gas", "star", "dark", "gone"};
    hid_t type = OK(H5Tenum_create(H5T_NATIVE_INT8));
    for (int8_t i = 0; i < 4; ++i) OK(H5Tenum_insert(type, names[i], &i));
    return type;
}

static hid_t record_type(void) {
    hsize_t two = 2;
    hid_t at = OK(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &two)), tag = tag_type();
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Record)));
    OK(H5Tinsert(type, "id", HOFFSET(Record, id), H5T_NATIVE_INT32));
    OK(H5Tinsert(type, "at", HOFFSET(Record, at), at));
    OK(H5Tinsert(type, "tag", HOFFSET(Record, tag), tag));
    OK(H5Tclose(at));
    OK(H5Tclose(tag));
    return type;
}

static bool is(const char* path, const char* name) {
    const char* slash = strrchr(path, '/');
    return strcmp(slash == NULL ? path : slash + 1, name) == 0;
}

/* Of elements [0, n), the same on all ranks; `turn` tells one writing from another. */
static void* values_of(const char* name, hsize_t n, size_t size, int turn) {
    char* all = calloc(n, size);
    for (hsize_t i = 0; i < n; ++i) {
        char* one = all + i * size;
        if (is(name, "tags"))
            snprintf(one, size, "cell %d", (int)(i / 7) + turn);
        else if (is(name, "flags"))
            *one = (char)((i / 50 + (hsize_t)turn) % 4);
        else if (is(name, "records")) {
            Record* record = (Record*)one;
            record->id = (int32_t)i + turn;
            record->at[0] = 0.5 * (double)(i / 3);
            record->at[1] = turn;
            snprintf(record->tag, k_tag, "at %d", (int)(i / 9));
        } else
            *(int64_t*)one = (int64_t)(i / 5) + 1000 * turn;
    }
    return all;
}

/* Elements [from, to) of `all`, each rank its share. */
static void write_range(hid_t dataset, hid_t type, hsize_t n, hsize_t from, hsize_t to,
                        const void* all) {
    hsize_t begin, count;
    share(to - from, &begin, &count);
    begin += from;
    hid_t space = OK(H5Screate_simple(1, &n, NULL)), memory = OK(H5Scopy(space));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    OK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    if (count == 0) OK(H5Sselect_none(space) + H5Sselect_none(memory));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, all));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

/* What is read in memory equals `all`, members by members where there are gaps. */
static void check_values(hid_t dataset, hid_t type, const char* name, hsize_t n, const void* all) {
    const size_t size = H5Tget_size(type);
    char* read = calloc(n, size);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, read));
    OK(H5Pclose(list));
    if (is(name, "records")) {
        const Record *a = (const Record*)read, *b = all;
        for (hsize_t i = 0; i < n; ++i)
            CHECK(a[i].id == b[i].id && memcmp(a[i].at, b[i].at, sizeof a[i].at) == 0 &&
                  memcmp(a[i].tag, b[i].tag, k_tag) == 0);
    } else
        CHECK(memcmp(read, all, n * size) == 0);
    free(read);
}

static void make(hid_t file, const char* name, hid_t type, hid_t list) {
    hsize_t n = k_n;
    hid_t dataset = make_dataset(file, name, type, 1, &n, list);
    void* all = values_of(name, n, H5Tget_size(type), 0);
    write_range(dataset, type, n, 0, n, all);
    check_values(dataset, type, name, n, all);
    free(all);
    OK(H5Dclose(dataset));
    OK(H5Pclose(list));
    OK(H5Tclose(type));
}

/* A few elements in the middle, across the border of a chunk, after a flush. */
static void write_again(hid_t file, const char* name, hid_t type) {
    const size_t size = H5Tget_size(type);
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    char* all = values_of(name, k_n, size, 0);
    char* other = values_of(name, k_n, size, 3);
    const hsize_t from = k_chunk - 200, to = k_chunk + 500;
    write_range(dataset, type, k_n, from, to, other);
    memcpy(all + from * size, other + from * size, (to - from) * size);
    check_values(dataset, type, name, k_n, all);
    free(other);
    free(all);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

/* One member of a record alone: the others stay. HDF5 itself cannot write a part of filtered
 * records in parallel, nor convert them; there all of them are written. */
static void write_ids(hid_t file) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(int32_t)));
    OK(H5Tinsert(type, "id", 0, H5T_NATIVE_INT32));
    int32_t* ids = malloc(sizeof(int32_t) * k_n);
    for (int i = 0; i < k_n; ++i) ids[i] = 7 * i;
    hid_t dataset = OK(H5Dopen2(file, "as_asked/records", H5P_DEFAULT));
    Record* all = values_of("records", k_n, sizeof(Record), 0);
    for (int i = 0; i < k_n; ++i) all[i].id = ids[i];
    hid_t whole = record_type();
    if (captured())
        write_range(dataset, type, k_n, 0, k_n, ids);
    else
        write_range(dataset, whole, k_n, 0, k_n, all);
    check_values(dataset, whole, "records", k_n, all);
    OK(H5Tclose(whole));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    free(all);
    free(ids);
}

static void make_grown(hid_t file) {
    hsize_t now = 1000, most = H5S_UNLIMITED, chunk = 90;
    hid_t list = filtered(1, &chunk, true, 6, false);
    hid_t space = OK(H5Screate_simple(1, &now, &most));
    hid_t dataset =
        OK(H5Dcreate2(file, "grown", H5T_STD_I64BE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
    int64_t* all = values_of("numbers", k_n, sizeof(int64_t), 0);
    write_range(dataset, H5T_STD_I64BE, now, 0, now, all);
    for (hsize_t end = 1950; end <= 4500; end += 2550) {
        OK(H5Dset_extent(dataset, &end));
        write_range(dataset, H5T_STD_I64BE, end, now, end, all);
        now = end;
        check_values(dataset, H5T_STD_I64BE, "numbers", now, all);
    }
    now = 1950;
    OK(H5Dset_extent(dataset, &now));
    check_values(dataset, H5T_STD_I64BE, "numbers", now, all);
    OK(H5Dclose(dataset));
    free(all);
}

static void make_fields(hid_t file) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {20, 48};
    hid_t list = filtered(2, chunk, true, 9, false);
    hid_t dataset = make_dataset(file, "as_asked/field", H5T_NATIVE_DOUBLE, 2, dims, list);
    write_rows(dataset, k_rows, k_width, 0.5, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, k_rows, k_width, 0.5);
    OK(H5Dclose(dataset));
    hsize_t small[2] = {3, k_width};
    OK(H5Pset_chunk(list, 2, small));
    dataset = make_dataset(file, "small", H5T_NATIVE_DOUBLE, 2, small, list);
    write_rows(dataset, 3, k_width, 2, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, 3, k_width, 2);
    OK(H5Dclose(dataset));
    OK(H5Pclose(list));
    dataset = make_dataset(file, "plain", H5T_NATIVE_DOUBLE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, k_width, 0.5, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
}

/* @param most  share of the raw bytes that it may take. */
static void check_stored(hid_t file, const char* name, int filters, double most) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    hid_t list = OK(H5Dget_create_plist(dataset));
    hid_t type = OK(H5Dget_type(dataset)), space = OK(H5Dget_space(dataset));
    CHECK(H5Pget_nfilters(list) == filters);
    const double raw = (double)H5Tget_size(type) * (double)H5Sget_simple_extent_npoints(space);
    const double stored = (double)H5Dget_storage_size(dataset);
    if (g_rank == 0) printf("%s: %.0f of %.0f bytes\n", name, stored, raw);
    CHECK(stored > 0 && stored <= most * raw);
    OK(H5Sclose(space));
    OK(H5Tclose(type));
    OK(H5Pclose(list));
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    const hsize_t chunk = k_chunk;
    hid_t file = create_file("filters");
    OK(H5Gclose(OK(H5Gcreate2(file, "as_asked", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    make(file, "tags", tag_type(), filtered(1, &chunk, false, 6, false));
    make(file, "flags", flag_type(), filtered(1, &chunk, true, 1, true));
    make(file, "bits", OK(H5Tcopy(H5T_STD_I64BE)), filtered(1, &chunk, true, -1, true));
    make(file, "as_asked/records", record_type(), filtered(1, &chunk, true, 4, false));
    hid_t list = chunked(1, &chunk);
    OK(H5Pset_nbit(list));
    make(file, "hdf5_alone", OK(H5Tcopy(H5T_STD_I64BE)), list);
    make_grown(file);
    make_fields(file);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    write_again(file, "tags", tag_type());
    write_again(file, "flags", flag_type());
    OK(H5Fclose(file));

    file = open_file("filters", H5F_ACC_RDWR);
    write_again(file, "bits", OK(H5Tcopy(H5T_STD_I64BE)));
    write_ids(file);
    OK(H5Fclose(file));

    file = open_file("filters", H5F_ACC_RDONLY);
    check_stored(file, "tags", 1, 0.3);
    check_stored(file, "flags", 3, 0.3);
    check_stored(file, "bits", 2, 1.2);
    check_stored(file, "as_asked/records", 2, 0.4);
    check_stored(file, "as_asked/field", 2, 0.95);
    check_stored(file, "small", 2, 0.95);
    check_stored(file, "grown", 2, 0.15);
    OK(H5Fclose(file));
    return finish();
}
