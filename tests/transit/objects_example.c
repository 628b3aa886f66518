/* A program in C that puts an object into a service, looks at it there, and keeps it in a file. */
#include <caesura/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, PART = 8 };

static int fail(const char* call) {
    fprintf(stderr, "%s: %s\n", call, caesura_last_error());
    return 1;
}
#define CHECK(call) \
    if ((call) != CAESURA_OK) return fail(#call)

static int put_in_parts(caesura_objects* objects, uint64_t id, const float* values) {
    caesura_ticket* tickets[N / PART];
    const uint64_t extent[2] = {PART, N};
    for (uint64_t i = 0; i < N / PART; ++i) {
        const uint64_t offset[2] = {i * PART, 0};
        CHECK(caesura_object_put(objects, id, 2, offset, extent, values + i * PART * N,
                                 CAESURA_FLOAT32, &tickets[i]));
    }
    for (int i = 0; i < N / PART; ++i) { /* the values may change after this */
        CHECK(caesura_ticket_wait(tickets[i]));
        caesura_ticket_free(tickets[i]);
    }
    return 0;
}

static int analyse(caesura_objects* objects, uint64_t id) {
    caesura_ticket* running;
    const double* counts;
    size_t bins;
    double highest;
    CHECK(caesura_object_run(objects, id, "stats", 0, NULL, NULL, &running));
    CHECK(caesura_ticket_number(running, "max", &highest));
    caesura_ticket_free(running);
    if (highest != N * N - 1) return 1;
    CHECK(caesura_object_run(objects, id, "histogram(bins=4)", 0, NULL, NULL, &running));
    CHECK(caesura_ticket_list(running, "counts", &counts, &bins));
    if (bins != 4 || counts[0] != N * N / 4) return 1;
    caesura_ticket_free(running);
    return 0;
}

/* Which objects have the largest value, and where? */
static int find(caesura_objects* objects, uint64_t id) {
    caesura_found* found;
    caesura_query query = CAESURA_QUERY_DEFAULT;
    const caesura_tag tag = {"run", "a"};
    query.container = "c";
    query.tags = &tag;
    query.tag_count = 1;
    query.has_values = 1;
    query.lowest = query.highest = N * N - 1;
    query.regions = 1;
    CHECK(caesura_objects_find(objects, &query, &found));
    if (caesura_found_count(found) != 1 || caesura_found_regions_skipped(found) != N / PART - 1)
        return 1;
    caesura_object_info info = {.struct_bytes = sizeof info};
    caesura_region_info region = {.struct_bytes = sizeof region};
    CHECK(caesura_found_object(found, 0, &info));
    CHECK(caesura_found_region(found, 0, 0, &region));
    if (info.id != id || info.region_count != 1 || region.offset[0] != N - PART) return 1;
    caesura_found_free(found);
    return 0;
}

static int keep(caesura_objects* objects, const char* path) {
    caesura_ticket* writing;
    caesura_persist what = CAESURA_PERSIST_DEFAULT;
    what.path = path;
    what.container = "c";
    CHECK(caesura_objects_persist(objects, &what, &writing));
    CHECK(caesura_ticket_wait(writing)); /* it is on the disk */
    caesura_ticket_free(writing);
    return 0;
}

int objects_example(const char* service, const char* path) {
    caesura_objects* objects;
    caesura_object_options options = CAESURA_OBJECT_OPTIONS_DEFAULT;
    const caesura_tag tag = {"run", "a"};
    const uint64_t shape[2] = {N, N}, origin[2] = {0, 0};
    float values[N * N], got[N * N];
    uint64_t id;
    for (int i = 0; i < N * N; ++i) values[i] = (float)i;
    CHECK(caesura_objects_connect(service, "example", &objects));
    options.time = 0.5;
    options.tags = &tag;
    options.tag_count = 1;
    CHECK(caesura_object_create(objects, "c", "rho", CAESURA_FLOAT32, 2, shape, &options, &id));
    if (put_in_parts(objects, id, values) != 0 || analyse(objects, id) != 0 ||
        find(objects, id) != 0 || keep(objects, path) != 0)
        return 1;
    CHECK(caesura_object_get(objects, id, 2, origin, shape, got, CAESURA_FLOAT32, NULL));
    if (memcmp(values, got, sizeof got) != 0) return 1;
    CHECK(caesura_object_delete(objects, id));
    caesura_objects_disconnect(objects);
    return 0;
}
