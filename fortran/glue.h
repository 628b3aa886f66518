/* What caesura.f90 calls that C's face has as structs: flat arguments, so that no Fortran type
 * repeats a struct that grows. Nothing here keeps state. */
#ifndef CAESURA_FORTRAN_GLUE_H
#define CAESURA_FORTRAN_GLUE_H

#include "caesura/caesura.h"
#include "caesura/reader.h"

/* The same members in the same order as c_options in core.f90. */
typedef struct caesura_fortran_options {
    const char *codec, *trace_path, *calibration_path, *transport, *layout;
    int64_t memory_bytes, chunk_bytes, stripe_bytes, write_buffer_bytes;
    int64_t dumps_per_file, pending_files;
    double max_delay_s;
    int compress_threads, planning, durable, idle_priority, cooperative, balance_writes;
    void (*on_message)(void* context, const char* message);
    void* message_context;
} caesura_fortran_options;

/* As c_field_options in core.f90; arrays already in the file's order. */
typedef struct caesura_fortran_field_options {
    const char* codec;
    const char* const* axis_labels;
    const double *grid_spacing, *grid_offset;
    double unit_si, unit_dimension[7], grid_unit_si, fill_value;
    int partial;
    const caesura_bound_rule* bound_rules;
    int64_t bound_rule_count;
    const double* missing;
    int64_t missing_count;
} caesura_fortran_field_options;

/* As caesura_report in core.f90. */
typedef struct caesura_fortran_report {
    int64_t raw_bytes, stored_bytes, blocks, dumps, lost_dumps, lost_bytes, over_budget_bytes,
        peak_memory_bytes;
    double put_s, end_s, close_s, put_wait_s, compress_s, write_s, max_error_over_bound;
} caesura_fortran_report;

/* after < 0: not given. *last: the iteration after which it goes on, -1: the file has no dump. */
int caesura_fortran_append(const char* path, const caesura_communicator* communicator,
                           const caesura_fortran_options* given, int64_t after,
                           caesura_writer** writer, int64_t* last);
int caesura_fortran_append_mpi(const char* path, int comm, const caesura_fortran_options* given,
                               int64_t after, caesura_writer** writer, int64_t* last);
int caesura_fortran_create(const char* path, const caesura_communicator* communicator,
                           const caesura_fortran_options* given, caesura_writer** writer);
/* comm: MPI's integer handle, MPI_Fint. -1: MPI refused to duplicate it. */
int caesura_fortran_create_mpi(const char* path, int comm, const caesura_fortran_options* given,
                               caesura_writer** writer);
int caesura_fortran_define(caesura_writer* writer, const char* name, int dtype, int rank,
                           const uint64_t* shape, int kind, double bound,
                           const caesura_fortran_field_options* given, uint32_t* field);
int caesura_fortran_define_species(caesura_writer* writer, const char* name, int any_order,
                                   int keep_index, uint32_t* species);
int caesura_fortran_define_record(caesura_writer* writer, uint32_t species, const char* name,
                                  int dtype, int kind, double bound, double unit_si,
                                  const double* unit_dimension, uint32_t* record);
int caesura_fortran_define_constant(caesura_writer* writer, uint32_t species, const char* name,
                                    double value, double unit_si, const double* unit_dimension);
int caesura_fortran_set_attribute(caesura_writer* writer, int when, int owner, uint32_t field,
                                  const char* name, int type, const void* value);
/* The iteration of the last dump that is committed; -1: none is. */
int64_t caesura_fortran_committed(caesura_writer* writer);
int caesura_fortran_get_report(caesura_writer* writer, caesura_fortran_report* report);
int caesura_fortran_close(caesura_writer* writer, caesura_fortran_report* report);
int caesura_fortran_open(const char* path, caesura_reader** reader);
int caesura_fortran_find(const caesura_reader* reader, const char* name, uint64_t iteration,
                         size_t* field, int* dtype, int* rank, uint64_t* shape);
int caesura_fortran_dump(const caesura_reader* reader, size_t dump, int64_t* iteration,
                         double* time);

#endif
