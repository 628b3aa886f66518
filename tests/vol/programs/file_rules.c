/* Goal: a rule says of files by their names what H5Fclose waits for. Right after it, without
 * another call, a file of durability "complete" is whole to a stranger, and one of "close" is
 * marked. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 512, k_width = 256, k_flags_at = 11 };

/* HDF5's own mark of a file that somebody writes: a byte of a superblock of version 3. */
static int is_marked(const char* name) {
    unsigned char byte = 0;
    const int file = open(path_of(name), O_RDONLY);
    CHECK(file >= 0 && pread(file, &byte, 1, k_flags_at) == 1);
    close(file);
    return byte != 0;
}

static void write_one(const char* name) {
    hsize_t dims[2] = {k_rows, k_width};
    hid_t file = create_file(name);
    check_connector(file);
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL)); /* so that there is a superblock */
    write_rows(dataset, k_rows, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    write_one("checkpoint");
    CHECK(!is_marked("checkpoint"));
    write_one("plotfile");
    CHECK(is_marked("plotfile"));
    MPI_Barrier(MPI_COMM_WORLD); /* before another call of HDF5 completes it */
    return finish();
}
