/* Goal: an application's long day, drawn from a seed: several files open at once, datasets of all
 * kinds, written whole, in parts and again, read back, flushed, closed, opened again, deleted.
 * Every rank knows what every value must be.
 *
 * VOL_TEST_SEED (1) and VOL_TEST_STEPS (60) from the environment. Draws are the same on all ranks
 * and do not depend on the connector, so that two runs leave the same files. */
#include <stdio.h>

#include "check.h"

enum { k_files = 3, k_sets = 6, k_most_ranks = 64 };

typedef struct {
    char name[32];
    hid_t type;
    int axes;
    hsize_t dims[3], values;
    hsize_t cuts[k_most_ranks + 1]; /* rank r writes rows [cuts[r], cuts[r + 1]) */
    double* wanted;
} Set;

typedef struct {
    char name[32];
    hid_t file; /* < 0: closed */
    int attributes, n_sets;
    Set sets[k_sets];
} File;

static File g_files[k_files];
static uint64_t g_state;
static int g_writes, g_names;

/* In [0, n). */
static uint64_t draw(uint64_t n) {
    g_state ^= g_state << 13;
    g_state ^= g_state >> 7;
    g_state ^= g_state << 17;
    return (g_state >> 11) % n;
}

static int number_from(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* What a type makes of a value. */
static double as_stored(const Set* set, double value) {
    if (H5Tget_class(set->type) == H5T_INTEGER) return (double)(int)value;
    return H5Tget_size(set->type) == sizeof(float) ? (double)(float)value : value;
}

static double value_at(const Set* set, int write, hsize_t index) {
    const double value = write % 100 + field(index, set->dims[set->axes - 1]);
    return as_stored(set, H5Tget_class(set->type) == H5T_INTEGER ? 1000 * value : value);
}

static void check_value(const Set* set, double read, double wanted) {
    if (H5Tget_class(set->type) == H5T_INTEGER)
        CHECK(read == wanted);
    else
        CHECK(near(read, wanted));
}

/* Another decomposition; only where nothing is on its way (who wins is open otherwise). */
static void cut(Set* set) {
    set->cuts[0] = 0;
    set->cuts[g_ranks] = set->dims[0];
    for (int r = 1; r < g_ranks; ++r) {
        const hsize_t even = set->dims[0] * (hsize_t)r / (hsize_t)g_ranks;
        set->cuts[r] =
            draw(3) ? even : set->cuts[r - 1] + draw(set->dims[0] - set->cuts[r - 1] + 1);
        if (set->cuts[r] < set->cuts[r - 1]) set->cuts[r] = set->cuts[r - 1];
    }
}

static void make_set(File* file) {
    static const hsize_t longest[] = {20000, 140, 28};
    if (file->n_sets == k_sets) return;
    Set* set = &file->sets[file->n_sets++];
    snprintf(set->name, sizeof set->name, "set_%d", g_names++);
    const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_IEEE_F32LE, H5T_STD_I32LE};
    set->type = types[draw(4)];
    set->axes = 1 + (int)draw(3);
    set->values = 1;
    hsize_t chunk[3];
    for (int axis = 0; axis < set->axes; ++axis) {
        set->dims[axis] = 1 + draw(longest[set->axes - 1]);
        chunk[axis] = 1 + draw(set->dims[axis]);
        set->values *= set->dims[axis];
    }
    cut(set);
    set->wanted = calloc((size_t)set->values, sizeof(double));
    /* Tiny chunks of many values would only test patience. */
    hsize_t in_chunk = chunk[0] * (set->axes > 1 ? chunk[1] : 1) * (set->axes > 2 ? chunk[2] : 1);
    hid_t creation = draw(2) && set->values / in_chunk < 200 ? chunked(set->axes, chunk)
                                                             : OK(H5Pcreate(H5P_DATASET_CREATE));
    const double zero = 0; /* without one of ours, freed space is used again as it is */
    OK(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &zero));
    hid_t made = make_dataset(file->file, set->name, set->type, set->axes, set->dims, creation);
    OK(H5Dclose(made));
    OK(H5Pclose(creation));
}

typedef struct {
    hsize_t offset[3], extent[3], values;
} Part;

/* What rank r writes of its rows: all, a box of them, or nothing. */
static Part part_of(const Set* set, int r) {
    Part part = {{0}, {1, 1, 1}, 1};
    const uint64_t how = draw(5);
    for (int axis = 0; axis < set->axes; ++axis) {
        const hsize_t from = axis ? 0 : set->cuts[r];
        const hsize_t n = axis ? set->dims[axis] : set->cuts[r + 1] - from;
        part.offset[axis] = from;
        part.extent[axis] = how == 0 ? 0 : n;
        if (how < 3 && n > 0 && how > 0) {
            const hsize_t skip = draw(n);
            part.offset[axis] = from + skip;
            part.extent[axis] = 1 + draw(n - skip);
        }
        part.values *= part.extent[axis];
    }
    return part;
}

static hsize_t index_in(const Set* set, const Part* part, hsize_t i) {
    hsize_t at[3] = {0, 0, 0}, index = 0;
    for (int axis = set->axes - 1; axis >= 0; --axis) {
        at[axis] = part->offset[axis] + i % part->extent[axis];
        i /= part->extent[axis];
    }
    for (int axis = 0; axis < set->axes; ++axis) index = index * set->dims[axis] + at[axis];
    return index;
}

static hid_t select_part(const Set* set, const Part* part, hid_t* memory) {
    hid_t space = OK(H5Screate_simple(set->axes, set->dims, NULL));
    const hsize_t n = part->values ? part->values : 1;
    *memory = OK(H5Screate_simple(1, &n, NULL));
    if (part->values) {
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, part->offset, NULL, part->extent, NULL));
    } else {
        OK(H5Sselect_none(space));
        OK(H5Sselect_none(*memory));
    }
    return space;
}

/* One part of this rank, to or from the file. */
static void move_part(const Set* set, hid_t dataset, const Part* part, int write, bool collective) {
    double* values = malloc(sizeof(double) * (size_t)(part->values + 1));
    hid_t memory, space = select_part(set, part, &memory);
    hid_t list = transfer(collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    if (write >= 0) {
        for (hsize_t i = 0; i < part->values; ++i)
            values[i] = value_at(set, write, index_in(set, part, i));
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
        memset(values, 0xee, sizeof(double) * (size_t)part->values); /* ours again */
    } else {
        OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
        for (hsize_t i = 0; i < part->values; ++i)
            check_value(set, values[i], set->wanted[index_in(set, part, i)]);
    }
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    OK(H5Sclose(memory));
    free(values);
}

static void write_set(File* file, Set* set) {
    hid_t dataset = OK(H5Dopen2(file->file, set->name, H5P_DEFAULT));
    const int write = g_writes++;
    const bool collective = draw(3) > 0, read_own = draw(3) == 0;
    Part mine = {{0}, {0}, 0};
    for (int r = 0; r < g_ranks; ++r) {
        const Part part = part_of(set, r);
        if (r == g_rank) mine = part;
        for (hsize_t i = 0; i < part.values; ++i) {
            const hsize_t index = index_in(set, &part, i);
            set->wanted[index] = value_at(set, write, index);
        }
    }
    move_part(set, dataset, &mine, write, collective);
    if (read_own) move_part(set, dataset, &mine, -1, false);
    OK(H5Dclose(dataset));
}

/* All of it on every rank, collectively. */
static void read_set(const File* file, const Set* set) {
    MPI_Barrier(MPI_COMM_WORLD); /* what others write independently is not waited for otherwise */
    hid_t dataset = OK(H5Dopen2(file->file, set->name, H5P_DEFAULT));
    Part all = {{0}, {1, 1, 1}, set->values};
    for (int axis = 0; axis < set->axes; ++axis) all.extent[axis] = set->dims[axis];
    move_part(set, dataset, &all, -1, true);
    OK(H5Dclose(dataset));
}

static void flush_file(File* file) {
    OK(H5Fflush(file->file, H5F_SCOPE_GLOBAL));
    for (int i = 0; i < file->n_sets; ++i)
        if (draw(2)) cut(&file->sets[i]);
}

static void delete_set(File* file) {
    if (file->n_sets < 2) return;
    Set* set = &file->sets[draw((uint64_t)file->n_sets)];
    OK(H5Ldelete(file->file, set->name, H5P_DEFAULT));
    free(set->wanted);
    *set = file->sets[--file->n_sets];
}

static void close_file(File* file) {
    OK(H5Fclose(file->file));
    file->file = H5I_INVALID_HID;
}

static void forget(File* file) {
    for (int i = 0; i < file->n_sets; ++i) free(file->sets[i].wanted);
    memset(file, 0, sizeof *file);
    file->file = H5I_INVALID_HID;
}

static void compare_file(File* file) {
    CHECK(get_int(file->file, "attributes_0") == 0);
    for (int i = 0; i < file->attributes; ++i) {
        char name[32];
        snprintf(name, sizeof name, "attributes_%d", i);
        CHECK(get_int(file->file, name) == i);
    }
    for (int i = 0; i < file->n_sets; ++i) read_set(file, &file->sets[i]);
}

static void add_attribute(File* file) {
    char name[32];
    snprintf(name, sizeof name, "attributes_%d", file->attributes);
    put_int(file->file, name, file->attributes++);
}

/* A file is made by all ranks, or by one without MPI as AMReX does, or one of before goes on. */
static void open_some_file(File* file) {
    const bool goes_on = file->n_sets > 0 && draw(2);
    if (!goes_on) {
        forget(file);
        snprintf(file->name, sizeof file->name, "torture_%d", g_names++);
        if (draw(3)) {
            file->file = create_file(file->name);
            add_attribute(file);
            return;
        }
        if (g_rank == 0) {
            const char* path = path_of(file->name);
            file->file = OK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
            put_int(file->file, "attributes_0", 0);
            OK(H5Fclose(file->file));
        }
        file->attributes = 1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    file->file = open_file(file->name, H5F_ACC_RDWR);
    compare_file(file);
}

static void step(File* file) {
    if (file->file < 0) {
        open_some_file(file);
        return;
    }
    Set* set = file->n_sets ? &file->sets[draw((uint64_t)file->n_sets)] : NULL;
    const uint64_t what = draw(20);
    if (what < 5 || set == NULL)
        make_set(file);
    else if (what < 13)
        write_set(file, set);
    else if (what < 15)
        read_set(file, set);
    else if (what < 17)
        flush_file(file);
    else if (what < 18)
        add_attribute(file);
    else if (what < 19)
        delete_set(file);
    else
        close_file(file);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    CHECK(g_ranks <= k_most_ranks);
    g_state = 88172645463325252u + 7919u * (uint64_t)number_from("VOL_TEST_SEED", 1);
    for (int i = 0; i < 20; ++i) draw(2);
    for (int i = 0; i < k_files; ++i) forget(&g_files[i]);
    const int steps = number_from("VOL_TEST_STEPS", 60);
    for (int i = 0; i < steps; ++i) step(&g_files[draw(k_files)]);
    for (int i = 0; i < k_files; ++i) {
        File* file = &g_files[i];
        if (file->file >= 0) close_file(file);
        if (file->name[0] == 0) continue;
        file->file = open_file(file->name, H5F_ACC_RDONLY);
        compare_file(file);
        OK(H5Fclose(file->file));
        forget(file);
    }
    return finish();
}
