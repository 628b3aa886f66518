! The reader's calls but for the one that takes arrays: see arrays.inc.
module caesura_reading
  use caesura_core
  implicit none

contains

  subroutine caesura_open(reader, path, code)
    type(caesura_reader), intent(inout) :: reader
    character(*), intent(in) :: path
    integer, intent(out), optional :: code
    if (c_associated(reader%pointer)) then
      call refuse(reader, 'the reader is open already', code)
      return
    end if
    call note(reader, c_open(c_text(path), reader%pointer), code)
  end subroutine

  ! The numbers of all dumps, and their times if asked for.
  subroutine caesura_list_dumps(reader, iterations, times, code)
    type(caesura_reader), intent(inout) :: reader
    integer(int64), allocatable, intent(out) :: iterations(:)
    real(real64), allocatable, intent(out), optional :: times(:)
    integer, intent(out), optional :: code
    real(real64), allocatable :: found(:)
    integer(c_size_t) :: dumps, fields, dump
    integer(c_int) :: result
    dumps = 0
    result = caesura_ok
    if (is_open(reader, code)) then
      result = c_count(reader%pointer, dumps, fields)
      call note(reader, result, code)
    end if
    allocate (iterations(dumps), found(dumps))
    do dump = 1, dumps
      result = c_dump(reader%pointer, dump - 1, iterations(dump), found(dump))
      if (result /= caesura_ok) call note(reader, result, code)
    end do
    if (present(times)) call move_alloc(found, times)
  end subroutine

  ! A field's extents, the fastest axis first; none if it is not there.
  subroutine caesura_get_shape(reader, name, iteration, extent, code)
    type(caesura_reader), intent(inout) :: reader
    character(*), intent(in) :: name
    integer, intent(in) :: iteration
    integer(int64), allocatable, intent(out) :: extent(:)
    integer, intent(out), optional :: code
    integer(int64) :: shape_in_c(4)
    integer(c_size_t) :: field
    integer(c_int) :: dtype, axes, result
    axes = 0
    if (is_open(reader, code)) then
      result = c_find(reader%pointer, c_text(name), int(iteration, int64), field, dtype, axes, &
        shape_in_c)
      if (result /= caesura_ok) axes = 0
      call note(reader, result, code)
    end if
    allocate (extent(axes))
    if (axes > 0) extent = shape_in_c(axes:1:-1)
  end subroutine

  subroutine close_reader(reader, code)
    type(caesura_reader), intent(inout) :: reader
    integer, intent(out), optional :: code
    if (present(code)) code = caesura_ok
    call c_reader_close(reader%pointer)
    reader%pointer = c_null_ptr
  end subroutine

end module
