/* Goal: a child that was forked while files are open or pending may end with exit(), in which HDF5
 * closes what it has copies of: it waits for nobody and takes nothing from its parent's files. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void fork_child(void) {
    pid_t child = fork();
    if (child == 0) {
        if (captured()) exit(0);
        _exit(0); /* natively HDF5 would close the parent's files through MPI */
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hsize_t dims[2] = {256, 64};
    hid_t file = create_file("forked");
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, 256, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    fork_child();
    check_rows(dataset, 256, 64, 1.0);
    write_rows(dataset, 256, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    fork_child();
    check_file(MPI_COMM_WORLD, "forked", 256, 2.0);
    return finish();
}
