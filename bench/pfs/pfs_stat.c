/* pfs_stat: print what the bucket named by $PFS_BUCKET has charged so far, one "name value" line
 * per counter, for scripts and tests. `pfs_stat --remove` removes the bucket instead. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bucket.h"

static uint64_t load(const uint64_t* counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

static int print_counters(const struct pfs_bucket* bucket) {
    uint64_t file_bytes = 0;
    for (int kind = 0; kind < PFS_KINDS; ++kind) {
        const char* name = pfs_kind_name((enum pfs_kind)kind);
        printf("%s_calls %" PRIu64 "\n", name, load(&bucket->calls[kind]));
        printf("%s_bytes %" PRIu64 "\n", name, load(&bucket->bytes[kind]));
        if (kind < PFS_MPI_POINT_TO_POINT) file_bytes += load(&bucket->bytes[kind]);
    }
    uint64_t now_ns = pfs_now_ns();
    uint64_t free_ns = load(&bucket->next_free_ns);
    printf("file_bytes %" PRIu64 "\n", file_bytes);
    printf("syncs_skipped %" PRIu64 "\n", load(&bucket->syncs_skipped));
    printf("syncs_passed %" PRIu64 "\n", load(&bucket->syncs_passed));
    printf("waited_s %.6f\n", (double)load(&bucket->waited_ns) * 1e-9);
    printf("queued_s %.6f\n", free_ns > now_ns ? (double)(free_ns - now_ns) * 1e-9 : 0.0);
    return 0;
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--remove") == 0) {
        if (pfs_bucket_remove() == 0 || errno == ENOENT) return 0;
        fprintf(stderr, "pfs_stat: the bucket cannot be removed: %s\n", strerror(errno));
        return 1;
    }
    if (argc != 1) {
        fprintf(stderr, "usage: [PFS_BUCKET=name] pfs_stat [--remove]\n");
        return 2;
    }
    const struct pfs_bucket* bucket = pfs_bucket_open();
    if (!bucket) {
        fprintf(stderr, "pfs_stat: the bucket cannot be opened: %s\n", strerror(errno));
        return 1;
    }
    return print_counters(bucket);
}
