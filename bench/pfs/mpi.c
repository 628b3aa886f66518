/* libpfs_mpi.so: charges MPI messages to the same bucket as libpfs.so charges writes, because on
 * a real machine both share the node's network and messages through shared memory do not. Load it
 * beside libpfs.so with LD_PRELOAD; it does nothing unless PFS_CHARGE_MPI=1.
 *
 * What is charged: the bytes a rank sends to other ranks, once, on the sender.
 *  - Blocking calls wait for the link before the real call: the receiver gets the message when
 *    its last byte has passed.
 *  - Non-blocking calls take their place in the link's queue at once; the next completion call
 *    (MPI_Wait..., a successful MPI_Test...) of that process waits until it has passed.
 *  - Collectives are charged what a common algorithm sends from this rank (see each call).
 * Not covered: one-sided, neighbourhood and persistent communication, messages that MPI-IO sends
 * inside the library, Fortran bindings that bypass C. README.md says the same.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"

#define PFS_EXPORT __attribute__((visibility("default")))

static struct {
    struct pfs_link link;
    int on;
    uint64_t pending_ns; /* atomic: when the last non-blocking message will have passed */
} g_mpi;

__attribute__((constructor)) static void start(void) {
    const char* asked = getenv("PFS_CHARGE_MPI");
    if (!asked || strcmp(asked, "1") != 0) return;
    pfs_link_open(&g_mpi.link);
    g_mpi.on = 1;
}

static uint64_t bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    if (count > 0) PMPI_Type_size(type, &size);
    return (uint64_t)(count > 0 ? count : 0) * (uint64_t)size;
}

static int ranks(MPI_Comm comm) {
    int size = 1;
    PMPI_Comm_size(comm, &size);
    return size;
}

static int rank_in(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

static int leaves(int peer, MPI_Comm comm) {
    return peer != MPI_PROC_NULL && peer != rank_in(comm);
}

static void collective(uint64_t bytes) {
    if (g_mpi.on && bytes > 0) pfs_charge(&g_mpi.link, PFS_MPI_COLLECTIVE, bytes, pfs_now_ns());
}

static void message(int count, MPI_Datatype type, int peer, MPI_Comm comm) {
    if (!g_mpi.on || !leaves(peer, comm)) return;
    pfs_charge(&g_mpi.link, PFS_MPI_POINT_TO_POINT, bytes_of(count, type), pfs_now_ns());
}

static void later(enum pfs_kind kind, uint64_t bytes) {
    if (!g_mpi.on || bytes == 0) return;
    uint64_t end_ns = pfs_reserve(&g_mpi.link, kind, bytes, pfs_now_ns());
    uint64_t seen_ns = __atomic_load_n(&g_mpi.pending_ns, __ATOMIC_RELAXED);
    while (seen_ns < end_ns && !__atomic_compare_exchange_n(&g_mpi.pending_ns, &seen_ns, end_ns, 1,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void completed(int yes) {
    if (g_mpi.on && yes) {
        pfs_wait_until(&g_mpi.link, __atomic_load_n(&g_mpi.pending_ns, __ATOMIC_RELAXED));
    }
}

/* ---------------------------------------------------------------------------- point to point */

#define PFS_BLOCKING_SEND(name)                                                                  \
    PFS_EXPORT int MPI_##name(const void* data, int count, MPI_Datatype type, int peer, int tag, \
                              MPI_Comm comm) {                                                   \
        message(count, type, peer, comm);                                                        \
        return PMPI_##name(data, count, type, peer, tag, comm);                                  \
    }
PFS_BLOCKING_SEND(Send)
PFS_BLOCKING_SEND(Ssend)
PFS_BLOCKING_SEND(Rsend)
PFS_BLOCKING_SEND(Bsend)

#define PFS_STARTED_SEND(name)                                                                    \
    PFS_EXPORT int MPI_##name(const void* data, int count, MPI_Datatype type, int peer, int tag,  \
                              MPI_Comm comm, MPI_Request* request) {                              \
        if (g_mpi.on && leaves(peer, comm)) later(PFS_MPI_POINT_TO_POINT, bytes_of(count, type)); \
        return PMPI_##name(data, count, type, peer, tag, comm, request);                          \
    }
PFS_STARTED_SEND(Isend)
PFS_STARTED_SEND(Issend)
PFS_STARTED_SEND(Irsend)
PFS_STARTED_SEND(Ibsend)

PFS_EXPORT int MPI_Sendrecv(const void* data, int count, MPI_Datatype type, int to, int tag,
                            void* in, int in_count, MPI_Datatype in_type, int from, int in_tag,
                            MPI_Comm comm, MPI_Status* status) {
    message(count, type, to, comm);
    return PMPI_Sendrecv(data, count, type, to, tag, in, in_count, in_type, from, in_tag, comm,
                         status);
}

PFS_EXPORT int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int tag,
                                    int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
    message(count, type, to, comm);
    return PMPI_Sendrecv_replace(data, count, type, to, tag, from, in_tag, comm, status);
}

PFS_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    int code = PMPI_Wait(request, status);
    completed(1);
    return code;
}

PFS_EXPORT int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
    int code = PMPI_Waitall(n, requests, statuses);
    completed(1);
    return code;
}

PFS_EXPORT int MPI_Waitany(int n, MPI_Request* requests, int* index, MPI_Status* status) {
    int code = PMPI_Waitany(n, requests, index, status);
    completed(1);
    return code;
}

PFS_EXPORT int MPI_Waitsome(int n, MPI_Request* requests, int* n_done, int* indices,
                            MPI_Status* statuses) {
    int code = PMPI_Waitsome(n, requests, n_done, indices, statuses);
    completed(1);
    return code;
}

PFS_EXPORT int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    int code = PMPI_Test(request, done, status);
    completed(*done);
    return code;
}

PFS_EXPORT int MPI_Testall(int n, MPI_Request* requests, int* done, MPI_Status* statuses) {
    int code = PMPI_Testall(n, requests, done, statuses);
    completed(*done);
    return code;
}

/* -------------------------------------------------------------------------------- collectives */

/* Every rank sends to every other one. With MPI_IN_PLACE the receive side says how much. */
static uint64_t alltoall_bytes(const void* data, int count, MPI_Datatype type, int in_count,
                               MPI_Datatype in_type, MPI_Comm comm) {
    if (!g_mpi.on) return 0;
    uint64_t each = data == MPI_IN_PLACE ? bytes_of(in_count, in_type) : bytes_of(count, type);
    return each * (uint64_t)(ranks(comm) - 1);
}

static uint64_t alltoallv_bytes(const void* data, const int* counts, MPI_Datatype type,
                                const int* in_counts, MPI_Datatype in_type, MPI_Comm comm) {
    if (!g_mpi.on) return 0;
    int in_place = data == MPI_IN_PLACE;
    int own = rank_in(comm);
    uint64_t total = 0;
    for (int peer = 0; peer < ranks(comm); ++peer) {
        if (peer == own) continue;
        total += in_place ? bytes_of(in_counts[peer], in_type) : bytes_of(counts[peer], type);
    }
    return total;
}

PFS_EXPORT int MPI_Alltoall(const void* data, int count, MPI_Datatype type, void* in, int in_count,
                            MPI_Datatype in_type, MPI_Comm comm) {
    collective(alltoall_bytes(data, count, type, in_count, in_type, comm));
    return PMPI_Alltoall(data, count, type, in, in_count, in_type, comm);
}

PFS_EXPORT int MPI_Ialltoall(const void* data, int count, MPI_Datatype type, void* in, int in_count,
                             MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
    later(PFS_MPI_COLLECTIVE, alltoall_bytes(data, count, type, in_count, in_type, comm));
    return PMPI_Ialltoall(data, count, type, in, in_count, in_type, comm, request);
}

PFS_EXPORT int MPI_Alltoallv(const void* data, const int* counts, const int* offsets,
                             MPI_Datatype type, void* in, const int* in_counts,
                             const int* in_offsets, MPI_Datatype in_type, MPI_Comm comm) {
    collective(alltoallv_bytes(data, counts, type, in_counts, in_type, comm));
    return PMPI_Alltoallv(data, counts, offsets, type, in, in_counts, in_offsets, in_type, comm);
}

PFS_EXPORT int MPI_Ialltoallv(const void* data, const int* counts, const int* offsets,
                              MPI_Datatype type, void* in, const int* in_counts,
                              const int* in_offsets, MPI_Datatype in_type, MPI_Comm comm,
                              MPI_Request* request) {
    later(PFS_MPI_COLLECTIVE, alltoallv_bytes(data, counts, type, in_counts, in_type, comm));
    return PMPI_Ialltoallv(data, counts, offsets, type, in, in_counts, in_offsets, in_type, comm,
                           request);
}

/* Ring: 2 (p - 1) / p of the vector leave each rank. */
PFS_EXPORT int MPI_Allreduce(const void* data, void* result, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
    if (g_mpi.on) {
        uint64_t p = (uint64_t)ranks(comm);
        collective(2 * (p - 1) * bytes_of(count, type) / p);
    }
    return PMPI_Allreduce(data, result, count, type, op, comm);
}

/* Tree: every rank but the root sends its partial result once. */
PFS_EXPORT int MPI_Reduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                          int root, MPI_Comm comm) {
    if (g_mpi.on && rank_in(comm) != root) collective(bytes_of(count, type));
    return PMPI_Reduce(data, result, count, type, op, root, comm);
}

/* Pipeline: every rank but the last passes the message on once; the root stands for itself. */
PFS_EXPORT int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    if (g_mpi.on) {
        int last = (root + ranks(comm) - 1) % ranks(comm);
        if (rank_in(comm) != last) collective(bytes_of(count, type));
    }
    return PMPI_Bcast(data, count, type, root, comm);
}

/* Ring: each rank passes on every block but the one that ends its way there. */
PFS_EXPORT int MPI_Allgather(const void* data, int count, MPI_Datatype type, void* in, int in_count,
                             MPI_Datatype in_type, MPI_Comm comm) {
    if (g_mpi.on) collective(bytes_of(in_count, in_type) * (uint64_t)(ranks(comm) - 1));
    return PMPI_Allgather(data, count, type, in, in_count, in_type, comm);
}

PFS_EXPORT int MPI_Allgatherv(const void* data, int count, MPI_Datatype type, void* in,
                              const int* in_counts, const int* in_offsets, MPI_Datatype in_type,
                              MPI_Comm comm) {
    if (g_mpi.on) {
        uint64_t total = 0;
        int end = (rank_in(comm) + 1) % ranks(comm); /* its own block never comes back */
        for (int peer = 0; peer < ranks(comm); ++peer) {
            if (peer != end) total += bytes_of(in_counts[peer], in_type);
        }
        if (ranks(comm) > 1) collective(total);
    }
    return PMPI_Allgatherv(data, count, type, in, in_counts, in_offsets, in_type, comm);
}

PFS_EXPORT int MPI_Gather(const void* data, int count, MPI_Datatype type, void* in, int in_count,
                          MPI_Datatype in_type, int root, MPI_Comm comm) {
    if (g_mpi.on && rank_in(comm) != root) collective(bytes_of(count, type));
    return PMPI_Gather(data, count, type, in, in_count, in_type, root, comm);
}

PFS_EXPORT int MPI_Gatherv(const void* data, int count, MPI_Datatype type, void* in,
                           const int* in_counts, const int* in_offsets, MPI_Datatype in_type,
                           int root, MPI_Comm comm) {
    if (g_mpi.on && rank_in(comm) != root) collective(bytes_of(count, type));
    return PMPI_Gatherv(data, count, type, in, in_counts, in_offsets, in_type, root, comm);
}

PFS_EXPORT int MPI_Scatter(const void* data, int count, MPI_Datatype type, void* in, int in_count,
                           MPI_Datatype in_type, int root, MPI_Comm comm) {
    if (g_mpi.on && rank_in(comm) == root) {
        collective(bytes_of(count, type) * (uint64_t)(ranks(comm) - 1));
    }
    return PMPI_Scatter(data, count, type, in, in_count, in_type, root, comm);
}
