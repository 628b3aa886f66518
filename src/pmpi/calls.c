/* libcaesura_pmpi.so: every MPI call that communicates or waits, in C. The time inside is an
 * obstacle of the write lane, the time between is computing; docs/guide/planning.md says how it is
 * used and what it costs.
 *
 * Test and its like return at once, but a loop around them waits: the calls of such a loop follow
 * each other so closely that they are one stretch (src/run/call_stretches.hpp). Calls that do not
 * communicate (types, groups, ranks) are not here. Nor are MPI 4's calls with large counts. */
#include <mpi.h>

#include "pmpi/layer.h"

#define PMPI_CALL(name, parameters, arguments)                                             \
    CAESURA_PMPI_EXPORT int MPI_##name parameters {                                        \
        static pmpi_function next;                                                         \
        int(*real) parameters =                                                            \
            (int(*) parameters)pmpi_next(&next, "MPI_" #name, (pmpi_function)PMPI_##name); \
        int told = pmpi_enter();                                                           \
        int code = real arguments;                                                         \
        pmpi_leave(told);                                                                  \
        return code;                                                                       \
    }

/* initialisation: who calls it is the thread that counts */
CAESURA_PMPI_EXPORT int MPI_Init(int* argc, char*** argv) {
    static pmpi_function next;
    int (*real)(int*, char***) =
        (int (*)(int*, char***))pmpi_next(&next, "MPI_Init", (pmpi_function)PMPI_Init);
    pmpi_this_is_the_main_thread();
    return real(argc, argv);
}

CAESURA_PMPI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int wanted, int* provided) {
    static pmpi_function next;
    int (*real)(int*, char***, int, int*) = (int (*)(int*, char***, int, int*))pmpi_next(
        &next, "MPI_Init_thread", (pmpi_function)PMPI_Init_thread);
    pmpi_this_is_the_main_thread();
    return real(argc, argv, wanted, provided);
}

/* point to point */
PMPI_CALL(Send,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
          (buf, count, datatype, dest, tag, comm))
PMPI_CALL(Ssend,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
          (buf, count, datatype, dest, tag, comm))
PMPI_CALL(Rsend,
          (const void* ibuf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
          (ibuf, count, datatype, dest, tag, comm))
PMPI_CALL(Bsend,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
          (buf, count, datatype, dest, tag, comm))
PMPI_CALL(Recv,
          (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
           MPI_Status* status),
          (buf, count, datatype, source, tag, comm, status))
PMPI_CALL(Sendrecv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
           void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
           MPI_Comm comm, MPI_Status* status),
          (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
           recvtag, comm, status))
PMPI_CALL(Sendrecv_replace,
          (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
           int recvtag, MPI_Comm comm, MPI_Status* status),
          (buf, count, datatype, dest, sendtag, source, recvtag, comm, status))
PMPI_CALL(Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status),
          (source, tag, comm, status))
PMPI_CALL(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),
          (source, tag, comm, message, status))
PMPI_CALL(Mrecv,
          (void* buf, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status),
          (buf, count, type, message, status))
/* started; large messages may be copied or sent before the call returns */
PMPI_CALL(Isend,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request),
          (buf, count, datatype, dest, tag, comm, request))
PMPI_CALL(Issend,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request),
          (buf, count, datatype, dest, tag, comm, request))
PMPI_CALL(Irsend,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request),
          (buf, count, datatype, dest, tag, comm, request))
PMPI_CALL(Ibsend,
          (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request),
          (buf, count, datatype, dest, tag, comm, request))
PMPI_CALL(Irecv,
          (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
           MPI_Request* request),
          (buf, count, datatype, source, tag, comm, request))
PMPI_CALL(Start, (MPI_Request * request), (request))
PMPI_CALL(Startall, (int count, MPI_Request array_of_requests[]), (count, array_of_requests))
/* completed */
PMPI_CALL(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
PMPI_CALL(Waitall, (int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses),
          (count, array_of_requests, array_of_statuses))
PMPI_CALL(Waitany, (int count, MPI_Request array_of_requests[], int* index, MPI_Status* status),
          (count, array_of_requests, index, status))
PMPI_CALL(Waitsome,
          (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
           MPI_Status array_of_statuses[]),
          (incount, array_of_requests, outcount, array_of_indices, array_of_statuses))
PMPI_CALL(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status))
PMPI_CALL(Testall,
          (int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]),
          (count, array_of_requests, flag, array_of_statuses))
PMPI_CALL(Testany,
          (int count, MPI_Request array_of_requests[], int* index, int* flag, MPI_Status* status),
          (count, array_of_requests, index, flag, status))
PMPI_CALL(Testsome,
          (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
           MPI_Status array_of_statuses[]),
          (incount, array_of_requests, outcount, array_of_indices, array_of_statuses))
PMPI_CALL(Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
          (source, tag, comm, flag, status))
PMPI_CALL(Improbe,
          (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status),
          (source, tag, comm, flag, message, status))
/* collectives */
PMPI_CALL(Barrier, (MPI_Comm comm), (comm))
PMPI_CALL(Bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm),
          (buffer, count, datatype, root, comm))
PMPI_CALL(Gather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
PMPI_CALL(Gatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
           MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))
PMPI_CALL(Scatter,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
PMPI_CALL(Scatterv,
          (const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
           void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))
PMPI_CALL(Allgather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
PMPI_CALL(Allgatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
PMPI_CALL(Alltoall,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
PMPI_CALL(Alltoallv,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
           MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
PMPI_CALL(Alltoallw,
          (const void* sendbuf, const int sendcounts[], const int sdispls[],
           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
           const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
PMPI_CALL(Reduce,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           int root, MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, root, comm))
PMPI_CALL(Allreduce,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, comm))
PMPI_CALL(Reduce_scatter,
          (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
           MPI_Op op, MPI_Comm comm),
          (sendbuf, recvbuf, recvcounts, datatype, op, comm))
PMPI_CALL(Reduce_scatter_block,
          (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm),
          (sendbuf, recvbuf, recvcount, datatype, op, comm))
PMPI_CALL(Scan,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, comm))
PMPI_CALL(Exscan,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, comm))
PMPI_CALL(Neighbor_allgather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
PMPI_CALL(Neighbor_allgatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
PMPI_CALL(Neighbor_alltoall,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
PMPI_CALL(Neighbor_alltoallv,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
           MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
PMPI_CALL(Neighbor_alltoallw,
          (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
/* started collectives */
PMPI_CALL(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))
PMPI_CALL(Ibcast,
          (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
           MPI_Request* request),
          (buffer, count, datatype, root, comm, request))
PMPI_CALL(Igather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, request))
PMPI_CALL(Igatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm,
           request))
PMPI_CALL(Iscatter,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, request))
PMPI_CALL(Iscatterv,
          (const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
           void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
           MPI_Request* request),
          (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm,
           request))
PMPI_CALL(Iallgather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request))
PMPI_CALL(Iallgatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
           MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, request))
PMPI_CALL(Ialltoall,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request))
PMPI_CALL(Ialltoallv,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
           request))
PMPI_CALL(Ialltoallw,
          (const void* sendbuf, const int sendcounts[], const int sdispls[],
           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
           const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
           MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm,
           request))
PMPI_CALL(Ireduce,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           int root, MPI_Comm comm, MPI_Request* request),
          (sendbuf, recvbuf, count, datatype, op, root, comm, request))
PMPI_CALL(Iallreduce,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, recvbuf, count, datatype, op, comm, request))
PMPI_CALL(Ireduce_scatter,
          (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
           MPI_Op op, MPI_Comm comm, MPI_Request* request),
          (sendbuf, recvbuf, recvcounts, datatype, op, comm, request))
PMPI_CALL(Ireduce_scatter_block,
          (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, recvbuf, recvcount, datatype, op, comm, request))
PMPI_CALL(Iscan,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, recvbuf, count, datatype, op, comm, request))
PMPI_CALL(Iexscan,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, recvbuf, count, datatype, op, comm, request))
/* communicators: collective */
PMPI_CALL(Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm), (comm, newcomm))
PMPI_CALL(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm),
          (comm, color, key, newcomm))
PMPI_CALL(Comm_split_type,
          (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm),
          (comm, split_type, key, info, newcomm))
PMPI_CALL(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm), (comm, group, newcomm))
PMPI_CALL(Comm_free, (MPI_Comm * comm), (comm))
PMPI_CALL(Cart_create,
          (MPI_Comm old_comm, int ndims, const int dims[], const int periods[], int reorder,
           MPI_Comm* comm_cart),
          (old_comm, ndims, dims, periods, reorder, comm_cart))
PMPI_CALL(Dist_graph_create_adjacent,
          (MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
           int outdegree, const int destinations[], const int destweights[], MPI_Info info,
           int reorder, MPI_Comm* comm_dist_graph),
          (comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights, info,
           reorder, comm_dist_graph))
PMPI_CALL(Intercomm_create,
          (MPI_Comm local_comm, int local_leader, MPI_Comm bridge_comm, int remote_leader, int tag,
           MPI_Comm* newintercomm),
          (local_comm, local_leader, bridge_comm, remote_leader, tag, newintercomm))
PMPI_CALL(Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintercomm),
          (intercomm, high, newintercomm))
/* one-sided */
PMPI_CALL(Win_create,
          (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
          (base, size, disp_unit, info, comm, win))
PMPI_CALL(Win_allocate,
          (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
          (size, disp_unit, info, comm, baseptr, win))
PMPI_CALL(Win_allocate_shared,
          (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
          (size, disp_unit, info, comm, baseptr, win))
PMPI_CALL(Win_free, (MPI_Win * win), (win))
PMPI_CALL(Win_fence, (int assert, MPI_Win win), (assert, win))
PMPI_CALL(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
PMPI_CALL(Win_complete, (MPI_Win win), (win))
PMPI_CALL(Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
PMPI_CALL(Win_wait, (MPI_Win win), (win))
PMPI_CALL(Win_lock, (int lock_type, int rank, int assert, MPI_Win win),
          (lock_type, rank, assert, win))
PMPI_CALL(Win_unlock, (int rank, MPI_Win win), (rank, win))
PMPI_CALL(Win_lock_all, (int assert, MPI_Win win), (assert, win))
PMPI_CALL(Win_unlock_all, (MPI_Win win), (win))
PMPI_CALL(Win_flush, (int rank, MPI_Win win), (rank, win))
PMPI_CALL(Win_flush_all, (MPI_Win win), (win))
PMPI_CALL(Win_flush_local, (int rank, MPI_Win win), (rank, win))
PMPI_CALL(Win_flush_local_all, (MPI_Win win), (win))
PMPI_CALL(Put,
          (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win),
          (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
           target_datatype, win))
PMPI_CALL(Get,
          (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win),
          (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
           target_datatype, win))
PMPI_CALL(Accumulate,
          (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
           MPI_Win win),
          (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
           target_datatype, op, win))
PMPI_CALL(Get_accumulate,
          (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
           void* result_addr, int result_count, MPI_Datatype result_datatype, int target_rank,
           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
           MPI_Win win),
          (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
           target_rank, target_disp, target_count, target_datatype, op, win))
PMPI_CALL(Fetch_and_op,
          (const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
           MPI_Aint target_disp, MPI_Op op, MPI_Win win),
          (origin_addr, result_addr, datatype, target_rank, target_disp, op, win))
PMPI_CALL(Compare_and_swap,
          (const void* origin_addr, const void* compare_addr, void* result_addr,
           MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win),
          (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win))
/* files */
PMPI_CALL(File_open, (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh),
          (comm, filename, amode, info, fh))
PMPI_CALL(File_close, (MPI_File * fh), (fh))
PMPI_CALL(File_set_size, (MPI_File fh, MPI_Offset size), (fh, size))
PMPI_CALL(File_preallocate, (MPI_File fh, MPI_Offset size), (fh, size))
PMPI_CALL(File_set_view,
          (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
           const char* datarep, MPI_Info info),
          (fh, disp, etype, filetype, datarep, info))
PMPI_CALL(File_sync, (MPI_File fh), (fh))
PMPI_CALL(File_read, (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_read_all,
          (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_read_at,
          (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
           MPI_Status* status),
          (fh, offset, buf, count, datatype, status))
PMPI_CALL(File_read_at_all,
          (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
           MPI_Status* status),
          (fh, offset, buf, count, datatype, status))
PMPI_CALL(File_read_shared,
          (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_read_ordered,
          (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_write,
          (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_write_all,
          (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_write_at,
          (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
           MPI_Status* status),
          (fh, offset, buf, count, datatype, status))
PMPI_CALL(File_write_at_all,
          (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
           MPI_Status* status),
          (fh, offset, buf, count, datatype, status))
PMPI_CALL(File_write_shared,
          (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_write_ordered,
          (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
          (fh, buf, count, datatype, status))
PMPI_CALL(File_iread,
          (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request),
          (fh, buf, count, datatype, request))
PMPI_CALL(File_iwrite,
          (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Request* request),
          (fh, buf, count, datatype, request))
PMPI_CALL(File_iread_at,
          (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
           MPI_Request* request),
          (fh, offset, buf, count, datatype, request))
PMPI_CALL(File_iwrite_at,
          (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
           MPI_Request* request),
          (fh, offset, buf, count, datatype, request))
PMPI_CALL(File_read_all_begin, (MPI_File fh, void* buf, int count, MPI_Datatype datatype),
          (fh, buf, count, datatype))
PMPI_CALL(File_read_all_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
PMPI_CALL(File_write_all_begin, (MPI_File fh, const void* buf, int count, MPI_Datatype datatype),
          (fh, buf, count, datatype))
PMPI_CALL(File_write_all_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))
PMPI_CALL(File_read_at_all_begin,
          (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype),
          (fh, offset, buf, count, datatype))
PMPI_CALL(File_read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
PMPI_CALL(File_write_at_all_begin,
          (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype),
          (fh, offset, buf, count, datatype))
PMPI_CALL(File_write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status),
          (fh, buf, status))
