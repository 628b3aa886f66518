! The writer's calls but for those that take arrays: see arrays.inc.
module caesura_writing
  use caesura_core
  implicit none

  integer, parameter :: caesura_lane_compress = 0, caesura_lane_write = 1

  ! The members are those of WriterOptions in caesura/writer.hpp; what is not set is its default.
  type :: caesura_options
    character(:), allocatable :: codec, trace_path, calibration_path, transport, layout
    integer(int64) :: memory_bytes = 0, chunk_bytes = 0, stripe_bytes = 0, write_buffer_bytes = 0
    integer(int64) :: dumps_per_file = 0, pending_files = 0
    real(real64) :: max_delay_s = 0
    integer :: compress_threads = 0
    logical :: planning = .true., durable = .true., idle_priority = .true.
    logical :: cooperative = .false., balance_writes = .true.
    procedure(caesura_message_handler), pointer, nopass :: on_message => null()
  end type

  ! What some values of a field are held to; made by the three functions at the end.
  type :: caesura_bound_rule
    integer :: kind = -1, axes = 0
    integer(int64) :: offset(4) = 0, extent(4) = 0
    real(real64) :: lowest = 0, highest = 0, change = 0, bound = 0
  end type
  integer, parameter :: in_box = 0, of_values = 1, where_steep = 2  ! as in C

  ! Those of FieldOptions; the arrays are in the order of the field's axes in Fortran.
  type :: caesura_field_options
    character(:), allocatable :: codec
    character(16), allocatable :: axis_labels(:)
    real(real64), allocatable :: grid_spacing(:), grid_offset(:)
    real(real64) :: unit_si = 1, unit_dimension(7) = 0, grid_unit_si = 1, fill_value = 0
    logical :: partial = .false.
    type(caesura_bound_rule), allocatable :: bound_rules(:)
    ! Mark a place without data, as converted to the field's type.
    real(real64), allocatable :: missing(:)
  end type

  ! Copies that C's struct points into, for as long as a call.
  type :: c_copies
    character(:), allocatable :: codec, trace_path, calibration_path, transport, layout
  end type

contains

  subroutine caesura_create(writer, path, options, code)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    type(caesura_options), intent(in), optional :: options
    integer, intent(out), optional :: code
    type(c_copies), target :: copies
    type(c_options) :: c
    if (c_associated(writer%pointer)) then
      call refuse(writer, 'the writer is open already', code)
      return
    end if
    c = options_in_c(writer, copies, options)
    call note(writer, c_create(c_text(path), c_null_ptr, c, writer%pointer), code)
  end subroutine

  ! Goes on with a file that is there. last: the iteration after which it does, -1 where it has none.
  subroutine caesura_append(writer, path, after, last, options, code)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: path
    integer, intent(in), optional :: after
    integer, intent(out), optional :: last
    type(caesura_options), intent(in), optional :: options
    integer, intent(out), optional :: code
    type(c_copies), target :: copies
    type(c_options) :: c
    integer(c_int64_t) :: found
    if (present(last)) last = -1
    if (.not. may_append(writer, after, code)) return
    c = options_in_c(writer, copies, options)
    call note(writer, c_append(c_text(path), c_null_ptr, c, kept_last(after), writer%pointer, &
      found), code)
    if (present(last)) last = int(found)
  end subroutine

  logical function may_append(writer, after, code)
    type(caesura_writer), intent(inout) :: writer
    integer, intent(in), optional :: after
    integer, intent(out), optional :: code
    may_append = .not. c_associated(writer%pointer)
    if (.not. may_append) call refuse(writer, 'the writer is open already', code)
    if (.not. may_append .or. .not. present(after)) return
    may_append = after >= 0
    if (.not. may_append) call refuse(writer, 'after is below 0; it is an iteration', code)
  end function

  ! As C's face has it: below 0 nothing is said.
  integer(c_int64_t) function kept_last(after)
    integer, intent(in), optional :: after
    kept_last = -1
    if (present(after)) kept_last = int(after, c_int64_t)
  end function

  ! The writer keeps what its messages go to.
  function options_in_c(writer, copies, options) result(c)
    type(caesura_writer), intent(inout) :: writer
    type(c_copies), intent(inout), target :: copies
    type(caesura_options), intent(in), optional :: options
    type(c_options) :: c
    type(caesura_options) :: given
    if (present(options)) given = options
    c%codec = held(given%codec, copies%codec)
    c%trace_path = held(given%trace_path, copies%trace_path)
    c%calibration_path = held(given%calibration_path, copies%calibration_path)
    c%transport = held(given%transport, copies%transport)
    c%layout = held(given%layout, copies%layout)
    c%memory_bytes = given%memory_bytes
    c%chunk_bytes = given%chunk_bytes
    c%stripe_bytes = given%stripe_bytes
    c%write_buffer_bytes = given%write_buffer_bytes
    c%dumps_per_file = given%dumps_per_file
    c%pending_files = given%pending_files
    c%max_delay_s = given%max_delay_s
    c%compress_threads = given%compress_threads
    c%planning = merge(1, 0, given%planning)
    c%durable = merge(1, 0, given%durable)
    c%idle_priority = merge(1, 0, given%idle_priority)
    c%cooperative = merge(1, 0, given%cooperative)
    c%balance_writes = merge(1, 0, given%balance_writes)
    c%on_message = c_null_funptr
    c%message_context = c_null_ptr
    call forget_messages(writer)
    if (.not. associated(given%on_message)) return
    allocate (writer%messages)
    writer%messages%handler => given%on_message
    c%on_message = c_funloc(deliver)
    c%message_context = c_loc(writer%messages)
  end function

  subroutine forget_messages(writer)
    type(caesura_writer), intent(inout) :: writer
    if (associated(writer%messages)) deallocate (writer%messages)
    nullify (writer%messages)
  end subroutine

  ! A pointer to a copy that ends as C wants it; of what is not set NULL.
  type(c_ptr) function held(text, copy)
    character(:), allocatable, intent(in) :: text
    character(:), allocatable, intent(inout), target :: copy
    held = c_null_ptr
    if (.not. allocated(text)) return
    copy = c_text(text)
    held = c_loc(copy)
  end function

  ! C's kind and bound of the optional arguments; false if there are two.
  logical function bound_of(writer, absolute, relative, pointwise_relative, psnr, kind, bound, code)
    type(caesura_writer), intent(inout) :: writer
    real(real64), intent(in), optional :: absolute, relative, pointwise_relative, psnr
    integer(c_int), intent(out) :: kind
    real(c_double), intent(out) :: bound
    integer, intent(out), optional :: code
    kind = 0
    bound = 0
    bound_of = count([present(absolute), present(relative), present(pointwise_relative), &
      present(psnr)]) <= 1
    if (.not. bound_of) call refuse(writer, 'a bound is absolute, relative, pointwise_relative ' // &
      'or psnr, not two of them', code)
    if (present(absolute)) then
      kind = 1
      bound = absolute
    else if (present(relative)) then
      kind = 2
      bound = relative
    else if (present(pointwise_relative)) then
      kind = 3
      bound = pointwise_relative
    else if (present(psnr)) then
      kind = 4
      bound = psnr
    end if
  end function

  ! None of the four bounds: lossless.
  subroutine caesura_define_field(writer, name, dtype, extent, field, absolute, relative, &
      options, code, pointwise_relative, psnr)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    class(*), intent(in) :: extent(:)
    type(caesura_field), intent(out) :: field
    real(real64), intent(in), optional :: absolute, relative, pointwise_relative, psnr
    type(caesura_field_options), intent(in), optional :: options
    integer, intent(out), optional :: code
    type(caesura_field_options) :: given
    integer(int64), allocatable :: numbers(:)
    integer(c_int) :: kind, result
    real(c_double) :: bound
    integer(c_int32_t) :: number
    if (.not. is_open(writer, code)) return
    if (.not. bound_of(writer, absolute, relative, pointwise_relative, psnr, kind, bound, &
      code)) return
    if (present(options)) given = options
    numbers = wide(extent)
    if (.not. entries_fit(writer, given, size(numbers), code)) return
    number = -1
    result = define_in_c(writer%pointer, name, dtype, numbers, kind, bound, given, number)
    if (result == caesura_ok) field = caesura_field(number, size(numbers))
    call note(writer, result, code)
  end subroutine

  logical function entries_fit(writer, given, axes, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_field_options), intent(in) :: given
    integer, intent(in) :: axes
    integer, intent(out), optional :: code
    entries_fit = .true.
    if (allocated(given%axis_labels)) entries_fit = size(given%axis_labels) == axes
    if (allocated(given%grid_spacing)) &
      entries_fit = entries_fit .and. size(given%grid_spacing) == axes
    if (allocated(given%grid_offset)) &
      entries_fit = entries_fit .and. size(given%grid_offset) == axes
    if (.not. entries_fit) call refuse(writer, 'axis_labels, grid_spacing and grid_offset have ' &
      // 'an entry for each axis, of which the field has ' // number_text(axes), code)
    if (.not. entries_fit .or. .not. allocated(given%bound_rules)) return
    entries_fit = all(given%bound_rules%kind /= in_box .or. given%bound_rules%axes == axes)
    if (.not. entries_fit) call refuse(writer, 'offset and extent of a caesura_in_box have an ' &
      // 'integer for each axis, of which the field has ' // number_text(axes), code)
  end function

  integer(c_int) function define_in_c(writer, name, dtype, extent, kind, bound, given, number)
    type(c_ptr), intent(in) :: writer
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    integer(int64), intent(in) :: extent(:)
    integer(c_int), intent(in) :: kind
    real(c_double), intent(in) :: bound
    type(caesura_field_options), intent(in) :: given
    integer(c_int32_t), intent(inout) :: number
    type(c_field_options) :: c
    character(:), allocatable, target :: codec
    character(17), allocatable, target :: labels(:)
    type(c_ptr), allocatable, target :: pointers(:)
    real(c_double), allocatable, target :: spacing(:), offset(:), missing(:)
    type(c_bound_rule), allocatable, target :: rules(:)
    integer :: axes, axis
    axes = size(extent)
    c = c_field_options(held(given%codec, codec), c_null_ptr, c_null_ptr, c_null_ptr, &
      given%unit_si, given%unit_dimension, given%grid_unit_si, given%fill_value, &
      merge(1, 0, given%partial), c_null_ptr, 0, c_null_ptr, 0)
    if (allocated(given%missing)) then
      missing = given%missing
      c%missing = c_loc(missing)
      c%missing_count = size(missing)
    end if
    if (allocated(given%bound_rules)) then
      rules = rule_in_c(given%bound_rules)
      c%bound_rules = c_loc(rules)
      c%bound_rule_count = size(rules)
    end if
    if (allocated(given%axis_labels)) then
      allocate (labels(axes), pointers(axes))
      do axis = 1, axes
        labels(axis) = c_text(given%axis_labels(axes + 1 - axis))
        pointers(axis) = c_loc(labels(axis))
      end do
      c%axis_labels = c_loc(pointers)
    end if
    if (allocated(given%grid_spacing)) then
      spacing = given%grid_spacing(axes:1:-1)
      c%grid_spacing = c_loc(spacing)
    end if
    if (allocated(given%grid_offset)) then
      offset = given%grid_offset(axes:1:-1)
      c%grid_offset = c_loc(offset)
    end if
    define_in_c = c_define(writer, c_text(name), dtype, axes, reversed(extent), kind, bound, c, &
      number)
  end function

  impure elemental function rule_in_c(rule) result(c)
    type(caesura_bound_rule), intent(in) :: rule
    type(c_bound_rule) :: c
    c = c_bound_rule(rule%kind, reversed(rule%offset(:rule%axes)), &
      reversed(rule%extent(:rule%axes)), rule%lowest, rule%highest, rule%change, rule%bound)
  end function

  ! The values of a box: offset and extent as caesura_put has them.
  function caesura_in_box(offset, extent, bound) result(rule)
    class(*), intent(in) :: offset(:), extent(:)
    real(real64), intent(in) :: bound
    type(caesura_bound_rule) :: rule
    rule%kind = in_box
    rule%bound = bound
    if (size(wide(offset)) /= size(wide(extent)) .or. size(extent) > 4) return
    rule%axes = size(wide(extent))
    rule%offset(:rule%axes) = wide(offset)
    rule%extent(:rule%axes) = wide(extent)
  end function

  ! Values from lowest to highest, both included.
  function caesura_of_values(lowest, highest, bound) result(rule)
    real(real64), intent(in) :: lowest, highest, bound
    type(caesura_bound_rule) :: rule
    rule = caesura_bound_rule(kind=of_values, lowest=lowest, highest=highest, bound=bound)
  end function

  ! Values that differ from a neighbour by more than change.
  function caesura_where_steep(change, bound) result(rule)
    real(real64), intent(in) :: change, bound
    type(caesura_bound_rule) :: rule
    rule = caesura_bound_rule(kind=where_steep, change=change, bound=bound)
  end function

  ! The field has another shape from the next put on, of as many axes. grid_offset: none as before.
  subroutine caesura_reshape(writer, field, extent, grid_offset, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_field), intent(in) :: field
    class(*), intent(in) :: extent(:)
    real(real64), intent(in), optional :: grid_offset(:)
    integer, intent(out), optional :: code
    integer(int64), allocatable :: numbers(:)
    real(c_double), allocatable, target :: turned(:)
    type(c_ptr) :: place
    if (.not. is_open(writer, code)) return
    numbers = wide(extent)
    place = c_null_ptr
    if (present(grid_offset)) then
      turned = grid_offset(size(grid_offset):1:-1)
      place = c_loc(turned)
    end if
    if (size(numbers) /= field%axes .or. field%axes == 0 .or. &
        (present(grid_offset) .and. size(turned) /= field%axes)) then
      call refuse(writer, 'extent and grid_offset have an entry for each axis, of which the ' // &
        'field has ' // number_text(field%axes) // ' (0: it was not defined)', code)
      return
    end if
    call note(writer, c_reshape(writer%pointer, field%number, reversed(numbers), place), code)
  end subroutine

  ! From now on values with the bits of number, as converted to the field's type, are missing.
  subroutine caesura_declare_missing(writer, field, number, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_field), intent(in) :: field
    real(real64), intent(in) :: number
    integer, intent(out), optional :: code
    if (.not. is_open(writer, code)) return
    if (field%axes == 0) then
      call refuse(writer, 'the field was not defined', code)
      return
    end if
    call note(writer, c_declare_missing(writer%pointer, field%number, number), code)
  end subroutine

  ! iteration: that of the last dump which is committed, -1 where none is.
  subroutine caesura_committed(writer, iteration, code)
    type(caesura_writer), intent(inout) :: writer
    integer, intent(out) :: iteration
    integer, intent(out), optional :: code
    iteration = -1
    if (.not. is_open(writer, code)) return
    iteration = int(c_committed(writer%pointer))
    if (present(code)) code = caesura_ok
  end subroutine

  subroutine caesura_define_species(writer, name, species, any_order, keep_index, code)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: name
    type(caesura_species), intent(out) :: species
    logical, intent(in), optional :: any_order, keep_index
    integer, intent(out), optional :: code
    integer(c_int) :: any, keep
    if (.not. is_open(writer, code)) return
    any = 0
    if (present(any_order)) any = merge(1, 0, any_order)
    keep = 0
    if (present(keep_index)) keep = merge(1, 0, keep_index)
    call note(writer, c_define_species(writer%pointer, c_text(name), any, keep, species%number), &
      code)
  end subroutine

  subroutine caesura_define_record(writer, species, name, dtype, record, absolute, relative, &
      unit_si, unit_dimension, code, pointwise_relative, psnr)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_species), intent(in) :: species
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    type(caesura_record), intent(out) :: record
    real(real64), intent(in), optional :: absolute, relative, unit_si, unit_dimension(7)
    real(real64), intent(in), optional :: pointwise_relative, psnr
    integer, intent(out), optional :: code
    integer(c_int) :: kind
    real(c_double) :: bound, unit, dimension(7)
    if (.not. is_open(writer, code)) return
    if (.not. bound_of(writer, absolute, relative, pointwise_relative, psnr, kind, bound, &
      code)) return
    unit = 1
    if (present(unit_si)) unit = unit_si
    dimension = 0
    if (present(unit_dimension)) dimension = unit_dimension
    call note(writer, c_define_record(writer%pointer, species%number, c_text(name), dtype, kind, &
      bound, unit, dimension, record%number), code)
  end subroutine

  subroutine caesura_define_constant(writer, species, name, number, unit_si, unit_dimension, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_species), intent(in) :: species
    character(*), intent(in) :: name
    real(real64), intent(in) :: number
    real(real64), intent(in), optional :: unit_si, unit_dimension(7)
    integer, intent(out), optional :: code
    real(c_double) :: unit, dimension(7)
    if (.not. is_open(writer, code)) return
    unit = 1
    if (present(unit_si)) unit = unit_si
    dimension = 0
    if (present(unit_dimension)) dimension = unit_dimension
    call note(writer, c_define_constant(writer%pointer, species%number, c_text(name), number, &
      unit, dimension), code)
  end subroutine

  ! Of all dumps from the next end on; without a field of the file, and then before the first dump.
  subroutine caesura_set_attribute(writer, name, value, field, record, species, code)
    type(caesura_writer), intent(inout) :: writer
    character(*), intent(in) :: name
    class(*), intent(in) :: value
    type(caesura_field), intent(in), optional :: field
    type(caesura_record), intent(in), optional :: record
    type(caesura_species), intent(in), optional :: species
    integer, intent(out), optional :: code
    integer(c_int64_t), target :: whole
    real(c_double), target :: number
    character(:), allocatable, target :: text
    type(c_ptr) :: place
    integer(c_int) :: kind, owner
    integer(c_int32_t) :: which
    if (.not. is_open(writer, code)) return
    owner = 0
    which = 0
    if (present(field)) then
      owner = 4
      which = field%number
    else if (present(record)) then
      owner = 4
      which = record%number
    else if (present(species)) then
      owner = 5
      which = species%number
    end if
    select type (value)
    type is (integer(int32))
      whole = value
      kind = 1
    type is (integer(int64))
      whole = value
      kind = 1
    type is (real)
      number = value
      kind = 3
    type is (real(real64))
      number = value
      kind = 3
    type is (character(*))
      text = c_text(value)
      kind = 4
    class default
      call refuse(writer, 'an attribute is an integer of 32 or 64 bits, a real or a text', code)
      return
    end select
    place = c_loc(whole)
    if (kind == 3) place = c_loc(number)
    if (kind == 4) place = c_loc(text)
    call note(writer, c_set_attribute(writer%pointer, 0, owner, which, c_text(name), kind, &
      place), code)
  end subroutine

  subroutine caesura_begin_iteration(writer, number, label, code)
    type(caesura_writer), intent(inout) :: writer
    integer, intent(in) :: number
    character(*), intent(in), optional :: label
    integer, intent(out), optional :: code
    character(:), allocatable, target :: copy
    type(c_ptr) :: place
    if (.not. is_open(writer, code)) return
    place = c_null_ptr
    if (present(label)) then
      copy = c_text(label)
      place = c_loc(copy)
    end if
    call note(writer, c_begin_iteration(writer%pointer, int(number, int64), place), code)
  end subroutine

  subroutine caesura_busy_begin(writer, lane, code)
    type(caesura_writer), intent(inout) :: writer
    integer, intent(in) :: lane
    integer, intent(out), optional :: code
    if (is_open(writer, code)) call note(writer, c_busy_begin(writer%pointer, lane), code)
  end subroutine

  subroutine caesura_busy_end(writer, lane, code)
    type(caesura_writer), intent(inout) :: writer
    integer, intent(in) :: lane
    integer, intent(out), optional :: code
    if (is_open(writer, code)) call note(writer, c_busy_end(writer%pointer, lane), code)
  end subroutine

  subroutine caesura_begin_dump(writer, time, dt, code)
    type(caesura_writer), intent(inout) :: writer
    real(real64), intent(in) :: time, dt
    integer, intent(out), optional :: code
    if (is_open(writer, code)) call note(writer, c_begin_dump(writer%pointer, time, dt), code)
  end subroutine

  subroutine caesura_end_iteration(writer, code)
    type(caesura_writer), intent(inout) :: writer
    integer, intent(out), optional :: code
    if (is_open(writer, code)) call note(writer, c_end_iteration(writer%pointer), code)
  end subroutine

  subroutine caesura_compress_for(writer, seconds, spent_s, code)
    type(caesura_writer), intent(inout) :: writer
    real(real64), intent(in) :: seconds
    real(real64), intent(out), optional :: spent_s
    integer, intent(out), optional :: code
    real(c_double) :: spent
    spent = 0
    if (is_open(writer, code)) &
      call note(writer, c_compress_for(writer%pointer, seconds, spent), code)
    if (present(spent_s)) spent_s = spent
  end subroutine

  subroutine caesura_finish_by(writer, seconds, code)
    type(caesura_writer), intent(inout) :: writer
    real(real64), intent(in) :: seconds
    integer, intent(out), optional :: code
    if (is_open(writer, code)) call note(writer, c_finish_by(writer%pointer, seconds), code)
  end subroutine

  subroutine caesura_get_report(writer, report, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_report), intent(out) :: report
    integer, intent(out), optional :: code
    if (is_open(writer, code)) call note(writer, c_get_report(writer%pointer, report), code)
  end subroutine

  ! The writer is closed whatever this returns.
  subroutine close_writer(writer, report, code)
    type(caesura_writer), intent(inout) :: writer
    type(caesura_report), intent(out), optional :: report
    integer, intent(out), optional :: code
    type(caesura_report) :: counters
    if (.not. is_open(writer, code)) return
    call note(writer, c_close(writer%pointer, counters), code)
    writer%pointer = c_null_ptr
    call forget_messages(writer)
    if (present(report)) report = counters
  end subroutine

end module
