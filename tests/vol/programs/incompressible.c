/* Goal: data that nothing makes smaller, of every type, with and without filters of the
 * application: they come back to the last bit while they wait, after a flush, from a copy, after
 * they were written again as something that shrinks, in datasets that grow, and in a file that is
 * opened again. raw_blocks.py looks at how they lie in the file. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 50, k_width = 67, k_types = 9, k_kinds = 4, k_grown = 90 };

typedef struct {
    int32_t a, b;
    double c;
} Record;

static const char* const k_names[k_types] = {"i8",  "i16", "i32", "u64",    "f32",
                                             "f64", "b24", "z64", "records"};
/* What the application asks for beside chunks. */
static const char* const k_kind_names[k_kinds] = {"plain", "deflate", "all", "shuffle"};

static hid_t compound(size_t bytes, hid_t member, const char* first, const char* second) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, bytes));
    OK(H5Tinsert(type, first, 0, member));
    OK(H5Tinsert(type, second, H5Tget_size(member), member));
    return type;
}

static hid_t type_of(int which) {
    const hid_t types[6] = {H5T_STD_I8LE,  H5T_STD_I16LE,  H5T_STD_I32LE,
                            H5T_STD_U64LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE};
    if (which < 6) return OK(H5Tcopy(types[which]));
    if (which == 7) return compound(8, H5T_IEEE_F32LE, "r", "i");
    if (which == 8) {
        hid_t type = compound(sizeof(Record), H5T_STD_I32LE, "a", "b");
        OK(H5Tinsert(type, "c", HOFFSET(Record, c), H5T_IEEE_F64LE));
        return type;
    }
    hid_t type = OK(H5Tcreate(H5T_OPAQUE, 3));
    OK(H5Tset_tag(type, "three bytes"));
    return type;
}

static hid_t creation_of(int kind) {
    const hsize_t chunk[2] = {20, 32};
    hid_t list = chunked(2, chunk);
    if (kind == 2 || kind == 3) OK(H5Pset_shuffle(list));
    if (kind == 1 || kind == 2) OK(H5Pset_deflate(list, 4));
    if (kind == 2) OK(H5Pset_fletcher32(list));
    return list;
}

static uint64_t noise_at(uint64_t i) {
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Bytes of elements [0, rows x width), the same on all ranks; turn 0: zeros. Floating point has no
 * NaN, which h5diff takes for a difference. */
static unsigned char* values_of(int which, size_t size, hsize_t rows, int turn) {
    const size_t bytes = rows * k_width * size;
    unsigned char* all = calloc(bytes + 8, 1);
    for (size_t i = 0; turn > 0 && i < bytes; i += 8) {
        const uint64_t noise = noise_at(i + ((uint64_t)turn << 40));
        memcpy(all + i, &noise, 8);
    }
    const bool single = which == 4 || which == 7;
    for (size_t i = 0; single && i < bytes; i += 4)
        if ((all[i + 3] & 0x7f) == 0x7f) all[i + 3] ^= 0x40;
    for (size_t i = 0; (which == 5 || which == 8) && i < bytes; i += size)
        if ((all[i + size - 1] & 0x7f) == 0x7f) all[i + size - 1] ^= 0x40;
    return all;
}

static bool same(int which, const unsigned char* read, const unsigned char* wanted, size_t bytes) {
    for (size_t i = 0; which == 5 && i < bytes; i += 8) {
        double a, b;
        memcpy(&a, read + i, 8);
        memcpy(&b, wanted + i, 8);
        if (!near(a, b)) return false;
    }
    for (size_t i = 0; (which == 4 || which == 7) && i < bytes; i += 4) {
        float a, b;
        memcpy(&a, read + i, 4);
        memcpy(&b, wanted + i, 4);
        if (!near(a, b)) return false;
    }
    if (which == 5 || which == 4 || which == 7) return true;
    for (size_t i = 0; which == 8 && i < bytes; i += sizeof(Record)) {
        double a, b;
        memcpy(&a, read + i + 8, 8);
        memcpy(&b, wanted + i + 8, 8);
        if (memcmp(read + i, wanted + i, 8) != 0 || !near(a, b)) return false;
    }
    return which == 8 || memcmp(read, wanted, bytes) == 0;
}

/* Rows [from, to), each rank its share of them. */
static void write_some(hid_t dataset, int which, hsize_t from, hsize_t to, int turn) {
    hid_t type = OK(H5Dget_type(dataset)), space = OK(H5Dget_space(dataset));
    const size_t size = H5Tget_size(type);
    unsigned char* all = values_of(which, size, to, turn);
    hsize_t begin, count;
    share(to - from, &begin, &count);
    const hsize_t offset[2] = {from + begin, 0}, extent[2] = {count, k_width};
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    if (count > 0)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, all + offset[0] * k_width * size));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Tclose(type));
    free(all);
}

/* Rows [low, high) are of `turn`, the others of turn 1. */
static void check_all(hid_t place, const char* name, int which, hsize_t rows, hsize_t low,
                      hsize_t high, int turn) {
    hid_t dataset = OK(H5Dopen2(place, name, H5P_DEFAULT)), type = OK(H5Dget_type(dataset));
    const size_t size = H5Tget_size(type), row = k_width * size;
    unsigned char *first = values_of(which, size, rows, 1),
                  *other = values_of(which, size, rows, turn), *read = calloc(rows, row);
    memcpy(first + low * row, other + low * row, (high - low) * row);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, read));
    CHECK(same(which, read, first, rows * row));
    OK(H5Pclose(list));
    OK(H5Tclose(type));
    OK(H5Dclose(dataset));
    free(first);
    free(other);
    free(read);
}

static const char* name_of(int which, int kind) {
    static char name[64];
    snprintf(name, sizeof name, "%s_%s", k_names[which], k_kind_names[kind]);
    return name;
}

typedef void (*OnEach)(hid_t file, const char* name, int which);

static void for_each(hid_t file, OnEach call) {
    for (int which = 0; which < k_types; ++which)
        for (int kind = 0; kind < k_kinds; ++kind) call(file, name_of(which, kind), which);
}

static void make_all(hid_t file) {
    const hsize_t dims[2] = {k_rows, k_width};
    for (int which = 0; which < k_types; ++which)
        for (int kind = 0; kind < k_kinds; ++kind) {
            hid_t type = type_of(which), list = creation_of(kind);
            hid_t dataset = make_dataset(file, name_of(which, kind), type, 2, dims, list);
            write_some(dataset, which, 0, k_rows, 1);
            OK(H5Dclose(dataset));
            OK(H5Pclose(list));
            OK(H5Tclose(type));
        }
}

static void check_first(hid_t file, const char* name, int which) {
    check_all(file, name, which, k_rows, 0, 0, 1);
}

static void copy_it(hid_t file, const char* name, int which) {
    char copy[80];
    snprintf(copy, sizeof copy, "copies/%s", name);
    OK(H5Ocopy(file, name, file, copy, H5P_DEFAULT, H5P_DEFAULT));
    check_all(file, copy, which, k_rows, 0, 0, 1);
}

static void write_again(hid_t file, const char* name, int which, int turn) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    write_some(dataset, which, 10, k_rows, turn);
    OK(H5Dclose(dataset));
}

static void write_zeros(hid_t file, const char* name, int which) {
    write_again(file, name, which, 0);
}

static void check_zeros(hid_t file, const char* name, int which) {
    check_all(file, name, which, k_rows, 10, k_rows, 0);
}

static void write_second(hid_t file, const char* name, int which) {
    write_again(file, name, which, 2);
}

static void check_second(hid_t file, const char* name, int which) {
    check_all(file, name, which, k_rows, 10, k_rows, 2);
}

/* From row 10 on nothing but zeros, so that chunks shrink that were raw; then noise again. */
static void shrink_and_back(hid_t file) {
    for_each(file, write_zeros);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    for_each(file, check_zeros);
    for_each(file, write_second);
}

static void growing(hid_t file) {
    const hsize_t chunk[2] = {8, k_width}, most[2] = {H5S_UNLIMITED, k_width};
    hsize_t dims[2] = {0, k_width};
    hid_t list = chunked(2, chunk), space = OK(H5Screate_simple(2, dims, most));
    hid_t dataset =
        OK(H5Dcreate2(file, "growing", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    for (hsize_t rows = 0; rows < k_grown; rows = dims[0]) {
        dims[0] = rows + 9;
        OK(H5Dset_extent(dataset, dims));
        write_some(dataset, 2, rows, dims[0], 1);
        if (rows % 18 == 0) OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        check_all(file, "growing", 2, dims[0], 0, 0, 1);
    }
    OK(H5Dclose(dataset));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("incompressible");
    OK(H5Gclose(OK(H5Gcreate2(file, "copies", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    make_all(file);
    for_each(file, check_first);
    for_each(file, copy_it);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    for_each(file, check_first);
    shrink_and_back(file);
    for_each(file, check_second);
    growing(file);
    OK(H5Fclose(file));
    file = open_file("incompressible", H5F_ACC_RDWR);
    for_each(file, check_second);
    shrink_and_back(file);
    OK(H5Fclose(file));
    file = open_file("incompressible", H5F_ACC_RDONLY);
    for_each(file, check_second);
    check_all(file, "growing", 2, k_grown, 0, 0, 1);
    OK(H5Fclose(file));
    return finish();
}
