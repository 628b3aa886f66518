! What Fortran writes, Fortran reads: every kind of number, ranks 1 to 4, boxes, particles, errors.
! axes_test.cpp looks at where the axes are. Arguments: the file; with "mpi" the ranks share it.
module test_messages
  implicit none
  character(512) :: last_heard = ''
contains
  subroutine hear(message)
    character(*), intent(in) :: message
    last_heard = message
  end subroutine
end module

program fortran_test
  use caesura
  use test_communicator, only: start, create_shared, append_shared, finish
  use test_messages, only: hear, last_heard
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  implicit none
  character(512) :: path
  type(caesura_writer) :: writer
  type(caesura_reader) :: reader
  integer :: rank, ranks, failures

  failures = 0
  call start(rank, ranks)
  call get_command_argument(1, path)
  call write_file()
  if (rank == 0) then
    call caesura_open(reader, path)
    call read_file()
    call refuse_what_does_not_fit()
    call caesura_close(reader)
    call check(.not. is_there('no such directory'), 'a file is opened that is not there')
    call refuse_what_is_not_open()
    call come_back_of_other_kinds()
    call keep_to_bounds_by_place()
    if (ranks == 1) call leave_out_missing_values()
    if (ranks == 1) call declare_what_is_missing()
    call take_another_shape()
  end if
  call append_to_file()
  call finish(failures)
  if (failures > 0) error stop 1

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': ', what
  end subroutine

  ! The value at the point (i, j, k), counted from 1, of the whole field of 6 * ranks by 5 by 4.
  elemental real(real64) function value_at(i, j, k)
    integer, intent(in) :: i, j, k
    value_at = i + 100 * j + 10000 * k
  end function

  subroutine fill(values, first)
    real(real64), intent(out) :: values(:, :, :)
    integer, intent(in) :: first
    integer :: i, j, k
    do concurrent (i=1:size(values, 1), j=1:size(values, 2), k=1:size(values, 3))
      values(i, j, k) = value_at(first + i, j, k)
    end do
  end subroutine

  subroutine write_file()
    type(caesura_field) :: cube, line, plane, tiny, long, four
    type(caesura_field_options) :: options
    type(caesura_species) :: ions
    type(caesura_record) :: x, id
    type(caesura_report) :: report
    real(real64) :: values(6, 5, 4), twice(12, 5, 4)
    real(real32) :: hyper(3, 2, 2, 2)
    integer(int64) :: ids(3)
    integer :: n, i

    call create_shared(writer, path)
    options%axis_labels = [character(16) :: 'x', 'y', 'z']
    options%grid_spacing = [0.5_real64, 0.25_real64, 0.125_real64]
    options%unit_si = 2
    call caesura_define_field(writer, 'cube', caesura_float64, [6 * ranks, 5, 4], cube, &
      options=options)
    call caesura_define_field(writer, 'line', caesura_int16, [int(7 * ranks, int64)], line)
    call caesura_define_field(writer, 'plane', caesura_int32, [2, 3 * ranks], plane)
    call caesura_define_field(writer, 'tiny', caesura_int8, [4 * ranks], tiny)
    call caesura_define_field(writer, 'long', caesura_int64, [2 * ranks], long)
    call caesura_define_field(writer, 'four', caesura_float32, [3, 2, 2, 2 * ranks], four, &
      absolute=1e-2_real64)
    call caesura_define_species(writer, 'ions', ions, any_order=.true., keep_index=.true.)
    call caesura_define_record(writer, ions, 'position/x', caesura_float64, x, &
      absolute=1e-6_real64, unit_si=3.0_real64)
    call caesura_define_record(writer, ions, 'id', caesura_int64, id)
    call caesura_define_constant(writer, ions, 'mass', 1.5_real64)
    call caesura_set_attribute(writer, 'run', 'a name')
    call caesura_set_attribute(writer, 'level', 3, field=cube)
    call caesura_set_attribute(writer, 'source', 'laser', species=ions)
    call caesura_set_attribute(writer, 'frame', 7, record=x)
    call fill(values, 6 * rank)
    hyper = rank + 0.5
    do n = 0, 2
      call caesura_begin_iteration(writer, n)
      call caesura_busy_begin(writer, caesura_lane_write)
      call caesura_busy_end(writer, caesura_lane_write)
      call caesura_compress_for(writer, 0.01_real64)
      call caesura_begin_dump(writer, 0.5_real64 * n, 0.5_real64)
      ! every second value: an array that is not contiguous
      twice = -1
      twice(::2, :, :) = values + n
      call caesura_put(writer, cube, twice(::2, :, :), offset=[6 * rank, 0, 0])
      call caesura_put(writer, line, int([(7 * rank + i, i=0, 6)], int16), offset=[7 * rank])
      call caesura_put(writer, plane, reshape(int([(i, i=1, 6)], int32), [2, 3]), [0, 3 * rank])
      call caesura_put(writer, tiny, int([1, -2, 3, -4], int8), [4 * rank])
      call caesura_put(writer, long, [huge(ids) - rank, -huge(ids)], [int(2 * rank, int64)])
      call caesura_put(writer, four, hyper, [0, 0, 0, 2 * rank])
      ids = [(3_int64 * rank + i, i=1, 3)]
      call caesura_put_particles(writer, x, real(ids, real64))
      call caesura_put_particles(writer, id, ids)
      call caesura_end_iteration(writer)
    end do
    call caesura_finish_by(writer, 10.0_real64)
    call caesura_get_report(writer, report)
    call check(report%dumps == 3, 'the report counts other dumps')
    call caesura_close(writer, report)
    ! Ranks of a node write blocks for each other: of two, one may have written all.
    if (ranks == 1) &
      call check(report%raw_bytes >= 3 * (6 * 5 * 4 * 8), 'the report has less than was put')
    call check(report%lost_dumps == 0, 'dumps were lost')
    call check(writer%code == caesura_ok, 'the writer failed')
    if (writer%code /= caesura_ok) call check(.false., writer%message)
  end subroutine

  ! Two dumps come, and one of them goes.
  subroutine append_to_file()
    type(caesura_writer) :: another, refused
    type(caesura_field) :: line
    integer(int64), allocatable :: iterations(:)
    integer :: last, i, n, code
    if (rank == 0) then
      call caesura_append(refused, trim(path), after=-1, last=last, code=code)
      call check(code == caesura_invalid_argument .and. last == -1, 'a run goes on after -1')
      call caesura_append(refused, trim(path) // '.nowhere', last=last, code=code)
      call check(code == caesura_io, 'a run goes on with a file that is not there')
    end if
    call append_shared(another, path, 2, last)
    call check(last == 2, 'the run goes on after another iteration')
    call caesura_define_field(another, 'line', caesura_int16, [7 * ranks], line)
    do n = 5, 6
      call caesura_begin_iteration(another, n)
      call caesura_begin_dump(another, 0.5_real64 * n, 0.5_real64)
      call caesura_put(another, line, int([(7 * rank + i, i=0, 6)], int16), offset=[7 * rank])
      call caesura_end_iteration(another)
    end do
    call caesura_close(another)
    call append_shared(another, path, 5, last)
    call check(last == 5, 'the second run goes on after another iteration')
    call caesura_close(another)
    call check(another%code == caesura_ok, 'the run that goes on failed')
    if (another%code /= caesura_ok) call check(.false., another%message)
    if (rank /= 0) return
    call caesura_open(reader, path)
    call caesura_list_dumps(reader, iterations)
    call check(size(iterations) == 4, 'the longer file has other dumps')
    if (size(iterations) == 4) call check(all(iterations == [0, 1, 2, 5]), 'other dumps are kept')
    call caesura_close(reader)
  end subroutine

  subroutine read_file()
    real(real64) :: box(2, 3, 2), expected(2, 3, 2), wide(4, 5, 4)
    real(real64), allocatable :: x(:)
    real(real32) :: hyper(3, 2, 2, 1)
    integer(int64), allocatable :: extent(:), iterations(:)
    real(real64), allocatable :: times(:)
    integer(int64) :: id(1), long(2)
    integer(int32) :: plane(1, 2)
    integer(int16) :: line(2)
    integer(int8) :: tiny(4)
    integer :: i, j, k

    call caesura_list_dumps(reader, iterations, times)
    call check(size(iterations) == 3, 'the file has other dumps')
    if (size(iterations) == 3) then
      call check(all(iterations == [0, 1, 2]), 'the iterations have other numbers')
      call check(abs(times(3) - 1) < 1e-12_real64, 'the time is another')
    end if
    call caesura_get_shape(reader, 'cube', 2, extent)
    call check(size(extent) == 3, 'the cube has not three axes')
    if (size(extent) == 3) call check(all(extent == [6 * ranks, 5, 4]), 'the axes are turned')
    call caesura_read(reader, 'cube', 2, box, offset=[3, 1, 2])
    do concurrent (i=1:2, j=1:3, k=1:2)
      expected(i, j, k) = value_at(3 + i, 1 + j, 2 + k) + 2
    end do
    call check(all(box == expected), 'the box of the cube is another')
    wide = -7
    call caesura_read(reader, 'cube', 0, wide(::2, 1:3, 1:2), offset=[0, 0, 0])
    call check(wide(3, 2, 1) == value_at(2, 2, 1), 'a section is read elsewhere')
    call check(wide(2, 2, 1) == -7, 'what a section leaves out is overwritten')
    call caesura_read(reader, 'line', 1, line, [7 * ranks - 2])
    call check(all(line == [7 * ranks - 2, 7 * ranks - 1]), 'the line is another')
    call caesura_read(reader, 'plane', 1, plane, [1, 1])
    call check(all(plane(1, :) == [4, 6]), 'the plane is another')
    call caesura_read(reader, 'tiny', 1, tiny)
    call check(all(tiny == [1, -2, 3, -4]), 'integers of 8 bits are others')
    call caesura_read(reader, 'long', 1, long, [2 * ranks - 2])
    call check(long(1) == huge(long) - (ranks - 1), 'integers of 64 bits are others')
    call caesura_read(reader, 'four', 1, hyper, [0, 0, 0, 2 * ranks - 1])
    call check(all(abs(hyper - (ranks - 0.5)) <= 1e-2), 'the field of rank 4 is outside its bound')
    allocate (x(3 * ranks))
    call caesura_read(reader, 'ions/position/x', 2, x)
    call check(all(abs(x - [(i, i=1, 3 * ranks)]) <= 1e-6_real64), 'the positions are others')
    call caesura_read(reader, 'ions/id', 2, id, [3 * ranks - 1])
    call check(id(1) == 3 * ranks, 'the id is another')
    call check(reader%code == caesura_ok, 'the reader failed')
    if (reader%code /= caesura_ok) call check(.false., reader%message)
  end subroutine

  ! Each is refused with a message that names the trouble, and leaves the array as it was.
  subroutine refuse_what_does_not_fit()
    real(real64) :: plane(2, 2), cube(2, 2, 2)
    real(real32) :: single(2, 2, 2)
    integer :: code
    plane = 5
    call caesura_read(reader, 'cube', 2, plane, code=code)
    call check(code == caesura_invalid_argument, 'a plane is read of a cube')
    call check(index(reader%message, 'cube has 3 axes of float64') > 0, 'no axes in the message')
    call check(all(plane == 5), 'a refused call writes')
    reader%code = caesura_ok
    call caesura_read(reader, 'cube', 2, single, code=code)
    call check(code == caesura_invalid_argument, 'float64 is read as float32')
    call check(index(reader%message, 'the array 3 of float32') > 0, 'no kind in the message')
    reader%code = caesura_ok
    call caesura_read(reader, 'cube', 2, cube, offset=[0, 0], code=code)
    call check(code == caesura_invalid_argument, 'an offset of two axes is taken')
    reader%code = caesura_ok
    call caesura_read(reader, 'cube', 2, cube, offset=[0, 0, 3], code=code)
    call check(code == caesura_invalid_argument, 'a box outside of the field is read')
    reader%code = caesura_ok
    call caesura_read(reader, 'nothing', 2, cube, code=code)
    call check(code /= caesura_ok .and. len(reader%message) > 0, 'a field is read that is not there')
  end subroutine

  ! Complex numbers, and logicals of one byte.
  subroutine come_back_of_other_kinds()
    type(caesura_writer) :: another
    type(caesura_reader) :: back
    type(caesura_field) :: wave, fine, mask
    complex(real32) :: waves(5, 4), found(5, 4)
    complex(real64) :: one(1)
    logical(c_bool) :: is_on(6), was_on(6)
    integer :: i
    waves = reshape([(cmplx(i, -0.5 * i, real32), i=1, 20)], [5, 4])
    is_on = logical([(mod(i, 3) == 0, i=1, 6)], c_bool)
    call caesura_create(another, trim(path) // '.kinds')
    call caesura_define_field(another, 'wave', caesura_complex64, [5, 4], wave, absolute=1e-3_real64)
    call caesura_define_field(another, 'fine', caesura_complex128, [1], fine)
    call caesura_define_field(another, 'mask', caesura_bool, [6], mask)
    call caesura_begin_iteration(another, 0)
    call caesura_begin_dump(another, 0.0_real64, 1.0_real64)
    call caesura_put(another, wave, waves)
    call caesura_put(another, fine, [(1.5_real64, -2.5_real64)])
    call caesura_put(another, mask, is_on)
    call caesura_end_iteration(another)
    call caesura_close(another)
    call check(another%code == caesura_ok, 'complex numbers and logicals are not written')
    call caesura_open(back, trim(path) // '.kinds')
    call caesura_read(back, 'wave', 0, found)
    call check(maxval(abs(real(found - waves))) <= 1e-3, 'a real part is outside its bound')
    call check(maxval(abs(aimag(found - waves))) <= 1e-3, 'an imaginary part is outside its bound')
    call caesura_read(back, 'fine', 0, one)
    call check(one(1) == (1.5_real64, -2.5_real64), 'a complex number is another')
    call caesura_read(back, 'mask', 0, was_on)
    call check(logical(all(was_on .eqv. is_on)), 'logicals are others')
    call check(back%code == caesura_ok, 'complex numbers and logicals are not read')
    call caesura_close(back)
  end subroutine

  ! Values that are declared missing come back as they are, and leave the range to the others.
  subroutine leave_out_missing_values()
    type(caesura_writer) :: another
    type(caesura_reader) :: back
    type(caesura_field) :: field
    type(caesura_field_options) :: options
    real(real32), allocatable :: values(:, :), found(:, :)
    integer :: i, j
    allocate (values(80, 60), found(80, 60))
    do concurrent (i=1:80, j=1:60)
      values(i, j) = 280 + sin(0.1_real32 * i) + cos(0.2_real32 * j)
    end do
    values(1:30, :) = 1e20_real32
    values(31, :) = 5
    call caesura_create(another, trim(path) // '.missing')
    options%missing = [1e20_real64, 5.0_real64]
    call caesura_define_field(another, 'sst', caesura_float32, shape(values), field, &
      relative=1e-3_real64, options=options)
    call caesura_begin_iteration(another, 0)
    call caesura_begin_dump(another, 0.0_real64, 1.0_real64)
    call caesura_put(another, field, values)
    call caesura_end_iteration(another)
    call check(another%code == caesura_ok, 'a field with missing values is not written')
    call caesura_close(another)
    call caesura_open(back, trim(path) // '.missing')
    call caesura_read(back, 'sst', 0, found)
    call check(all(found(1:31, :) == values(1:31, :)), 'a missing value has changed')
    call check(all(abs(found(32:, :) - values(32:, :)) <= 4.001e-3_real32), 'the sea is too far off')
    call caesura_close(back)
  end subroutine

  ! A value amid the others that is declared with a put is missing from then on.
  subroutine declare_what_is_missing()
    type(caesura_writer) :: another
    type(caesura_reader) :: back
    type(caesura_field) :: field, undefined
    real(real32), allocatable :: values(:, :), found(:, :)
    integer :: i, j, n, code
    allocate (values(80, 60), found(80, 60))
    do concurrent (i=1:80, j=1:60)
      values(i, j) = 280 + sin(0.1_real32 * i) + cos(0.2_real32 * j)
    end do
    values(1:30, :) = 280.0625_real32
    call caesura_create(another, trim(path) // '.declared')
    call caesura_define_field(another, 'sst', caesura_float32, shape(values), field, &
      absolute=0.1_real64)
    do n = 0, 1
      call caesura_begin_iteration(another, n)
      call caesura_begin_dump(another, 0.0_real64, 1.0_real64)
      if (n == 0) call caesura_declare_missing(another, field, 280.0625_real64)
      call caesura_put(another, field, values)
      call caesura_end_iteration(another)
    end do
    call check(another%code == caesura_ok, 'a value is not declared missing')
    call caesura_declare_missing(another, undefined, 1.0_real64, code)
    call check(code == caesura_invalid_argument, 'a value is missing in no field')
    call caesura_close(another)
    call caesura_open(back, trim(path) // '.declared')
    do n = 0, 1
      call caesura_read(back, 'sst', n, found)
      call check(all(found(1:30, :) == values(1:30, :)), 'a declared value has changed')
      call check(all(abs(found(31:, :) - values(31:, :)) <= 0.1_real32), 'a value is too far off')
    end do
    call caesura_close(back)
  end subroutine

  ! Of a field with a loose bound a box is exact, and so is what lies between two values.
  subroutine keep_to_bounds_by_place()
    type(caesura_writer) :: another
    type(caesura_reader) :: back
    type(caesura_field) :: field
    type(caesura_field_options) :: options
    real(real64), allocatable :: values(:, :), found(:, :)
    integer :: code, i, j
    allocate (values(512, 512), found(512, 512))  ! a rule is kept by layers of 65536 values
    do concurrent (i=1:512, j=1:512)
      values(i, j) = sin(0.1_real64 * i) + cos(0.2_real64 * j)
    end do
    values(101:103, 300) = -2.5_real64
    call caesura_create(another, trim(path) // '.rules')
    options%bound_rules = [caesura_in_box([10, 3], [20, 5], 0.0_real64), &
      caesura_of_values(-3.0_real64, -2.4_real64, 0.0_real64), &
      caesura_where_steep(50.0_real64, 0.0_real64)]
    call caesura_define_field(another, 'rho', caesura_float64, shape(values), field, &
      absolute=0.1_real64, options=options)
    call caesura_begin_iteration(another, 0)
    call caesura_begin_dump(another, 0.0_real64, 1.0_real64)
    call caesura_put(another, field, values)
    call caesura_end_iteration(another)
    call check(another%code == caesura_ok, 'a field with bounds by place is not written')
    if (another%code /= caesura_ok) call check(.false., another%message)
    call caesura_define_field(another, 'line', caesura_float64, [60], field, &
      absolute=0.1_real64, options=options, code=code)
    call check(code == caesura_invalid_argument, 'a box of two axes is taken by a field of one')
    call caesura_close(another)
    call caesura_open(back, trim(path) // '.rules')
    call caesura_read(back, 'rho', 0, found)
    call check(all(abs(found - values) <= 0.1_real64), 'a value is outside the bound of all')
    call check(all(found(11:30, 4:8) == values(11:30, 4:8)), 'the box is not exact')
    call check(all(found(101:103, 300) == -2.5), 'values of the range are not exact')
    call check(.not. all(found == values), 'all values are exact')
    call caesura_close(back)
  end subroutine

  ! Between two dumps; the second run says where it goes on.
  subroutine take_another_shape()
    type(caesura_writer) :: another
    type(caesura_reader) :: back
    type(caesura_field) :: field, none
    type(caesura_options) :: options
    integer(int64), allocatable :: extent(:)
    integer(int32) :: small(2, 3), large(4, 5)
    integer :: code, committed, i
    small = reshape([(i, i=1, 6)], [2, 3])
    large = reshape([(i, i=1, 20)], [4, 5])
    options%on_message => hear
    options%calibration_path = 'none'
    call caesura_create(another, trim(path) // '.shapes', options)
    call caesura_committed(another, committed)
    call check(committed == -1, 'a dump is committed before the first')
    call caesura_define_field(another, 'n', caesura_int32, shape(small), field)
    call caesura_begin_iteration(another, 0)
    call caesura_begin_dump(another, 0.0_real64, 1.0_real64)
    call caesura_put(another, field, small)
    call caesura_end_iteration(another)
    call caesura_reshape(another, field, shape(large), grid_offset=[2.0_real64, 3.0_real64])
    call caesura_begin_iteration(another, 1)
    call caesura_begin_dump(another, 1.0_real64, 1.0_real64)
    call caesura_put(another, field, large)
    call caesura_end_iteration(another)
    call caesura_finish_by(another, 60.0_real64)
    call caesura_committed(another, committed)
    call check(committed == 1, 'the last dump is not committed')
    call check(another%code == caesura_ok, 'a field of another shape is not written')
    if (another%code /= caesura_ok) call check(.false., another%message)
    call caesura_reshape(another, field, [4], code=code)
    call check(code == caesura_invalid_argument, 'a field of two axes becomes one of one')
    call caesura_reshape(another, none, [4, 5], code=code)
    call check(code == caesura_invalid_argument, 'a field is reshaped that was not defined')
    call caesura_close(another)
    call caesura_open(back, trim(path) // '.shapes')
    call caesura_get_shape(back, 'n', 1, extent)
    call check(all(extent == shape(large)), 'the second dump has another shape')
    large = 0
    call caesura_read(back, 'n', 1, large)
    call check(all(large == reshape([(i, i=1, 20)], [4, 5])), 'the second dump is another')
    call caesura_close(back)
    last_heard = ''
    call caesura_append(another, trim(path) // '.shapes', options=options)
    call check(index(last_heard, 'goes on after iteration 1') > 0, 'nothing was said: ' // &
      trim(last_heard))
    call caesura_close(another)
  end subroutine

  logical function is_there(name)
    character(*), intent(in) :: name
    type(caesura_reader) :: another
    call caesura_open(another, trim(path) // '/' // name)
    is_there = another%code == caesura_ok
    call check(len(another%message) > 0, 'an error has no message')
    call caesura_close(another)
  end function

  subroutine refuse_what_is_not_open()
    type(caesura_field) :: field
    type(caesura_writer) :: another
    integer :: code
    call caesura_put(writer, field, [1.0_real64], code=code)
    call check(code == caesura_invalid_argument, 'a closed writer takes values')
    call caesura_create(another, trim(path) // '.alone')
    call caesura_put(another, field, [1.0_real64], code=code)
    call check(index(another%message, 'not defined') > 0, 'a field is put that was not defined')
    call caesura_define_field(another, 'both', caesura_float64, [4], field, &
      absolute=1.0_real64, relative=1.0_real64, code=code)
    call check(code == caesura_invalid_argument, 'a field has two bounds')
    call check(index(another%message, 'not defined') > 0, 'the first error is not kept')
    call caesura_define_field(another, 'both', caesura_float64, [4], field, &
      pointwise_relative=0.1_real64, psnr=60.0_real64, code=code)
    call check(code == caesura_invalid_argument, 'a field has two bounds of the other kinds')
    call caesura_define_field(another, 'each', caesura_float64, [4], field, &
      pointwise_relative=2.0_real64, code=code)
    call check(code == caesura_invalid_argument, 'a bound of twice each value is taken')
    call caesura_define_field(another, 'each', caesura_float64, [4], field, &
      pointwise_relative=0.1_real64, code=code)
    call check(code == caesura_ok, 'a bound relative to each value is not taken')
    call caesura_define_field(another, 'noise', caesura_float64, [4], field, psnr=60.0_real64, &
      code=code)
    call check(code == caesura_ok, 'a bound of noise is not taken')
    call caesura_close(another)
  end subroutine
end program
