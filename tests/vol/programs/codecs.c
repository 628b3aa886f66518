/* Goal: what other codecs than Caesura's store is read back by the program that wrote it, at once
 * and later, in whatever filters its blocks have ended up: beside_native.py has a codec for each
 * name. Natively all of this is contiguous. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_rows = 64, k_width = 64 };

/* Smooth, or values that no codec makes smaller: blocks then skip their filter. */
static double value(bool noise, uint64_t i) {
    uint64_t state = 88172645463325252ull + i * 2654435761u;
    for (int turn = 0; turn < 3; ++turn) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return noise ? ldexp((double)(state >> 11), -40) : field(i, k_width);
}

static void write(hid_t dataset, bool noise) {
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    double* values = malloc(sizeof(double) * (size_t)(count * k_width));
    for (uint64_t i = 0; i < count * k_width; ++i) values[i] = value(noise, begin * k_width + i);
    write_box(dataset, 2, offset, extent, values);
    free(values);
}

/* By this rank alone. */
static void check(hid_t dataset, bool noise) {
    static double values[k_rows * k_width];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (uint64_t i = 0; i < k_rows * k_width; ++i) CHECK(near(values[i], value(noise, i)));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one(hid_t file, const char* name) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (int turn = 0; turn < 4; ++turn) {
        write(dataset, turn % 2 == 0);
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        check(dataset, turn % 2 == 0);
    }
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    check(dataset, false);
    OK(H5Dclose(dataset));
}

/* ZFP's filter leaves a datatype open for each dataset that is made with it, natively too. */
static void close_types(void) {
    hid_t types[64];
    ssize_t n = OK(H5Fget_obj_ids((hid_t)H5F_OBJ_ALL, H5F_OBJ_DATATYPE, 64, types));
    while (n > 0) OK(H5Tclose(types[--n]));
}

int main(int argc, char** argv) {
    static const char* const names[] = {"zstd_one", "zstd_many", "rounded", "sz3", "zfp"};
    start(&argc, &argv);
    hid_t file = create_file("codecs");
    for (int i = 0; i < 5; ++i) one(file, names[i]);
    OK(H5Fclose(file));
    file = open_file("codecs", H5F_ACC_RDONLY);
    for (int i = 0; i < 5; ++i) {
        hid_t dataset = OK(H5Dopen2(file, names[i], H5P_DEFAULT));
        check(dataset, false);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    close_types();
    return finish();
}
