! The functions of glue.h and of C's face that the module calls, and the types that both sides see.
module caesura_calls
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(C) :: c_options
    type(c_ptr) :: codec, trace_path, calibration_path, transport, layout
    integer(c_int64_t) :: memory_bytes, chunk_bytes, stripe_bytes, write_buffer_bytes
    integer(c_int64_t) :: dumps_per_file, pending_files
    real(c_double) :: max_delay_s
    integer(c_int) :: compress_threads, planning, durable, idle_priority, cooperative
    integer(c_int) :: balance_writes
    type(c_funptr) :: on_message
    type(c_ptr) :: message_context
  end type

  ! As caesura_bound_rule in caesura.h; boxes in the file's order.
  type, bind(C) :: c_bound_rule
    integer(c_int) :: kind
    integer(c_int64_t) :: offset(4), extent(4)
    real(c_double) :: lowest, highest, change, bound
  end type

  type, bind(C) :: c_field_options
    type(c_ptr) :: codec, axis_labels, grid_spacing, grid_offset
    real(c_double) :: unit_si, unit_dimension(7), grid_unit_si, fill_value
    integer(c_int) :: partial
    type(c_ptr) :: bound_rules
    integer(c_int64_t) :: bound_rule_count
    type(c_ptr) :: missing
    integer(c_int64_t) :: missing_count
  end type

  ! Counters of this rank; the members are those of caesura_writer_report in caesura.h.
  type, bind(C) :: caesura_report
    integer(c_int64_t) :: raw_bytes = 0, stored_bytes = 0, blocks = 0, dumps = 0, lost_dumps = 0
    integer(c_int64_t) :: lost_bytes = 0, over_budget_bytes = 0, peak_memory_bytes = 0
    real(c_double) :: put_s = 0, end_s = 0, close_s = 0, put_wait_s = 0, compress_s = 0
    real(c_double) :: write_s = 0, max_error_over_bound = 0
  end type

  interface
    integer(c_int) function c_create(path, communicator, options, writer) &
        bind(C, name="caesura_fortran_create")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: communicator
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: writer
    end function

    integer(c_int) function c_append(path, communicator, options, after, writer, last) &
        bind(C, name="caesura_fortran_append")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: communicator
      type(c_options), intent(in) :: options
      integer(c_int64_t), value :: after
      type(c_ptr), intent(out) :: writer
      integer(c_int64_t), intent(out) :: last
    end function

    integer(c_int) function c_define(writer, name, dtype, rank, shape, kind, bound, options, &
        field) bind(C, name="caesura_fortran_define")
      import
      type(c_ptr), value :: writer
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype, rank, kind
      integer(c_int64_t), intent(in) :: shape(*)
      real(c_double), value :: bound
      type(c_field_options), intent(in) :: options
      integer(c_int32_t), intent(inout) :: field
    end function

    integer(c_int) function c_reshape(writer, field, shape, grid_offset) &
        bind(C, name="caesura_reshape")
      import
      type(c_ptr), value :: writer, grid_offset
      integer(c_int32_t), value :: field
      integer(c_int64_t), intent(in) :: shape(*)
    end function

    integer(c_int) function c_declare_missing(writer, field, number) &
        bind(C, name="caesura_declare_missing")
      import
      type(c_ptr), value :: writer
      integer(c_int32_t), value :: field
      real(c_double), value :: number
    end function

    integer(c_int64_t) function c_committed(writer) bind(C, name="caesura_fortran_committed")
      import
      type(c_ptr), value :: writer
    end function

    integer(c_int) function c_define_species(writer, name, any_order, keep_index, species) &
        bind(C, name="caesura_fortran_define_species")
      import
      type(c_ptr), value :: writer
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: any_order, keep_index
      integer(c_int32_t), intent(inout) :: species
    end function

    integer(c_int) function c_define_record(writer, species, name, dtype, kind, bound, unit_si, &
        unit_dimension, record) bind(C, name="caesura_fortran_define_record")
      import
      type(c_ptr), value :: writer
      integer(c_int32_t), value :: species
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype, kind
      real(c_double), value :: bound, unit_si
      real(c_double), intent(in) :: unit_dimension(7)
      integer(c_int32_t), intent(inout) :: record
    end function

    integer(c_int) function c_define_constant(writer, species, name, number, unit_si, &
        unit_dimension) bind(C, name="caesura_fortran_define_constant")
      import
      type(c_ptr), value :: writer
      integer(c_int32_t), value :: species
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: number, unit_si
      real(c_double), intent(in) :: unit_dimension(7)
    end function

    integer(c_int) function c_set_attribute(writer, when, owner, field, name, kind, number) &
        bind(C, name="caesura_fortran_set_attribute")
      import
      type(c_ptr), value :: writer, number
      integer(c_int), value :: when, owner, kind
      integer(c_int32_t), value :: field
      character(kind=c_char), intent(in) :: name(*)
    end function

    integer(c_int) function c_begin_iteration(writer, number, label) &
        bind(C, name="caesura_begin_iteration_of")
      import
      type(c_ptr), value :: writer, label
      integer(c_int64_t), value :: number
    end function

    integer(c_int) function c_busy_begin(writer, lane) bind(C, name="caesura_busy_begin")
      import
      type(c_ptr), value :: writer
      integer(c_int), value :: lane
    end function

    integer(c_int) function c_busy_end(writer, lane) bind(C, name="caesura_busy_end")
      import
      type(c_ptr), value :: writer
      integer(c_int), value :: lane
    end function

    integer(c_int) function c_begin_dump(writer, time, dt) bind(C, name="caesura_begin_dump")
      import
      type(c_ptr), value :: writer
      real(c_double), value :: time, dt
    end function

    integer(c_int) function c_put(writer, field, offset, extent, values, dtype, borrow) &
        bind(C, name="caesura_put")
      import
      type(c_ptr), value :: writer, values
      integer(c_int32_t), value :: field
      integer(c_int64_t), intent(in) :: offset(*), extent(*)
      integer(c_int), value :: dtype, borrow
    end function

    integer(c_int) function c_put_particles(writer, record, count, values, dtype, borrow) &
        bind(C, name="caesura_put_particles")
      import
      type(c_ptr), value :: writer, values
      integer(c_int32_t), value :: record
      integer(c_int64_t), value :: count
      integer(c_int), value :: dtype, borrow
    end function

    integer(c_int) function c_end_iteration(writer) bind(C, name="caesura_end_iteration")
      import
      type(c_ptr), value :: writer
    end function

    integer(c_int) function c_compress_for(writer, seconds, spent_s) &
        bind(C, name="caesura_compress_for")
      import
      type(c_ptr), value :: writer
      real(c_double), value :: seconds
      real(c_double), intent(inout) :: spent_s
    end function

    integer(c_int) function c_finish_by(writer, seconds) bind(C, name="caesura_finish_by")
      import
      type(c_ptr), value :: writer
      real(c_double), value :: seconds
    end function

    integer(c_int) function c_get_report(writer, report) &
        bind(C, name="caesura_fortran_get_report")
      import
      type(c_ptr), value :: writer
      type(caesura_report), intent(out) :: report
    end function

    integer(c_int) function c_close(writer, report) bind(C, name="caesura_fortran_close")
      import
      type(c_ptr), value :: writer
      type(caesura_report), intent(out) :: report
    end function

    type(c_ptr) function c_last_error() bind(C, name="caesura_last_error")
      import
    end function

    integer(c_size_t) function c_strlen(text) bind(C, name="strlen")
      import
      type(c_ptr), value :: text
    end function

    integer(c_int) function c_open(path, reader) bind(C, name="caesura_fortran_open")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: reader
    end function

    subroutine c_reader_close(reader) bind(C, name="caesura_reader_close")
      import
      type(c_ptr), value :: reader
    end subroutine

    integer(c_int) function c_count(reader, dumps, fields) bind(C, name="caesura_reader_count")
      import
      type(c_ptr), value :: reader
      integer(c_size_t), intent(inout) :: dumps, fields
    end function

    integer(c_int) function c_dump(reader, dump, iteration, time) &
        bind(C, name="caesura_fortran_dump")
      import
      type(c_ptr), value :: reader
      integer(c_size_t), value :: dump
      integer(c_int64_t), intent(inout) :: iteration
      real(c_double), intent(inout) :: time
    end function

    integer(c_int) function c_find(reader, name, iteration, field, dtype, rank, shape) &
        bind(C, name="caesura_fortran_find")
      import
      type(c_ptr), value :: reader
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: iteration
      integer(c_size_t), intent(inout) :: field
      integer(c_int), intent(inout) :: dtype, rank
      integer(c_int64_t), intent(inout) :: shape(4)
    end function

    integer(c_int) function c_read(reader, field, offset, extent, values, bytes, strides) &
        bind(C, name="caesura_reader_read")
      import
      type(c_ptr), value :: reader, values, strides
      integer(c_size_t), value :: field, bytes
      integer(c_int64_t), intent(in) :: offset(*), extent(*)
    end function
  end interface
end module
