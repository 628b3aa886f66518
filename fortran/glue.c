/* Flat arguments to the structs of C's face: see glue.h. */
#include "glue.h"

#include <string.h>

static caesura_options options_of(const caesura_fortran_options* given) {
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.codec = given->codec;
    options.trace_path = given->trace_path;
    options.calibration_path = given->calibration_path;
    options.transport = given->transport;
    options.layout = given->layout;
    options.memory_bytes = (uint64_t)given->memory_bytes;
    options.chunk_bytes = (uint64_t)given->chunk_bytes;
    options.stripe_bytes = (uint64_t)given->stripe_bytes;
    options.write_buffer_bytes = (uint64_t)given->write_buffer_bytes;
    options.dumps_per_file = (uint64_t)given->dumps_per_file;
    options.pending_files = (uint64_t)given->pending_files;
    options.max_delay_s = given->max_delay_s;
    options.compress_threads = given->compress_threads;
    options.planning = given->planning;
    options.durable = given->durable;
    options.idle_priority = given->idle_priority;
    options.cooperative = given->cooperative;
    options.balance_writes = given->balance_writes;
    options.on_message = given->on_message;
    options.message_context = given->message_context;
    return options;
}

int caesura_fortran_create(const char* path, const caesura_communicator* communicator,
                           const caesura_fortran_options* given, caesura_writer** writer) {
    const caesura_options options = options_of(given);
    return caesura_writer_create(path, communicator, &options, writer);
}

int caesura_fortran_append(const char* path, const caesura_communicator* communicator,
                           const caesura_fortran_options* given, int64_t after,
                           caesura_writer** writer, int64_t* last) {
    const caesura_options options = options_of(given);
    caesura_open_options where = CAESURA_OPEN_OPTIONS_DEFAULT;
    caesura_code code;
    where.has_after = after >= 0;
    where.after = (uint64_t)after;
    code = caesura_writer_open(path, communicator, &options, &where, writer);
    *last = code == CAESURA_OK ? caesura_fortran_committed(*writer) : -1;
    return code;
}

int64_t caesura_fortran_committed(caesura_writer* writer) {
    uint64_t iteration = 0;
    return caesura_committed(writer, &iteration) ? (int64_t)iteration : -1;
}

int caesura_fortran_define(caesura_writer* writer, const char* name, int dtype, int rank,
                           const uint64_t* shape, int kind, double bound,
                           const caesura_fortran_field_options* given, uint32_t* field) {
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.codec = given->codec;
    options.axis_labels = given->axis_labels;
    options.grid_spacing = given->grid_spacing;
    options.grid_offset = given->grid_offset;
    options.unit_si = given->unit_si;
    memcpy(options.unit_dimension, given->unit_dimension, sizeof options.unit_dimension);
    options.grid_unit_si = given->grid_unit_si;
    options.fill_value = given->fill_value;
    options.partial = given->partial;
    options.bound_rules = given->bound_rules;
    options.bound_rule_count = (size_t)given->bound_rule_count;
    options.missing = given->missing;
    options.missing_count = (size_t)given->missing_count;
    return caesura_define_field_with(writer, name, dtype, rank, shape, kind, bound, &options,
                                     field);
}

int caesura_fortran_define_species(caesura_writer* writer, const char* name, int any_order,
                                   int keep_index, uint32_t* species) {
    caesura_species_options options = CAESURA_SPECIES_OPTIONS_DEFAULT;
    options.any_order = any_order;
    options.keep_index = keep_index;
    return caesura_define_species_with(writer, name, &options, species);
}

static caesura_record_options record_options(double unit_si, const double* unit_dimension) {
    caesura_record_options options = CAESURA_RECORD_OPTIONS_DEFAULT;
    options.unit_si = unit_si;
    memcpy(options.unit_dimension, unit_dimension, sizeof options.unit_dimension);
    return options;
}

int caesura_fortran_define_record(caesura_writer* writer, uint32_t species, const char* name,
                                  int dtype, int kind, double bound, double unit_si,
                                  const double* unit_dimension, uint32_t* record) {
    const caesura_record_options options = record_options(unit_si, unit_dimension);
    return caesura_define_record(writer, species, name, dtype, kind, bound, &options, record);
}

int caesura_fortran_define_constant(caesura_writer* writer, uint32_t species, const char* name,
                                    double value, double unit_si, const double* unit_dimension) {
    const caesura_record_options options = record_options(unit_si, unit_dimension);
    return caesura_define_constant(writer, species, name, value, &options);
}

int caesura_fortran_set_attribute(caesura_writer* writer, int when, int owner, uint32_t field,
                                  const char* name, int type, const void* value) {
    /* C's texts are an array of pointers. */
    const void* values = type == CAESURA_ATTRIBUTE_TEXT ? (const void*)&value : value;
    return caesura_set_attribute(writer, when, owner, field, name, type, values, CAESURA_ONE);
}

static void copy_report(const caesura_writer_report* from, caesura_fortran_report* to) {
    to->raw_bytes = (int64_t)from->raw_bytes;
    to->stored_bytes = (int64_t)from->stored_bytes;
    to->blocks = (int64_t)from->blocks;
    to->dumps = (int64_t)from->dumps;
    to->lost_dumps = (int64_t)from->lost_dumps;
    to->lost_bytes = (int64_t)from->lost_bytes;
    to->over_budget_bytes = (int64_t)from->over_budget_bytes;
    to->peak_memory_bytes = (int64_t)from->peak_memory_bytes;
    to->put_s = from->put_s;
    to->end_s = from->end_s;
    to->close_s = from->close_s;
    to->put_wait_s = from->put_wait_s;
    to->compress_s = from->compress_s;
    to->write_s = from->write_s;
    to->max_error_over_bound = from->max_error_over_bound;
}

/* What `call` says, and its report. */
static int reported(caesura_code (*call)(caesura_writer*, caesura_writer_report*),
                    caesura_writer* writer, caesura_fortran_report* report) {
    caesura_writer_report all;
    int code;
    memset(&all, 0, sizeof all);
    all.struct_bytes = sizeof all;
    code = call(writer, &all);
    copy_report(&all, report);
    return code;
}

int caesura_fortran_get_report(caesura_writer* writer, caesura_fortran_report* report) {
    return reported(caesura_writer_get_report, writer, report);
}

int caesura_fortran_close(caesura_writer* writer, caesura_fortran_report* report) {
    return reported(caesura_writer_close_and_report, writer, report);
}

int caesura_fortran_open(const char* path, caesura_reader** reader) {
    return caesura_reader_open(path, NULL, NULL, reader);
}

/* 0: not a single number that has a caesura_dtype. */
static int dtype_of(const caesura_field_info* info) {
    const int power = info->number_bytes == 1   ? 0
                      : info->number_bytes == 2 ? 1
                      : info->number_bytes == 4 ? 2
                      : info->number_bytes == 8 ? 3
                                                : -1;
    /* Two reals beside each other are what a complex number is. */
    if (info->members == 2 && info->number_kind == CAESURA_NUMBER_FLOATING && power >= 2)
        return CAESURA_COMPLEX64 + power - 2;
    if (power < 0 || info->members != 1) return 0;
    if (info->number_kind == CAESURA_NUMBER_BOOL) return CAESURA_BOOL;
    if (info->number_kind == CAESURA_NUMBER_BFLOAT) return CAESURA_BFLOAT16;
    if (info->number_kind == CAESURA_NUMBER_FLOATING && power == 1) return CAESURA_FLOAT16;
    if (info->number_kind == CAESURA_NUMBER_SIGNED) return CAESURA_INT8 + power;
    if (info->number_kind == CAESURA_NUMBER_UNSIGNED) return CAESURA_UINT8 + power;
    return power < 2 ? 0 : CAESURA_FLOAT32 + power - 2;
}

int caesura_fortran_find(const caesura_reader* reader, const char* name, uint64_t iteration,
                         size_t* field, int* dtype, int* rank, uint64_t* shape) {
    caesura_field_info info;
    caesura_code code = caesura_reader_find(reader, name, iteration, field);
    if (code != CAESURA_OK) return code;
    memset(&info, 0, sizeof info);
    info.struct_bytes = sizeof info;
    code = caesura_reader_field(reader, *field, &info);
    if (code != CAESURA_OK) return code;
    *dtype = dtype_of(&info);
    *rank = info.rank;
    memcpy(shape, info.shape, sizeof info.shape);
    return CAESURA_OK;
}

int caesura_fortran_dump(const caesura_reader* reader, size_t dump, int64_t* iteration,
                         double* time) {
    caesura_dump_info info;
    caesura_code code;
    memset(&info, 0, sizeof info);
    info.struct_bytes = sizeof info;
    code = caesura_reader_dump(reader, dump, &info);
    *iteration = (int64_t)info.iteration;
    *time = info.time;
    return code;
}
