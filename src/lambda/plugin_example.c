/* An example of a plugin: a direct, an iterative and a mergeable analysis, and a transform. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caesura/lambda.h"

static double value_at(const caesura_lambda_region* region, uint64_t i) {
    return region->dtype == CAESURA_LAMBDA_FLOAT32 ? (double)((const float*)region->values)[i]
                                                   : ((const double*)region->values)[i];
}

static uint64_t count_of(const caesura_lambda_region* region) {
    return region->values_bytes / (region->dtype == CAESURA_LAMBDA_FLOAT32 ? 4 : 8);
}

static int64_t count_above(const caesura_lambda_region* region, double limit) {
    int64_t n = 0;
    for (uint64_t i = 0; i < count_of(region); ++i) n += value_at(region, i) > limit;
    return n;
}

/* direct: how many values of a region are above a limit, and what is known of the region */
static int above_direct(const caesura_lambda_args* args, const caesura_lambda_region* region,
                        const caesura_lambda_results* results, char* message) {
    const double limit = args->number(args->context, "limit");
    if (limit != limit) {
        snprintf(message, CAESURA_LAMBDA_MESSAGE_BYTES, "limit is no number");
        return CAESURA_LAMBDA_INVALID_ARGUMENT;
    }
    results->whole(results->context, "above", count_above(region, limit));
    results->text(results->context, "object", region->object);
    const double offset[4] = {(double)region->offset[0], (double)region->offset[1],
                              (double)region->offset[2], (double)region->offset[3]};
    results->numbers(results->context, "offset", offset, (size_t)region->rank);
    if (region->tags > 0) results->text(results->context, "tag", region->tag_values[0]);
    return CAESURA_LAMBDA_OK;
}

/* iterative: the mean of the regions' first values */
static int firsts(const caesura_lambda_args* args, const caesura_lambda_regions* regions,
                  const caesura_lambda_results* results, char* message) {
    (void)args;
    double sum = 0.0;
    int64_t n = 0;
    for (;;) {
        const caesura_lambda_region* region;
        const int code = regions->next(regions->context, &region);
        if (code != CAESURA_LAMBDA_OK) return code;
        if (!region) break;
        if (count_of(region) > 0) sum += value_at(region, 0), ++n;
    }
    if (n == 0) {
        snprintf(message, CAESURA_LAMBDA_MESSAGE_BYTES, "no region has a value");
        return CAESURA_LAMBDA_INVALID_ARGUMENT;
    }
    results->number(results->context, "mean_of_firsts", sum / (double)n);
    results->whole(results->context, "regions", n);
    return CAESURA_LAMBDA_OK;
}

/* mergeable: as above_direct, over the whole object */
typedef struct above_state {
    double limit;
    int64_t above;
} above_state;

static int above_create(const caesura_lambda_args* args, void** state, char* message) {
    above_state* made = malloc(sizeof *made);
    if (!made) {
        snprintf(message, CAESURA_LAMBDA_MESSAGE_BYTES, "no memory");
        return CAESURA_LAMBDA_NO_SPACE;
    }
    made->limit = args->number(args->context, "limit");
    made->above = 0;
    *state = made;
    return CAESURA_LAMBDA_OK;
}
static int above_add(void* state, const caesura_lambda_region* region, char* message) {
    (void)message;
    above_state* self = state;
    self->above += count_above(region, self->limit);
    return CAESURA_LAMBDA_OK;
}
static int above_merge(void* state, const void* other, char* message) {
    (void)message;
    ((above_state*)state)->above += ((const above_state*)other)->above;
    return CAESURA_LAMBDA_OK;
}
static int above_finish(const void* state, const caesura_lambda_results* results, char* message) {
    (void)message;
    results->whole(results->context, "above", ((const above_state*)state)->above);
    return CAESURA_LAMBDA_OK;
}
static int above_save(const void* state, const caesura_lambda_output* output, char* message) {
    (void)message;
    const int64_t above = ((const above_state*)state)->above;
    return output->write(output->context, &above, sizeof above);
}
static int above_load(void* state, const void* bytes, size_t n, char* message) {
    int64_t above;
    if (n != sizeof above) {
        snprintf(message, CAESURA_LAMBDA_MESSAGE_BYTES, "a state of %zu bytes", n);
        return CAESURA_LAMBDA_CORRUPT;
    }
    memcpy(&above, bytes, sizeof above);
    if (above < 0 || above > INT64_C(1) << 60) {
        snprintf(message, CAESURA_LAMBDA_MESSAGE_BYTES, "an impossible count");
        return CAESURA_LAMBDA_CORRUPT;
    }
    ((above_state*)state)->above = above;
    return CAESURA_LAMBDA_OK;
}

/* transform: every byte combined with a mask, which travels in the settings */
static int combine(const void* bytes, size_t n, unsigned char mask,
                   const caesura_lambda_output* output) {
    unsigned char piece[256];
    const unsigned char* from = bytes;
    for (size_t at = 0; at < n; at += sizeof piece) {
        const size_t length = n - at < sizeof piece ? n - at : sizeof piece;
        for (size_t i = 0; i < length; ++i) piece[i] = from[at + i] ^ mask;
        const int code = output->write(output->context, piece, length);
        if (code != CAESURA_LAMBDA_OK) return code;
    }
    return CAESURA_LAMBDA_OK;
}
static int mask_apply(const caesura_lambda_args* args, const caesura_lambda_region* region,
                      const void* bytes, size_t n, const caesura_lambda_output* output,
                      const caesura_lambda_output* settings, char* message) {
    (void)region;
    (void)message;
    const unsigned char mask = (unsigned char)args->whole(args->context, "mask");
    const int code = settings->write(settings->context, &mask, 1);
    return code == CAESURA_LAMBDA_OK ? combine(bytes, n, mask, output) : code;
}
static int mask_invert(const caesura_lambda_region* region, const void* bytes, size_t n,
                       const void* settings, size_t n_settings, uint64_t size,
                       const caesura_lambda_output* output, char* message) {
    (void)region;
    if (n_settings != 1 || n != size) {
        snprintf(message, CAESURA_LAMBDA_MESSAGE_BYTES, "masked bytes of another length");
        return CAESURA_LAMBDA_CORRUPT;
    }
    return combine(bytes, n, *(const unsigned char*)settings, output);
}

static const caesura_lambda_parameter limit_parameter[] = {{sizeof(caesura_lambda_parameter),
                                                            "limit", CAESURA_LAMBDA_NUMBER,
                                                            "What values have to pass.", "0"}};
static const caesura_lambda_parameter mask_parameter[] = {{sizeof(caesura_lambda_parameter), "mask",
                                                           CAESURA_LAMBDA_WHOLE,
                                                           "What bytes are combined with.", NULL}};
static const caesura_lambda_state above_calls = {sizeof(caesura_lambda_state),
                                                 above_create,
                                                 free,
                                                 above_add,
                                                 above_merge,
                                                 above_finish,
                                                 above_save,
                                                 above_load};
static const caesura_lambda_function functions[] = {
    {.struct_bytes = sizeof(caesura_lambda_function),
     .name = "example.above",
     .help = "How many values of a region are above a limit.",
     .parameters = limit_parameter,
     .n_parameters = 1,
     .direct = above_direct},
    {.struct_bytes = sizeof(caesura_lambda_function),
     .name = "example.firsts",
     .help = "The mean of the first values of all regions.",
     .iterative = firsts},
    {.struct_bytes = sizeof(caesura_lambda_function),
     .name = "example.above_all",
     .help = "How many values of an object are above a limit.",
     .parameters = limit_parameter,
     .n_parameters = 1,
     .state = &above_calls},
    {.struct_bytes = sizeof(caesura_lambda_function),
     .name = "example.mask",
     .help = "Bytes combined with a mask.",
     .parameters = mask_parameter,
     .n_parameters = 1,
     .apply = mask_apply,
     .invert = mask_invert}};

CAESURA_LAMBDA_PLUGIN(functions, sizeof functions / sizeof *functions)
