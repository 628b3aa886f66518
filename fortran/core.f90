! Handles, errors, texts and boxes: what the calls of writer.f90, reader.f90 and arrays.inc share.
!
! A handle keeps the code and the message of the first call that failed since its code was
! caesura_ok; the program sets it to caesura_ok to go on. A call never stops the program.
! Arrays of extents and offsets are of Fortran's order here, and turned round on the way to C.
module caesura_core
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use caesura_calls
  implicit none

  integer, parameter :: caesura_ok = 0, caesura_invalid_argument = 1
  integer, parameter :: caesura_insufficient_data = 2, caesura_corrupt = 3
  integer, parameter :: caesura_unsupported = 4, caesura_no_space = 5, caesura_io = 6
  integer, parameter :: caesura_cancelled = 7, caesura_internal = 8

  integer, parameter :: caesura_float32 = 1, caesura_float64 = 2, caesura_int8 = 3
  integer, parameter :: caesura_int16 = 4, caesura_int32 = 5, caesura_int64 = 6
  integer, parameter :: caesura_bool = 11, caesura_complex64 = 14, caesura_complex128 = 15
  character(10), parameter :: dtype_names(0:15) = [character(10) :: 'another', 'float32', &
    'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'bool', &
    'float16', 'bfloat16', 'complex64', 'complex128']

  type :: caesura_handle
    integer :: code = caesura_ok
    character(:), allocatable :: message
    type(c_ptr) :: pointer = c_null_ptr
  end type
  ! What a program gives to hear what the library has to say: a procedure of a module.
  abstract interface
    subroutine caesura_message_handler(message)
      character(*), intent(in) :: message
    end subroutine
  end interface
  ! C keeps one address for it, which is that of a box.
  type :: message_box
    procedure(caesura_message_handler), pointer, nopass :: handler => null()
  end type

  type, extends(caesura_handle) :: caesura_writer
    type(message_box), pointer :: messages => null()
  end type
  type, extends(caesura_handle) :: caesura_reader
  end type

  ! Numbers are those of C's face; a handle that was never defined is none.
  type :: caesura_field
    integer(c_int32_t) :: number = -1
    integer :: axes = 0
  end type
  type :: caesura_species
    integer(c_int32_t) :: number = -1
  end type
  type :: caesura_record
    integer(c_int32_t) :: number = -1
  end type

contains

  ! The end of each call: `code` is the caller's optional argument.
  subroutine note(handle, result, code)
    class(caesura_handle), intent(inout) :: handle
    integer(c_int), intent(in) :: result
    integer, intent(out), optional :: code
    if (result /= caesura_ok .and. handle%code == caesura_ok) then
      handle%code = result
      handle%message = text_of(c_last_error())
    end if
    if (present(code)) code = result
  end subroutine

  ! The same for what this module itself refuses.
  subroutine refuse(handle, message, code)
    class(caesura_handle), intent(inout) :: handle
    character(*), intent(in) :: message
    integer, intent(out), optional :: code
    if (handle%code == caesura_ok) then
      handle%code = caesura_invalid_argument
      handle%message = message
    end if
    if (present(code)) code = caesura_invalid_argument
  end subroutine

  ! False, and the call is refused, if the handle is not open.
  logical function is_open(handle, code)
    class(caesura_handle), intent(inout) :: handle
    integer, intent(out), optional :: code
    is_open = c_associated(handle%pointer)
    if (.not. is_open) call refuse(handle, 'the writer or reader is not open', code)
  end function

  ! C calls it with a message, inside a call of this module.
  subroutine deliver(context, message) bind(C, name="caesura_fortran_deliver")
    type(c_ptr), value :: context, message
    type(message_box), pointer :: box
    call c_f_pointer(context, box)
    call box%handler(text_of(message))
  end subroutine

  function text_of(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(text, letters, [c_strlen(text)])
    allocate (character(size(letters)) :: copy)
    do i = 1, size(letters)
      copy(i:i) = letters(i)
    end do
  end function

  ! Ended as C wants it. Blanks at the end are padding in Fortran, and go.
  function c_text(text) result(ended)
    character(*), intent(in) :: text
    character(:), allocatable :: ended
    ended = trim(text) // c_null_char
  end function

  ! The other way round, and of 4 entries, so that C never reads past the end.
  pure function reversed(numbers) result(turned)
    integer(int64), intent(in) :: numbers(:)
    integer(int64) :: turned(4)
    integer :: n
    n = min(size(numbers), 4)
    turned = 0
    turned(1:n) = numbers(n:1:-1)
  end function

  ! Integers of the default kind or of 64 bits; others give an empty array.
  function wide(numbers) result(copy)
    class(*), intent(in) :: numbers(:)
    integer(int64), allocatable :: copy(:)
    select type (numbers)
    type is (integer(int32))
      copy = int(numbers, int64)
    type is (integer(int64))
      copy = numbers
    class default
      allocate (copy(0))
    end select
  end function

  function number_text(number) result(text)
    integer, intent(in) :: number
    character(:), allocatable :: text
    character(12) :: digits
    write (digits, '(i0)') number
    text = trim(digits)
  end function

  ! A box's offset in C's order; false, and refused, if it has not as many axes as the array.
  logical function box_offset(handle, axes, offset, turned, code)
    class(caesura_handle), intent(inout) :: handle
    integer, intent(in) :: axes
    class(*), intent(in), optional :: offset(:)
    integer(int64), intent(out) :: turned(4)
    integer, intent(out), optional :: code
    integer(int64), allocatable :: given(:)
    turned = 0
    box_offset = .true.
    if (.not. present(offset)) return
    given = wide(offset)
    box_offset = size(given) == axes
    if (box_offset) then
      turned = reversed(given)
    else
      call refuse(handle, 'offset has not ' // number_text(axes) // &
        ' integers, of the default kind or of 64 bits', code)
    end if
  end function

  subroutine put_values(writer, field, extent, values, dtype, offset, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_field), intent(in) :: field
    integer(int64), intent(in) :: extent(:)
    type(c_ptr), intent(in) :: values
    integer, intent(in) :: dtype
    class(*), intent(in), optional :: offset(:)
    integer, intent(out), optional :: code
    integer(int64) :: turned(4)
    if (.not. is_open(writer, code)) return
    if (field%axes /= size(extent)) then
      call refuse(writer, 'the field has ' // number_text(field%axes) // &
        ' axes (0: it was not defined), the array ' // number_text(size(extent)), code)
      return
    end if
    if (.not. box_offset(writer, size(extent), offset, turned, code)) return
    call note(writer, c_put(writer%pointer, field%number, turned, reversed(extent), values, &
      dtype, 0), code)
  end subroutine

  subroutine read_values(reader, name, iteration, extent, values, dtype, bytes, offset, code)
    type(caesura_reader), intent(inout) :: reader
    character(*), intent(in) :: name
    integer, intent(in) :: iteration, dtype
    integer(int64), intent(in) :: extent(:), bytes
    type(c_ptr), intent(in) :: values
    class(*), intent(in), optional :: offset(:)
    integer, intent(out), optional :: code
    integer(int64) :: turned(4), shape_in_c(4)
    integer(c_size_t) :: field
    integer(c_int) :: there, axes, result
    if (.not. is_open(reader, code)) return
    result = c_find(reader%pointer, c_text(name), int(iteration, int64), field, there, axes, &
      shape_in_c)
    if (result /= caesura_ok) then
      call note(reader, result, code)
      return
    end if
    if (there /= dtype .or. axes /= size(extent)) then
      call refuse(reader, trim(name) // ' has ' // number_text(int(axes)) // ' axes of ' // &
        trim(dtype_names(there)) // ', the array ' // number_text(size(extent)) // ' of ' // &
        trim(dtype_names(dtype)), code)
      return
    end if
    if (.not. box_offset(reader, size(extent), offset, turned, code)) return
    call note(reader, c_read(reader%pointer, field, turned, reversed(extent), values, bytes, &
      c_null_ptr), code)
  end subroutine

end module
