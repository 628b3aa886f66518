/* The same calls in Fortran. An MPI library's Fortran bindings may go to PMPI directly (Open MPI's
 * do), past the wrappers of calls.c; where they do not (MPICH's), the outermost call counts.
 *
 * Covered are mpif.h and `use mpi` as mpi_send_, and `use mpi_f08` as mpi_send_f08_, which is how
 * gfortran, Intel's, NVIDIA's, LLVM's and Cray's compilers name them. All arguments are addresses
 * and are passed on as they are; the numbers below count ierror. Beside them a call with a file
 * name has its hidden length, so every wrapper passes one word more than the call has: in other
 * calls it is whatever lay there, and nobody reads it. */
#include <mpi.h>

#include "pmpi/layer.h"

typedef void* pmpi_word;
#define PMPI_PARAMETERS_1 (pmpi_word a1, pmpi_word a2)
#define PMPI_ARGUMENTS_1 (a1, a2)
#define PMPI_IERROR_1 a1
#define PMPI_PARAMETERS_2 (pmpi_word a1, pmpi_word a2, pmpi_word a3)
#define PMPI_ARGUMENTS_2 (a1, a2, a3)
#define PMPI_IERROR_2 a2
#define PMPI_PARAMETERS_3 (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4)
#define PMPI_ARGUMENTS_3 (a1, a2, a3, a4)
#define PMPI_IERROR_3 a3
#define PMPI_PARAMETERS_4 (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5)
#define PMPI_ARGUMENTS_4 (a1, a2, a3, a4, a5)
#define PMPI_IERROR_4 a4
#define PMPI_PARAMETERS_5 \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6)
#define PMPI_ARGUMENTS_5 (a1, a2, a3, a4, a5, a6)
#define PMPI_IERROR_5 a5
#define PMPI_PARAMETERS_6                                                                \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6, \
     pmpi_word a7)
#define PMPI_ARGUMENTS_6 (a1, a2, a3, a4, a5, a6, a7)
#define PMPI_IERROR_6 a6
#define PMPI_PARAMETERS_7                                                                \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6, \
     pmpi_word a7, pmpi_word a8)
#define PMPI_ARGUMENTS_7 (a1, a2, a3, a4, a5, a6, a7, a8)
#define PMPI_IERROR_7 a7
#define PMPI_PARAMETERS_8                                                                \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6, \
     pmpi_word a7, pmpi_word a8, pmpi_word a9)
#define PMPI_ARGUMENTS_8 (a1, a2, a3, a4, a5, a6, a7, a8, a9)
#define PMPI_IERROR_8 a8
#define PMPI_PARAMETERS_9                                                                \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6, \
     pmpi_word a7, pmpi_word a8, pmpi_word a9, pmpi_word a10)
#define PMPI_ARGUMENTS_9 (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
#define PMPI_IERROR_9 a9
#define PMPI_PARAMETERS_10                                                               \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6, \
     pmpi_word a7, pmpi_word a8, pmpi_word a9, pmpi_word a10, pmpi_word a11)
#define PMPI_ARGUMENTS_10 (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)
#define PMPI_IERROR_10 a10
#define PMPI_PARAMETERS_11                                                               \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6, \
     pmpi_word a7, pmpi_word a8, pmpi_word a9, pmpi_word a10, pmpi_word a11, pmpi_word a12)
#define PMPI_ARGUMENTS_11 (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)
#define PMPI_IERROR_11 a11
#define PMPI_PARAMETERS_12                                                                  \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6,    \
     pmpi_word a7, pmpi_word a8, pmpi_word a9, pmpi_word a10, pmpi_word a11, pmpi_word a12, \
     pmpi_word a13)
#define PMPI_ARGUMENTS_12 (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)
#define PMPI_IERROR_12 a12
#define PMPI_PARAMETERS_13                                                                  \
    (pmpi_word a1, pmpi_word a2, pmpi_word a3, pmpi_word a4, pmpi_word a5, pmpi_word a6,    \
     pmpi_word a7, pmpi_word a8, pmpi_word a9, pmpi_word a10, pmpi_word a11, pmpi_word a12, \
     pmpi_word a13, pmpi_word a14)
#define PMPI_ARGUMENTS_13 (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)
#define PMPI_IERROR_13 a13

#define PMPI_ENTRY(symbol, n)                                                         \
    CAESURA_PMPI_EXPORT void symbol PMPI_PARAMETERS_##n {                             \
        static pmpi_function next;                                                    \
        void(*real) PMPI_PARAMETERS_##n =                                             \
            (void(*) PMPI_PARAMETERS_##n)pmpi_next(&next, #symbol, (pmpi_function)0); \
        int told = pmpi_enter();                                                      \
        if (real)                                                                     \
            real PMPI_ARGUMENTS_##n;                                                  \
        else if (PMPI_IERROR_##n)                                                     \
            *(int*)PMPI_IERROR_##n = MPI_ERR_OTHER;                                   \
        pmpi_leave(told);                                                             \
    }
#define PMPI_FORTRAN(name, n)    \
    PMPI_ENTRY(mpi_##name##_, n) \
    PMPI_ENTRY(mpi_##name##_f08_, n)

#define PMPI_INIT(symbol, n)                                                          \
    CAESURA_PMPI_EXPORT void symbol PMPI_PARAMETERS_##n {                             \
        static pmpi_function next;                                                    \
        void(*real) PMPI_PARAMETERS_##n =                                             \
            (void(*) PMPI_PARAMETERS_##n)pmpi_next(&next, #symbol, (pmpi_function)0); \
        pmpi_this_is_the_main_thread();                                               \
        if (real)                                                                     \
            real PMPI_ARGUMENTS_##n;                                                  \
        else if (PMPI_IERROR_##n)                                                     \
            *(int*)PMPI_IERROR_##n = MPI_ERR_OTHER;                                   \
    }
PMPI_INIT(mpi_init_, 1)
PMPI_INIT(mpi_init_f08_, 1)
PMPI_INIT(mpi_init_thread_, 3)
PMPI_INIT(mpi_init_thread_f08_, 3)

/* point to point */
PMPI_FORTRAN(send, 7)
PMPI_FORTRAN(ssend, 7)
PMPI_FORTRAN(rsend, 7)
PMPI_FORTRAN(bsend, 7)
PMPI_FORTRAN(recv, 8)
PMPI_FORTRAN(sendrecv, 13)
PMPI_FORTRAN(sendrecv_replace, 10)
PMPI_FORTRAN(probe, 5)
PMPI_FORTRAN(mprobe, 6)
PMPI_FORTRAN(mrecv, 6)
/* started; large messages may be copied or sent before the call returns */
PMPI_FORTRAN(isend, 8)
PMPI_FORTRAN(issend, 8)
PMPI_FORTRAN(irsend, 8)
PMPI_FORTRAN(ibsend, 8)
PMPI_FORTRAN(irecv, 8)
PMPI_FORTRAN(start, 2)
PMPI_FORTRAN(startall, 3)
/* completed */
PMPI_FORTRAN(wait, 3)
PMPI_FORTRAN(waitall, 4)
PMPI_FORTRAN(waitany, 5)
PMPI_FORTRAN(waitsome, 6)
PMPI_FORTRAN(test, 4)
PMPI_FORTRAN(testall, 5)
PMPI_FORTRAN(testany, 6)
PMPI_FORTRAN(testsome, 6)
PMPI_FORTRAN(iprobe, 6)
PMPI_FORTRAN(improbe, 7)
/* collectives */
PMPI_FORTRAN(barrier, 2)
PMPI_FORTRAN(bcast, 6)
PMPI_FORTRAN(gather, 9)
PMPI_FORTRAN(gatherv, 10)
PMPI_FORTRAN(scatter, 9)
PMPI_FORTRAN(scatterv, 10)
PMPI_FORTRAN(allgather, 8)
PMPI_FORTRAN(allgatherv, 9)
PMPI_FORTRAN(alltoall, 8)
PMPI_FORTRAN(alltoallv, 10)
PMPI_FORTRAN(alltoallw, 10)
PMPI_FORTRAN(reduce, 8)
PMPI_FORTRAN(allreduce, 7)
PMPI_FORTRAN(reduce_scatter, 7)
PMPI_FORTRAN(reduce_scatter_block, 7)
PMPI_FORTRAN(scan, 7)
PMPI_FORTRAN(exscan, 7)
PMPI_FORTRAN(neighbor_allgather, 8)
PMPI_FORTRAN(neighbor_allgatherv, 9)
PMPI_FORTRAN(neighbor_alltoall, 8)
PMPI_FORTRAN(neighbor_alltoallv, 10)
PMPI_FORTRAN(neighbor_alltoallw, 10)
/* started collectives */
PMPI_FORTRAN(ibarrier, 3)
PMPI_FORTRAN(ibcast, 7)
PMPI_FORTRAN(igather, 10)
PMPI_FORTRAN(igatherv, 11)
PMPI_FORTRAN(iscatter, 10)
PMPI_FORTRAN(iscatterv, 11)
PMPI_FORTRAN(iallgather, 9)
PMPI_FORTRAN(iallgatherv, 10)
PMPI_FORTRAN(ialltoall, 9)
PMPI_FORTRAN(ialltoallv, 11)
PMPI_FORTRAN(ialltoallw, 11)
PMPI_FORTRAN(ireduce, 9)
PMPI_FORTRAN(iallreduce, 8)
PMPI_FORTRAN(ireduce_scatter, 8)
PMPI_FORTRAN(ireduce_scatter_block, 8)
PMPI_FORTRAN(iscan, 8)
PMPI_FORTRAN(iexscan, 8)
/* communicators: collective */
PMPI_FORTRAN(comm_dup, 3)
PMPI_FORTRAN(comm_split, 5)
PMPI_FORTRAN(comm_split_type, 6)
PMPI_FORTRAN(comm_create, 4)
PMPI_FORTRAN(comm_free, 2)
PMPI_FORTRAN(cart_create, 7)
PMPI_FORTRAN(dist_graph_create_adjacent, 11)
PMPI_FORTRAN(intercomm_create, 7)
PMPI_FORTRAN(intercomm_merge, 4)
/* one-sided */
PMPI_FORTRAN(win_create, 7)
PMPI_FORTRAN(win_allocate, 7)
PMPI_FORTRAN(win_allocate_shared, 7)
PMPI_FORTRAN(win_free, 2)
PMPI_FORTRAN(win_fence, 3)
PMPI_FORTRAN(win_start, 4)
PMPI_FORTRAN(win_complete, 2)
PMPI_FORTRAN(win_post, 4)
PMPI_FORTRAN(win_wait, 2)
PMPI_FORTRAN(win_lock, 5)
PMPI_FORTRAN(win_unlock, 3)
PMPI_FORTRAN(win_lock_all, 3)
PMPI_FORTRAN(win_unlock_all, 2)
PMPI_FORTRAN(win_flush, 3)
PMPI_FORTRAN(win_flush_all, 2)
PMPI_FORTRAN(win_flush_local, 3)
PMPI_FORTRAN(win_flush_local_all, 2)
PMPI_FORTRAN(put, 9)
PMPI_FORTRAN(get, 9)
PMPI_FORTRAN(accumulate, 10)
PMPI_FORTRAN(get_accumulate, 13)
PMPI_FORTRAN(fetch_and_op, 8)
PMPI_FORTRAN(compare_and_swap, 8)
/* files */
PMPI_FORTRAN(file_open, 6)
PMPI_FORTRAN(file_close, 2)
PMPI_FORTRAN(file_set_size, 3)
PMPI_FORTRAN(file_preallocate, 3)
PMPI_FORTRAN(file_set_view, 7)
PMPI_FORTRAN(file_sync, 2)
PMPI_FORTRAN(file_read, 6)
PMPI_FORTRAN(file_read_all, 6)
PMPI_FORTRAN(file_read_at, 7)
PMPI_FORTRAN(file_read_at_all, 7)
PMPI_FORTRAN(file_read_shared, 6)
PMPI_FORTRAN(file_read_ordered, 6)
PMPI_FORTRAN(file_write, 6)
PMPI_FORTRAN(file_write_all, 6)
PMPI_FORTRAN(file_write_at, 7)
PMPI_FORTRAN(file_write_at_all, 7)
PMPI_FORTRAN(file_write_shared, 6)
PMPI_FORTRAN(file_write_ordered, 6)
PMPI_FORTRAN(file_iread, 6)
PMPI_FORTRAN(file_iwrite, 6)
PMPI_FORTRAN(file_iread_at, 7)
PMPI_FORTRAN(file_iwrite_at, 7)
PMPI_FORTRAN(file_read_all_begin, 5)
PMPI_FORTRAN(file_read_all_end, 4)
PMPI_FORTRAN(file_write_all_begin, 5)
PMPI_FORTRAN(file_write_all_end, 4)
PMPI_FORTRAN(file_read_at_all_begin, 6)
PMPI_FORTRAN(file_read_at_all_end, 4)
PMPI_FORTRAN(file_write_at_all_begin, 6)
PMPI_FORTRAN(file_write_at_all_end, 4)
