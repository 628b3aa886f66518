/* The C face's communicator over MPI. Header-only: the library needs no MPI.
 *
 *     caesura_communicator world;
 *     if (caesura_mpi(MPI_COMM_WORLD, &world) != MPI_SUCCESS) ...
 *     caesura_writer_create("run.h5", &world, NULL, &writer);
 *
 * One message between two ranks, and what one rank gathers, must stay below 2 GiB.
 */
#ifndef CAESURA_MPI_H
#define CAESURA_MPI_H

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "caesura/caesura.h"

static int caesura_mpi_barrier(void* context) { return MPI_Barrier(*(MPI_Comm*)context); }

static int caesura_mpi_broadcast(void* context, void* data, size_t bytes, int root) {
    if (bytes > INT_MAX) return MPI_ERR_COUNT;
    return MPI_Bcast(data, (int)bytes, MPI_BYTE, root, *(MPI_Comm*)context);
}

static int caesura_mpi_allgather(void* context, const void* send, size_t bytes, void* receive) {
    if (bytes > INT_MAX) return MPI_ERR_COUNT;
    return MPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE,
                         *(MPI_Comm*)context);
}

/* MPI wants ints: copies of n counts and n offsets in one array, or NULL (too large, no memory). */
static int* caesura_mpi_ints(const size_t* counts, const size_t* offsets, int n) {
    int* ints = (int*)malloc(2 * sizeof(int) * (size_t)n);
    int i;
    for (i = 0; ints && i < n; ++i) {
        if (counts[i] > INT_MAX || offsets[i] > INT_MAX) {
            free(ints);
            return NULL;
        }
        ints[i] = (int)counts[i];
        ints[n + i] = (int)offsets[i];
    }
    return ints;
}

static int caesura_mpi_allgatherv(void* context, const void* send, size_t bytes, void* receive,
                                  const size_t* counts, const size_t* offsets) {
    MPI_Comm comm = *(MPI_Comm*)context;
    int size = 0, code = MPI_ERR_COUNT;
    int* ints;
    MPI_Comm_size(comm, &size);
    ints = caesura_mpi_ints(counts, offsets, size);
    if (ints)
        code =
            MPI_Allgatherv(send, (int)bytes, MPI_BYTE, receive, ints, ints + size, MPI_BYTE, comm);
    free(ints);
    return code;
}

static int caesura_mpi_alltoallv(void* context, const void* send, const size_t* send_counts,
                                 const size_t* send_offsets, void* receive,
                                 const size_t* receive_counts, const size_t* receive_offsets) {
    MPI_Comm comm = *(MPI_Comm*)context;
    int size = 0, code = MPI_ERR_COUNT;
    int *out, *in;
    MPI_Comm_size(comm, &size);
    out = caesura_mpi_ints(send_counts, send_offsets, size);
    in = caesura_mpi_ints(receive_counts, receive_offsets, size);
    if (out && in)
        code =
            MPI_Alltoallv(send, out, out + size, MPI_BYTE, receive, in, in + size, MPI_BYTE, comm);
    free(out);
    free(in);
    return code;
}

static void caesura_mpi_destroy(void* context) {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Comm_free((MPI_Comm*)context);
    free(context);
}

/* Collective over `comm`, which stays the caller's. Returns MPI's code. */
static int caesura_mpi(MPI_Comm comm, caesura_communicator* communicator) {
    MPI_Comm node;
    MPI_Comm* duplicate = (MPI_Comm*)malloc(sizeof(MPI_Comm));
    int code = duplicate ? MPI_Comm_dup(comm, duplicate) : MPI_ERR_NO_MEM;
    if (code != MPI_SUCCESS) {
        free(duplicate);
        return code;
    }
    MPI_Comm_set_errhandler(*duplicate, MPI_ERRORS_RETURN);
    communicator->context = duplicate;
    MPI_Comm_rank(comm, &communicator->rank);
    MPI_Comm_size(comm, &communicator->size);
    communicator->ranks_on_node = 0;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS) {
        MPI_Comm_size(node, &communicator->ranks_on_node);
        MPI_Comm_free(&node);
    }
    communicator->barrier = caesura_mpi_barrier;
    communicator->broadcast = caesura_mpi_broadcast;
    communicator->allgather = caesura_mpi_allgather;
    communicator->allgatherv = caesura_mpi_allgatherv;
    communicator->alltoallv = caesura_mpi_alltoallv;
    communicator->destroy = caesura_mpi_destroy;
    return MPI_SUCCESS;
}

#endif /* CAESURA_MPI_H */
