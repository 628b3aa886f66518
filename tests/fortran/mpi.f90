! The test's communicator over MPI's ranks.
module test_communicator
  use caesura
  use caesura_mpi
  use mpi_f08
  implicit none
contains
  subroutine start(rank, ranks)
    integer, intent(out) :: rank, ranks
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  end subroutine

  function chosen() result(options)
    type(caesura_options) :: options
    options%calibration_path = 'none'
  end function

  subroutine create_shared(writer, path)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    call caesura_create_mpi(writer, path, MPI_COMM_WORLD%MPI_VAL, chosen())
  end subroutine

  subroutine append_shared(writer, path, after, last)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    integer, intent(in) :: after
    integer, intent(out) :: last
    call caesura_append_mpi(writer, path, MPI_COMM_WORLD%MPI_VAL, after, last, chosen())
  end subroutine

  ! Rank 0 reads after all have closed; the close is collective.
  subroutine finish(failures)
    integer, intent(inout) :: failures
    call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
  end subroutine
end module
