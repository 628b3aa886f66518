! HDF5's Fortran module: all ranks write 3-D double fields together, one file a dump. One field is
! chunked, one contiguous, one is written through a strided block of a larger array. Then all read
! one back. Argument: DIRECTORY.
program fortran_write
    use hdf5
    use mpi
    implicit none

    integer, parameter :: n = 128, dumps = 4, ghosts = 2
    integer :: rank, ranks, code, dump, first, mine
    integer(hid_t) :: access
    character(len=1024) :: directory, path
    double precision, allocatable :: field(:, :, :)

    call mpi_init(code)
    call mpi_comm_rank(mpi_comm_world, rank, code)
    call mpi_comm_size(mpi_comm_world, ranks, code)
    call get_command_argument(1, directory)
    call h5open_f(code)
    call h5pcreate_f(H5P_FILE_ACCESS_F, access, code)
    call h5pset_fapl_mpio_f(access, mpi_comm_world, mpi_info_null, code)
    call demand(code)
    first = n * rank / ranks
    mine = n * (rank + 1) / ranks - first
    allocate(field(1 - ghosts:n + ghosts, 1 - ghosts:n + ghosts, 1 - ghosts:mine + ghosts))
    do dump = 0, dumps - 1
        call compute(dump)
        write(path, '(a, "/dump", i0, ".h5")') trim(directory), dump
        call write_dump(trim(path), dump)
        call check_dump(trim(path))
    end do
    call h5pclose_f(access, code)
    call h5close_f(code)
    call mpi_finalize(code)

contains

    ! Ends all ranks when a call has failed.
    subroutine demand(status)
        integer, intent(in) :: status
        integer :: ignored
        if (status < 0) call mpi_abort(mpi_comm_world, 1, ignored)
    end subroutine demand

    ! A smooth field; ghost cells hold what may not reach the file.
    subroutine compute(dump)
        integer, intent(in) :: dump
        integer :: x, y, z
        field = -1d300
        do z = 1, mine
            do y = 1, n
                do x = 1, n
                    field(x, y, z) = sin(0.05d0 * x + 0.3d0 * dump) * cos(0.04d0 * y) &
                                     + 0.01d0 * (first + z)
                end do
            end do
        end do
    end subroutine compute

    ! One file: three fields, their attributes, a table that rank 0 knows.
    subroutine write_dump(path, dump)
        character(len=*), intent(in) :: path
        integer, intent(in) :: dump
        integer(hid_t) :: file, group
        integer :: code
        call h5fcreate_f(path, H5F_ACC_TRUNC_F, file, code, access_prp=access)
        call demand(code)
        call h5gcreate_f(file, 'fields', group, code)
        call number(group, 'dump', dump)
        call one_field(group, 'density', .true., 1d0)
        call one_field(group, 'pressure', .false., 2d0)
        call one_field(group, 'energy', .true., 3d0)
        call h5gclose_f(group, code)
        call h5fclose_f(file, code)
        call demand(code)
    end subroutine write_dump

    ! An integer attribute.
    subroutine number(at, name, value)
        integer(hid_t), intent(in) :: at
        character(len=*), intent(in) :: name
        integer, intent(in) :: value
        integer(hid_t) :: space, attribute
        integer(hsize_t) :: one(1)
        integer :: code
        one = 1
        call h5screate_f(H5S_SCALAR_F, space, code)
        call h5acreate_f(at, name, H5T_NATIVE_INTEGER, space, attribute, code)
        call demand(code)
        call h5awrite_f(attribute, H5T_NATIVE_INTEGER, value, one, code)
        call demand(code)
        call h5aclose_f(attribute, code)
        call h5sclose_f(space, code)
    end subroutine number

    ! A dataset, chunked or contiguous, and the part of this rank, collectively.
    subroutine one_field(group, name, chunked, factor)
        integer(hid_t), intent(in) :: group
        character(len=*), intent(in) :: name
        logical, intent(in) :: chunked
        double precision, intent(in) :: factor
        integer(hid_t) :: create, transfer, in_file, in_memory, dataset
        integer(hsize_t) :: whole(3), part(3), outer(3), from(3), inside(3)
        integer :: code
        whole = [n, n, n]
        part = [n, n, mine]
        outer = [n + 2 * ghosts, n + 2 * ghosts, mine + 2 * ghosts]
        from = [0, 0, first]
        inside = ghosts
        call h5screate_simple_f(3, whole, in_file, code)
        call h5pcreate_f(H5P_DATASET_CREATE_F, create, code)
        if (chunked) call h5pset_chunk_f(create, 3, [n / 2_hsize_t, n / 2_hsize_t, &
                                                     n / 2_hsize_t], code)
        call h5dcreate_f(group, name, H5T_NATIVE_DOUBLE, in_file, dataset, code, create)
        call demand(code)
        call number(dataset, 'factor', nint(factor))
        call h5sselect_hyperslab_f(in_file, H5S_SELECT_SET_F, from, part, code)
        call h5screate_simple_f(3, outer, in_memory, code)
        call h5sselect_hyperslab_f(in_memory, H5S_SELECT_SET_F, inside, part, code)
        call h5pcreate_f(H5P_DATASET_XFER_F, transfer, code)
        call h5pset_dxpl_mpio_f(transfer, H5FD_MPIO_COLLECTIVE_F, code)
        call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, factor * field, outer, code, in_memory, &
                        in_file, transfer)
        call demand(code)
        call h5pclose_f(transfer, code)
        call h5pclose_f(create, code)
        call h5dclose_f(dataset, code)
        call h5sclose_f(in_memory, code)
        call h5sclose_f(in_file, code)
    end subroutine one_field

    ! Every rank reads the whole of a field; its own part is near what it wrote.
    subroutine check_dump(path)
        character(len=*), intent(in) :: path
        integer(hid_t) :: file, dataset
        integer(hsize_t) :: whole(3)
        integer :: code
        double precision, allocatable :: back(:, :, :)
        whole = [n, n, n]
        allocate(back(n, n, n))
        call h5fopen_f(path, H5F_ACC_RDONLY_F, file, code, access)
        call demand(code)
        call h5dopen_f(file, 'fields/density', dataset, code)
        call h5dread_f(dataset, H5T_NATIVE_DOUBLE, back, whole, code)
        call demand(code)
        if (maxval(abs(back(:, :, first + 1:first + mine) - field(1:n, 1:n, 1:mine))) > 1d-2) then
            call demand(-1)
        end if
        call h5dclose_f(dataset, code)
        call h5fclose_f(file, code)
    end subroutine check_dump
end program fortran_write
