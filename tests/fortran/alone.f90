! The test's communicator without MPI.
module test_communicator
  use caesura
  implicit none
contains
  subroutine start(rank, ranks)
    integer, intent(out) :: rank, ranks
    rank = 0
    ranks = 1
  end subroutine

  function chosen() result(options)
    type(caesura_options) :: options
    options%codec = 'caesura'
    options%calibration_path = 'none'
  end function

  subroutine create_shared(writer, path)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    call caesura_create(writer, path, chosen())
  end subroutine

  subroutine append_shared(writer, path, after, last)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    integer, intent(in) :: after
    integer, intent(out) :: last
    call caesura_append(writer, path, after, last, chosen())
  end subroutine

  subroutine finish(failures)
    integer, intent(inout) :: failures
    failures = max(failures, 0)
  end subroutine
end module
