/* Goal: files of two communicators that share ranks, open at the same time: what is written,
 * flushed and closed in turns is each file's own, also where a rank is first in one and last in
 * the other. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 60 };

/* A file as the ranks of one communicator see it; null where this rank has no part. */
struct shared {
    MPI_Comm comm;
    const char* name;
    hid_t access, file, dataset;
};

static struct shared part(int first, int end, bool backwards, const char* name) {
    const bool mine = g_rank >= first && g_rank < end;
    struct shared all = {MPI_COMM_NULL, name, -1, -1, -1};
    MPI_Comm_split(MPI_COMM_WORLD, mine ? 0 : MPI_UNDEFINED, backwards ? -g_rank : g_rank,
                   &all.comm);
    if (mine) all.access = mpi_access(all.comm);
    return all;
}

static bool has_part(const struct shared* all) { return all->comm != MPI_COMM_NULL; }

static void create(struct shared* all) {
    if (!has_part(all)) return;
    hsize_t dims[2] = {k_rows, 64};
    all->file = OK(H5Fcreate(path_of(all->name), H5F_ACC_TRUNC, H5P_DEFAULT, all->access));
    check_connector(all->file);
    all->dataset = make_dataset(all->file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
}

/* This rank's rows of the file. */
static void write_part(const struct shared* all, double base) {
    if (!has_part(all)) return;
    int rank, ranks;
    MPI_Comm_rank(all->comm, &rank);
    MPI_Comm_size(all->comm, &ranks);
    const hsize_t begin = (hsize_t)(k_rows * rank / ranks);
    const hsize_t end = (hsize_t)(k_rows * (rank + 1) / ranks);
    hsize_t offset[2] = {begin, 0}, extent[2] = {end - begin, 64};
    static double values[k_rows * 64];
    for (uint64_t i = 0; i < extent[0] * 64; ++i) values[i] = base + field(begin * 64 + i, 64);
    hid_t space = OK(H5Dget_space(all->dataset)), memory = OK(H5Screate_simple(2, extent, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(all->dataset, H5T_NATIVE_DOUBLE, memory, space, list, values));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
}

static void flush(const struct shared* all) {
    if (has_part(all)) OK(H5Fflush(all->file, H5F_SCOPE_GLOBAL));
}

static void check_values(const struct shared* all, double base) {
    if (has_part(all)) check_rows(all->dataset, k_rows, 64, base);
}

static void close_file(const struct shared* all) {
    if (!has_part(all)) return;
    OK(H5Dclose(all->dataset));
    OK(H5Fclose(all->file));
}

static void leave(struct shared* all, double base) {
    if (!has_part(all)) return;
    check_file(all->comm, all->name, k_rows, base);
    OK(H5Pclose(all->access));
    MPI_Comm_free(&all->comm);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    const int last = g_ranks > 1 ? g_ranks - 1 : 1, second = g_ranks > 1 ? 1 : 0;
    struct shared low = part(0, last, false, "low"), high = part(second, g_ranks, true, "high");
    struct shared all = part(0, g_ranks, true, "all");
    create(&low);
    create(&high);
    create(&all);
    write_part(&low, 1.0);
    write_part(&high, 2.0);
    write_part(&all, 3.0);
    flush(&high);
    write_part(&low, 4.0);
    check_values(&high, 2.0);
    flush(&low);
    write_part(&high, 5.0);
    close_file(&low); /* the others stay open, and have values that wait */
    write_part(&all, 6.0);
    check_values(&all, 6.0);
    check_values(&high, 5.0);
    leave(&low, 4.0);
    close_file(&all);
    write_part(&high, 7.0);
    close_file(&high);
    leave(&high, 7.0);
    leave(&all, 6.0);
    return finish();
}
