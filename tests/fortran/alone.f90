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

  subroutine create_shared(writer, path)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    type(caesura_options) :: options
    options%codec = 'caesura'
    options%calibration_path = 'none'
    call caesura_create(writer, path, options)
  end subroutine

  subroutine append_shared(writer, path, after, last)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    integer, intent(in) :: after
    integer, intent(out) :: last
    type(caesura_options) :: options
    options%codec = 'caesura'
    options%calibration_path = 'none'
    call caesura_append(writer, path, after, last, options)
  end subroutine

  subroutine finish(failures)
    integer, intent(inout) :: failures
    failures = max(failures, 0)
  end subroutine
end module
