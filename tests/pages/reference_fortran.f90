! The page's program, and its field with bounds by place.
program page
  use caesura
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  call first()
  call second()
contains
  subroutine first()
    integer :: n
    ! block fortran 1
    if (writer%code /= caesura_ok) error stop 1
  end subroutine

  subroutine second()
    type(caesura_writer) :: writer
    type(caesura_field) :: rho
    type(caesura_field_options) :: options
    real(real64) :: values(64, 48, 32)
    call caesura_create(writer, 'bounds.h5')
    ! block fortran 2
    call random_number(values)
    call caesura_begin_iteration(writer, 0)
    call caesura_begin_dump(writer, time=0.0_real64, dt=0.1_real64)
    call caesura_put(writer, rho, values)
    call caesura_end_iteration(writer)
    call caesura_close(writer)
    if (writer%code /= caesura_ok) then
      print *, writer%message
      error stop 2
    end if
  end subroutine
end program
