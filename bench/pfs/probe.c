/* pfs_probe: writes to a file through one named call of the write family, for pfs_test.
 *
 *   pfs_probe FILE CALL BYTES COUNT     CALL: write, pwrite, ..., fsync, fdatasync
 *
 * Exit status 0 if every call did what it was asked to. Bytes are written at increasing offsets;
 * byte i of the file is i mod 251. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t call_once(const char* call, int fd, char* data, size_t bytes, off64_t at) {
    struct iovec halves[2] = {{data, bytes / 2}, {data + bytes / 2, bytes - bytes / 2}};
    if (!strcmp(call, "write")) return write(fd, data, bytes);
    if (!strcmp(call, "pwrite")) return pwrite(fd, data, bytes, at);
    if (!strcmp(call, "pwrite64")) return pwrite64(fd, data, bytes, at);
    if (!strcmp(call, "writev")) return writev(fd, halves, 2);
    if (!strcmp(call, "pwritev")) return pwritev(fd, halves, 2, at);
    if (!strcmp(call, "pwritev64")) return pwritev64(fd, halves, 2, at);
    if (!strcmp(call, "pwritev2")) return pwritev2(fd, halves, 2, at, 0);
    if (!strcmp(call, "pwritev64v2")) return pwritev64v2(fd, halves, 2, at, 0);
    if (!strcmp(call, "fsync")) return fsync(fd) == 0 ? (ssize_t)bytes : -1;
    if (!strcmp(call, "fdatasync")) return fdatasync(fd) == 0 ? (ssize_t)bytes : -1;
    errno = ENOSYS;
    return -1;
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: pfs_probe FILE CALL BYTES COUNT\n");
        return 2;
    }
    size_t bytes = strtoull(argv[3], NULL, 10);
    long count = strtol(argv[4], NULL, 10);
    char* data = malloc(bytes ? bytes : 1);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!data || fd < 0) {
        perror(argv[1]);
        return 1;
    }
    for (long i = 0; i < count; ++i) {
        off64_t at = (off64_t)i * (off64_t)bytes;
        for (size_t k = 0; k < bytes; ++k) data[k] = (char)(((uint64_t)at + k) % 251);
        if (call_once(argv[2], fd, data, bytes, at) != (ssize_t)bytes) {
            perror(argv[2]);
            return 1;
        }
    }
    free(data);
    return close(fd) == 0 ? 0 : 1;
}
