! A field that goes into heat.h5 while the program computes on, and one box of it back.
program heat
  use caesura
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type(caesura_writer) :: writer
  type(caesura_reader) :: reader
  type(caesura_field) :: temperature
  real(real64) :: values(64, 48, 32), line(64, 1, 1)
  integer :: n

  call caesura_create(writer, 'heat.h5')
  call caesura_define_field(writer, 'temperature', caesura_float64, shape(values), temperature, &
    absolute=1e-3_real64)
  do n = 0, 9
    call caesura_begin_iteration(writer, n)
    call random_number(values)
    call caesura_begin_dump(writer, time=0.1_real64 * n, dt=0.1_real64)
    call caesura_put(writer, temperature, values)
    call caesura_end_iteration(writer)
  end do
  call caesura_close(writer)
  if (writer%code /= caesura_ok) print *, writer%message

  call caesura_open(reader, 'heat.h5')
  call caesura_read(reader, 'temperature', 9, line, offset=[0, 24, 16])
  if (reader%code /= caesura_ok) print *, reader%message
  call caesura_close(reader)
end program
