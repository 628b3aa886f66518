/* Goal: particles and complex numbers as codes write them: compounds of float32, whose members'
 * ranges have nothing in common, in one axis and in three, and one of float64 of two axes.
 *
 * compounds.py runs it, and compares what comes out member by member. Arguments: a directory, and
 * "again": the file is there, and all is written once more, three times as large. Where H5Dcreate2
 * fails it says why and ends with status 3. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_side = 56, k_particles = k_side * k_side * k_side, k_grid = 48, k_rows = 300 };

static double g_scale = 1; /* of all values */

typedef struct {
    float at[3], velocity[3];
} Particle;

static const char* const k_particle[] = {"x", "y", "z", "vx", "vy", "vz"};
static const char* const k_complex[] = {"r", "i"};
static const char* const k_pair[] = {"energy", "phase"};

static hid_t type_of(hid_t number, int members, const char* const* names) {
    const size_t bytes = OK(H5Tget_size(number));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, (size_t)members * bytes));
    for (size_t m = 0; m < (size_t)members; ++m) OK(H5Tinsert(type, names[m], m * bytes, number));
    return type;
}

static hid_t dataset_of(hid_t file, const char* name, hid_t type, int rank, const hsize_t* dims) {
    if (g_scale != 1) return OK(H5Dopen2(file, name, H5P_DEFAULT));
    hid_t space = OK(H5Screate_simple(rank, dims, NULL));
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset < 0 && g_rank == 0) H5Eprint2(H5E_DEFAULT, stderr);
    OK(H5Sclose(space));
    if (dataset >= 0) return dataset;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return dataset;
}

/* Rows [begin, begin + count) along the first axis. */
static void write_slab(hid_t dataset, hid_t type, int rank, const hsize_t* dims, hsize_t begin,
                       hsize_t count, const void* values) {
    hsize_t offset[3] = {begin, 0, 0}, extent[3] = {count, 1, 1};
    for (int axis = 1; axis < rank; ++axis) extent[axis] = dims[axis];
    hid_t space = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(rank, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

/* On a lattice that has been displaced, as of an early universe. */
static Particle particle_at(uint64_t i) {
    const double cell = 1.0 / k_side;
    const double q[3] = {(double)(i % k_side) * cell, (double)(i / k_side % k_side) * cell,
                         (double)(i / (k_side * k_side)) * cell};
    Particle one;
    for (int k = 0; k < 3; ++k) {
        const double push = sin(6.283 * q[k] + k) * cos(6.283 * q[(k + 1) % 3]);
        one.at[k] = (float)(g_scale * (q[k] + 0.02 * push));
        one.velocity[k] =
            (float)(g_scale * pow(100.0, k) * (300.0 * push + 20.0 * sin(40.0 * q[(k + 2) % 3])));
    }
    return one;
}

static void write_particles(hid_t file) {
    const hsize_t dims[1] = {k_particles};
    hsize_t begin, count;
    share(k_particles, &begin, &count);
    Particle* mine = malloc(sizeof(Particle) * (size_t)count);
    for (hsize_t i = 0; i < count; ++i) mine[i] = particle_at(begin + i);
    hid_t type = type_of(H5T_NATIVE_FLOAT, 6, k_particle);
    hid_t dataset = dataset_of(file, "particles", type, 1, dims);
    write_slab(dataset, type, 1, dims, begin, count, mine);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    free(mine);
}

/* As h5py writes complex64. */
static void write_waves(hid_t file) {
    const hsize_t dims[3] = {k_grid, k_grid, k_grid};
    hsize_t begin, count;
    share(k_grid, &begin, &count);
    float* mine = malloc(2 * sizeof(float) * (size_t)(count * k_grid * k_grid));
    for (hsize_t i = 0; i < count * k_grid * k_grid; ++i) {
        const double x = (double)(i % k_grid), y = (double)(i / k_grid % k_grid);
        const double z = (double)(begin + i / (k_grid * k_grid));
        mine[2 * i] = (float)(g_scale * cos(0.2 * x + 0.1 * y) * exp(-0.001 * z * z));
        mine[2 * i + 1] = (float)(g_scale * (1e-4 * sin(0.2 * x - 0.05 * z) + 1e-4));
    }
    hid_t type = type_of(H5T_NATIVE_FLOAT, 2, k_complex);
    hid_t dataset = dataset_of(file, "waves", type, 3, dims);
    write_slab(dataset, type, 3, dims, begin, count, mine);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    free(mine);
}

static void write_pairs(hid_t file) {
    const hsize_t dims[2] = {k_rows, 100};
    hsize_t begin, count;
    share(k_rows, &begin, &count);
    double* mine = malloc(2 * sizeof(double) * (size_t)(count * 100));
    for (hsize_t i = 0; i < count * 100; ++i) {
        const double x = (double)(begin * 100 + i);
        mine[2 * i] = g_scale * 1e12 * sin(0.01 * x);
        mine[2 * i + 1] = g_scale * 1e-3 * cos(0.03 * x);
    }
    hid_t type = type_of(H5T_NATIVE_DOUBLE, 2, k_pair);
    hid_t dataset = dataset_of(file, "pairs", type, 2, dims);
    write_slab(dataset, type, 2, dims, begin, count, mine);
    OK(H5Dclose(dataset));
    OK(H5Tclose(type));
    free(mine);
}

int main(int argc, char** argv) {
    if (argc > 2 && strcmp(argv[2], "again") == 0) g_scale = 3;
    start(&argc, &argv);
    hid_t file = g_scale != 1 ? open_file("particles", H5F_ACC_RDWR) : create_file("particles");
    write_particles(file);
    write_waves(file);
    write_pairs(file);
    OK(H5Fclose(file));
    return finish();
}
