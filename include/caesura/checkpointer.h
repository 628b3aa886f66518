/* Checkpoints of a simulation on a GPU in C: made one after the other, restored in any order.
 *
 *     caesura_device* device;
 *     caesura_checkpointer* checkpointer;
 *     caesura_checkpointer_options options = CAESURA_CHECKPOINTER_OPTIONS_DEFAULT;
 *     options.checkpoint_bytes = 4 * n;  options.cache_bytes = 128 << 20;
 *     options.link_bytes_per_s = 25e9;   options.curve = curve;  options.curve_points = 2;
 *     options.path = "run.h5";           options.host_bytes = 1 << 30;
 *     if (caesura_checkpointer_create(device, &options, &checkpointer) != CAESURA_OK)
 *         puts(caesura_last_error());
 *     for (step = 0; step < steps; ++step)
 *         caesura_checkpointer_checkpoint(checkpointer, step, state);
 *     while (step-- > 0) caesura_checkpointer_restore(checkpointer, step, state);
 *     caesura_checkpointer_free(checkpointer);
 *
 * What the calls do, cost and promise stands in caesura/checkpointer.hpp and
 * docs/guide/checkpoints.md; codes and messages are those of caesura.h. Nothing here is collective:
 * each process has its own device, checkpointer and file. A checkpointer and its device are used by
 * one thread at a time.
 */
#ifndef CAESURA_CHECKPOINTER_H
#define CAESURA_CHECKPOINTER_H

#include "caesura/caesura.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How long compressing so many bytes at once takes. */
typedef struct caesura_compress_point {
    double bytes;
    double seconds;
} caesura_compress_point;

typedef struct caesura_device caesura_device;

/* A device in host memory with a virtual clock (caesura/device.hpp, EmulatedDevice): pointers given
 * to it are the host's, and its times are a model's. memory_bytes: what may be allocated in it, the
 * cache of its checkpointers included. curve: points of them, at least one, ascending bytes. */
CAESURA_API caesura_code caesura_device_create_emulated(uint64_t memory_bytes,
                                                        double link_bytes_per_s,
                                                        double copy_bytes_per_s,
                                                        const caesura_compress_point* curve,
                                                        size_t points, caesura_device** device);
/* A GPU of CUDA (caesura/device.hpp; compiled and linked, not yet run on a GPU): pointers
 * given to it are that GPU's. ordinal: as cudaSetDevice() counts. stream: the application's
 * cudaStream_t on it, which must outlive the device; NULL: the default one. CAESURA_UNSUPPORTED,
 * and the message says which, where this library was built without CUDA, or driver or GPU are
 * missing. */
CAESURA_API caesura_code caesura_device_create_cuda(int ordinal, void* stream,
                                                    caesura_device** device);
/* Of an emulated device: the application computes for so long. */
CAESURA_API caesura_code caesura_device_work(caesura_device* device, double seconds);
/* Seconds of the device's clock; -1 for NULL. */
CAESURA_API double caesura_device_now_s(caesura_device* device);
/* After its checkpointers. NULL is passed over. */
CAESURA_API void caesura_device_free(caesura_device* device);

typedef struct caesura_checkpointer caesura_checkpointer;

/* Begin with CAESURA_CHECKPOINTER_OPTIONS_DEFAULT. What pointers lead to is copied. */
typedef struct caesura_checkpointer_options {
    size_t struct_bytes; /* sizeof(caesura_checkpointer_options): lets the struct grow */
    uint64_t checkpoint_bytes;
    uint64_t cache_bytes; /* of the device's memory, at most */
    double link_bytes_per_s;
    const caesura_compress_point* curve;
    size_t curve_points;
    /* NULL, or what caesura_checkpointer_profile() gave of another run: it stands in place of the
     * five above. */
    const char* profile;
    /* What a checkpoint is. rank 0: bytes. A bound needs a shape; kind: CAESURA_LOSSLESS or
     * CAESURA_ABSOLUTE. */
    int dtype;
    int rank; /* 0 to 4 */
    uint64_t shape[4];
    int kind;
    double bound;
    /* NULL, or the HDF5 file to which those go that the host has no room for. */
    const char* path;
    uint64_t host_bytes;   /* 0: no limit; else at least three times cache_bytes, and a path */
    int write_all;         /* 1: written as soon as they have arrived */
    int durable;           /* 1: wait for the disk; 0: safe against the end of the process only */
    double commit_every_s; /* 1 */
    uint64_t checkpoints;  /* how many are going to be made; 0: nobody knows. It may be wrong. */
} caesura_checkpointer_options;
#define CAESURA_CHECKPOINTER_OPTIONS_DEFAULT                                                \
    {                                                                                       \
        sizeof(caesura_checkpointer_options), 0, 0, 0.0, NULL, 0, NULL, CAESURA_FLOAT32, 0, \
            {0, 0, 0, 0}, CAESURA_LOSSLESS, 0.0, NULL, 0, 0, 1, 1.0, 0                      \
    }

/* device must outlive the checkpointer. A file at options->path is emptied, unless the options are
 * refused: then it is as it was. *checkpointer is NULL on error. */
CAESURA_API caesura_code caesura_checkpointer_create(caesura_device* device,
                                                     const caesura_checkpointer_options* options,
                                                     caesura_checkpointer** checkpointer);
/* The same on the file of an earlier process, killed or not: its checkpoints can be restored, and
 * more be made. */
CAESURA_API caesura_code caesura_checkpointer_reopen(caesura_device* device,
                                                     const caesura_checkpointer_options* options,
                                                     caesura_checkpointer** checkpointer);
/* data: checkpoint_bytes of the device; the caller's again on return. CAESURA_NO_SPACE: the disk is
 * full, nothing has happened, and it may be called again. */
CAESURA_API caesura_code caesura_checkpointer_checkpoint(caesura_checkpointer* checkpointer,
                                                         uint64_t id, const void* data);
/* data: checkpoint_bytes of the device, filled on return. */
CAESURA_API caesura_code caesura_checkpointer_restore(caesura_checkpointer* checkpointer,
                                                      uint64_t id, void* data);
/* Everything made so far is at the host. */
CAESURA_API caesura_code caesura_checkpointer_flush(caesura_checkpointer* checkpointer);
/* Everything made so far is in the file, and outlives the process. */
CAESURA_API caesura_code caesura_checkpointer_save(caesura_checkpointer* checkpointer);
/* *count = how many there are; the first `room` of them go to ids, in the order in which they were
 * made. */
CAESURA_API caesura_code caesura_checkpointer_ids(caesura_checkpointer* checkpointer, uint64_t* ids,
                                                  size_t room, size_t* count);
/* This run as JSON, for the next one of the ensemble: *bytes = its length without the closing 0;
 * copied to text, closed, if room is larger than that. */
CAESURA_API caesura_code caesura_checkpointer_profile(caesura_checkpointer* checkpointer,
                                                      char* text, size_t room, size_t* bytes);

/* As CheckpointerReport in caesura/checkpointer.hpp. Set struct_bytes before the call. */
typedef struct caesura_checkpointer_report {
    size_t struct_bytes; /* sizeof(caesura_checkpointer_report) */
    uint64_t checkpoints;
    double checkpoint_s, restore_s; /* of the device's clock */
    uint64_t raw_bytes, link_bytes; /* made; what they came to on the link */
    uint64_t restores, prefetched;
    uint64_t peak_cache_bytes, peak_host_bytes;
    uint64_t written_bytes;     /* to the file */
    uint64_t reads, read_ahead; /* parcels from it; before they were asked for */
    double store_wait_s;        /* of real time */
} caesura_checkpointer_report;
CAESURA_API caesura_code caesura_checkpointer_get_report(caesura_checkpointer* checkpointer,
                                                         caesura_checkpointer_report* report);
/* Saves nothing: what is to stay needs caesura_checkpointer_save. NULL is passed over. */
CAESURA_API void caesura_checkpointer_free(caesura_checkpointer* checkpointer);

#ifdef __cplusplus
}
#endif
#endif /* CAESURA_CHECKPOINTER_H */
