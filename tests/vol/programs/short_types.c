/* Goal: h5py's bool and floating point in 16 bits (IEEE half and bfloat16) become blocks: bool
 * without loss whatever bound there is, floats within it; in any shape, with fill values, converted
 * from other types, written again after a flush and in a file that is opened again, growing. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_rows = 96, k_width = 64, k_types = 3, k_growing = 7000 };
enum { k_bool, k_half, k_brain };

static const char* const k_names[k_types] = {"bool", "half", "brain"};

/* As h5py makes numpy's bool and float16; bfloat16 likewise. */
static hid_t type_of(int which) {
    if (which == k_bool) {
        hid_t type = OK(H5Tenum_create(H5T_NATIVE_INT8));
        const int8_t no = 0, yes = 1;
        OK(H5Tenum_insert(type, "FALSE", &no));
        OK(H5Tenum_insert(type, "TRUE", &yes));
        return type;
    }
    const bool half = which == k_half;
    hid_t type = OK(H5Tcopy(H5T_IEEE_F32LE));
    OK(H5Tset_fields(type, 15, half ? 10 : 7, half ? 5 : 8, 0, half ? 10 : 7));
    OK(H5Tset_size(type, 2));
    OK(H5Tset_ebias(type, half ? 15 : 127));
    return type;
}

/* Halves and bfloat16 hold all of them: multiples of 1/64 below 4. */
static float value_at(hsize_t i, int turn) {
    return (float)((i * 7 + i / 5 + 13u * (hsize_t)turn) % 255) / 64.0f;
}
static int8_t bool_at(hsize_t i, int turn) { return (i * i / 11 + (hsize_t)turn) % 3 == 0; }

/* Rows [from, to), each rank its share; floats from float32, so that HDF5 converts them. */
static void write_some(hid_t dataset, int which, hsize_t from, hsize_t to, int turn) {
    hsize_t begin, count, dims[2] = {k_rows, k_width};
    share(to - from, &begin, &count);
    hsize_t offset[2] = {from + begin, 0}, extent[2] = {count, k_width};
    float* values = malloc(sizeof(float) * (count * k_width + 1));
    int8_t* flags = malloc(count * k_width + 1);
    for (hsize_t i = 0; i < count * k_width; ++i) {
        values[i] = value_at(offset[0] * k_width + i, turn);
        flags[i] = bool_at(offset[0] * k_width + i, turn);
    }
    hid_t type = which == k_bool ? type_of(k_bool) : OK(H5Tcopy(H5T_NATIVE_FLOAT));
    hid_t space = OK(H5Screate_simple(2, dims, NULL));
    hid_t memory = OK(H5Screate_simple(2, extent, NULL));
    if (count > 0)
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    else
        OK(H5Sselect_none(space));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list,
                which == k_bool ? (const void*)flags : (const void*)values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Tclose(type));
    free(flags);
    free(values);
}

/* @param cut, turn  rows from `cut` on are of that turn, those before it of turn 0. */
static void check_some(hid_t dataset, int which, hsize_t cut, int turn) {
    float* read = malloc(sizeof(float) * k_rows * k_width);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, list, read));
    for (hsize_t i = 0; i < k_rows * k_width; ++i) {
        const int own = i < cut * k_width ? 0 : turn;
        if (which == k_bool)
            CHECK(read[i] == (float)bool_at(i, own));
        else
            CHECK(near(read[i], value_at(i, own)));
    }
    OK(H5Pclose(list));
    free(read);
}

static void every_type(hid_t file) {
    const hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {40, 50};
    for (int t = 0; t < k_types; ++t)
        for (int cut = 0; cut < 2; ++cut) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", k_names[t], cut ? "_chunked" : "");
            hid_t list = chunked(2, chunk), type = type_of(t);
            hid_t dataset = make_dataset(file, name, type, 2, dims, cut ? list : H5P_DEFAULT);
            write_some(dataset, t, 0, k_rows, 0);
            check_some(dataset, t, k_rows, 0);
            hid_t stored = OK(H5Dget_type(dataset));
            CHECK(OK(H5Tequal(stored, type)) > 0);
            OK(H5Tclose(stored));
            OK(H5Tclose(type));
            OK(H5Dclose(dataset));
            OK(H5Pclose(list));
        }
}

static void again_in_part(hid_t file, int turn) {
    for (int t = 0; t < k_types; ++t) {
        hid_t dataset = OK(H5Dopen2(file, k_names[t], H5P_DEFAULT));
        write_some(dataset, t, 70, k_rows, turn);
        check_some(dataset, t, 70, turn);
        OK(H5Dclose(dataset));
    }
}

/* Every pattern of 16 bits, in their own type: NaN with their bits, infinities, -0. */
static void every_pattern(hid_t file) {
    const hsize_t n = 65536;
    uint16_t* all = malloc(sizeof(uint16_t) * n);
    uint16_t* read = malloc(sizeof(uint16_t) * n);
    for (hsize_t i = 0; i < n; ++i) all[i] = (uint16_t)(i * 40503u);
    for (int t = k_half; t < k_types; ++t) {
        hid_t type = type_of(t), how = transfer(H5FD_MPIO_COLLECTIVE);
        char name[32];
        snprintf(name, sizeof name, "exact_%s", k_names[t]);
        hid_t dataset = make_dataset(file, name, type, 1, &n, H5P_DEFAULT);
        hsize_t begin, count;
        share(n, &begin, &count);
        hid_t space = OK(H5Screate_simple(1, &n, NULL));
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
        OK(H5Dwrite(dataset, type, space, space, how, all));
        OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, how, read));
        CHECK(memcmp(read, all, sizeof(uint16_t) * n) == 0);
        OK(H5Sclose(space));
        OK(H5Dclose(dataset));
        OK(H5Pclose(how));
        OK(H5Tclose(type));
    }
    free(read);
    free(all);
}

/* What nobody writes has the fill value; and flags take little space. */
static void filled(hid_t file) {
    const hsize_t dims[3] = {20, 30, 40};
    const int8_t yes = 1;
    const float fill = -2.5f;
    for (int t = 0; t < k_types; ++t) {
        char name[32];
        snprintf(name, sizeof name, "filled_%s", k_names[t]);
        hid_t type = type_of(t), list = OK(H5Pcreate(H5P_DATASET_CREATE));
        if (t == k_bool)
            OK(H5Pset_fill_value(list, type, &yes));
        else
            OK(H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &fill));
        hid_t dataset = make_dataset(file, name, type, 3, dims, list);
        hsize_t begin, count;
        share(16, &begin, &count);
        const hsize_t offset[3] = {begin, 0, 0}, extent[3] = {count, 30, 40};
        void* zeros = calloc(20 * 30 * 40, 2);
        float* read = malloc(sizeof(float) * 20 * 30 * 40);
        hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(3, extent, NULL));
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
        hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
        OK(H5Dwrite(dataset, type, memory, space, how, zeros));
        OK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, how, read));
        for (hsize_t i = 0; i < 24000; ++i)
            CHECK(read[i] == (i < 16 * 1200 ? 0.0f : t == k_bool ? 1.0f : fill));
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        if (captured()) CHECK(H5Dget_storage_size(dataset) < 24000 / 4);
        OK(H5Pclose(how));
        OK(H5Sclose(memory));
        OK(H5Sclose(space));
        OK(H5Dclose(dataset));
        OK(H5Pclose(list));
        OK(H5Tclose(type));
        free(read);
        free(zeros);
    }
}

static void growing(hid_t file) {
    hsize_t now = 3000, most = H5S_UNLIMITED, chunk = 1024;
    hid_t list = chunked(1, &chunk), space = OK(H5Screate_simple(1, &now, &most));
    hid_t type = type_of(k_bool);
    hid_t dataset = OK(H5Dcreate2(file, "growing", type, space, H5P_DEFAULT, list, H5P_DEFAULT));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
    int8_t all[k_growing], read[k_growing];
    for (hsize_t i = 0; i < k_growing; ++i) all[i] = bool_at(i, 0);
    hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
    hsize_t from = 0;
    for (now = 3000;; now = k_growing) {
        hsize_t begin, count;
        share(now - from, &begin, &count);
        begin += from;
        space = OK(H5Screate_simple(1, &now, NULL));
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
        OK(H5Dwrite(dataset, type, space, space, how, all));
        OK(H5Sclose(space));
        OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, how, read));
        CHECK(memcmp(read, all, now) == 0);
        if (now == k_growing) break;
        from = now;
        const hsize_t end = k_growing;
        OK(H5Dset_extent(dataset, &end));
    }
    OK(H5Pclose(how));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("short_types");
    every_type(file);
    every_pattern(file);
    filled(file);
    growing(file);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    again_in_part(file, 1);
    OK(H5Fclose(file));
    file = open_file("short_types", H5F_ACC_RDWR);
    again_in_part(file, 2);
    OK(H5Fclose(file));
    return finish();
}
