/* Goal: one rank opens its file again and again, as diagnostics do that append one field after the
 * other. Every opening is captured, the others see the file when they may, and what they may not is
 * an error that says what to do. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 96, k_width = 64, k_fields = 6 };

/* The ordinary driver; rank 0 alone unless it says so. */
static hid_t open_alone(const char* name, unsigned flags) {
    hid_t file = OK(H5Fopen(path_of(name), flags, H5P_DEFAULT));
    if (flags == H5F_ACC_RDWR) check_connector(file);
    return file;
}

static void write_all(hid_t dataset, double base) {
    double values[k_rows * k_width];
    for (int i = 0; i < k_rows * k_width; ++i) values[i] = base + field((uint64_t)i, k_width);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
}

static void check_all(hid_t file, const char* name, double base) {
    double* values = malloc(sizeof(double) * k_rows * k_width);
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < k_rows * k_width; ++i)
        CHECK(near(values[i], base + field((uint64_t)i, k_width)));
    OK(H5Dclose(dataset));
    free(values);
}

static void add(hid_t file, const char* name, double base) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_all(dataset, base);
    put_int(dataset, "number", (int)base);
    OK(H5Dclose(dataset));
}

static const char* field_name(int i) {
    static char name[16];
    snprintf(name, sizeof name, "field_%d", i);
    return name;
}

/* Values that do not become blocks, of which all but a row are never written: they are 0, whatever
 * lay there while the file was closed. */
static void add_unwritten(hid_t file) {
    enum { k_large = 1 << 16 };
    hsize_t dims[2] = {8, k_large}, row[2] = {1, k_large};
    hid_t dataset = make_dataset(file, "integers", H5T_STD_I64LE, 2, dims, H5P_DEFAULT);
    hid_t memory = OK(H5Screate_simple(2, row, NULL)), place = OK(H5Dget_space(dataset));
    hsize_t begin[2] = {5, 0};
    OK(H5Sselect_hyperslab(place, H5S_SELECT_SET, begin, NULL, row, NULL));
    int64_t* values = calloc(k_large, sizeof(int64_t));
    for (int i = 0; i < k_large; ++i) values[i] = i;
    OK(H5Dwrite(dataset, H5T_NATIVE_INT64, memory, place, H5P_DEFAULT, values));
    free(values);
    OK(H5Sclose(memory));
    OK(H5Sclose(place));
    OK(H5Dclose(dataset));
}

/* Created without data, then opened once a field; every other time an older field is read, or
 * written anew. */
static void append(const char* name) {
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    put_int(file, "fields", k_fields);
    OK(H5Fclose(file));
    for (int i = 0; i < k_fields; ++i) {
        file = open_alone(name, H5F_ACC_RDWR);
        add(file, field_name(i), i);
        if (i == 2) check_all(file, field_name(1), 1);
        if (i == 4) add_unwritten(file);
        if (i == 3) {
            hid_t old = OK(H5Dopen2(file, field_name(0), H5P_DEFAULT));
            write_all(old, 0.5);
            OK(H5Dclose(old));
        }
        OK(H5Fclose(file));
        CHECK(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0);
    }
}

static void check_fields(hid_t file) {
    CHECK(get_int(file, "fields") == k_fields);
    for (int i = 0; i < k_fields; ++i) check_all(file, field_name(i), i == 0 ? 0.5 : i);
}

/* Reading ends it; then it is opened anew and goes on. */
static void by_itself(void) {
    if (g_rank == 0) {
        append("by_itself");
        hid_t file = open_alone("by_itself", H5F_ACC_RDONLY);
        check_fields(file);
        OK(H5Fclose(file));
        file = open_alone("by_itself", H5F_ACC_RDWR);
        hid_t old = OK(H5Dopen2(file, field_name(4), H5P_DEFAULT));
        write_all(old, 4);
        OK(H5Dclose(old));
        add(file, "late", 7);
        OK(H5Fclose(file));
        /* Another access list is another way to open it. */
        hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
        OK(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
        file = OK(H5Fopen(path_of("by_itself"), H5F_ACC_RDWR, access));
        check_all(file, "late", 7);
        OK(H5Fclose(file));
        OK(H5Pclose(access));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void then_by_all(void) {
    if (g_rank == 0) append("then_all");
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = open_file("then_all", H5F_ACC_RDWR);
    check_fields(file);
    put_int(file, "together", 1);
    OK(H5Fclose(file));
}

/* Each rank by itself: rank 0's own opening completes it, the others wait for that. */
static void then_by_each(void) {
    if (g_rank == 0) append("then_each");
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = open_alone("then_each", H5F_ACC_RDONLY);
    check_fields(file);
    OK(H5Fclose(file));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All others at the same time, while rank 0 makes no call. */
static void then_by_others(void) {
    if (g_rank == 0) append("then_others");
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank != 0) {
        hid_t file = open_alone("then_others", H5F_ACC_RDONLY);
        check_fields(file);
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* By the last rank alone, while rank 0 makes no call: once the blocks lie in the file, the one that
 * opens it completes it. Then rank 0 goes on with what the other has left. */
static void then_by_another(void) {
    if (g_rank == 0) {
        hid_t file = OK(H5Fcreate(path_of("once"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        add(file, "a", 3);
        OK(H5Fclose(file));
        append("then_another");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == g_ranks - 1) {
        hid_t file = open_alone("once", H5F_ACC_RDONLY);
        check_all(file, "a", 3);
        OK(H5Fclose(file));
        file = open_alone("then_another", H5F_ACC_RDONLY);
        check_fields(file);
        OK(H5Fclose(file));
        file = open_alone("then_another", H5F_ACC_RDWR);
        add(file, "of_another", 8);
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
        hid_t file = open_alone("then_another", H5F_ACC_RDWR);
        check_fields(file);
        check_all(file, "of_another", 8);
        add(file, "of_first", 9);
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = open_file("then_another", H5F_ACC_RDONLY);
    check_fields(file);
    check_all(file, "of_first", 9);
    OK(H5Fclose(file));
}

/* What another rank makes of its name is not touched by the rank that has closed it. */
static void replaced(void) {
    if (g_rank == 0) append("replaced");
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == g_ranks - 1) {
        hid_t file = OK(H5Fcreate(path_of("replaced"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        add(file, "new", 5);
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) append("unrelated"); /* calls that complete what is pending */
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = open_file("replaced", H5F_ACC_RDONLY);
    check_all(file, "new", 5);
    CHECK(H5Lexists(file, field_name(1), H5P_DEFAULT) == 0);
    OK(H5Fclose(file));
}

/* Locks keep two writers apart, as natively; afterwards the other goes on with the file. */
static void one_writer(void) {
    hid_t file = H5I_INVALID_HID;
    if (g_rank == 0) {
        append("one_writer");
        file = open_alone("one_writer", H5F_ACC_RDWR);
        add(file, "of_first", 8);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == g_ranks - 1 && g_ranks > 1)
        FAILS(H5Fopen(path_of("one_writer"), H5F_ACC_RDWR, H5P_DEFAULT));
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) OK(H5Fclose(file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == g_ranks - 1) {
        file = open_alone("one_writer", H5F_ACC_RDWR);
        check_all(file, "of_first", 8);
        add(file, "of_last", 9);
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    by_itself();
    then_by_all();
    then_by_each();
    then_by_others();
    then_by_another();
    replaced();
    one_writer();
    return finish();
}
