/* Goal: data that cannot be written after the file was closed are an error that the application
 * sees, on every rank, once; the file is then as it was flushed last and can be used again. An
 * error that nobody asks for is shown when the run ends.
 *
 * The full disk is a limit on the size of files, on one rank alone. Natively writes fail at once
 * and there is nothing to see; without capture only the files of before are made. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "check.h"

enum { k_rows = 64, k_lost_rows = 4096 };

static int g_shown;

static herr_t count_shown(hid_t stack, void* data) {
    (void)data;
    if (H5Eget_num(stack) > 0) ++g_shown;
    return 0;
}

static void limit(const char* name, bool full) {
    static struct rlimit before;
    struct stat now;
    if (g_rank + 1 != g_ranks) return;
    if (full) {
        CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0 && stat(path_of(name), &now) == 0);
        struct rlimit tight = {(rlim_t)now.st_size, before.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0);
    } else {
        CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    }
}

/* Values that no codec makes small. */
static void write_noise(hid_t dataset) {
    hsize_t begin, count;
    share(k_lost_rows, &begin, &count);
    hsize_t offset[2] = {begin, 0}, extent[2] = {count, 64};
    double* values = malloc(sizeof(double) * (size_t)(count * 64));
    uint64_t state = 88172645463325252ull + (uint64_t)g_rank;
    for (hsize_t i = 0; i < count * 64; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values[i] = (double)state;
    }
    write_box(dataset, 2, offset, extent, values);
    free(values);
}

/* Flushed with "kept"; closed with "lost" under way, and no space for it. */
static void lose(const char* name) {
    hid_t file = create_file(name);
    hsize_t dims[2] = {k_rows, 64}, lost[2] = {k_lost_rows, 64};
    hid_t dataset = make_dataset(file, "kept", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    if (captured()) {
        dataset = make_dataset(file, "lost", H5T_IEEE_F64LE, 2, lost, H5P_DEFAULT);
        write_noise(dataset);
        OK(H5Dclose(dataset));
        limit(name, true);
    }
    OK(H5Fclose(file));
}

static void check_kept(const char* name) {
    hid_t file = open_file(name, H5F_ACC_RDWR);
    CHECK(OK(H5Lexists(file, "lost", H5P_DEFAULT)) == 0);
    hid_t dataset = OK(H5Dopen2(file, "kept", H5P_DEFAULT));
    check_rows(dataset, k_rows, 64, 1.0);
    OK(H5Dclose(dataset));
    put_int(file, "used_again", 1);
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    signal(SIGXFSZ, SIG_IGN);
    lose("lost_dump");
    if (captured()) {
        hid_t access = mpi_access(MPI_COMM_WORLD);
        FAILS_SAYING(H5Fopen(path_of("lost_dump"), H5F_ACC_RDWR, access), "lost_dump.h5");
        OK(H5Pclose(access));
        limit("lost_dump", false);
    }
    check_kept("lost_dump");
    if (!captured()) return finish();
    /* Nobody opens anything any more. */
    lose("lost_at_the_end");
    remove(path_of("lost_at_the_end")); /* natively there is none */
    OK(H5Eset_auto2(H5E_DEFAULT, count_shown, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return g_shown == 1 ? 0 : 1;
}
