/* Goal: data that cannot be written after the file was closed are an error that the application
 * sees, on every rank, once; the file is then as it was flushed last and can be used again. An
 * error that nobody asks for is shown when the run ends.
 *
 * The full disk is a limit on the size of files, on one rank alone. Natively writes fail at once
 * and there is nothing to see; without capture only the files of before are made.
 *
 * A second argument chooses one way of losing a file, or none; losses.py reads what closing line
 * and report say of it. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 64, k_lost_rows = 4096 };

static int g_shown;

static herr_t count_shown(hid_t stack, void* data) {
    (void)data;
    if (H5Eget_num(stack) > 0) ++g_shown;
    return 0;
}

static void limit_to(rlim_t bytes, bool full) {
    static struct rlimit before;
    if (g_rank + 1 != g_ranks) return;
    if (full) {
        CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
        struct rlimit tight = {bytes, before.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0);
    } else {
        CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    }
}

static void limit(const char* name, bool full) {
    struct stat now = {0};
    if (g_rank + 1 == g_ranks && full) CHECK(stat(path_of(name), &now) == 0);
    limit_to((rlim_t)now.st_size, full);
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

static void add_kept(hid_t file) {
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "kept", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
}

static void add_lost(hid_t file) {
    hsize_t dims[2] = {k_lost_rows, 64};
    hid_t dataset = make_dataset(file, "lost", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_noise(dataset);
    OK(H5Dclose(dataset));
}

/* With "kept", which is flushed. */
static hid_t begin(const char* name) {
    hid_t file = create_file(name);
    add_kept(file);
    MPI_Barrier(MPI_COMM_WORLD);
    return file;
}

/* Closed with "lost" under way, and no space for it. */
static void lose(const char* name) {
    hid_t file = begin(name);
    if (captured()) {
        add_lost(file);
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

/* A close that fails leaves the file open; the next one gives up what could not be written. */
static void close_twice(hid_t file, const char* name) {
    FAILS_SAYING(H5Fclose(file), name);
    OK(H5Fclose(file));
}

/* A rank whose disk has refused other values fails in the next collective write that commits, and
 * the others with it: nobody waits for ever, and the same write may be tried again. */
static void refuse(const char* name) {
    hsize_t dims[2] = {k_rows, 64}, n = k_rows * 64;
    hid_t file = create_file(name);
    hid_t dataset = make_dataset(file, "at_once", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    // Not a type of blocks: HDF5 itself is refused.
    hid_t others = make_dataset(file, "others", H5T_STD_I32BE, 1, &n, H5P_DEFAULT);
    if (captured()) {
        void* zeros = calloc(k_rows * 64, sizeof(double));
        hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
        limit_to(1, true);
        MPI_Barrier(MPI_COMM_WORLD);
        H5E_BEGIN_TRY { H5Dwrite(others, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros); }
        H5E_END_TRY
        FAILS(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, zeros));
        limit_to(1, false);
        OK(H5Pclose(list));
        free(zeros);
    }
    write_rows(dataset, k_rows, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(others));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

/* ---- one way of losing a file each; under the connector alone */

static void lose_by_flush(hid_t file, const char* name) {
    add_kept(file);
    add_lost(file);
    MPI_Barrier(MPI_COMM_WORLD);
    limit(name, true);
    FAILS_SAYING(H5Fflush(file, H5F_SCOPE_GLOBAL), name);
    limit(name, false);
    FAILS(H5Fflush(file, H5F_SCOPE_GLOBAL)); /* what has failed is not tried again */
    close_twice(file, name);
}

static void by_flush(void) { lose_by_flush(create_file("by_flush"), "by_flush"); }

static void by_close(void) {
    hid_t file = begin("by_close");
    add_lost(file);
    limit("by_close", true);
    close_twice(file, "by_close");
    limit("by_close", false);
}

/* The close cannot hand its blocks over: values that become no blocks have failed before. */
static void by_hand_over(void) {
    hid_t file = begin("by_hand_over");
    hsize_t dims[1] = {1 << 16};
    hid_t dataset = make_dataset(file, "counts", H5T_STD_I32BE, 1, dims, H5P_DEFAULT);
    int* counts = calloc(dims[0], sizeof *counts);
    add_lost(file);
    limit_to(1, true);
    MPI_Barrier(MPI_COMM_WORLD);
    herr_t written = 0; /* each rank by itself */
    H5E_BEGIN_TRY {
        written = H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts);
    }
    H5E_END_TRY
    CHECK((written < 0) == (g_rank + 1 == g_ranks));
    free(counts);
    OK(H5Dclose(dataset));
    close_twice(file, "by_hand_over");
    limit_to(1, false);
}

/* A file that the last rank has for itself, and that rank 0 knows nothing of. */
static void alone(void) {
    write_file(MPI_COMM_WORLD, "of_all", 256, 2.0);
    check_file(MPI_COMM_WORLD, "of_all", 256, 2.0); /* it is complete: the limit is of all files */
    if (g_rank + 1 == g_ranks) {
        hid_t access = mpi_access(MPI_COMM_SELF);
        hid_t file = OK(H5Fcreate(path_of("alone"), H5F_ACC_TRUNC, H5P_DEFAULT, access));
        OK(H5Pclose(access));
        add_kept(file);
        add_lost(file);
        limit("alone", true);
        FAILS_SAYING(H5Fflush(file, H5F_SCOPE_GLOBAL), "alone");
        limit("alone", false);
        close_twice(file, "alone");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks that have not made the same calls: an error of the close, which the missing call heals.
 * Then what was flushed, and what is closed after it, is there. */
static void healed(void) {
    write_file(MPI_COMM_WORLD, "of_all", 256, 2.0);
    hid_t file = create_file("healed");
    for (int round = 0; round < 2; ++round) {
        if ((g_rank == 0) == (round == 1))
            OK(H5Gclose(OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
        if (round == 0) FAILS_SAYING(H5Fclose(file), "has not made the same calls");
    }
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    put_int(file, "after", 7);
    OK(H5Fclose(file));
    file = open_file("healed", H5F_ACC_RDONLY);
    CHECK(OK(H5Lexists(file, "group", H5P_DEFAULT)) > 0);
    CHECK(get_int(file, "after") == 7);
    OK(H5Fclose(file));
}

/* The process ends by SIGTERM, and makes no call any more. */
static void end_by_term(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(raise(SIGTERM) == 0);
    for (;;) pause();
}

static void open_at_term(void) {
    write_file(MPI_COMM_WORLD, "of_all", 256, 2.0);
    check_file(MPI_COMM_WORLD, "of_all", 256, 2.0); /* it is complete */
    add_lost(begin("open_at_term"));
    end_by_term();
}

static int lose_in_a_way(const char* way) {
    if (strcmp(way, "by_flush") == 0) by_flush();
    if (strcmp(way, "by_close") == 0) by_close();
    if (strcmp(way, "by_hand_over") == 0) by_hand_over();
    if (strcmp(way, "alone") == 0) alone();
    if (strcmp(way, "healed") == 0) healed();
    if (strcmp(way, "none") == 0) write_file(MPI_COMM_WORLD, "none", 256, 2.0);
    if (strcmp(way, "open_at_term") == 0) open_at_term();
    if (strcmp(way, "at_the_end") == 0 || strcmp(way, "no_finalize") == 0 ||
        strcmp(way, "full_at_term") == 0)
        lose(way);
    if (strcmp(way, "no_finalize") == 0) exit(0);
    if (strcmp(way, "full_at_term") == 0) end_by_term();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    signal(SIGXFSZ, SIG_IGN);
    if (argc > 2) return lose_in_a_way(argv[2]);
    lose("lost_dump");
    if (captured()) {
        hid_t access = mpi_access(MPI_COMM_WORLD);
        FAILS_SAYING(H5Fopen(path_of("lost_dump"), H5F_ACC_RDWR, access), "lost_dump.h5");
        OK(H5Pclose(access));
        limit("lost_dump", false);
    }
    check_kept("lost_dump");
    refuse("refused");
    if (!captured()) return finish();
    /* Nobody opens anything any more. */
    lose("lost_at_the_end");
    remove(path_of("lost_at_the_end")); /* natively there is none */
    OK(H5Eset_auto2(H5E_DEFAULT, count_shown, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return g_shown == 1 ? 0 : 1;
}
