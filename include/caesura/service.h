/* The C face of a service's objects: put arrays into a service, get boxes of them, find them, have
 * them analysed where they are, keep them in HDF5 files. docs/reference/objects.md says what
 * objects are; the C++ face is src/transit/client/objects.hpp.
 *
 *     caesura_objects* objects;
 *     if (caesura_objects_connect("service:unix:/run/user/1000/caesura.sock", "my program",
 *                                 &objects) != CAESURA_OK)
 *         puts(caesura_last_error());
 *     uint64_t shape[2] = {64, 64}, offset[2] = {0, 0}, id;
 *     caesura_object_create(objects, "my run", "rho", CAESURA_FLOAT32, 2, shape, NULL, &id);
 *     caesura_object_put(objects, id, 2, offset, shape, values, CAESURA_FLOAT32, NULL);
 *     caesura_ticket* running;
 *     caesura_object_run(objects, id, "stats", 0, NULL, NULL, &running);
 *     double highest;
 *     if (caesura_ticket_number(running, "max", &highest) != CAESURA_OK)
 *         puts(caesura_last_error());
 *     caesura_ticket_free(running);
 *     caesura_objects_disconnect(objects);
 *
 * Errors. Every call returns a code; caesura_last_error() (caesura/caesura.h) has the sentence, per
 * thread. A call that fails changes nothing, and sets what it was to give to NULL or 0. All calls
 * may return CAESURA_IO (the service is gone, or does not answer), CAESURA_NO_SPACE (memory, here
 * or there; too many requests) and CAESURA_INVALID_ARGUMENT (a null pointer, a number that is none
 * of an enum, a rank that is not 1 to 4, a field that is too long); the others stand beside each
 * call. Nothing is printed, nothing aborts.
 *
 * Tickets. Calls with a `ticket` begin something and return; its outcome, errors of the service
 * among them, is caesura_ticket_wait()'s. With NULL instead of a ticket they wait themselves.
 * Memory that was given to put or get is the call's until the ticket is done; freeing a ticket
 * early does not end the call.
 *
 * Shapes and boxes have one entry for each axis, the slowest first (C order), 1 to 4 axes; counts
 * are of values. Values are dense, C order, of the given type: CAESURA_FLOAT32 or CAESURA_FLOAT64.
 * Strings are UTF-8, copied, and end with '\0'.
 *
 * Threads. All calls may come from any threads at once; only a ticket's numbers and lists, and what
 * a caesura_found gives, are for one thread at a time. What is freed or disconnected is used by
 * nobody any more. A process that forks makes its own connections.
 *
 * These functions are in the library where it was built with the service (libucx-dev,
 * libsodium-dev); a program that uses them does not link without.
 */
#ifndef CAESURA_SERVICE_H
#define CAESURA_SERVICE_H

#include "caesura/caesura.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct caesura_objects caesura_objects; /* a connection to a service */
typedef struct caesura_ticket caesura_ticket;   /* something that goes on there */
typedef struct caesura_found caesura_found;     /* what a query has found */

/* ---------------------------------------------------------------------------- connection */

/* service: "service:ADDRESS", as the service prints it. application: for its status; NULL: "c".
 * *objects is to be given to caesura_objects_disconnect. Waits for the service.
 * CAESURA_UNSUPPORTED: another version; the service's refusal otherwise. */
CAESURA_API caesura_code caesura_objects_connect(const char* service, const char* application,
                                                 caesura_objects** objects);
/* Waits for what is under way, then frees. Objects that were created without `keep` go. NULL: does
 * nothing. Tickets stay good. */
CAESURA_API void caesura_objects_disconnect(caesura_objects* objects);

/* ------------------------------------------------------------------------------- tickets */

/* Waits until it is done, any number of times. The outcome: as the call that gave it says. */
CAESURA_API caesura_code caesura_ticket_wait(const caesura_ticket* ticket);
/* 1 if it is done (well or not), else 0; NULL: 1. Does not wait. */
CAESURA_API int caesura_ticket_is_done(const caesura_ticket* ticket);
/* Does not wait. NULL: does nothing. */
CAESURA_API void caesura_ticket_free(caesura_ticket* ticket);

/* What caesura_object_run() has found. These wait, and have its errors too.
 * CAESURA_INVALID_ARGUMENT: there is no result of this name, or it is of another kind. */

/* A number; counts are made doubles. */
CAESURA_API caesura_code caesura_ticket_number(caesura_ticket* ticket, const char* name,
                                               double* value);
/* A list of numbers. *values is the ticket's, until it is freed. */
CAESURA_API caesura_code caesura_ticket_list(caesura_ticket* ticket, const char* name,
                                             const double** values, size_t* count);
/* All of them as a JSON object; NaN and infinities are "nan", "inf", "-inf". *text is the ticket's,
 * until it is freed. */
CAESURA_API caesura_code caesura_ticket_json(caesura_ticket* ticket, const char** text);

/* ------------------------------------------------------------------------------- objects */

typedef struct caesura_tag {
    const char* name; /* not empty */
    const char* text;
} caesura_tag;

/* Begin with CAESURA_OBJECT_OPTIONS_DEFAULT. */
typedef struct caesura_object_options {
    size_t struct_bytes; /* sizeof(caesura_object_options): lets the struct grow */
    double time;         /* of the data, in the application's units */
    /* How far values may be off in the sink and in files: CAESURA_LOSSLESS, CAESURA_ABSOLUTE (bound
     * in units of the values) or CAESURA_POINTWISE_RELATIVE. */
    int bound_kind;
    double bound;
    int keep;                /* 1: it stays when the connection ends; 0: it goes */
    const caesura_tag* tags; /* at most 256; NULL: none */
    size_t tag_count;
} caesura_object_options;
#define CAESURA_OBJECT_OPTIONS_DEFAULT \
    { sizeof(caesura_object_options), 0.0, CAESURA_LOSSLESS, 0.0, 0, NULL, 0 }

/* A new object, or that which is there with the same names, type, shape and bound: so several
 * processes put their parts. container: any name; may be "". shape[rank], each >= 1. options NULL:
 * defaults. *id is never used again by this service. Waits for the service.
 * CAESURA_INVALID_ARGUMENT: there is another one of this name. */
CAESURA_API caesura_code caesura_object_create(caesura_objects* objects, const char* container,
                                               const char* name, int dtype, int rank,
                                               const uint64_t* shape,
                                               const caesura_object_options* options, uint64_t* id);
/* Values of a box become a region of the object, of less than 4 GiB. Waits while the service has as
 * much of this connection as it takes. CAESURA_INVALID_ARGUMENT: no such object, another type, the
 * box is not inside or lies on another region. CAESURA_NO_SPACE: neither memory nor sink has room.
 */
CAESURA_API caesura_code caesura_object_put(caesura_objects* objects, uint64_t id, int rank,
                                            const uint64_t* offset, const uint64_t* extent,
                                            const void* values, int dtype, caesura_ticket** ticket);
/* Values of a box, from wherever they lie, into `values`: room for as many as the box has. Does not
 * wait. CAESURA_INVALID_ARGUMENT: no such object, or another user's; box; another type.
 * CAESURA_INSUFFICIENT_DATA: values are not there. CAESURA_CORRUPT: a file is damaged. After an
 * error there is nothing of use in `values`. */
CAESURA_API caesura_code caesura_object_get(caesura_objects* objects, uint64_t id, int rank,
                                            const uint64_t* offset, const uint64_t* extent,
                                            void* values, int dtype, caesura_ticket** ticket);
/* An object that was put. Files that have it stay. Waits for the service.
 * CAESURA_INVALID_ARGUMENT: no such object of this user's, or a file's. */
CAESURA_API caesura_code caesura_object_delete(caesura_objects* objects, uint64_t id);

/* An analysis, "histogram(bins=64)", of a box, or of all of the object where offset and extent are
 * NULL (rank is not looked at then). Its results are the ticket's, and stay with the object if it
 * was all of it. *ticket is to be freed; NULL: only for what stays.
 * Errors: those of caesura_object_get; CAESURA_INVALID_ARGUMENT: the call, saying why. */
CAESURA_API caesura_code caesura_object_run(caesura_objects* objects, uint64_t id, const char* call,
                                            int rank, const uint64_t* offset,
                                            const uint64_t* extent, caesura_ticket** ticket);
/* What can be run, as text; *text is to be given to caesura_text_free. Waits for the service. */
CAESURA_API caesura_code caesura_objects_functions(caesura_objects* objects, char** text);
/* NULL: does nothing. */
CAESURA_API void caesura_text_free(char* text);

/* ---------------------------------------------------------------------------------- find */

/* What objects are to have; what is not set counts for nothing. Begin with CAESURA_QUERY_DEFAULT.
 */
typedef struct caesura_query {
    size_t struct_bytes;     /* sizeof(caesura_query): lets the struct grow */
    const char* container;   /* exactly; a file's absolute path lists it; NULL: any */
    const char* name;        /* with * and ? as in a shell; NULL: any */
    const caesura_tag* tags; /* all of them; NULL: none */
    size_t tag_count;
    int has_times; /* 1: time in [first_time, last_time] */
    double first_time, last_time;
    int has_values; /* 1: with a region that may have a value in [lowest, highest] */
    double lowest, highest;
    /* 1: list them; with has_values those alone that may have one. None of an object of which more
     * are found than an answer holds, some 300,000. */
    int regions;
} caesura_query;
#define CAESURA_QUERY_DEFAULT \
    { sizeof(caesura_query), NULL, NULL, NULL, 0, 0, 0.0, 0.0, 0, 0.0, 0.0, 0 }

enum { CAESURA_PUT = 0, CAESURA_DUMPED = 1, CAESURA_FILED = 2 }; /* where objects come from */
enum {                                                           /* where regions lie */
       CAESURA_IN_MEMORY = 0,
       CAESURA_IN_SINK = 1,
       CAESURA_IN_FILE = 2,
       CAESURA_PASSING = 3,   /* has come and cannot be read yet */
       CAESURA_IN_MEMBER = 4, /* another service's memory */
       CAESURA_IN_DEVICE = 5  /* a device's memory, and the sink or a file as well */
};

/* An object. Texts and arrays are the caesura_found's. Set struct_bytes before the call. The order
 * is pinned; new members are added at the end. */
typedef struct caesura_object_info {
    size_t struct_bytes; /* sizeof(caesura_object_info): lets the struct grow */
    uint64_t id;
    int origin; /* CAESURA_PUT, ... */
    int dtype;
    int rank;
    int bound_kind;    /* CAESURA_LOSSLESS, ... */
    uint64_t shape[4]; /* 0 beyond the rank */
    double bound;
    double time;
    const char* container;
    const char* name;
    const char* owner;
    uint64_t values; /* that are there */
    int has_range;   /* 1: all are known to lie in [lowest, highest], NaN and infinities aside */
    double lowest, highest; /* lowest > highest: no value is finite */
    const caesura_tag* tags;
    size_t tag_count;
    size_t region_count; /* listed */
    size_t result_count;
} caesura_object_info;

/* A box of an object. Set struct_bytes before the call. */
typedef struct caesura_region_info {
    size_t struct_bytes; /* sizeof(caesura_region_info): lets the struct grow */
    int rank;
    int place; /* CAESURA_IN_MEMORY, ... */
    uint64_t offset[4], extent[4];
    int has_range; /* as above, of its values */
    double lowest, highest;
} caesura_region_info;

/* All objects that fit and that this user may read. query NULL: any. *found is to be freed. Waits
 * for the service; with has_values a file's regions are decoded when they are first asked of.
 * CAESURA_INVALID_ARGUMENT: the query; a path outside this user's directories. CAESURA_CORRUPT and
 * others of a file that cannot be read. */
CAESURA_API caesura_code caesura_objects_find(caesura_objects* objects, const caesura_query* query,
                                              caesura_found** found);
CAESURA_API size_t caesura_found_count(const caesura_found* found); /* NULL: 0 */
/* CAESURA_INVALID_ARGUMENT: there is no such number; struct_bytes was not set. */
CAESURA_API caesura_code caesura_found_object(const caesura_found* found, size_t number,
                                              caesura_object_info* info);
CAESURA_API caesura_code caesura_found_region(const caesura_found* found, size_t number,
                                              size_t region, caesura_region_info* info);
/* A call whose results stay with the object, and these as JSON. Both are the caesura_found's. */
CAESURA_API caesura_code caesura_found_result(const caesura_found* found, size_t number,
                                              size_t result, const char** call, const char** json);
/* By the value range: regions that may have such a value, and that need not be read. */
CAESURA_API uint64_t caesura_found_regions_kept(const caesura_found* found);
CAESURA_API uint64_t caesura_found_regions_skipped(const caesura_found* found);
/* NULL: does nothing. */
CAESURA_API void caesura_found_free(caesura_found* found);

/* --------------------------------------------------------------------------------- files */

/* Begin with CAESURA_PERSIST_DEFAULT; then set path, and container or objects. */
typedef struct caesura_persist {
    size_t struct_bytes;     /* sizeof(caesura_persist): lets the struct grow */
    const char* path;        /* of a new file, absolute, in this user's directories */
    const char* container;   /* all that were put into it; or */
    const uint64_t* objects; /* these */
    size_t object_count;
    const char* codec; /* NULL: "caesura"; as caesura_options.codec */
    int has_bound;     /* 0: each object's own; 1: the following */
    int bound_kind;    /* as caesura_object_options.bound_kind */
    double bound;
} caesura_persist;
#define CAESURA_PERSIST_DEFAULT \
    { sizeof(caesura_persist), NULL, NULL, NULL, 0, NULL, 0, CAESURA_LOSSLESS, 0.0 }

/* Objects that were put become datasets /data/0/meshes/NAME of a new HDF5 file, compressed, with
 * what is known of them as attributes. The ticket is done once the file has committed them, on the
 * disk; from then on their regions may leave the service's memory for it. After an error they are
 * as before. Takes of the service's memory a few chunks for each worker. CAESURA_INVALID_ARGUMENT:
 * no such object of this user's, or one that was not put; a name that openPMD has not; path, codec,
 * bound; a file that has something in it. CAESURA_INSUFFICIENT_DATA: values have not been put.
 * CAESURA_NO_SPACE, CAESURA_IO: the file. CAESURA_UNSUPPORTED: the codec is not there. */
CAESURA_API caesura_code caesura_objects_persist(caesura_objects* objects,
                                                 const caesura_persist* what,
                                                 caesura_ticket** ticket);

#ifdef __cplusplus
}
#endif
#endif /* CAESURA_SERVICE_H */
