/* Around the lines of the page that set options. */
#include <caesura/caesura.h>
#include <caesura/mpi.h>
#include <stdio.h>

static int create(void) {
    caesura_writer* writer = NULL;
    /* block c 1 */
    if (caesura_writer_close(writer) != CAESURA_OK) return 1;
    return 0;
}

int main(int argc, char** argv) {
    int code;
    MPI_Init(&argc, &argv);
    code = create();
    if (code) fprintf(stderr, "%s\n", caesura_last_error());
    MPI_Finalize();
    return code;
}
