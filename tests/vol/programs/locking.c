/* Goal: a program that only looks at a file, and has HDF5's lock of a reader on it, stops a writer
 * where it would stop HDF5: with the ordinary driver, and not through MPI-IO, nor where the
 * application does without locks. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 64 };

static int g_viewer;

/* Another process, as it must be for a lock to tell of it. */
static void begin_viewing(const char* name) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    g_viewer = fork();
    CHECK(g_viewer >= 0);
    if (g_viewer == 0) {
        const int fd = open(path_of(name), O_RDONLY);
        const char locked = fd >= 0 && flock(fd, LOCK_SH) == 0;
        if (write(ready[1], &locked, 1) != 1) _exit(1);
        for (;;) pause();
    }
    char locked = 0;
    CHECK(read(ready[0], &locked, 1) == 1 && locked);
    close(ready[0]);
    close(ready[1]);
}

static void end_viewing(void) {
    CHECK(kill(g_viewer, SIGKILL) == 0);
    CHECK(waitpid(g_viewer, NULL, 0) == g_viewer);
}

static void write_alone(hid_t file, double base) {
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    double values[k_rows * 64];
    for (uint64_t i = 0; i < k_rows * 64; ++i) values[i] = base + field(i, 64);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dclose(dataset));
}

static void one_process(const char* name) {
    hid_t unlocked = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_file_locking(unlocked, false, true));
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    put_int(file, "generation", 1);
    OK(H5Fclose(file));
    begin_viewing(name);
    FAILS(H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT));
    file = OK(H5Fopen(path_of(name), H5F_ACC_RDONLY, H5P_DEFAULT));
    CHECK(get_int(file, "generation") == 1);
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, unlocked));
    check_connector(file);
    put_int(file, "reopened", 1);
    OK(H5Fclose(file));
    file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, unlocked));
    check_connector(file);
    write_alone(file, 1.0);
    OK(H5Fclose(file));
    file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, unlocked));
    CHECK(OK(H5Aexists(file, "generation")) == 0);
    OK(H5Fclose(file));
    end_viewing();
    file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT));
    CHECK(OK(H5Lexists(file, "field", H5P_DEFAULT)) > 0);
    OK(H5Fclose(file));
    OK(H5Pclose(unlocked));
}

static void together(void) {
    write_file(MPI_COMM_WORLD, "seen", k_rows, 1.0);
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Fclose(OK(H5Fopen(path_of("seen"), H5F_ACC_RDONLY, access)))); /* it is complete */
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) begin_viewing("seen");
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = OK(H5Fopen(path_of("seen"), H5F_ACC_RDWR, access));
    put_int(file, "reopened", 1);
    OK(H5Fclose(file));
    write_file(MPI_COMM_WORLD, "seen", k_rows, 2.0);
    check_file(MPI_COMM_WORLD, "seen", k_rows, 2.0);
    if (g_rank == 0) end_viewing();
    OK(H5Pclose(access));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    char name[] = "viewed_0";
    name[7] = (char)('0' + g_rank);
    one_process(name);
    together();
    return finish();
}
