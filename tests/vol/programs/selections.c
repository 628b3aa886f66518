#include "selections.h"

Target make_target(hid_t file, const char* name, int rank, const hsize_t* dims,
                   const hsize_t* chunk, double fill) {
    Target target = {.rank = rank, .elements = 1};
    hid_t creation = OK(H5Pcreate(H5P_DATASET_CREATE));
    if (chunk) OK(H5Pset_chunk(creation, rank, chunk));
    if (fill != 0) OK(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill));
    /* Else what nobody writes is undefined natively: collective buffering may fill holes with
     * anything, and does under a sanitizer's allocator. */
    OK(H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC));
    target.dataset = make_dataset(file, name, H5T_IEEE_F64LE, rank, dims, creation);
    OK(H5Pclose(creation));
    for (int i = 0; i < rank; ++i) {
        target.dims[i] = dims[i];
        target.elements *= (size_t)dims[i];
    }
    target.replica = malloc(sizeof(double) * target.elements);
    for (size_t i = 0; i < target.elements; ++i) target.replica[i] = fill;
    return target;
}

double value_of(size_t element, int round) { return field(element, 64) + 3.0 * round; }

/* Linear indices of the elements of a selection, in the order in which data are transferred. */
static size_t* indices_of(const Target* target, hid_t selection, size_t* n) {
    *n = (size_t)OK(H5Sget_select_npoints(selection));
    size_t* indices = malloc(sizeof(size_t) * (*n + 1));
    size_t* all = malloc(sizeof(size_t) * target->elements);
    for (size_t i = 0; i < target->elements; ++i) all[i] = i;
    hid_t type = OK(H5Tcopy(H5T_NATIVE_ULLONG));
    if (*n > 0) OK(H5Dgather(selection, all, type, *n * sizeof(size_t), indices, NULL, NULL));
    OK(H5Tclose(type));
    free(all);
    return indices;
}

/* Marks what every rank wrote. Ranks write disjoint elements. */
static void note_everywhere(Target* target, const size_t* indices, size_t n, int round) {
    double* written = calloc(target->elements, sizeof(double));
    double* sum = calloc(target->elements, sizeof(double));
    for (size_t i = 0; i < n; ++i) written[indices[i]] += 1;
    MPI_Allreduce(written, sum, (int)target->elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < target->elements; ++i) {
        CHECK(sum[i] <= 1);
        if (sum[i] == 1) target->replica[i] = value_of(i, round);
    }
    free(written);
    free(sum);
}

void write_selected(Target* target, hid_t selection, int round, H5FD_mpio_xfer_t how) {
    size_t n;
    size_t* indices = indices_of(target, selection, &n);
    double* values = malloc(sizeof(double) * (n + 1));
    for (size_t i = 0; i < n; ++i) values[i] = value_of(indices[i], round);
    hsize_t dims[1] = {n};
    hid_t memory = OK(H5Screate_simple(1, dims, NULL));
    hid_t list = transfer(how);
    OK(H5Dwrite(target->dataset, H5T_NATIVE_DOUBLE, memory, selection, list, values));
    memset(values, 0xee, sizeof(double) * n); /* the buffer is ours again */
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    note_everywhere(target, indices, n, round);
    free(values);
    free(indices);
    /* Independent writes of others are seen after a barrier, as parallel HDF5 has it. */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_whole(const Target* target) {
    double* read = malloc(sizeof(double) * target->elements);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(target->dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (size_t i = 0; i < target->elements; ++i) CHECK(near(read[i], target->replica[i]));
    OK(H5Pclose(list));
    free(read);
}

void check_target(Target* target, hid_t selection) {
    check_whole(target);
    size_t n;
    size_t* indices = indices_of(target, selection, &n);
    double* read = malloc(sizeof(double) * (n + 1));
    hsize_t dims[1] = {n};
    hid_t memory = OK(H5Screate_simple(1, dims, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(target->dataset, H5T_NATIVE_DOUBLE, memory, selection, list, read));
    for (size_t i = 0; i < n; ++i) CHECK(near(read[i], target->replica[indices[i]]));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    free(read);
    free(indices);
}

void close_target(Target* target) {
    check_whole(target);
    OK(H5Dclose(target->dataset));
    free(target->replica);
}
