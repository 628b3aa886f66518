/* Goal: the access patterns that parallel HDF5's benchmarks measure: particles and fields of 1 to 3
 * dimensions, contiguous, strided and interleaved, in memory and in the file; over several steps.
 */
#include <stdio.h>

#include "check.h"

enum { k_steps = 2, k_particles = 2048 /* a rank */, k_side = 16 };

typedef struct {
    float x, y, z;
    float px, py, pz;
    int id;
    float weight;
} Particle;

static const char* const k_members[] = {"x", "y", "z", "px", "py", "pz", "id", "weight"};

static float member_value(int step, int member, uint64_t i) {
    return (float)(step + 0.25 * member + field(i, 256));
}

static hid_t particle_type(bool in_memory) {
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Particle)));
    for (size_t m = 0; m < 8; ++m) {
        hid_t of = m == 6 ? H5T_NATIVE_INT : H5T_NATIVE_FLOAT;
        OK(H5Tinsert(type, k_members[m], m * 4, of));
    }
    if (!in_memory) OK(H5Tpack(type));
    return type;
}

static Particle* make_particles(int step, hsize_t first, size_t n) {
    Particle* all = malloc(sizeof(Particle) * n);
    for (size_t i = 0; i < n; ++i) {
        float v[8];
        for (int m = 0; m < 8; ++m) v[m] = member_value(step, m, first + i);
        all[i] = (Particle){v[0], v[1], v[2], v[3], v[4], v[5], (int)(first + i), v[7]};
    }
    return all;
}

static void write_line(hid_t dataset, hid_t type, hid_t memory, hsize_t first, const void* values) {
    hsize_t count[1] = {k_particles};
    hid_t space = OK(H5Dget_space(dataset));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(space));
}

/* Each rank reads what others wrote: sync, barrier, sync, as MPI demands. */
static void let_all_see(hid_t object) {
    OK(H5Fflush(object, H5F_SCOPE_LOCAL));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_members(hid_t group, int step) {
    let_all_see(group);
    size_t n = (size_t)g_ranks * k_particles;
    float* read = malloc(sizeof(float) * n);
    for (int m = 0; m < 8; ++m) {
        hid_t dataset = OK(H5Dopen2(group, k_members[m], H5P_DEFAULT));
        OK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
        for (size_t i = 0; i < n; ++i)
            CHECK(m == 6 ? read[i] == (float)i : near(read[i], member_value(step, m, i)));
        OK(H5Dclose(dataset));
    }
    free(read);
}

/* A structure of arrays in the file; in memory arrays, or members of a structure (strided). */
static void members(hid_t step_group, int step, const char* name, bool strided) {
    hid_t group = OK(H5Gcreate2(step_group, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t dims[1] = {(hsize_t)g_ranks * k_particles}, first = (hsize_t)g_rank * k_particles;
    Particle* all = make_particles(step, first, k_particles);
    float* line = malloc(sizeof(float) * k_particles);
    for (int m = 0; m < 8; ++m) {
        hid_t stored = m == 6 ? H5T_STD_I32LE : H5T_IEEE_F32LE;
        hid_t type = m == 6 ? H5T_NATIVE_INT : H5T_NATIVE_FLOAT;
        hid_t dataset = make_dataset(group, k_members[m], stored, 1, dims, H5P_DEFAULT);
        const float* from = (const float*)(const void*)all + m;
        if (strided) {
            hsize_t whole[1] = {k_particles * 8}, zero[1] = {0}, eight[1] = {8};
            hsize_t count[1] = {k_particles};
            hid_t memory = OK(H5Screate_simple(1, whole, NULL));
            zero[0] = (hsize_t)m;
            OK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, eight, count, NULL));
            write_line(dataset, type, memory, first, all);
            OK(H5Sclose(memory));
        } else {
            hsize_t count[1] = {k_particles};
            hid_t memory = OK(H5Screate_simple(1, count, NULL));
            for (int i = 0; i < k_particles; ++i) memcpy(&line[i], from + 8 * i, sizeof(float));
            write_line(dataset, type, memory, first, line);
            OK(H5Sclose(memory));
        }
        OK(H5Dclose(dataset));
    }
    free(line);
    free(all);
    check_members(group, step);
    OK(H5Gclose(group));
}

/* Structures in the file; in memory structures, or one array written member by member. */
static void structures(hid_t step_group, int step, const char* name, bool by_member) {
    hsize_t dims[1] = {(hsize_t)g_ranks * k_particles}, count[1] = {k_particles};
    hsize_t first = (hsize_t)g_rank * k_particles;
    hid_t stored = particle_type(false), type = particle_type(true);
    hid_t dataset = make_dataset(step_group, name, stored, 1, dims, H5P_DEFAULT);
    hid_t memory = OK(H5Screate_simple(1, count, NULL));
    Particle* all = make_particles(step, first, k_particles);
    if (by_member) {
        for (size_t m = 0; m < 8; ++m) {
            hid_t one = OK(H5Tcreate(H5T_COMPOUND, sizeof(Particle)));
            hid_t of = m == 6 ? H5T_NATIVE_INT : H5T_NATIVE_FLOAT;
            OK(H5Tinsert(one, k_members[m], m * 4, of));
            write_line(dataset, one, memory, first, all);
            OK(H5Tclose(one));
        }
    } else {
        write_line(dataset, type, memory, first, all);
    }
    Particle* read = malloc(sizeof(Particle) * (size_t)dims[0]);
    let_all_see(dataset);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
    for (hsize_t i = 0; i < dims[0]; ++i) {
        CHECK(read[i].id == (int)i);
        CHECK(near(read[i].x, member_value(step, 0, i)));
        CHECK(near(read[i].weight, member_value(step, 7, i)));
    }
    free(read);
    free(all);
    OK(H5Sclose(memory));
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    OK(H5Tclose(stored));
}

/* A field of 1 to 3 dimensions, divided along its first axis; `gap` > 1: each rank writes every
 * gap-th plane only, the others another time. */
static void mesh(hid_t step_group, int step, int dimensions, int gap, bool chunks) {
    char name[32];
    snprintf(name, sizeof name, "mesh_%d_%d_%s", dimensions, gap, chunks ? "chunks" : "whole");
    hsize_t dims[3] = {1, 1, 1}, offset[3] = {0, 0, 0}, stride[3] = {1, 1, 1};
    hsize_t count[3] = {1, 1, 1}, chunk[3] = {k_side, k_side, k_side};
    for (int i = 0; i < dimensions; ++i) dims[i] = count[i] = i == 0 ? k_side * 4 : k_side * 2;
    if (dimensions == 1) dims[0] = k_side * k_side * 4;
    hsize_t mine = dims[0];
    dims[0] *= (hsize_t)g_ranks;
    hid_t creation = chunks ? chunked(dimensions, chunk) : H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = make_dataset(step_group, name, H5T_IEEE_F64LE, dimensions, dims, creation);
    OK(H5Pclose(creation));
    size_t plane = (size_t)(dims[1] * dims[2]);
    double* values = malloc(sizeof(double) * (size_t)mine * plane);
    hid_t space = OK(H5Dget_space(dataset));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    for (int pass = 0; pass < gap; ++pass) {
        offset[0] = (hsize_t)g_rank * mine + (hsize_t)pass;
        stride[0] = (hsize_t)gap;
        count[0] = mine / (hsize_t)gap;
        for (size_t i = 0; i < count[0] * plane; ++i)
            values[i] = step + field((offset[0] + i / plane * (size_t)gap) * plane + i % plane, 64);
        hid_t memory = OK(H5Screate_simple(dimensions, count, NULL));
        OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, stride, count, NULL));
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
        OK(H5Sclose(memory));
    }
    OK(H5Pclose(list));
    OK(H5Sclose(space));
    free(values);
    size_t all = (size_t)dims[0] * plane;
    values = malloc(sizeof(double) * all);
    let_all_see(dataset);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (size_t i = 0; i < all; ++i) CHECK(near(values[i], step + field(i, 64)));
    free(values);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("patterns");
    for (int step = 0; step < k_steps; ++step) {
        char name[32];
        snprintf(name, sizeof name, "Timestep_%d", step);
        hid_t group = OK(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        members(group, step, "contiguous_contiguous", false);
        members(group, step, "strided_contiguous", true);
        structures(group, step, "interleaved_interleaved", false);
        structures(group, step, "members_interleaved", true);
        for (int dimensions = 1; dimensions <= 3; ++dimensions) {
            mesh(group, step, dimensions, 1, false);
            mesh(group, step, dimensions, 4, false);
            mesh(group, step, dimensions, 1, true);
        }
        OK(H5Gclose(group));
        OK(H5Fflush(file, H5F_SCOPE_LOCAL));
    }
    OK(H5Fclose(file));
    return finish();
}
