/* libpfs.so: load it with LD_PRELOAD to give a program the write bandwidth of a parallel file
 * system. Every call of the write family on a regular file under PFS_ROOT is really done and then
 * returns when its last byte has passed the node's bucket (bucket.h). See README.md.
 *
 * Invariants:
 *  - No state per descriptor: each call asks the kernel what the descriptor is (two system calls,
 *    some microseconds), so nothing can be stale after close, dup, fork, rename or exec.
 *  - Results and errno are those of the real call. What failed is not charged.
 *  - After initialisation only async-signal-safe functions are called, as write() promises.
 */
#define _GNU_SOURCE
/* Without this glibc's headers would rename pwrite to pwrite64 and the two could not both exist. */
#undef _FILE_OFFSET_BITS
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bucket.h"

#define PFS_EXPORT __attribute__((visibility("default")))

enum { k_max_roots = 16 };

static struct {
    struct pfs_link link;
    int n_roots;
    char roots[k_max_roots][PATH_MAX];
    int pass_fsync;
} g_pfs;

static struct {
    ssize_t (*write)(int, const void*, size_t);
    ssize_t (*pwrite)(int, const void*, size_t, off_t);
    ssize_t (*pwrite64)(int, const void*, size_t, off64_t);
    ssize_t (*writev)(int, const struct iovec*, int);
    ssize_t (*pwritev)(int, const struct iovec*, int, off_t);
    ssize_t (*pwritev64)(int, const struct iovec*, int, off64_t);
    ssize_t (*pwritev2)(int, const struct iovec*, int, off_t, int);
    ssize_t (*pwritev64v2)(int, const struct iovec*, int, off64_t, int);
    int (*fsync)(int);
    int (*fdatasync)(int);
} g_real;

static pthread_once_t g_once = PTHREAD_ONCE_INIT;

/* ISO C has no conversion from void* to a function pointer; copying the bits is what POSIX says. */
static void find(void* slot, const char* name) {
    void* symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {
        fprintf(stderr, "pfs: this C library has no %s()\n", name);
        _exit(127);
    }
    memcpy(slot, &symbol, sizeof symbol);
}

static void read_roots(const char* list) {
    while (list && *list) {
        size_t length = strcspn(list, ":");
        char part[PATH_MAX];
        if (length > 0 && length < sizeof part) {
            memcpy(part, list, length);
            part[length] = '\0';
            if (g_pfs.n_roots == k_max_roots) {
                fprintf(stderr, "pfs: PFS_ROOT names more than %d directories\n", k_max_roots);
                _exit(127);
            }
            char* root = g_pfs.roots[g_pfs.n_roots++];
            /* A root that does not exist yet is taken as written. */
            if (!realpath(part, root)) strcpy(root, part);
        }
        list += length + (list[length] == ':');
    }
}

static void initialise(void) {
    find(&g_real.write, "write");
    find(&g_real.pwrite, "pwrite");
    find(&g_real.pwrite64, "pwrite64");
    find(&g_real.writev, "writev");
    find(&g_real.pwritev, "pwritev");
    find(&g_real.pwritev64, "pwritev64");
    find(&g_real.pwritev2, "pwritev2");
    find(&g_real.pwritev64v2, "pwritev64v2");
    find(&g_real.fsync, "fsync");
    find(&g_real.fdatasync, "fdatasync");
    read_roots(getenv("PFS_ROOT"));
    if (g_pfs.n_roots == 0) return; /* loaded, but nothing to emulate */
    const char* fsync_mode = getenv("PFS_FSYNC");
    g_pfs.pass_fsync = fsync_mode && strcmp(fsync_mode, "pass") == 0;
    if (fsync_mode && *fsync_mode && !g_pfs.pass_fsync && strcmp(fsync_mode, "skip") != 0) {
        fprintf(stderr, "pfs: PFS_FSYNC='%s': must be pass or skip\n", fsync_mode);
        _exit(127);
    }
    pfs_link_open(&g_pfs.link);
}

/* Whatever goes wrong is said at the program's start, not at its first write. */
__attribute__((constructor)) static void start(void) { pthread_once(&g_once, initialise); }

/* Whether `fd` is a regular file under one of the roots. Keeps errno. */
static int is_charged(int fd) {
    if (g_pfs.n_roots == 0) return 0;
    int saved = errno;
    int charged = 0;
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        char link_path[32] = "/proc/self/fd/";
        char digits[12];
        int n = 0; /* snprintf is not async-signal-safe */
        for (unsigned value = (unsigned)fd; n == 0 || value > 0; value /= 10) {
            digits[n++] = (char)('0' + value % 10);
        }
        char* end = link_path + strlen(link_path);
        while (n > 0) *end++ = digits[--n];
        *end = '\0';
        char path[PATH_MAX];
        ssize_t length = readlink(link_path, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = '\0';
        for (int i = 0; i < g_pfs.n_roots && !charged; ++i) {
            size_t root_length = strlen(g_pfs.roots[i]);
            charged = strncmp(path, g_pfs.roots[i], root_length) == 0 &&
                      (path[root_length] == '/' || g_pfs.roots[i][root_length - 1] == '/');
        }
    }
    errno = saved;
    return charged;
}

/* The real write comes first, so that its own time runs while the emulated time does. */
#define PFS_WRITE_CALL(kind, fd, call)                                    \
    do {                                                                  \
        pthread_once(&g_once, initialise);                                \
        if (!is_charged(fd)) return call;                                 \
        uint64_t arrival_ns = pfs_now_ns();                               \
        ssize_t written = call;                                           \
        if (written > 0) {                                                \
            int saved = errno;                                            \
            pfs_charge(&g_pfs.link, kind, (uint64_t)written, arrival_ns); \
            errno = saved;                                                \
        }                                                                 \
        return written;                                                   \
    } while (0)

PFS_EXPORT ssize_t write(int fd, const void* data, size_t size) {
    PFS_WRITE_CALL(PFS_WRITE, fd, g_real.write(fd, data, size));
}

PFS_EXPORT ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
    PFS_WRITE_CALL(PFS_PWRITE, fd, g_real.pwrite(fd, data, size, offset));
}

PFS_EXPORT ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
    PFS_WRITE_CALL(PFS_PWRITE64, fd, g_real.pwrite64(fd, data, size, offset));
}

PFS_EXPORT ssize_t writev(int fd, const struct iovec* parts, int n) {
    PFS_WRITE_CALL(PFS_WRITEV, fd, g_real.writev(fd, parts, n));
}

PFS_EXPORT ssize_t pwritev(int fd, const struct iovec* parts, int n, off_t offset) {
    PFS_WRITE_CALL(PFS_PWRITEV, fd, g_real.pwritev(fd, parts, n, offset));
}

PFS_EXPORT ssize_t pwritev64(int fd, const struct iovec* parts, int n, off64_t offset) {
    PFS_WRITE_CALL(PFS_PWRITEV64, fd, g_real.pwritev64(fd, parts, n, offset));
}

PFS_EXPORT ssize_t pwritev2(int fd, const struct iovec* parts, int n, off_t offset, int flags) {
    PFS_WRITE_CALL(PFS_PWRITEV2, fd, g_real.pwritev2(fd, parts, n, offset, flags));
}

PFS_EXPORT ssize_t pwritev64v2(int fd, const struct iovec* parts, int n, off64_t offset,
                               int flags) {
    PFS_WRITE_CALL(PFS_PWRITEV64V2, fd, g_real.pwritev64v2(fd, parts, n, offset, flags));
}

/* An emulated file system has stored a byte when the write returns, so there is nothing to flush;
 * what the local disk would need has nothing to do with the file system that is emulated. */
static int sync_call(int fd, int (*real)(int)) {
    if (!is_charged(fd)) return real(fd);
    __atomic_fetch_add(
        g_pfs.pass_fsync ? &g_pfs.link.bucket->syncs_passed : &g_pfs.link.bucket->syncs_skipped, 1,
        __ATOMIC_RELAXED);
    return g_pfs.pass_fsync ? real(fd) : 0;
}

PFS_EXPORT int fsync(int fd) {
    pthread_once(&g_once, initialise);
    return sync_call(fd, g_real.fsync);
}

PFS_EXPORT int fdatasync(int fd) {
    pthread_once(&g_once, initialise);
    return sync_call(fd, g_real.fdatasync);
}
