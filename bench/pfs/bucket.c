/* The shared bucket: see bucket.h. */
#include "bucket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { k_slice_bytes = 1 << 20, k_ns_per_s = 1000000000 };

static const char* bucket_name(char* buffer, size_t size) {
    const char* name = getenv("PFS_BUCKET");
    if (!name || !*name) name = "caesura-pfs";
    snprintf(buffer, size, "%s%s", *name == '/' ? "" : "/", name);
    return buffer;
}

struct pfs_bucket* pfs_bucket_open(void) {
    char name[256];
    int fd = shm_open(bucket_name(name, sizeof name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    void* memory = MAP_FAILED;
    /* Growing is idempotent and new bytes are zero, so two first comers do not disturb. */
    if (ftruncate(fd, sizeof(struct pfs_bucket)) == 0) {
        memory = mmap(NULL, sizeof(struct pfs_bucket), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

int pfs_bucket_remove(void) {
    char name[256];
    return shm_unlink(bucket_name(name, sizeof name));
}

double pfs_parse_number(const char* text) {
    char* end = NULL;
    double value = text ? strtod(text, &end) : -1;
    if (!text || end == text) return -1;
    switch (*end) {
        case 'k':
        case 'K':
            value *= 1e3, ++end;
            break;
        case 'M':
            value *= 1e6, ++end;
            break;
        case 'G':
            value *= 1e9, ++end;
            break;
        default:
            break;
    }
    return *end == '\0' && value >= 0 ? value : -1;
}

static void refuse(const char* name, const char* value, const char* why) {
    fprintf(stderr, "pfs: %s='%s': %s\n", name, value ? value : "", why);
    _exit(127);
}

void pfs_link_open(struct pfs_link* link) {
    const char* bandwidth = getenv("PFS_BANDWIDTH");
    link->bytes_per_s = pfs_parse_number(bandwidth);
    if (!(link->bytes_per_s > 0)) {
        refuse("PFS_BANDWIDTH", bandwidth, "must be bytes per second, such as 150e6 or 150M");
    }
    const char* client = getenv("PFS_CLIENT_BANDWIDTH");
    link->client_bytes_per_s = client && *client ? pfs_parse_number(client) : 0;
    if (client && *client && !(link->client_bytes_per_s > 0)) {
        refuse("PFS_CLIENT_BANDWIDTH", client, "must be bytes per second, such as 50e6 or 50M");
    }
    const char* latency = getenv("PFS_LATENCY");
    double latency_s = latency && *latency ? pfs_parse_number(latency) : 0;
    if (latency_s < 0 || latency_s > 60) {
        refuse("PFS_LATENCY", latency, "must be seconds per call, 0 to 60");
    }
    link->latency_ns = (uint64_t)(latency_s * k_ns_per_s);
    link->bucket = pfs_bucket_open();
    if (!link->bucket) refuse("PFS_BUCKET", getenv("PFS_BUCKET"), strerror(errno));
}

uint64_t pfs_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * k_ns_per_s + (uint64_t)now.tv_nsec;
}

static void add(uint64_t* counter, uint64_t amount) {
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

/* Append one slice to a queue; returns the instant at which it has passed. */
static uint64_t append_to(uint64_t* clock, double bytes_per_s, uint64_t bytes,
                          uint64_t arrival_ns) {
    uint64_t duration_ns = (uint64_t)((double)bytes * k_ns_per_s / bytes_per_s);
    uint64_t free_ns = __atomic_load_n(clock, __ATOMIC_RELAXED);
    uint64_t end_ns;
    do {
        end_ns = (free_ns > arrival_ns ? free_ns : arrival_ns) + duration_ns;
    } while (!__atomic_compare_exchange_n(clock, &free_ns, end_ns, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return end_ns;
}

/* Through the node's link and through what one process gets of it, both at once. */
static uint64_t append(const struct pfs_link* link, uint64_t bytes, uint64_t arrival_ns) {
    static uint64_t client_free_ns; /* of this process */
    uint64_t end_ns = append_to(&link->bucket->next_free_ns, link->bytes_per_s, bytes, arrival_ns);
    if (!(link->client_bytes_per_s > 0)) return end_ns;
    uint64_t client_end_ns =
        append_to(&client_free_ns, link->client_bytes_per_s, bytes, arrival_ns);
    return client_end_ns > end_ns ? client_end_ns : end_ns;
}

void pfs_wait_until(const struct pfs_link* link, uint64_t deadline_ns) {
    uint64_t now_ns = pfs_now_ns();
    if (now_ns >= deadline_ns) return;
    add(&link->bucket->waited_ns, deadline_ns - now_ns);
    struct timespec when = {.tv_sec = (time_t)(deadline_ns / k_ns_per_s),
                            .tv_nsec = (long)(deadline_ns % k_ns_per_s)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR) {
    }
}

void pfs_charge(const struct pfs_link* link, enum pfs_kind kind, uint64_t bytes,
                uint64_t arrival_ns) {
    add(&link->bucket->calls[kind], 1);
    uint64_t end_ns = arrival_ns;
    /* All slices count as ready since the call began, so that waking late from one slice costs
     * the link nothing: bandwidth is lost only while nobody has anything to write. */
    for (uint64_t rest = bytes; rest > 0;) {
        uint64_t slice = rest < k_slice_bytes ? rest : k_slice_bytes;
        end_ns = append(link, slice, arrival_ns);
        add(&link->bucket->bytes[kind], slice);
        rest -= slice;
        if (rest > 0) pfs_wait_until(link, end_ns);
    }
    pfs_wait_until(link, end_ns + link->latency_ns);
}

uint64_t pfs_reserve(const struct pfs_link* link, enum pfs_kind kind, uint64_t bytes,
                     uint64_t arrival_ns) {
    add(&link->bucket->calls[kind], 1);
    add(&link->bucket->bytes[kind], bytes);
    return append(link, bytes, arrival_ns) + link->latency_ns;
}

const char* pfs_kind_name(enum pfs_kind kind) {
    static const char* const k_names[PFS_KINDS] = {
        "write",    "pwrite",      "pwrite64",           "writev",        "pwritev", "pwritev64",
        "pwritev2", "pwritev64v2", "mpi_point_to_point", "mpi_collective"};
    return kind < PFS_KINDS ? k_names[kind] : "unknown";
}
