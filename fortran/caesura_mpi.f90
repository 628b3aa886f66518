! A writer over the ranks of a communicator: MPI's integer handle; of mpi_f08 it is comm%MPI_VAL.
module caesura_mpi
  use caesura_core
  use caesura_writing
  implicit none
  private
  public :: caesura_create_mpi

  interface
    integer(c_int) function c_create_mpi(path, comm, options, writer) &
        bind(C, name="caesura_fortran_create_mpi")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: comm
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: writer
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
    integer(c_int) :: result
    if (c_associated(writer%pointer)) then
      call refuse(writer, 'the writer is open already', code)
      return
    end if
    result = c_create_mpi(c_text(path), comm, options_in_c(copies, options), writer%pointer)
    if (result < 0) then
      call refuse(writer, 'MPI refused to duplicate the communicator', code)
    else
      call note(writer, result, code)
    end if
  end subroutine

end module
