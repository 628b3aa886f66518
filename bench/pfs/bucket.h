/* The shared bucket of an emulated parallel file system: one link per node, for all processes.
 *
 * A bucket is a POSIX shared-memory segment with one clock, `next_free_ns`: the instant at which
 * the link has passed everything that was given to it so far. Giving it n bytes means moving that
 * clock on by n / bandwidth, from now if the link is idle, and waiting until it is reached.
 *
 * Invariants:
 *  - No locks. A process killed at any instant leaves at most one slice (1 MiB) of time behind.
 *  - A segment of zeros is a valid, idle bucket: whoever comes first creates it, in any order.
 *  - Everything here is async-signal-safe once pfs_bucket_open() has returned.
 */
#ifndef CAESURA_BENCH_PFS_BUCKET_H
#define CAESURA_BENCH_PFS_BUCKET_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was charged, one counter pair each. The order is that of pfs_kind_name(). */
enum pfs_kind {
    PFS_WRITE,
    PFS_PWRITE,
    PFS_PWRITE64,
    PFS_WRITEV,
    PFS_PWRITEV,
    PFS_PWRITEV64,
    PFS_PWRITEV2,
    PFS_PWRITEV64V2,
    PFS_MPI_POINT_TO_POINT,
    PFS_MPI_COLLECTIVE,
    PFS_KINDS
};

/* The segment. All fields are changed by atomic operations only. */
struct pfs_bucket {
    uint64_t next_free_ns; /* CLOCK_MONOTONIC */
    uint64_t calls[PFS_KINDS];
    uint64_t bytes[PFS_KINDS];
    uint64_t syncs_skipped;
    uint64_t syncs_passed;
    uint64_t waited_ns; /* summed over all calls */
};

/* How one process charges. All processes of a bucket should say the same. */
struct pfs_link {
    struct pfs_bucket* bucket;
    double bytes_per_s;
    double client_bytes_per_s; /* of this process alone, 0: no limit of its own */
    uint64_t latency_ns;       /* per call, not shared: latencies of different processes overlap */
};

/* Map the segment named $PFS_BUCKET (default "caesura-pfs"), creating it if need be.
 * Returns a null pointer with errno set on failure. */
struct pfs_bucket* pfs_bucket_open(void);

/* Remove the segment's name; processes that have it mapped keep it. 0 or -1 with errno. */
int pfs_bucket_remove(void);

/* Fill `link` from PFS_BUCKET, PFS_BANDWIDTH, PFS_CLIENT_BANDWIDTH and PFS_LATENCY; ends the
 * process with a message on stderr if one of them makes no sense: a benchmark that is not charged
 * must not go unnoticed. */
void pfs_link_open(struct pfs_link* link);

/* Now, in ns of CLOCK_MONOTONIC. */
uint64_t pfs_now_ns(void);

/* Pass `bytes` that have been ready since `arrival_ns` through the link and wait until the last
 * one has passed, slice by slice so that processes share the link fairly. */
void pfs_charge(const struct pfs_link* link, enum pfs_kind kind, uint64_t bytes,
                uint64_t arrival_ns);

/* The same without waiting: returns the instant at which the last byte will have passed. */
uint64_t pfs_reserve(const struct pfs_link* link, enum pfs_kind kind, uint64_t bytes,
                     uint64_t arrival_ns);

/* Sleep until CLOCK_MONOTONIC reaches `deadline_ns`; signals do not cut it short. */
void pfs_wait_until(const struct pfs_link* link, uint64_t deadline_ns);

/* "write", "pwrite", ...: names as in pfs_stat's output. */
const char* pfs_kind_name(enum pfs_kind kind);

/* "150e6", "150M" (10^6), "0.15G" -> the number; a negative number if it is none. */
double pfs_parse_number(const char* text);

#ifdef __cplusplus
}
#endif

#endif
