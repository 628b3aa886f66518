/* Goal: compound types of floats: particles and complex numbers, whole elements and single members,
 * in memory types of other orders and widths, in parts, grown and shrunk, and found again. Other
 * compound types stay as they are. */
#include "check.h"

enum { k_n = 5000, k_members = 6, k_side = 24 };

static const char* const k_names[k_members] = {"x", "y", "z", "vx", "vy", "vz"};

typedef struct {
    float v[k_members];
} Particle;

typedef struct {
    double r, i;
} Complex;

static double value(int member, uint64_t element) {
    return 10.0 * member + field(element, 512) + 0.01 * (double)(element % 7);
}

/* Members of one number type, in their order or the other way round. */
static hid_t type_of(hid_t number, int members, const char* const* names, bool reversed) {
    const size_t bytes = OK(H5Tget_size(number));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, (size_t)members * bytes));
    for (int m = 0; m < members; ++m) {
        const size_t at = (size_t)(reversed ? members - 1 - m : m);
        OK(H5Tinsert(type, names[m], at * bytes, number));
    }
    return type;
}

static hid_t complex_type(void) {
    static const char* const names[] = {"r", "i"};
    return type_of(H5T_NATIVE_DOUBLE, 2, names, false);
}

static hid_t selected(hid_t dataset, int rank, const hsize_t* offset, const hsize_t* stride,
                      const hsize_t* count) {
    hid_t space = OK(H5Dget_space(dataset));
    (void)rank;
    if (count[0] == 0)
        OK(H5Sselect_none(space));
    else
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, NULL));
    return space;
}

/* Elements [begin, begin + count) of a dataset of one axis. */
static void move(bool write, hid_t dataset, hid_t type, hsize_t begin, hsize_t count,
                 H5FD_mpio_xfer_t how, void* values) {
    hid_t space = selected(dataset, 1, &begin, NULL, &count);
    hid_t memory = OK(H5Screate_simple(1, &count, NULL));
    hid_t list = transfer(how);
    if (write)
        OK(H5Dwrite(dataset, type, memory, space, list, values));
    else
        OK(H5Dread(dataset, type, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

static void fill(Particle* to, hsize_t begin, hsize_t count, double more) {
    for (hsize_t i = 0; i < count; ++i)
        for (int m = 0; m < k_members; ++m) to[i].v[m] = (float)(more + value(m, begin + i));
}

static void check_all(hid_t dataset, double more) {
    static Particle all[k_n];
    hid_t type = type_of(H5T_NATIVE_FLOAT, k_members, k_names, false);
    move(false, dataset, type, 0, k_n, H5FD_MPIO_COLLECTIVE, all);
    for (hsize_t i = 0; i < k_n; ++i)
        for (int m = 0; m < k_members; ++m) CHECK(near(all[i].v[m], (float)(more + value(m, i))));
    OK(H5Tclose(type));
}

/* Whole elements. */
static void particles(hid_t group) {
    static Particle mine[k_n];
    const hsize_t n = k_n;
    hsize_t begin, count;
    share(k_n, &begin, &count);
    hid_t type = type_of(H5T_IEEE_F32LE, k_members, k_names, false);
    hid_t dataset = make_dataset(group, "particles", type, 1, &n, H5P_DEFAULT);
    check_connector(dataset);
    fill(mine, begin, count, 0);
    move(true, dataset, type, begin, count, H5FD_MPIO_COLLECTIVE, mine);
    memset(mine, 7, sizeof mine);
    move(false, dataset, type, begin, count, H5FD_MPIO_INDEPENDENT, mine); /* its own, at once */
    for (hsize_t i = 0; i < count; ++i)
        for (int m = 0; m < k_members; ++m) CHECK(near(mine[i].v[m], (float)value(m, begin + i)));
    check_all(dataset, 0);
    hid_t got = OK(H5Dget_type(dataset));
    CHECK(OK(H5Tequal(got, type)) > 0);
    OK(H5Tclose(got));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

/* Each member by itself, of a file type with the members the other way round; then three of them
 * in another width, two of which do not lie side by side. */
static void by_member(hid_t group) {
    static float one[k_n];
    static double three[k_n][3];
    static const char* const names[] = {"vy", "x", "vx"};
    const int numbers[] = {4, 0, 3};
    const hsize_t n = k_n;
    hsize_t begin, count;
    share(k_n, &begin, &count);
    hid_t type = type_of(H5T_IEEE_F32LE, k_members, k_names, true);
    hid_t dataset = make_dataset(group, "by_member", type, 1, &n, H5P_DEFAULT);
    for (int m = 0; m < k_members; ++m) {
        hid_t alone = type_of(H5T_NATIVE_FLOAT, 1, k_names + m, false);
        for (hsize_t i = 0; i < count; ++i) one[i] = (float)value(m, begin + i);
        move(true, dataset, alone, begin, count, H5FD_MPIO_COLLECTIVE, one);
        memset(one, 7, sizeof one);
        move(false, dataset, alone, begin, count, H5FD_MPIO_COLLECTIVE, one);
        for (hsize_t i = 0; i < count; ++i) CHECK(near(one[i], (float)value(m, begin + i)));
        OK(H5Tclose(alone));
    }
    check_all(dataset, 0);
    hid_t wide = type_of(H5T_NATIVE_DOUBLE, 3, names, false);
    move(false, dataset, wide, 100, 900, H5FD_MPIO_COLLECTIVE, three);
    for (hsize_t i = 0; i < 900; ++i)
        for (int k = 0; k < 3; ++k) CHECK(near(three[i][k], (float)value(numbers[k], 100 + i)));
    for (hsize_t i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) three[i][k] = (float)(1 + value(numbers[k], begin + i));
    move(true, dataset, wide, begin, count, H5FD_MPIO_COLLECTIVE, three);
    static Particle all[k_n];
    hid_t memory = type_of(H5T_NATIVE_FLOAT, k_members, k_names, false);
    move(false, dataset, memory, 0, k_n, H5FD_MPIO_COLLECTIVE, all);
    for (hsize_t i = 0; i < k_n; ++i)
        for (int m = 0; m < k_members; ++m) {
            const bool changed = m == 0 || m == 3 || m == 4;
            CHECK(near(all[i].v[m], (float)((changed ? 1 : 0) + value(m, i))));
        }
    OK(H5Tclose(memory));
    OK(H5Tclose(wide));
    OK(H5Tclose(type));
    OK(H5Dclose(dataset));
}

/* A member that the file lacks stays as it is in memory, and so does what lies between members. */
static void more_in_memory(hid_t group) {
    typedef struct {
        double z;
        char gap[8];
        float y;
        int mine;
    } Other;
    static Other some[k_n];
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Other)));
    OK(H5Tinsert(type, "z", HOFFSET(Other, z), H5T_NATIVE_DOUBLE));
    OK(H5Tinsert(type, "y", HOFFSET(Other, y), H5T_NATIVE_FLOAT));
    OK(H5Tinsert(type, "mine", HOFFSET(Other, mine), H5T_NATIVE_INT));
    memset(some, 9, sizeof some);
    for (int i = 0; i < k_n; ++i) some[i].mine = i;
    hid_t dataset = OK(H5Dopen2(group, "particles", H5P_DEFAULT));
    move(false, dataset, type, 0, k_n, H5FD_MPIO_COLLECTIVE, some);
    for (int i = 0; i < k_n; ++i) {
        CHECK(near(some[i].z, (float)value(2, (uint64_t)i)));
        CHECK(near(some[i].y, (float)value(1, (uint64_t)i)));
        CHECK(some[i].mine == i);
    }
    double not_compound;
    FAILS(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &not_compound));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
}

static Complex complex_at(uint64_t i, double more) {
    return (Complex){more + value(0, i), more + value(1, i)};
}

static void check_grid(hid_t dataset, hsize_t rows, hsize_t changed, double more) {
    const uint64_t n = rows * k_side * k_side;
    Complex* all = malloc(sizeof(Complex) * (size_t)n);
    hid_t type = complex_type(), list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, all));
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t row = i / (k_side * k_side);
        const Complex wanted = complex_at(i, row % 2 == 0 && row < changed ? more : 0);
        CHECK(near(all[i].r, wanted.r) && near(all[i].i, wanted.i));
    }
    OK(H5Pclose(list));
    OK(H5Tclose(type));
    free(all);
}

/* Rows [begin, begin + count) of a grid, every `step`-th. */
static void write_grid(hid_t dataset, hsize_t begin, hsize_t count, hsize_t step, double more) {
    const hsize_t offset[3] = {begin, 0, 0}, stride[3] = {step, 1, 1};
    const hsize_t extent[3] = {count, k_side, k_side};
    const hsize_t n = count * k_side * k_side;
    Complex* values = malloc(sizeof(Complex) * (size_t)(n + 1));
    for (hsize_t row = 0; row < count; ++row)
        for (uint64_t i = 0; i < k_side * k_side; ++i)
            values[row * k_side * k_side + i] =
                complex_at((begin + row * step) * k_side * k_side + i, more);
    hid_t type = complex_type(), list = transfer(H5FD_MPIO_COLLECTIVE);
    hid_t space = selected(dataset, 3, offset, stride, extent);
    hid_t memory = OK(H5Screate_simple(1, &n, NULL));
    OK(H5Dwrite(dataset, type, memory, space, list, values));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Pclose(list));
    OK(H5Tclose(type));
    free(values);
}

/* A grid of complex numbers that grows and is written over in part. */
static void grid(hid_t file, hid_t group) {
    const hsize_t dims[3] = {k_side, k_side, k_side}, chunk[3] = {5, 24, 16};
    const hsize_t most[3] = {H5S_UNLIMITED, k_side, k_side}, grown[3] = {40, k_side, k_side};
    hid_t type = complex_type(), creation = chunked(3, chunk);
    hid_t space = OK(H5Screate_simple(3, dims, most));
    hid_t dataset = OK(H5Dcreate2(group, "grid", type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    hsize_t begin, count;
    share(k_side, &begin, &count);
    write_grid(dataset, begin, count, 1, 0);
    check_grid(dataset, k_side, 0, 0);
    OK(H5Dset_extent(dataset, grown));
    share(40 - k_side, &begin, &count);
    write_grid(dataset, k_side + begin, count, 1, 0);
    check_grid(dataset, 40, 0, 0);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    share(k_side / 2, &begin, &count);
    write_grid(dataset, 2 * begin, count, 2, 3);
    check_grid(dataset, 40, k_side, 3);
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    OK(H5Tclose(type));
    OK(H5Dclose(dataset));
}

/* A fill value that all members share is there where nothing was written. */
static void fills(hid_t group) {
    const hsize_t n = k_n;
    static Particle all[k_n];
    Particle alike, apart;
    for (int m = 0; m < k_members; ++m) {
        alike.v[m] = 2.5f;
        apart.v[m] = (float)m;
    }
    hid_t type = type_of(H5T_IEEE_F32LE, k_members, k_names, false);
    for (int k = 0; k < 2; ++k) {
        hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
        OK(H5Pset_fill_value(creation, type, k == 0 ? &alike : &apart));
        hid_t dataset = make_dataset(group, k == 0 ? "alike" : "apart", type, 1, &n, creation);
        fill(all, 0, 1, 0);
        const hsize_t at = 17 * (hsize_t)(g_rank + 1);
        move(true, dataset, type, at, 1, H5FD_MPIO_COLLECTIVE, all);
        move(false, dataset, type, 0, k_n, H5FD_MPIO_COLLECTIVE, all);
        for (hsize_t i = 0; i < k_n; ++i) {
            const bool written = i > 0 && i % 17 == 0 && i <= 17 * (hsize_t)g_ranks;
            for (int m = 0; m < k_members; ++m)
                CHECK(near(all[i].v[m], written  ? (float)value(m, 0)
                                        : k == 0 ? alike.v[m]
                                                 : apart.v[m]));
        }
        OK(H5Pclose(creation));
        OK(H5Dclose(dataset));
    }
    OK(H5Tclose(type));
}

/* Types whose bytes are stored: of two widths, with a gap, with a whole number. */
static void others(hid_t group) {
    const hsize_t n = k_n;
    static char zeros[16 * k_n];
    const hid_t second[] = {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_STD_I32LE};
    const size_t at[] = {4, 8, 4}, bytes[] = {12, 12, 8};
    static const char* const names[] = {"widths", "gap", "whole"};
    hsize_t begin, count;
    share(k_n, &begin, &count);
    for (int k = 0; k < 3; ++k) {
        hid_t type = OK(H5Tcreate(H5T_COMPOUND, bytes[k]));
        OK(H5Tinsert(type, "a", 0, H5T_IEEE_F32LE));
        OK(H5Tinsert(type, "b", at[k], second[k]));
        hid_t dataset = make_dataset(group, names[k], type, 1, &n, H5P_DEFAULT);
        move(true, dataset, type, begin, count, H5FD_MPIO_COLLECTIVE, zeros);
        OK(H5Dclose(dataset));
        OK(H5Tclose(type));
    }
}

/* Found in the file again: read, written over in part, made smaller. */
static void again(void) {
    static float one[k_n];
    const hsize_t smaller[3] = {33, k_side, k_side};
    hsize_t begin, count;
    share(k_n, &begin, &count);
    hid_t file = open_file("compounds", H5F_ACC_RDWR);
    hid_t dataset = OK(H5Dopen2(file, "members/particles", H5P_DEFAULT));
    check_all(dataset, 0);
    hid_t alone = type_of(H5T_NATIVE_FLOAT, 1, k_names + 2, false);
    for (hsize_t i = 0; i < count; ++i) one[i] = (float)(5 + value(2, begin + i));
    move(true, dataset, alone, begin, count, H5FD_MPIO_COLLECTIVE, one);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    static Particle all[k_n];
    hid_t type = type_of(H5T_NATIVE_FLOAT, k_members, k_names, false);
    move(false, dataset, type, 0, k_n, H5FD_MPIO_COLLECTIVE, all);
    for (hsize_t i = 0; i < k_n; ++i)
        for (int m = 0; m < k_members; ++m)
            CHECK(near(all[i].v[m], (float)((m == 2 ? 5 : 0) + value(m, i))));
    OK(H5Tclose(type));
    OK(H5Tclose(alone));
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, "members/grid", H5P_DEFAULT));
    check_grid(dataset, 40, k_side, 3);
    OK(H5Dset_extent(dataset, smaller));
    check_grid(dataset, 33, k_side, 3);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("compounds");
    hid_t group = OK(H5Gcreate2(file, "members", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    particles(group);
    by_member(group);
    more_in_memory(group);
    grid(file, group);
    fills(group);
    others(group);
    OK(H5Gclose(group));
    OK(H5Fclose(file));
    again();
    return finish();
}
