/* A writer over the ranks of a Fortran communicator. MPI's handle is an integer there. */
#include "caesura/mpi.h"
#include "glue.h"

int caesura_fortran_create_mpi(const char* path, int comm, const caesura_fortran_options* given,
                               caesura_writer** writer) {
    caesura_communicator communicator;
    *writer = NULL;
    if (caesura_mpi(MPI_Comm_f2c((MPI_Fint)comm), &communicator) != MPI_SUCCESS) return -1;
    return caesura_fortran_create(path, &communicator, given, writer);
}

int caesura_fortran_append_mpi(const char* path, int comm, const caesura_fortran_options* given,
                               int64_t after, caesura_writer** writer, int64_t* last) {
    caesura_communicator communicator;
    *writer = NULL;
    if (caesura_mpi(MPI_Comm_f2c((MPI_Fint)comm), &communicator) != MPI_SUCCESS) return -1;
    return caesura_fortran_append(path, &communicator, given, after, writer, last);
}
