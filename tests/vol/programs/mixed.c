/* Goal: compounds whose members are of several types become blocks, without loss whatever bound
 * there is: with gaps and without, with arrays, strings, enumerations and compounds in them. All
 * members are written, or some, in any order and width, before and after a flush and in a file that
 * is opened again; what nobody writes stays. */
#include <stddef.h>
#include <stdio.h>

#include "check.h"

enum { k_n = 3000, k_rows = 50, k_width = 30 };

/* As a compiler lays it out: three gaps. */
typedef struct {
    int8_t kind;
    double x;
    int32_t id;
    struct {
        float v[3];
        int16_t level;
    } in;
    char tag[5];
} Cell;

/* Some of it, in another order and width. */
typedef struct {
    int64_t id;
    float x;
} Some;

static hid_t kind_type(void) {
    static const char* const names[] = {"gas", "star", "dark"};
    hid_t type = OK(H5Tenum_create(H5T_NATIVE_INT8));
    for (int8_t i = 0; i < 3; ++i) OK(H5Tenum_insert(type, names[i], &i));
    return type;
}

static hid_t inner_type(void) {
    const size_t size = sizeof(((Cell*)0)->in),
                 level = offsetof(Cell, in.level) - offsetof(Cell, in);
    hsize_t three = 3;
    hid_t v = OK(H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, size));
    OK(H5Tinsert(type, "v", 0, v));
    OK(H5Tinsert(type, "level", level, H5T_NATIVE_INT16));
    OK(H5Tclose(v));
    return type;
}

static hid_t cell_type(void) {
    hid_t kind = kind_type(), in = inner_type(), tag = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(tag, 5));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Cell)));
    OK(H5Tinsert(type, "kind", offsetof(Cell, kind), kind));
    OK(H5Tinsert(type, "x", offsetof(Cell, x), H5T_NATIVE_DOUBLE));
    OK(H5Tinsert(type, "id", offsetof(Cell, id), H5T_NATIVE_INT32));
    OK(H5Tinsert(type, "in", offsetof(Cell, in), in));
    OK(H5Tinsert(type, "tag", offsetof(Cell, tag), tag));
    OK(H5Tclose(tag));
    OK(H5Tclose(in));
    OK(H5Tclose(kind));
    return type;
}

static hid_t some_type(void) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Some)));
    OK(H5Tinsert(type, "id", offsetof(Some, id), H5T_NATIVE_INT64));
    OK(H5Tinsert(type, "x", offsetof(Some, x), H5T_NATIVE_FLOAT));
    return type;
}

static Cell cell_at(hsize_t i) {
    Cell cell;
    memset(&cell, 0, sizeof cell);
    cell.kind = (int8_t)(i / 100 % 3);
    cell.x = 0.25 * (double)i;
    cell.id = 1000000 + (int32_t)i;
    for (int a = 0; a < 3; ++a) cell.in.v[a] = (float)i * (float)(a + 1);
    cell.in.level = (int16_t)(i / 1000);
    snprintf(cell.tag, sizeof cell.tag, "%d", (int)(i / 500));
    return cell;
}

static bool same(const Cell* a, const Cell* b) {
    return a->kind == b->kind && memcmp(&a->x, &b->x, sizeof a->x) == 0 && a->id == b->id &&
           memcmp(a->in.v, b->in.v, sizeof a->in.v) == 0 && a->in.level == b->in.level &&
           memcmp(a->tag, b->tag, sizeof a->tag) == 0;
}

static Cell* cells(void) {
    Cell* all = malloc(sizeof(Cell) * k_n);
    for (hsize_t i = 0; i < k_n; ++i) all[i] = cell_at(i);
    return all;
}

/* Elements [from, to) of a dataset of k_n, of memory as long; each rank its share. */
static void write_range(hid_t dataset, hid_t type, hsize_t from, hsize_t to, const void* all) {
    hsize_t n = k_n, begin, count;
    share(to - from, &begin, &count);
    begin += from;
    hid_t space = OK(H5Screate_simple(1, &n, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, space, space, list, all));
    OK(H5Pclose(list));
    OK(H5Sclose(space));
}

static void check_cells(hid_t dataset, const Cell* expected) {
    Cell* read = malloc(sizeof(Cell) * k_n);
    hid_t type = cell_type(), list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, read));
    for (hsize_t i = 0; i < k_n; ++i) CHECK(same(&read[i], &expected[i]));
    OK(H5Pclose(list));
    OK(H5Tclose(type));
    free(read);
}

/* Two members of elements [from, to). */
static void write_two(hid_t dataset, hsize_t from, hsize_t to, int turn, Cell* expected) {
    Some* some = malloc(sizeof(Some) * k_n);
    for (hsize_t i = 0; i < k_n; ++i) some[i] = (Some){-(int64_t)i - turn, (float)(i % 64)};
    hid_t type = some_type();
    write_range(dataset, type, from, to, some);
    for (hsize_t i = from; i < to; ++i) {
        expected[i].id = (int32_t)some[i].id;
        expected[i].x = some[i].x;
    }
    /* And what memory lacks stays there as it is read. */
    for (hsize_t i = 0; i < k_n; ++i) some[i] = (Some){5, 5};
    hid_t only = OK(H5Tcreate(H5T_COMPOUND, sizeof(Some)));
    OK(H5Tinsert(only, "id", offsetof(Some, id), H5T_NATIVE_INT64));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, only, H5S_ALL, H5S_ALL, list, some));
    for (hsize_t i = 0; i < k_n; ++i) CHECK(some[i].id == expected[i].id && some[i].x == 5);
    OK(H5Pclose(list));
    OK(H5Tclose(only));
    OK(H5Tclose(type));
    free(some);
}

static void make_cells(hid_t file, const char* name, bool packed, Cell* expected) {
    hsize_t n = k_n, chunk = 800;
    hid_t type = cell_type(), stored = OK(H5Tcopy(type)), list = chunked(1, &chunk);
    if (packed) OK(H5Tpack(stored));
    hid_t dataset = make_dataset(file, name, stored, 1, &n, packed ? list : H5P_DEFAULT);
    write_range(dataset, type, 0, n, expected);
    check_cells(dataset, expected);
    write_two(dataset, 700, 1700, 1, expected);
    check_cells(dataset, expected);
    OK(H5Dclose(dataset));
    OK(H5Pclose(list));
    OK(H5Tclose(stored));
    OK(H5Tclose(type));
}

static void again(hid_t file, const char* name, hsize_t from, hsize_t to, int turn,
                  Cell* expected) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    write_two(dataset, from, to, turn, expected);
    check_cells(dataset, expected);
    OK(H5Dclose(dataset));
}

/* Members one by one, of which the last is never written: it has the fill value. */
static void one_by_one(hid_t file) {
    hsize_t n = k_n;
    hid_t type = cell_type();
    hid_t dataset = make_dataset(file, "one_by_one", type, 1, &n, H5P_DEFAULT);
    Cell *all = cells(), *expected = cells();
    for (unsigned member = 0; member < 4; ++member) {
        char* name = H5Tget_member_name(type, member);
        hid_t only = OK(H5Tcreate(H5T_COMPOUND, sizeof(Cell)));
        hid_t own = OK(H5Tget_member_type(type, member));
        OK(H5Tinsert(only, name, H5Tget_member_offset(type, member), own));
        write_range(dataset, only, 0, n, all);
        OK(H5Tclose(own));
        OK(H5Tclose(only));
        OK(H5free_memory(name));
    }
    for (hsize_t i = 0; i < k_n; ++i) memset(expected[i].tag, 0, sizeof expected[i].tag);
    check_cells(dataset, expected);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    free(expected);
    free(all);
}

/* {double, int} without a gap, two axes; and integers of one width. */
static void small_ones(hid_t file) {
    const hsize_t dims[2] = {k_rows, k_width};
    struct {
        int64_t id;
        uint64_t key;
    }* pairs = malloc(sizeof *pairs * k_rows * k_width);
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    const hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    for (hsize_t i = 0; i < k_rows * k_width; ++i) {
        pairs[i].id = (int64_t)i;
        pairs[i].key = ~(uint64_t)i;
    }
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof *pairs));
    OK(H5Tinsert(type, "id", 0, H5T_NATIVE_INT64));
    OK(H5Tinsert(type, "key", 8, H5T_NATIVE_UINT64));
    hid_t dataset = make_dataset(file, "pairs", type, 2, dims, H5P_DEFAULT);
    hid_t space = OK(H5Screate_simple(2, dims, NULL)), list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    OK(H5Dwrite(dataset, type, space, space, list, pairs));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    if (captured()) CHECK(H5Dget_storage_size(dataset) < sizeof *pairs * k_rows * k_width / 8);
    memset(pairs, 0, sizeof *pairs * k_rows * k_width);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, pairs));
    for (hsize_t i = 0; i < k_rows * k_width; ++i)
        CHECK(pairs[i].id == (int64_t)i && pairs[i].key == ~(uint64_t)i);
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    free(pairs);
}

/* A compound inside is written whole, under the connector; natively its parts may be. */
static void parts_of_inner(hid_t file) {
    if (!captured()) return;
    hid_t in = OK(H5Tcreate(H5T_COMPOUND, sizeof(int16_t)));
    OK(H5Tinsert(in, "level", 0, H5T_NATIVE_INT16));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(int16_t)));
    OK(H5Tinsert(type, "in", 0, in));
    hid_t dataset = OK(H5Dopen2(file, "cells", H5P_DEFAULT));
    int16_t* levels = calloc(k_n, sizeof(int16_t));
    FAILS_SAYING(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, levels), "member in");
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, levels));
    CHECK(levels[2500] == 2);
    free(levels);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    OK(H5Tclose(in));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    Cell *loose = cells(), *packed = cells();
    hid_t file = create_file("mixed");
    make_cells(file, "cells", false, loose);
    make_cells(file, "packed", true, packed);
    one_by_one(file);
    small_ones(file);
    again(file, "cells", 100, 900, 2, loose);
    again(file, "packed", 2000, 2900, 2, packed);
    parts_of_inner(file);
    OK(H5Fclose(file));
    file = open_file("mixed", H5F_ACC_RDWR);
    again(file, "cells", 0, k_n, 3, loose);
    again(file, "packed", 1500, 2400, 3, packed);
    OK(H5Fclose(file));
    free(packed);
    free(loose);
    return finish();
}
