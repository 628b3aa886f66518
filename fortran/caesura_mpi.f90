! A writer over the ranks of a communicator: MPI's integer handle; of mpi_f08 it is comm%MPI_VAL.
module caesura_mpi
  use caesura_core
  use caesura_writing
  implicit none
  private
  public :: caesura_create_mpi, caesura_append_mpi

  interface
    integer(c_int) function c_create_mpi(path, comm, options, writer) &
        bind(C, name="caesura_fortran_create_mpi")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: comm
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: writer
    end function

    integer(c_int) function c_append_mpi(path, comm, options, after, writer, last) &
        bind(C, name="caesura_fortran_append_mpi")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: comm
      type(c_options), intent(in) :: options
      integer(c_int64_t), value :: after
      type(c_ptr), intent(out) :: writer
      integer(c_int64_t), intent(inout) :: last
    end function
  end interface

contains

  ! Collective over comm, which stays the program's.
  subroutine caesura_create_mpi(writer, path, comm, options, code)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    integer, intent(in) :: comm
    type(caesura_options), intent(in), optional :: options
    integer, intent(out), optional :: code
    type(c_copies), target :: copies
    type(c_options) :: c
    integer(c_int) :: result
    if (c_associated(writer%pointer)) then
      call refuse(writer, 'the writer is open already', code)
      return
    end if
    c = options_in_c(writer, copies, options)
    result = c_create_mpi(c_text(path), comm, c, writer%pointer)
    call note_mpi(writer, result, code)
  end subroutine

  ! As caesura_append, collective over comm.
  subroutine caesura_append_mpi(writer, path, comm, after, last, options, code)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    integer, intent(in) :: comm
    integer, intent(in), optional :: after
    integer, intent(out), optional :: last
    type(caesura_options), intent(in), optional :: options
    integer, intent(out), optional :: code
    type(c_copies), target :: copies
    type(c_options) :: c
    integer(c_int64_t) :: found
    integer(c_int) :: result
    if (present(last)) last = -1
    if (.not. may_append(writer, after, code)) return
    found = -1
    c = options_in_c(writer, copies, options)
    result = c_append_mpi(c_text(path), comm, c, kept_last(after), writer%pointer, found)
    call note_mpi(writer, result, code)
    if (present(last)) last = int(found)
  end subroutine

  subroutine note_mpi(writer, result, code)
    type(caesura_writer), intent(inout) :: writer
    integer(c_int), intent(in) :: result
    integer, intent(out), optional :: code
    if (result < 0) then
      call refuse(writer, 'MPI refused to duplicate the communicator', code)
    else
      call note(writer, result, code)
    end if
  end subroutine

end module
