/* Functions on data in transit, from a shared object of your own: analyses and transforms that the
 * service runs beside those it has.
 *
 *     static int direct(const caesura_lambda_args* args, const caesura_lambda_region* region,
 *                       const caesura_lambda_results* results, char* message) { ... }
 *     static const caesura_lambda_function functions[] = {{
 *         .struct_bytes = sizeof(caesura_lambda_function), .name = "positive",
 *         .help = "How many values are greater than 0.", .direct = direct}};
 *     CAESURA_LAMBDA_PLUGIN(functions, 1)
 *
 * The shared object lies in a directory that the operator of the service configured; directory and
 * file belong to the operator or root and nobody else may write them. No client can name one.
 *
 * What holds for every function here:
 *  - It returns CAESURA_LAMBDA_OK, or another code and a sentence in `message`.
 *  - It is called by any thread, by several at once; a state by one at a time.
 *  - What pointers lead to lives for the call. Values are dense, C order, aligned.
 *  - It runs inside the service: a crash of it is one of the service, and no C++ exception may
 *    leave it. (Functions in Python run in a process of their own.)
 *
 * This header is pinned: structs grow at their ends only, and struct_bytes says what is there.
 */
#ifndef CAESURA_LAMBDA_H
#define CAESURA_LAMBDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAESURA_LAMBDA_ABI 1
/* Room for a message with its 0 at the end. */
#define CAESURA_LAMBDA_MESSAGE_BYTES 512

/* The numbers are those of caesura_code in caesura.h. */
enum {
    CAESURA_LAMBDA_OK = 0,
    CAESURA_LAMBDA_INVALID_ARGUMENT = 1,
    CAESURA_LAMBDA_CORRUPT = 3,
    CAESURA_LAMBDA_UNSUPPORTED = 4,
    CAESURA_LAMBDA_NO_SPACE = 5,
    CAESURA_LAMBDA_INTERNAL = 8
};

enum { CAESURA_LAMBDA_FLOAT32 = 1, CAESURA_LAMBDA_FLOAT64 = 2 };

/* A part of an object. */
typedef struct caesura_lambda_region {
    size_t struct_bytes;
    const char* object; /* name */
    uint64_t id;        /* of the object */
    int dtype;
    int rank;           /* 1 to 4 */
    uint64_t shape[4];  /* of the object */
    uint64_t offset[4]; /* of the region in it */
    uint64_t extent[4];
    double time;
    const char* owner;
    size_t tags;
    const char* const* tag_names;
    const char* const* tag_values;
    const void* values; /* of extent; NULL for a transform, which gets bytes */
    uint64_t values_bytes;
} caesura_lambda_region;

/* The arguments of a call, complete and in range. A name that the function does not have, or of
 * another type, gives 0 (has), 0.0 or NULL. */
typedef struct caesura_lambda_args {
    size_t struct_bytes;
    const void* context; /* not yours */
    int (*has)(const void* context, const char* name);
    double (*number)(const void* context, const char* name); /* of numbers and whole numbers */
    int64_t (*whole)(const void* context, const char* name);
    const char* (*text)(const void* context, const char* name);
} caesura_lambda_args;

/* Where an analysis puts what it found. Names and texts are UTF-8; a name that comes again
 * replaces. */
typedef struct caesura_lambda_results {
    size_t struct_bytes;
    void* context; /* not yours */
    void (*whole)(void* context, const char* name, int64_t value);
    void (*number)(void* context, const char* name, double value);
    void (*text)(void* context, const char* name, const char* value);
    void (*wholes)(void* context, const char* name, const int64_t* values, size_t n);
    void (*numbers)(void* context, const char* name, const double* values, size_t n);
} caesura_lambda_results;

/* The regions of an object, in any order. next: sets *region, valid until the next call, or NULL
 * after the last; on another code than OK return it. */
typedef struct caesura_lambda_regions {
    size_t struct_bytes;
    void* context; /* not yours */
    int (*next)(void* context, const caesura_lambda_region** region);
} caesura_lambda_regions;

/* Where bytes go, as many pieces as you like. Returns OK or NO_SPACE. */
typedef struct caesura_lambda_output {
    size_t struct_bytes;
    void* context; /* not yours */
    int (*write)(void* context, const void* bytes, size_t n);
} caesura_lambda_output;

enum { CAESURA_LAMBDA_WHOLE = 0, CAESURA_LAMBDA_NUMBER = 1, CAESURA_LAMBDA_TEXT = 2 };

typedef struct caesura_lambda_parameter {
    size_t struct_bytes;
    const char* name; /* a to z, 0 to 9 and _ */
    int type;
    const char* help;     /* one sentence */
    const char* fallback; /* as written in a call; NULL: it has to be given */
} caesura_lambda_parameter;

/* An analysis whose states merge, so that servers share its work. All of these or none. */
typedef struct caesura_lambda_state {
    size_t struct_bytes;
    int (*create)(const caesura_lambda_args* args, void** state, char* message);
    void (*destroy)(void* state);
    int (*add)(void* state, const caesura_lambda_region* region, char* message);
    int (*merge)(void* state, const void* other, char* message);
    int (*finish)(const void* state, const caesura_lambda_results* results, char* message);
    int (*save)(const void* state, const caesura_lambda_output* output, char* message);
    /* Into a state fresh from create. The bytes may be anything: check them. */
    int (*load)(void* state, const void* bytes, size_t n, char* message);
} caesura_lambda_state;

/* One function: an analysis has one of direct, iterative and state; a transform has apply and
 * invert. The others are NULL. */
typedef struct caesura_lambda_function {
    size_t struct_bytes;
    const char* name; /* a to z, 0 to 9, _ and . */
    const char* help; /* one sentence */
    const caesura_lambda_parameter* parameters;
    size_t n_parameters;
    /* Of one region. */
    int (*direct)(const caesura_lambda_args* args, const caesura_lambda_region* region,
                  const caesura_lambda_results* results, char* message);
    /* Of a whole object, region by region. */
    int (*iterative)(const caesura_lambda_args* args, const caesura_lambda_regions* regions,
                     const caesura_lambda_results* results, char* message);
    const caesura_lambda_state* state;
    /* Bytes become other bytes. settings: what invert has to know, at most 255 bytes. */
    int (*apply)(const caesura_lambda_args* args, const caesura_lambda_region* region,
                 const void* bytes, size_t n, const caesura_lambda_output* output,
                 const caesura_lambda_output* settings, char* message);
    /* The way back, to exactly `size` bytes. Bytes and settings may be anything: check them. */
    int (*invert)(const caesura_lambda_region* region, const void* bytes, size_t n,
                  const void* settings, size_t n_settings, uint64_t size,
                  const caesura_lambda_output* output, char* message);
} caesura_lambda_function;

typedef struct caesura_lambda_plugin {
    uint32_t abi; /* CAESURA_LAMBDA_ABI */
    size_t n_functions;
    const caesura_lambda_function* functions;
} caesura_lambda_plugin;

#if defined(__GNUC__)
#define CAESURA_LAMBDA_EXPORT __attribute__((visibility("default")))
#else
#define CAESURA_LAMBDA_EXPORT
#endif

/* What the service looks up. Lives as long as the shared object. */
CAESURA_LAMBDA_EXPORT const caesura_lambda_plugin* caesura_lambda_plugin_functions(void);

#define CAESURA_LAMBDA_PLUGIN(list, n)                                               \
    const caesura_lambda_plugin* caesura_lambda_plugin_functions(void) {             \
        static const caesura_lambda_plugin plugin = {CAESURA_LAMBDA_ABI, (n), list}; \
        return &plugin;                                                              \
    }

#ifdef __cplusplus
}
#endif

#endif
