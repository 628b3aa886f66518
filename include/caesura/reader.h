/* Reading in C: the values of any box of any field of any dump, decoded by all cores.
 *
 *     caesura_reader* reader;
 *     if (caesura_reader_open("run.h5", NULL, NULL, &reader) != CAESURA_OK)
 *         puts(caesura_last_error());
 *     size_t rho;
 *     caesura_reader_find(reader, "density", 3, &rho);
 *     uint64_t offset[3] = {5, 0, 0}, extent[3] = {1, 64, 64};
 *     caesura_reader_read(reader, rho, offset, extent, values, sizeof values, NULL);
 *     caesura_reader_close(reader);
 *
 * What is read how, names, and what calls cost and promise: caesura/reader.hpp. Codes and messages
 * are those of caesura.h. Calls may come from several threads at once, but for refresh and close.
 * Pointers that a call gives are valid until refresh or close.
 */
#ifndef CAESURA_READER_H
#define CAESURA_READER_H

#include "caesura/caesura.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct caesura_reader caesura_reader;

/* Begin with CAESURA_READER_OPTIONS_DEFAULT. */
typedef struct caesura_reader_options {
    size_t struct_bytes;  /* sizeof(caesura_reader_options): lets the struct grow */
    int threads;          /* 0: one for each core */
    int verify;           /* 1: compare checksums */
    uint64_t round_bytes; /* 0: 64 MiB; see ReaderOptions of reader.hpp */
} caesura_reader_options;
#define CAESURA_READER_OPTIONS_DEFAULT \
    { sizeof(caesura_reader_options), 0, 1, 0 }

typedef enum caesura_number_kind {
    CAESURA_NUMBER_FLOATING = 0,
    CAESURA_NUMBER_SIGNED = 1,
    CAESURA_NUMBER_UNSIGNED = 2,
    CAESURA_NUMBER_BOOL = 3,
    CAESURA_NUMBER_BFLOAT = 4 /* bfloat16 */
} caesura_number_kind;

typedef enum caesura_field_kind {
    CAESURA_FIELD_MESH = 0,
    CAESURA_FIELD_PARTICLES = 1,
    CAESURA_FIELD_OTHER = 2
} caesura_field_kind;

/* One field in one dump. Set struct_bytes to sizeof(caesura_field_info) before the call. */
typedef struct caesura_field_info {
    size_t struct_bytes;
    int kind;         /* caesura_field_kind */
    const char* name; /* "density", "E/x", "electrons/position/x" */
    const char* path; /* in the file */
    const char* codec;
    uint64_t iteration;
    int number_kind;     /* caesura_number_kind */
    size_t number_bytes; /* of one number, this machine's byte order */
    size_t members;      /* numbers of a value: 1, or those of a compound */
    int rank;            /* 1 to 4 axes, slowest first */
    uint64_t shape[4], chunk[4];
    int bound_known; /* 0: of another's codec */
    int bound_kind;  /* caesura_bound_kind; 3: point-wise relative, 4: PSNR in dB */
    double bound;
    uint64_t raw_bytes, stored_bytes;
    double unit_si, grid_unit_si;
    int has_grid; /* 1: the next two are from the file, else 1 and 0 */
    double grid_spacing[4], grid_offset[4];
} caesura_field_info;

typedef struct caesura_dump_info {
    size_t struct_bytes;
    uint64_t iteration;
    double time, dt, time_unit_si;
    size_t fields; /* how many */
} caesura_dump_info;

/* communicator: NULL, or one that makes open, refresh and read_all collective; it is taken over,
 * also after an error. options may be NULL. *reader is NULL after an error. */
CAESURA_API caesura_code caesura_reader_open(const char* path,
                                             const caesura_communicator* communicator,
                                             const caesura_reader_options* options,
                                             caesura_reader** reader);
/* NULL is passed over. */
CAESURA_API void caesura_reader_close(caesura_reader* reader);

/* How many dumps and fields there are; each pointer may be NULL. */
CAESURA_API caesura_code caesura_reader_count(const caesura_reader* reader, size_t* dumps,
                                              size_t* fields);
CAESURA_API caesura_code caesura_reader_dump(const caesura_reader* reader, size_t dump,
                                             caesura_dump_info* info);
CAESURA_API caesura_code caesura_reader_field(const caesura_reader* reader, size_t field,
                                              caesura_field_info* info);
/* Numbers of fields are valid until refresh. */
CAESURA_API caesura_code caesura_reader_find(const caesura_reader* reader, const char* name,
                                             uint64_t iteration, size_t* field);
CAESURA_API caesura_code caesura_reader_find_path(const caesura_reader* reader, const char* path,
                                                  size_t* field);

/* An attribute of a field or else of its record: numbers, as doubles. *count: how many there are,
 * of which at most `room` are copied. CAESURA_INVALID_ARGUMENT if there is none, or no numbers. */
CAESURA_API caesura_code caesura_reader_numbers(const caesura_reader* reader, size_t field,
                                                const char* attribute, double* numbers, size_t room,
                                                size_t* count);
/* Likewise a text (of a list, the one with this number). */
CAESURA_API caesura_code caesura_reader_text(const caesura_reader* reader, size_t field,
                                             const char* attribute, size_t number,
                                             const char** text);

/* The values of a box; offset and extent have as many entries as the field has axes.
 * stride_bytes: NULL for a dense array in C order, which has exactly `bytes`; else from one value
 * to the next along each axis, and all values lie inside of `bytes`. */
CAESURA_API caesura_code caesura_reader_read(const caesura_reader* reader, size_t field,
                                             const uint64_t* offset, const uint64_t* extent,
                                             void* values, size_t bytes,
                                             const uint64_t* stride_bytes);
/* Collective: each rank its own field and box (an extent of 0 where it wants nothing). */
CAESURA_API caesura_code caesura_reader_read_all(caesura_reader* reader, size_t field,
                                                 const uint64_t* offset, const uint64_t* extent,
                                                 void* values, size_t bytes,
                                                 const uint64_t* stride_bytes);

/* Go on to the last committed state; *changed (may be NULL): are there other dumps or fields? */
CAESURA_API caesura_code caesura_reader_refresh(caesura_reader* reader, int* changed);

#ifdef __cplusplus
}
#endif

#endif
