! Caesura for Fortran: what a program uses. docs/reference/fortran.md describes it.
module caesura
  use caesura_core, only: caesura_writer, caesura_reader, caesura_field, caesura_species, &
    caesura_record, caesura_message_handler, caesura_ok, caesura_invalid_argument, caesura_insufficient_data, &
    caesura_corrupt, caesura_unsupported, caesura_no_space, caesura_io, caesura_cancelled, &
    caesura_internal, caesura_float32, caesura_float64, caesura_int8, caesura_int16, &
    caesura_int32, caesura_int64, caesura_bool, caesura_complex64, caesura_complex128
  use caesura_calls, only: caesura_report
  use caesura_writing, only: caesura_options, caesura_field_options, caesura_lane_compress, &
    caesura_lane_write, caesura_create, caesura_append, caesura_define_field, &
    caesura_bound_rule, caesura_in_box, caesura_of_values, caesura_where_steep, &
    caesura_reshape, caesura_declare_missing, caesura_committed, caesura_define_species, &
    caesura_define_record, caesura_define_constant, caesura_set_attribute, &
    caesura_begin_iteration, caesura_busy_begin, caesura_busy_end, caesura_begin_dump, &
    caesura_end_iteration, caesura_compress_for, caesura_finish_by, caesura_get_report, close_writer
  use caesura_reading, only: caesura_open, caesura_list_dumps, caesura_get_shape, close_reader
  use caesura_arrays_float32
  use caesura_arrays_float64
  use caesura_arrays_int8
  use caesura_arrays_int16
  use caesura_arrays_int32
  use caesura_arrays_int64
  use caesura_arrays_bool
  use caesura_arrays_complex64
  use caesura_arrays_complex128
  implicit none
  private :: close_writer, close_reader

  interface caesura_close
    module procedure close_writer, close_reader
  end interface
end module
