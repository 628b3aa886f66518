/* The C face of Caesura: hand fields over, go on computing; they end up in one standard HDF5 file.
 *
 *     caesura_writer* writer;
 *     caesura_options options = CAESURA_OPTIONS_DEFAULT;
 *     options.codec = "sz3";
 *     if (caesura_writer_create("run.h5", NULL, &options, &writer) != CAESURA_OK)
 *         puts(caesura_last_error());
 *     uint64_t shape[3] = {64, 64, 64}, offset[3] = {0, 0, 0};
 *     uint32_t rho;
 *     caesura_define_field(writer, "rho", CAESURA_FLOAT32, 3, shape, CAESURA_ABSOLUTE, 1e-3, &rho);
 *     for (uint64_t n = 0; n < 10; ++n) {
 *         caesura_begin_iteration(writer, n);
 *         caesura_begin_dump(writer, 0.1 * n, 0.1);
 *         caesura_put(writer, rho, offset, shape, data, CAESURA_FLOAT32, 0);
 *         caesura_end_iteration(writer);
 *     }
 *     caesura_writer_close(writer);
 *
 * Every call returns a code; the sentence that explains it is caesura_last_error(), per thread.
 * Which calls are collective: as in caesura/writer.hpp (create, open, define_field, end_iteration,
 * close). A writer is used by one thread at a time. Nothing is printed, nothing aborts.
 */
#ifndef CAESURA_CAESURA_H
#define CAESURA_CAESURA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CAESURA_API __attribute__((visibility("default")))
#else
#define CAESURA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are pinned; new ones are only ever added. */
typedef enum caesura_code {
    CAESURA_OK = 0,
    CAESURA_INVALID_ARGUMENT = 1,
    CAESURA_INSUFFICIENT_DATA = 2,
    CAESURA_CORRUPT = 3,
    CAESURA_UNSUPPORTED = 4,
    CAESURA_NO_SPACE = 5,
    CAESURA_IO = 6,
    CAESURA_CANCELLED = 7,
    CAESURA_INTERNAL = 8
} caesura_code;

/* Integers are stored without loss: their bound is CAESURA_LOSSLESS. */
typedef enum caesura_dtype {
    CAESURA_FLOAT32 = 1,
    CAESURA_FLOAT64 = 2,
    CAESURA_INT8 = 3,
    CAESURA_INT16 = 4,
    CAESURA_INT32 = 5,
    CAESURA_INT64 = 6,
    CAESURA_UINT8 = 7,
    CAESURA_UINT16 = 8,
    CAESURA_UINT32 = 9,
    CAESURA_UINT64 = 10,
    CAESURA_BOOL = 11,      /* one byte each, 0 or 1; without loss */
    CAESURA_FLOAT16 = 12,   /* IEEE 754 in 16 bits */
    CAESURA_BFLOAT16 = 13,  /* the upper half of a float */
    CAESURA_COMPLEX64 = 14, /* two floats: real and imaginary part */
    CAESURA_COMPLEX128 = 15 /* two doubles */
} caesura_dtype;
typedef enum caesura_bound_kind {
    CAESURA_LOSSLESS = 0,
    CAESURA_ABSOLUTE = 1,           /* value: in units of the field */
    CAESURA_RELATIVE = 2,           /* value: share of the field's range in this dump */
    CAESURA_POINTWISE_RELATIVE = 3, /* value: share of each value's magnitude */
    CAESURA_PSNR = 4                /* value: decibels */
} caesura_bound_kind;
typedef enum caesura_lane { CAESURA_LANE_COMPRESS = 0, CAESURA_LANE_WRITE = 1 } caesura_lane;

/* What the ranks need to say to each other. Each function is collective and returns 0, or anything
 * else for a failure (sticky). caesura/mpi.h has them for MPI. Byte counts are per rank. */
typedef struct caesura_communicator {
    void* context;
    int rank, size;
    int ranks_on_node; /* 0: unknown */
    int (*barrier)(void* context);
    int (*broadcast)(void* context, void* data, size_t bytes, int root);
    /* receive holds size * bytes */
    int (*allgather)(void* context, const void* send, size_t bytes, void* receive);
    /* counts and offsets have `size` entries, in bytes */
    int (*allgatherv)(void* context, const void* send, size_t bytes, void* receive,
                      const size_t* counts, const size_t* offsets);
    int (*alltoallv)(void* context, const void* send, const size_t* send_counts,
                     const size_t* send_offsets, void* receive, const size_t* receive_counts,
                     const size_t* receive_offsets);
    /* called once, by the destruction of the writer; may be NULL */
    void (*destroy)(void* context);
} caesura_communicator;

/* Begin with CAESURA_OPTIONS_DEFAULT: not every default is 0. */
typedef struct caesura_options {
    size_t struct_bytes;          /* sizeof(caesura_options): lets the struct grow */
    const char* codec;            /* NULL: "caesura" */
    uint64_t memory_bytes;        /* 0: from the machine */
    uint64_t chunk_bytes;         /* 0: 8 MiB */
    int planning;                 /* 1; 0: first in, first out */
    int durable;                  /* 1: fsync at every commit */
    int compress_threads;         /* 0: 1 */
    const char* trace_path;       /* NULL: none */
    const char* calibration_path; /* NULL: where `caesura calibrate` puts it; "none": built-in */
    /* How jobs are ordered and space is kept; see WriterOptions in caesura/writer.hpp. */
    const char* algorithm;    /* NULL: "default" */
    const char* reserve;      /* NULL: "regions"; or "slots" */
    double reserve_sigmas;    /* 2 */
    double slot_space;        /* 1.25 */
    double slot_speed_weight; /* -1: none, slot_space counts; else 0 (space) to 1 (speed) */
    double reserve_factor;    /* 1 */
    uint64_t stripe_bytes;    /* 0: none; else a power of two from 4096 */
    /* How the lanes run; see WriterOptions. */
    int idle_priority;           /* 1; 0: compress threads keep normal priority */
    uint64_t write_buffer_bytes; /* 0: 20 MiB gathered into one write */
    int cooperative;             /* 0; 1: no compress threads, see caesura_compress_for */
    int balance_writes;          /* 1: ranks of a node write blocks for each other; 0: they do not.
                                    Off with a communicator made of functions: it has no nodes */
    double max_delay_s;          /* 0: 10 s or two intervals between dumps; see WriterOptions */
    /* Everything the library has to say to a person; called inside calls of this header, on their
     * thread. The message is valid until it returns. NULL: what a user must know goes to rank 0's
     * stderr, see WriterOptions::on_message. */
    void (*on_message)(void* context, const char* message);
    void* message_context;     /* what on_message is given */
    const char* transport;     /* NULL: none; or "service:ADDRESS", as WriterOptions::transport */
    const char* layout;        /* NULL: openPMD's; or as "/step_%06T/{field}", see WriterOptions */
    const unsigned* cd_values; /* of `codec`, as H5Pset_filter takes them; see CodecSpec */
    size_t cd_value_count;     /* 0: derived from the bound */
    /* Of every dump in transit, as WriterOptions::analyses; needs `transport`. Copied. */
    const char* const* analyses; /* NULL: none */
    size_t analysis_count;
    int verify; /* -1: where the codec needs it; 1: lossy blocks are decoded and checked; 0: not */
    /* Of a path with "%T" ("run_%06T.h5"), a series of files; see WriterOptions. */
    uint64_t dumps_per_file; /* 0: 1 */
    uint64_t pending_files;  /* 0: 4 */
} caesura_options;
#define CAESURA_OPTIONS_DEFAULT                                                                \
    {                                                                                          \
        sizeof(caesura_options), NULL, 0, 0, 1, 1, 0, NULL, NULL, NULL, NULL, 2.0, 1.25, -1.0, \
            1.0, 0, 1, 0, 0, 1, 0.0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, -1, 0, 0        \
    }

/* What some values of a field are held to; see BoundMap in caesura/bound_map.hpp. */
enum { CAESURA_IN_BOX = 0, CAESURA_OF_VALUES = 1, CAESURA_WHERE_STEEP = 2 };
typedef struct caesura_bound_rule {
    int kind;                      /* CAESURA_IN_BOX, ... */
    uint64_t offset[4], extent[4]; /* CAESURA_IN_BOX; an entry for each axis of the field */
    double lowest, highest;        /* CAESURA_OF_VALUES; both included */
    double change;                 /* CAESURA_WHERE_STEEP: from a value to a neighbour */
    double bound;                  /* in units of the field; 0: exact */
} caesura_bound_rule;

/* What a reader is told of a field, and its codec; see FieldOptions in caesura/writer.hpp. Begin
 * with CAESURA_FIELD_OPTIONS_DEFAULT. Arrays have as many entries as the field has axes; they are
 * copied. */
typedef struct caesura_field_options {
    size_t struct_bytes;            /* sizeof(caesura_field_options): lets the struct grow */
    const char* codec;              /* NULL: the writer's */
    double unit_si;                 /* 1; one unit of the values in SI units */
    double unit_dimension[7];       /* powers of L M T I theta N J (openPMD) */
    const char* const* axis_labels; /* NULL: z y x, as many as axes */
    const double* grid_spacing;     /* NULL: 1 each; in grid_unit_si */
    const double* grid_offset;      /* NULL: 0 each; in grid_unit_si */
    double grid_unit_si;            /* 1; one unit of the grid in metres */
    /* A value under several rules is held to the tightest, one under none to the field's bound,
     * which is absolute, relative or lossless. NULL: no rules. */
    const caesura_bound_rule* bound_rules;
    size_t bound_rule_count;
    int partial;       /* 1: the boxes of a dump cover any part, not all; readers find fill_value */
    double fill_value; /* 0; converted to the field's type, which must have it */
    /* NULL: fill_value; else one value of the field's type instead, such as a 64-bit integer that
     * no double has. Copied. */
    const void* fill;
    /* openPMD's. The arrays above and position have as many entries as the grid has axes: one less
     * than the field with geometry "thetaMode" and three axes, of which the first counts modes.
     * The geometry that counts is the one that this call says. */
    const char* geometry;            /* NULL: "cartesian" */
    const char* geometry_parameters; /* NULL: none; or "m=2;imag=+" */
    const char*
        data_order; /* NULL: "C", the slowest axis first in these arrays; "F": the fastest */
    const double* position;    /* NULL: 0 each; of a value in its cell, from 0 to below 1 */
    const double* time_offset; /* NULL: 0; of the values from the dump's time */
    const unsigned* cd_values; /* of `codec`, as H5Pset_filter takes them; see CodecSpec */
    size_t cd_value_count;     /* 0: derived from the bound */
    /* Values that mark a place without data, as converted to the field's type, which must have
     * them: bit for bit in the file, and in no range (docs/reference/missing_values.md). Copied. */
    const double* missing; /* NULL: none */
    size_t missing_count;  /* 0 to 255 */
} caesura_field_options;
#define CAESURA_FIELD_OPTIONS_DEFAULT                                                           \
    {                                                                                           \
        sizeof(caesura_field_options), NULL, 1.0, {0, 0, 0, 0, 0, 0, 0}, NULL, NULL, NULL, 1.0, \
            NULL, 0, 0, 0.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0               \
    }

/* What a reader is told of a record of particles, and its codec; see RecordOptions in
 * caesura/particles.hpp. Begin with CAESURA_RECORD_OPTIONS_DEFAULT. */
typedef struct caesura_record_options {
    size_t struct_bytes;      /* sizeof(caesura_record_options): lets the struct grow */
    const char* codec;        /* NULL: the writer's */
    double unit_si;           /* 1; one unit of the values in SI units */
    double unit_dimension[7]; /* powers of L M T I theta N J (openPMD) */
    double time_offset;       /* 0; in the iteration's unit of time */
    int macro_weighted;       /* 1: a value is that of all particles a macroparticle stands for */
    double weighting_power;   /* 0; of the weighting with which one becomes the other */
} caesura_record_options;
#define CAESURA_RECORD_OPTIONS_DEFAULT \
    { sizeof(caesura_record_options), NULL, 1.0, {0, 0, 0, 0, 0, 0, 0}, 0.0, 0, 0.0 }

typedef struct caesura_species_options {
    size_t struct_bytes; /* sizeof(caesura_species_options) */
    int any_order;  /* 1: particles of a chunk may change places for a better ratio, all records of
                     * a particle together; 0: as they are put */
    int keep_index; /* with any_order, 1: a record "index" says what their order was */
} caesura_species_options;
#define CAESURA_SPECIES_OPTIONS_DEFAULT \
    { sizeof(caesura_species_options), 0, 0 }

/* What of the file an attribute belongs to. */
enum {
    CAESURA_OF_FILE = 0,      /* the root group */
    CAESURA_OF_ITERATION = 1, /* /data/<n> */
    CAESURA_OF_MESHES = 2,    /* /data/<n>/meshes */
    CAESURA_OF_RECORD = 3, /* the group of "velocity/x" and its siblings; of a scalar the dataset */
    CAESURA_OF_FIELD = 4,  /* the dataset */
    CAESURA_OF_SPECIES = 5 /* /data/<n>/particles/<species> */
};
enum { CAESURA_EVERY_DUMP = 0, CAESURA_THIS_DUMP = 1 };
/* The values of an attribute: int64_t, uint64_t, double, or const char* (ended by a NUL). */
enum {
    CAESURA_ATTRIBUTE_INT64 = 1,
    CAESURA_ATTRIBUTE_UINT64 = 2,
    CAESURA_ATTRIBUTE_FLOAT64 = 3,
    CAESURA_ATTRIBUTE_TEXT = 4
};
#define CAESURA_ONE SIZE_MAX /* one value by itself; 1 would be a list of one */

/* Counters of one rank since caesura_writer_create or _open: bytes end in _bytes, seconds in _s,
 * the others are counts unless they say otherwise. Set struct_bytes before the call. The order is
 * pinned; new members are added at the end. */
typedef struct caesura_writer_report {
    size_t struct_bytes;   /* sizeof(caesura_writer_report): lets the struct grow */
    uint64_t raw_bytes;    /* of blocks that were written: as the application has them */
    uint64_t stored_bytes; /* the same blocks in the file */
    /* Over all regions, what was kept and used again once; on rank 0 also what stripes skip. */
    uint64_t reserved_bytes;
    uint64_t spare_bytes;     /* of these: in the file, unused, and kept for later dumps */
    uint64_t overflow_bytes;  /* stored beyond the regions, as sizes were predicted too small */
    uint64_t overflow_blocks; /* how many blocks that were */
    /* On rank 0: of blocks of an application's own file (the VOL connector) that a later dump has
     * written again, and of dumps that caesura_writer_open has dropped. They stay in the file,
     * unused. */
    uint64_t superseded_bytes;
    uint64_t fallback_blocks;    /* the plugin broke the bound: stored lossless */
    uint64_t raw_blocks;         /* incompressible: stored raw */
    uint64_t blocks;             /* written */
    uint64_t writes;             /* calls that wrote them, several blocks each */
    uint64_t dumps;              /* handed over */
    uint64_t recalled_blocks;    /* sizes predicted from the dump before, without a sample */
    uint64_t helped_blocks;      /* written here for other ranks of the node */
    uint64_t helped_bytes;       /* stored bytes of these */
    uint64_t taken_back_blocks;  /* another rank was to write them and did not: written here */
    double compress_s;           /* compressing, of all threads */
    double write_s;              /* writing */
    double plan_s;               /* planning */
    double predicted_compress_s; /* what compress_s was expected to be */
    double put_s;                /* the application's time inside caesura_put */
    double end_s;                /* the same inside caesura_end_iteration */
    double close_s;              /* the same inside caesura_writer_close */
    double put_wait_s;           /* of put_s, waiting for the memory budget */
    uint64_t over_budget_bytes;  /* taken beyond the budget (no older dump to drain) */
    uint64_t peak_memory_bytes;  /* most that snapshots and compressed blocks held at once */
    double max_error_over_bound; /* ratio: largest that a codec's check saw; 0: it saw none */
    double write_interference_s; /* write tasks inside write obstacles */
    /* Seen without marks, by the MPI layer and by caesura/wait.hpp. */
    double seen_computing_s;
    double seen_communicating_s;
    double seen_waiting_s;
    double seen_spinning_s;  /* of seen_communicating_s, with the core kept busy */
    uint64_t seen_intervals; /* what these add up */
    double cores;            /* this rank's share of the cores it may run on, in cores */
    /* CPU time of compress threads inside marked compress obstacles; on cores of their own it costs
     * the application nothing. */
    double compress_interference_s;
    uint64_t replans; /* plans made again because reality departed from the first */
    /* Blocks that were compressed at normal priority, because the application's pauses were too
     * short for them or because they were due (caesura_options.max_delay_s), and the
     * CPU time of it. */
    uint64_t taken_over_blocks;
    double taken_over_s;
    double longest_to_written_s;   /* of all dumps: handed over until this rank had written it */
    double longest_to_committed_s; /* the same until this rank knew that it was committed */
    uint64_t planned_dumps; /* whose plan can be held against what happened; sums over them: */
    double planned_end_s;   /* begin of the next iteration to the end of the last write */
    double actual_end_s;
    double planned_iteration_s; /* the same to the end of iteration and writes, the later one */
    double actual_iteration_s;
    double plan_deviation; /* ratio: median of |actual / planned - 1| of these */
    uint64_t lost_dumps;   /* dumps that no commit will have; 0 while all goes well */
    uint64_t lost_bytes;   /* what was put for them on this rank */
    /* How often the service was gone, and was there again; with on_loss=write this rank does its
     * work meanwhile. */
    uint64_t lost_services;
    uint64_t regained_services;
    uint64_t files;     /* made: of a series so many, else 1 */
    double file_wait_s; /* of end_s, because as many files were pending as may be */
} caesura_writer_report;

typedef struct caesura_writer caesura_writer;

/* Explanation of this thread's last code other than CAESURA_OK; valid until its next call. */
CAESURA_API const char* caesura_last_error(void);
/* "no_space" for CAESURA_NO_SPACE */
CAESURA_API const char* caesura_code_name(int code);

/* path: with "%T" or "%06T" in the file's name each dump gets a file of its own: see
 * Writer::create. communicator NULL: this process alone; else copied, its functions are used until
 * close. options NULL: defaults. *writer is NULL on error. */
CAESURA_API caesura_code caesura_writer_create(const char* path,
                                               const caesura_communicator* communicator,
                                               const caesura_options* options,
                                               caesura_writer** writer);

/* Where caesura_writer_open goes on in a file. */
typedef struct caesura_open_options {
    size_t struct_bytes; /* sizeof(caesura_open_options): lets the struct grow */
    int has_after;       /* 0: after the last committed dump, and `after` means nothing */
    uint64_t after;      /* iteration of the last dump that is kept; later ones are dropped */
} caesura_open_options;
#define CAESURA_OPEN_OPTIONS_DEFAULT \
    { sizeof(caesura_open_options), 0, 0 }

/* Collective. Goes on with a file that caesura_writer_create made, also on another number of ranks
 * or after its run was killed; see Writer::open in caesura/writer.hpp. caesura_committed says after
 * which iteration. where NULL: defaults. The rest as caesura_writer_create. */
CAESURA_API caesura_code caesura_writer_open(const char* path,
                                             const caesura_communicator* communicator,
                                             const caesura_options* options,
                                             const caesura_open_options* where,
                                             caesura_writer** writer);
/* rank: number of axes, 1 to 4; shape[rank]. bound is ignored for CAESURA_LOSSLESS. */
CAESURA_API caesura_code caesura_define_field(caesura_writer* writer, const char* name, int dtype,
                                              int rank, const uint64_t* shape, int kind,
                                              double bound, uint32_t* field);
/* The same with options; NULL: defaults. */
CAESURA_API caesura_code caesura_define_field_with(caesura_writer* writer, const char* name,
                                                   int dtype, int rank, const uint64_t* shape,
                                                   int kind, double bound,
                                                   const caesura_field_options* options,
                                                   uint32_t* field);
/* The field has another shape from the next put on, of as many axes as before. grid_offset: as
 * many entries; NULL: as before. The same calls in the same order on all ranks. */
CAESURA_API caesura_code caesura_reshape(caesura_writer* writer, uint32_t field,
                                         const uint64_t* shape, const double* grid_offset);
/* Particles. The same calls in the same order on all ranks; species before the first dump, of a
 * series before the first one of any file. */
CAESURA_API caesura_code caesura_define_species(caesura_writer* writer, const char* name,
                                                uint32_t* species);
/* The same with options; NULL: defaults. */
CAESURA_API caesura_code caesura_define_species_with(caesura_writer* writer, const char* name,
                                                     const caesura_species_options* options,
                                                     uint32_t* species);
/* *record is for caesura_put_particles. options NULL: defaults. */
CAESURA_API caesura_code caesura_define_record(caesura_writer* writer, uint32_t species,
                                               const char* name, int dtype, int kind, double bound,
                                               const caesura_record_options* options,
                                               uint32_t* record);
/* What all particles of a species have alike: a number in the file, no data. */
CAESURA_API caesura_code caesura_define_constant(caesura_writer* writer, uint32_t species,
                                                 const char* name, double value,
                                                 const caesura_record_options* options);
/* The attribute has these values in all dumps from the next end on (when: CAESURA_EVERY_DUMP), or
 * in the open one alone, where they win (CAESURA_THIS_DUMP; an error costs the dump). owner:
 * CAESURA_OF_...; field: of CAESURA_OF_RECORD (any component) and CAESURA_OF_FIELD, also a record
 * of particles; of CAESURA_OF_SPECIES the species. type:
 * CAESURA_ATTRIBUTE_...; values: `count` of them, or one with CAESURA_ONE. The same on all ranks;
 * else the end of the iteration says what differs. CAESURA_INVALID_ARGUMENT names attribute and
 * object: a name that the library needs, values that openPMD does not allow for a name of its own,
 * of the file after its first dump, too long. */
CAESURA_API caesura_code caesura_set_attribute(caesura_writer* writer, int when, int owner,
                                               uint32_t field, const char* name, int type,
                                               const void* values, size_t count);
CAESURA_API caesura_code caesura_begin_iteration(caesura_writer* writer, uint64_t number);
/* label: what kind of iteration this is ("regrid"), if there are several; NULL: none. */
CAESURA_API caesura_code caesura_begin_iteration_of(caesura_writer* writer, uint64_t number,
                                                    const char* label);
/* Between the two the application needs that lane. Marks of one lane nest. */
CAESURA_API caesura_code caesura_busy_begin(caesura_writer* writer, int lane);
CAESURA_API caesura_code caesura_busy_end(caesura_writer* writer, int lane);
/* Compress on this thread, which would wait anyway, for at most so long. *spent_s (may be NULL) is
 * less when nothing more is expected to fit, or left. */
CAESURA_API caesura_code caesura_compress_for(caesura_writer* writer, double seconds,
                                              double* spent_s);
/* Wait until done(context) is not 0 or the time is up, compressing meanwhile. *is_done (may be
 * NULL): what it said last. */
CAESURA_API caesura_code caesura_wait_until(caesura_writer* writer, int (*done)(void* context),
                                            void* context, double at_most_s, int* is_done);
CAESURA_API caesura_code caesura_begin_dump(caesura_writer* writer, double time, double dt);
/* offset, extent: as many entries as the field has axes. data: dense, C order.
 * borrow 0: copied before the call returns; 1: must stay unchanged until caesura_released.
 * Memory of a CUDA device is always copied; what fills it must be done, or be in the default
 * stream. */
CAESURA_API caesura_code caesura_put(caesura_writer* writer, uint32_t field, const uint64_t* offset,
                                     const uint64_t* extent, const void* data, int dtype,
                                     int borrow);
/* The same of values inside of a larger array, as those between ghost cells: array has
 * array_extent values, the box's first one lies at begin in it. They are copied out of it once. */
CAESURA_API caesura_code caesura_put_within(caesura_writer* writer, uint32_t field,
                                            const uint64_t* offset, const uint64_t* extent,
                                            const void* array, const uint64_t* array_extent,
                                            const uint64_t* begin, int dtype, int borrow);
/* From now on values with the bits of `value`, as converted to the field's type, are missing, as
 * caesura_field_options has it: on all ranks, of which any may say it, before its puts. Local.
 * CAESURA_INVALID_ARGUMENT: outside a dump; the type has no such value, which costs the dump. */
CAESURA_API caesura_code caesura_declare_missing(caesura_writer* writer, uint32_t field,
                                                 double value);
/* What this rank's next `count` particles have in a record; 0 of them: data may be NULL. Of all
 * records of a species a rank puts as many. borrow: as above. */
CAESURA_API caesura_code caesura_put_particles(caesura_writer* writer, uint32_t record,
                                               uint64_t count, const void* data, int dtype,
                                               int borrow);
CAESURA_API caesura_code caesura_end_iteration(caesura_writer* writer);
/* 1 if data borrowed for this iteration may change, else 0. */
CAESURA_API int caesura_released(caesura_writer* writer, uint64_t iteration);
/* 1 and *iteration = the last committed dump's, or 0 if none is. */
CAESURA_API int caesura_committed(caesura_writer* writer, uint64_t* iteration);
/* Collective: commit what can be committed in about so many seconds, and go on. Not in a signal
 * handler. */
CAESURA_API caesura_code caesura_finish_by(caesura_writer* writer, double seconds);
/* This rank's counters so far; local. Members that this library does not know become 0.
 * CAESURA_INVALID_ARGUMENT: struct_bytes was not set. */
CAESURA_API caesura_code caesura_writer_get_report(caesura_writer* writer,
                                                   caesura_writer_report* report);
/* Collective. Finishes, commits, closes and frees the writer, whatever it returns. */
CAESURA_API caesura_code caesura_writer_close(caesura_writer* writer);
/* The same; *report (may be NULL) is that of the closed writer, whatever this returns. */
CAESURA_API caesura_code caesura_writer_close_and_report(caesura_writer* writer,
                                                         caesura_writer_report* report);
/* Frees without finishing and without communicating; `caesura recover` completes the file. */
CAESURA_API void caesura_writer_abandon(caesura_writer* writer);

/* Observation, for tools that know what a thread does: around each call in which the calling thread
 * does not compute. Every writer whose iteration this thread runs takes it into account; without
 * one nothing happens. Calls nest: the outermost counts. No lock, no memory, below 100 ns.
 * From the first such call on, the time between them counts as computing, unless the application
 * marks its computing itself. libcaesura_pmpi.so does it for MPI, caesura/wait.hpp for waits. */
typedef enum caesura_doing {
    CAESURA_COMMUNICATES = 1, /* network, MPI, file system: an obstacle of the write lane */
    CAESURA_WAITS = 2         /* asleep, for a device: an obstacle of no lane */
} caesura_doing;
CAESURA_API void caesura_observe_enter(int doing);
CAESURA_API void caesura_observe_leave(int doing);

#ifdef __cplusplus
}
#endif
#endif /* CAESURA_CAESURA_H */
