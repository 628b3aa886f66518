/* Goal: relative paths that HDF5 was given mean the directory in which it was given them. The
 * process goes to other directories before its first file, and before its end. */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
    start(&argc, &argv);
    OK(chdir("/"));
    write_file(MPI_COMM_WORLD, "elsewhere", 64, 1.0);
    check_file(MPI_COMM_WORLD, "elsewhere", 64, 1.0);
    OK(chdir("/usr"));
    return finish();
}
