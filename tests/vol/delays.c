/* A library for LD_PRELOAD: what a run waits for takes a random time now and then, so that ranks
 * and lanes meet in other orders than on a quiet machine. VOL_TEST_DELAYS is the seed.
 *
 *   MPI collectives           an application's thread, before the call
 *   pwrite, fsync             the write lane, or whoever writes
 *   a thread's CPU time       a worker asks for it when it begins a block and when it has one: a
 *                             delay there is a worker that gets no CPU time
 *
 * Nothing but time is changed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Most often nothing, sometimes up to 1 ms, seldom up to 20 ms. */
static void delay(void) {
    static __thread uint64_t state;
    if (state == 0) {
        const char* seed = getenv("VOL_TEST_DELAYS");
        if (seed == NULL) return;
        const uint64_t mix = (uint64_t)strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15u;
        state = (mix ^ ((uint64_t)syscall(SYS_gettid) * 0xbf58476d1ce4e5b9u)) | 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t kind = (state >> 20) % 100;
    const long most_us = kind < 75 ? 0 : kind < 96 ? 1000 : 20000;
    if (most_us == 0) return;
    const struct timespec pause = {0, 1000L * (long)((state >> 30) % (uint64_t)most_us)};
    nanosleep(&pause, NULL);
}

#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int clock_gettime(clockid_t clock, struct timespec* time) {
    if (clock == CLOCK_THREAD_CPUTIME_ID && syscall(SYS_gettid) != getpid()) delay();
    return (int)syscall(SYS_clock_gettime, clock, time);
}

ssize_t pwrite64(int file, const void* bytes, size_t n, off64_t at) {
    NEXT(pwrite64);
    delay();
    return next(file, bytes, n, at);
}
ssize_t pwrite(int file, const void* bytes, size_t n, off_t at) {
    NEXT(pwrite);
    delay();
    return next(file, bytes, n, at);
}
int fsync(int file) {
    NEXT(fsync);
    delay();
    return next(file);
}
int fdatasync(int file) {
    NEXT(fdatasync);
    delay();
    return next(file);
}

int MPI_Barrier(MPI_Comm comm) { return delay(), PMPI_Barrier(comm); }
int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    return delay(), PMPI_Bcast(data, n, type, root, comm);
}
int MPI_Allgather(const void* send, int n_send, MPI_Datatype send_type, void* receive,
                  int n_receive, MPI_Datatype receive_type, MPI_Comm comm) {
    delay();
    return PMPI_Allgather(send, n_send, send_type, receive, n_receive, receive_type, comm);
}
int MPI_Allgatherv(const void* send, int n_send, MPI_Datatype send_type, void* receive,
                   const int* counts, const int* at, MPI_Datatype receive_type, MPI_Comm comm) {
    delay();
    return PMPI_Allgatherv(send, n_send, send_type, receive, counts, at, receive_type, comm);
}
int MPI_Alltoall(const void* send, int n_send, MPI_Datatype send_type, void* receive, int n_receive,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    delay();
    return PMPI_Alltoall(send, n_send, send_type, receive, n_receive, receive_type, comm);
}
int MPI_Exscan(const void* send, void* receive, int n, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
    return delay(), PMPI_Exscan(send, receive, n, type, op, comm);
}
int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* states) {
    return delay(), PMPI_Waitall(n, requests, states);
}
