/* Goal: the calls that openPMD-api 0.17.1 makes of HDF5, in its order: one file for all iterations
 * and one for each, appending, datasets that grow, attributes of all its types, by one rank and by
 * all. Each operation opens its object by path anew and closes it, as there. */
#include <complex.h>
#include <stdio.h>

#include "check.h"

enum { k_rows = 64, k_width = 48, k_particles = 4096, k_iterations = 2 };

static hid_t g_bool, g_complex, g_complex_float, g_complex_long;
static bool g_parallel;                                    /* or rank 0 alone */
static hid_t g_access = H5P_DEFAULT, g_xfer = H5P_DEFAULT; /* H5P_DEFAULT: not parallel */

static hid_t complex_type(hid_t part, size_t bytes) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, 2 * bytes));
    OK(H5Tinsert(type, "r", 0, part));
    OK(H5Tinsert(type, "i", bytes, part));
    return type;
}

static void make_types(void) {
    const int64_t yes = 1, no = 0;
    g_bool = OK(H5Tenum_create(H5T_NATIVE_INT8));
    OK(H5Tenum_insert(g_bool, "TRUE", &yes));
    OK(H5Tenum_insert(g_bool, "FALSE", &no));
    g_complex_float = complex_type(H5T_NATIVE_FLOAT, sizeof(float));
    g_complex = complex_type(H5T_NATIVE_DOUBLE, sizeof(double));
    g_complex_long = complex_type(H5T_NATIVE_LDOUBLE, sizeof(long double));
}

/* The lists of a series. Metadata stay in the cache, and are read and written by all ranks. */
static void begin_series(bool parallel, H5FD_mpio_xfer_t how) {
    g_parallel = parallel;
    g_access = g_xfer = H5P_DEFAULT;
    if (!parallel) return;
    g_xfer = OK(H5Pcreate(H5P_DATASET_XFER));
    g_access = OK(H5Pcreate(H5P_FILE_ACCESS));
    H5AC_cache_config_t cache;
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    OK(H5Pget_mdc_config(g_access, &cache));
    cache.set_initial_size = true;
    cache.initial_size = 33554432;
    cache.evictions_enabled = false;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
    OK(H5Pset_mdc_config(g_access, &cache));
    OK(H5Pset_dxpl_mpio(g_xfer, how));
    OK(H5Pset_all_coll_metadata_ops(g_access, true));
    OK(H5Pset_coll_metadata_write(g_access, true));
    OK(H5Pset_fapl_mpio(g_access, MPI_COMM_WORLD, MPI_INFO_NULL));
}

static void end_series(void) {
    if (!g_parallel) return;
    OK(H5Pclose(g_access));
    OK(H5Pclose(g_xfer));
}

static hid_t collective(hid_t class_of_list) {
    hid_t list = OK(H5Pcreate(class_of_list));
    if (g_parallel) OK(H5Pset_all_coll_metadata_ops(list, true));
    return list;
}

/* All groups of "a/b/c" below `position` that are not there yet. */
static void create_path(hid_t file, const char* position, const char* path) {
    char folder[64];
    hid_t list = collective(H5P_GROUP_ACCESS), groups[8];
    int depth = 0;
    groups[0] = OK(H5Gopen2(file, position, list));
    while (*path != '\0') {
        const size_t length = strcspn(path, "/");
        memcpy(folder, path, length);
        folder[length] = '\0';
        path += length + (path[length] == '/');
        hid_t group = H5I_INVALID_HID;
        if (OK(H5Lexists(groups[depth], folder, H5P_DEFAULT)) > 0)
            group = OK(H5Gopen2(groups[depth], folder, list));
        else
            group = OK(H5Gcreate2(groups[depth], folder, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        groups[++depth] = group;
    }
    while (depth >= 0) OK(H5Gclose(groups[depth--]));
    OK(H5Pclose(list));
}

/* Axes double in turn while the chunk has less than 64 KiB and they are not longer than the
 * dataset's. */
static hid_t creation_list(int rank, const hsize_t* extent, size_t bytes) {
    hid_t list = OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER));
    hsize_t chunk[3] = {1, 1, 1};
    for (bool grown = true; grown;) {
        grown = false;
        for (int axis = rank - 1; axis >= 0; --axis)
            if (bytes < 65536 && chunk[axis] * 2 <= extent[axis]) {
                chunk[axis] *= 2;
                bytes *= 2;
                grown = true;
            }
    }
    if (rank > 0) OK(H5Pset_chunk(list, rank, chunk));
    return list;
}

static void create_dataset(hid_t file, const char* group, const char* name, hid_t type, int rank,
                           const hsize_t* extent, bool resizable) {
    const hsize_t unlimited[3] = {H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED};
    hid_t access = collective(H5P_GROUP_ACCESS);
    hid_t node = OK(H5Gopen2(file, group, access));
    if (OK(H5Lexists(node, name, H5P_DEFAULT)) > 0) OK(H5Ldelete(node, name, H5P_DEFAULT));
    hid_t space = OK(H5Screate_simple(rank, extent, resizable ? unlimited : extent));
    hid_t creation = creation_list(rank, extent, H5Tget_size(type));
    hid_t copy = OK(H5Tcopy(type));
    hid_t dataset = OK(H5Dcreate2(node, name, copy, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Dclose(dataset));
    OK(H5Tclose(copy));
    OK(H5Pclose(creation));
    OK(H5Sclose(space));
    OK(H5Pclose(access));
    OK(H5Gclose(node));
}

/* A rank's chunk; all ranks call it. */
static void write_chunk(hid_t file, const char* path, hid_t type, const hsize_t* offset,
                        const hsize_t* extent, const void* values) {
    const hsize_t one[3] = {1, 1, 1};
    hid_t dataset = OK(H5Dopen2(file, path, H5P_DEFAULT));
    hid_t space = OK(H5Dget_space(dataset));
    const int rank = (int)OK(H5Sget_simple_extent_ndims(space));
    hid_t memory = OK(H5Screate_simple(rank, extent, NULL));
    if (rank > 0) OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, one, one, extent));
    hid_t copy = OK(H5Tcopy(type));
    OK(H5Dwrite(dataset, copy, memory, space, g_xfer, values));
    OK(H5Tclose(copy));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

static void extend(hid_t file, const char* path, hsize_t n) {
    hid_t dataset = OK(H5Dopen2(file, path, H5P_DEFAULT));
    hid_t space = OK(H5Dget_space(dataset)), list = OK(H5Dget_create_plist(dataset));
    hsize_t chunk[1];
    CHECK(OK(H5Sget_simple_extent_ndims(space)) == 1 && OK(H5Pget_chunk(list, 1, chunk)) == 1);
    OK(H5Dset_extent(dataset, &n));
    OK(H5Pclose(list)); /* openPMD-api leaves these two open */
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

/* count 0: a scalar. One of another type is there before: it goes. */
static void set(hid_t file, const char* path, const char* name, hid_t type, hsize_t count,
                const void* value) {
    hid_t access = collective(H5P_LINK_ACCESS);
    hid_t node = OK(H5Oopen(file, path, access)), attribute = H5I_INVALID_HID;
    hid_t copy = OK(H5Tcopy(type));
    if (OK(H5Aexists(node, name)) > 0) {
        attribute = OK(H5Aopen(node, name, H5P_DEFAULT));
        hid_t before = OK(H5Aget_type(attribute));
        if (OK(H5Tequal(before, copy)) == 0) {
            OK(H5Aclose(attribute));
            OK(H5Adelete(node, name));
            attribute = H5I_INVALID_HID;
        }
        OK(H5Tclose(before));
    }
    if (attribute == H5I_INVALID_HID) {
        hid_t space = OK(H5Screate(count == 0 ? H5S_SCALAR : H5S_SIMPLE));
        if (count > 0) OK(H5Sset_extent_simple(space, 1, &count, NULL));
        attribute = OK(H5Acreate2(node, name, copy, space, H5P_DEFAULT, H5P_DEFAULT));
        OK(H5Sclose(space));
    }
    OK(H5Awrite(attribute, copy, value));
    OK(H5Aclose(attribute));
    OK(H5Tclose(copy));
    OK(H5Oclose(node));
    OK(H5Pclose(access));
}

/* A text, or several of `length` bytes each. */
static void set_text(hid_t file, const char* path, const char* name, hsize_t count, size_t length,
                     const char* text) {
    hid_t type = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(type, count == 0 ? strlen(text) + 1 : length));
    set(file, path, name, type, count, text);
    OK(H5Tclose(type));
}

static void root_attributes(hid_t file, const char* encoding, const char* format) {
    const uint32_t extension = 0;
    set_text(file, "/", "basePath", 0, 0, "/data/%T/");
    set_text(file, "/", "date", 0, 0, "2026-01-01 00:00:00 +0000");
    set_text(file, "/", "iterationEncoding", 0, 0, encoding);
    set_text(file, "/", "iterationFormat", 0, 0, format);
    set_text(file, "/", "meshesPath", 0, 0, "meshes/");
    set_text(file, "/", "openPMD", 0, 0, "1.1.0");
    set(file, "/", "openPMDextension", H5T_NATIVE_UINT, 0, &extension);
    set_text(file, "/", "particlesPath", 0, 0, "particles/");
}

/* Every type that an attribute can have there, each twice: the second value holds. */
static void all_kinds(hid_t file, const char* path) {
    const double seven[7] = {1, 1, -3, -1, 0, 0, 0};
    /* Static: the bytes that pad a long double are 0. */
    static const long double extended = 1.5L, extendeds[2] = {1.0L / 3, 2};
    const complex double z = 1 + 2 * I, zs[2] = {1, -I};
    const complex float zf = 1 - 2 * I;
    static const long double zl[2] = {2.5L, 1};
    const int64_t numbers[3] = {-1, 0, INT64_MAX};
    const char letter = 'x';
    const signed char small = -7;
    for (int again = 0; again < 2; ++again) {
        const double d = again + 0.5;
        const float f = -d;
        const bool b = again == 1;
        const uint64_t large = UINT64_MAX - (uint64_t)again;
        set(file, path, "unitDimension", H5T_NATIVE_DOUBLE, 7, seven);
        set(file, path, "double", H5T_NATIVE_DOUBLE, 0, &d);
        set(file, path, "float", H5T_NATIVE_FLOAT, 0, &f);
        set(file, path, "bool", g_bool, 0, &b);
        set(file, path, "long double", H5T_NATIVE_LDOUBLE, 0, &extended);
        set(file, path, "long doubles", H5T_NATIVE_LDOUBLE, 2, extendeds);
        set(file, path, "complex", g_complex, 0, &z);
        set(file, path, "complexes", g_complex, 2, zs);
        set(file, path, "complex float", g_complex_float, 0, &zf);
        set(file, path, "complex long double", g_complex_long, 0, zl);
        set(file, path, "ulonglong", H5T_NATIVE_ULLONG, 0, &large);
        set(file, path, "longs", H5T_NATIVE_LONG, 3, numbers);
        set(file, path, "char", H5T_NATIVE_CHAR, 0, &letter);
        set(file, path, "schar", H5T_NATIVE_SCHAR, 0, &small);
        set_text(file, path, "axisLabels", 3, 6, "x\0\0\0\0\0theta\0z\0\0\0\0");
        set_text(file, path, "changes", 0, 0, again ? "longer than before" : "short");
    }
}

/* In one of a few buffers used in turn. */
static const char* joined(const char* base, const char* name) {
    static char paths[4][128];
    static int next;
    char* path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s%s", base, name);
    return path;
}

/* The rows of this rank, or all of them. */
static void own(hsize_t n, hsize_t* begin, hsize_t* count) {
    *begin = 0;
    *count = n;
    if (g_parallel) share(n, begin, count);
}

static double value_of(hsize_t i, int iteration, int of) {
    return field(i, k_width) + 10 * of + iteration;
}

/* As doubles, floats and pairs. */
static void write_field(hid_t file, const char* path, hid_t type, int iteration, int of) {
    hsize_t begin, count;
    own(k_rows, &begin, &count);
    const hsize_t offset[2] = {begin, 0}, extent[2] = {count, k_width};
    const size_t n = (size_t)(count * k_width);
    double* doubles = malloc(2 * n * sizeof(double));
    float* floats = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; ++i) {
        const double value = value_of(begin * k_width + i, iteration, of);
        floats[i] = (float)value;
        if (type == g_complex) {
            doubles[2 * i] = value;
            doubles[2 * i + 1] = -value;
        } else {
            doubles[i] = value;
        }
    }
    const void* values = type == H5T_NATIVE_FLOAT ? (const void*)floats : doubles;
    write_chunk(file, path, type, offset, extent, values);
    free(doubles);
    free(floats);
}

static void write_meshes(hid_t file, const char* base, int iteration) {
    const hsize_t extent[2] = {k_rows, k_width};
    const double half[2] = {0.5, 0.5}, spacing[2] = {1, 2}, one = 1;
    create_path(file, base, "meshes/E");
    char E[64];
    snprintf(E, sizeof E, "%smeshes/E/", base);
    const char* axes[] = {"x", "y"};
    for (int of = 0; of < 2; ++of)
        create_dataset(file, E, axes[of], H5T_NATIVE_DOUBLE, 2, extent, false);
    create_dataset(file, joined(base, "meshes/"), "rho", H5T_NATIVE_FLOAT, 2, extent, false);
    create_dataset(file, joined(base, "meshes/"), "psi", g_complex, 2, extent, false);
    create_dataset(file, joined(base, "meshes/"), "flag", g_bool, 0, extent, false);
    for (int of = 0; of < 2; ++of) {
        write_field(file, joined(E, axes[of]), H5T_NATIVE_DOUBLE, iteration, of);
        set(file, joined(E, axes[of]), "position", H5T_NATIVE_DOUBLE, 2, half);
        set(file, joined(E, axes[of]), "unitSI", H5T_NATIVE_DOUBLE, 0, &one);
    }
    write_field(file, joined(base, "meshes/rho"), H5T_NATIVE_FLOAT, iteration, 2);
    write_field(file, joined(base, "meshes/psi"), g_complex, iteration, 3);
    const bool flag = true;
    write_chunk(file, joined(base, "meshes/flag"), g_bool, NULL, NULL, &flag);
    set_text(file, E, "geometry", 0, 0, "cartesian");
    set(file, E, "gridSpacing", H5T_NATIVE_DOUBLE, 2, spacing);
    if (iteration == 0) all_kinds(file, E);
    if (iteration == 0) all_kinds(file, joined(base, "meshes/rho"));
}

/* Positions, identifiers, and a constant, which is a group with two attributes. */
static void write_particles(hid_t file, const char* base, int iteration) {
    const hsize_t all[1] = {k_particles}, shape[1] = {k_particles};
    const double charge = -1.602e-19;
    hsize_t begin, count;
    own(k_particles, &begin, &count);
    create_path(file, base, "particles/e/position");
    char e[64];
    snprintf(e, sizeof e, "%sparticles/e/", base);
    create_dataset(file, joined(e, "position"), "x", H5T_NATIVE_DOUBLE, 1, all, false);
    create_dataset(file, e, "id", H5T_NATIVE_ULONG, 1, all, false);
    double* x = malloc((size_t)count * sizeof(double));
    uint64_t* id = malloc((size_t)count * sizeof(uint64_t));
    for (hsize_t i = 0; i < count; ++i) {
        x[i] = value_of(begin + i, iteration, 4);
        id[i] = begin + i + 1;
    }
    /* Two chunks of each rank. */
    const hsize_t first[1] = {count / 2}, rest[1] = {count - count / 2};
    const hsize_t then[1] = {begin + count / 2};
    write_chunk(file, joined(e, "position/x"), H5T_NATIVE_DOUBLE, &begin, first, x);
    write_chunk(file, joined(e, "position/x"), H5T_NATIVE_DOUBLE, then, rest, x + first[0]);
    write_chunk(file, joined(e, "id"), H5T_NATIVE_ULONG, &begin, &count, id);
    free(x);
    free(id);
    create_path(file, e, "charge");
    set(file, joined(e, "charge"), "shape", H5T_NATIVE_ULLONG, 1, shape);
    set(file, joined(e, "charge"), "value", H5T_NATIVE_DOUBLE, 0, &charge);
}

static void write_iteration(hid_t file, int iteration) {
    char base[32];
    const double time = 0.5 * iteration, dt = 0.5, unit = 1;
    const bool closed = true;
    snprintf(base, sizeof base, "/data/%d/", iteration);
    create_path(file, "/", base + 1);
    write_meshes(file, base, iteration);
    write_particles(file, base, iteration);
    set(file, base, "time", H5T_NATIVE_DOUBLE, 0, &time);
    set(file, base, "dt", H5T_NATIVE_DOUBLE, 0, &dt);
    set(file, base, "timeUnitSI", H5T_NATIVE_DOUBLE, 0, &unit);
    set(file, base, "closed", g_bool, 0, &closed);
}

static void check_values(hid_t file, const char* path, hsize_t n, int iteration, int of) {
    double* values = malloc((size_t)n * sizeof(double));
    hid_t dataset = OK(H5Dopen2(file, path, H5P_DEFAULT));
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, g_xfer, values));
    for (hsize_t i = 0; i < n; ++i) {
        const double written = value_of(i, iteration, of);
        CHECK(near(values[i], of == 2 ? (double)(float)written : written));
    }
    OK(H5Dclose(dataset));
    free(values);
}

/* As openPMD-api lists what there is: by index, first groups, then datasets, then attributes. */
static int count_objects(hid_t file, const char* path, int type) {
    hid_t list = collective(H5P_GROUP_ACCESS), group = OK(H5Gopen2(file, path, list));
    H5G_info_t info;
    OK(H5Gget_info(group, &info));
    int found = 0;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
        if (H5Gget_objtype_by_idx(group, i) != type) continue;
        char name[64];
        CHECK(OK(H5Gget_objname_by_idx(group, i, name, sizeof name)) > 0);
        CHECK(OK(H5Lexists(group, name, H5P_DEFAULT)) > 0);
        ++found;
    }
    OK(H5Gclose(group));
    OK(H5Pclose(list));
    return found;
}

static int count_attributes(hid_t file, const char* path) {
    hid_t list = collective(H5P_LINK_ACCESS), node = OK(H5Oopen(file, path, list));
    H5O_info2_t info;
    OK(H5Oget_info3(node, &info, H5O_INFO_NUM_ATTRS));
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
        char name[64];
        OK(H5Aget_name_by_idx(node, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name, sizeof name,
                              H5P_DEFAULT));
        CHECK(OK(H5Aexists(node, name)) > 0);
    }
    OK(H5Oclose(node));
    OK(H5Pclose(list));
    return (int)info.num_attrs;
}

static void check_iteration(hid_t file, int iteration) {
    char base[32];
    snprintf(base, sizeof base, "/data/%d/", iteration);
    CHECK(count_objects(file, base, H5G_GROUP) == 2 && count_attributes(file, base) == 4);
    CHECK(count_objects(file, joined(base, "meshes"), H5G_DATASET) == 3);
    CHECK(count_attributes(file, joined(base, "meshes/E")) == (iteration == 0 ? 18 : 2));
    check_values(file, joined(base, "meshes/E/x"), k_rows * k_width, iteration, 0);
    check_values(file, joined(base, "meshes/E/y"), k_rows * k_width, iteration, 1);
    check_values(file, joined(base, "meshes/rho"), k_rows * k_width, iteration, 2);
    check_values(file, joined(base, "particles/e/position/x"), k_particles, iteration, 4);
}

static hid_t make(const char* name) {
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, g_access));
    check_connector(file);
    return file;
}
static hid_t again(const char* name, unsigned flags) {
    hid_t file = OK(H5Fopen(path_of(name), flags, g_access));
    check_connector(file);
    return file;
}

/* All iterations in one file, which is closed, read, and gone on with: the last one is replaced. */
static void group_based(const char* name) {
    hid_t file = make(name);
    root_attributes(file, "groupBased", "/data/%T/");
    for (int n = 0; n < k_iterations; ++n) write_iteration(file, n);
    OK(H5Fclose(file));
    file = again(name, H5F_ACC_RDONLY);
    CHECK(count_objects(file, "/data", H5G_GROUP) == k_iterations);
    for (int n = 0; n < k_iterations; ++n) check_iteration(file, n);
    OK(H5Fclose(file));
    file = again(name, H5F_ACC_RDWR);
    for (int n = k_iterations - 1; n < k_iterations + 1; ++n) write_iteration(file, n);
    OK(H5Fclose(file));
    file = again(name, H5F_ACC_RDONLY);
    for (int n = 0; n < k_iterations + 1; ++n) check_iteration(file, n);
    OK(H5Fclose(file));
}

static void file_based(const char* base) {
    char name[64];
    for (int n = 0; n < k_iterations; ++n) {
        snprintf(name, sizeof name, "%s_%06d", base, n);
        hid_t file = make(name);
        root_attributes(file, "fileBased", joined(base, "_%06T"));
        write_iteration(file, n);
        OK(H5Fclose(file));
    }
    for (int n = 0; n < k_iterations; ++n) {
        snprintf(name, sizeof name, "%s_%06d", base, n);
        hid_t file = again(name, H5F_ACC_RDONLY);
        check_iteration(file, n);
        OK(H5Fclose(file));
    }
}

/* A dataset that becomes longer before each write. */
static void resizable(const char* name) {
    enum { k_step = 4096 };
    double* values = malloc(k_step * sizeof(double));
    hid_t file = make(name);
    create_path(file, "/", "data/0/particles/e");
    for (hsize_t n = 0; n < k_iterations; ++n) {
        const hsize_t extent = (n + 1) * k_step;
        if (n == 0)
            create_dataset(file, "/data/0/particles/e", "w", H5T_NATIVE_DOUBLE, 1, &extent, true);
        else
            extend(file, "/data/0/particles/e/w", extent);
        hsize_t begin, count;
        own(k_step, &begin, &count);
        for (hsize_t i = 0; i < count; ++i) values[i] = value_of(n * k_step + begin + i, 0, 0);
        const hsize_t offset = n * k_step + begin;
        write_chunk(file, "/data/0/particles/e/w", H5T_NATIVE_DOUBLE, &offset, &count, values);
    }
    OK(H5Fclose(file));
    free(values);
    file = again(name, H5F_ACC_RDONLY);
    check_values(file, "/data/0/particles/e/w", k_iterations * k_step, 0, 0);
    OK(H5Fclose(file));
}

static void series(bool parallel, H5FD_mpio_xfer_t how, const char* name) {
    char names[3][32];
    snprintf(names[0], sizeof names[0], "%s_groups", name);
    snprintf(names[1], sizeof names[1], "%s_files", name);
    snprintf(names[2], sizeof names[2], "%s_resizable", name);
    begin_series(parallel, how);
    group_based(names[0]);
    file_based(names[1]);
    resizable(names[2]);
    end_series();
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    make_types();
    series(true, H5FD_MPIO_INDEPENDENT, "independent");
    series(true, H5FD_MPIO_COLLECTIVE, "collective");
    if (g_rank == 0) series(false, H5FD_MPIO_INDEPENDENT, "serial");
    MPI_Barrier(MPI_COMM_WORLD);
    const hid_t types[] = {g_bool, g_complex, g_complex_float, g_complex_long};
    for (int i = 0; i < 4; ++i) OK(H5Tclose(types[i]));
    return finish();
}
