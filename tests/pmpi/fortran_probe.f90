! The same as `pmpi_probe waiting`, through Fortran's bindings: `use mpi` in even iterations, `use
! mpi_f08` in odd ones.
module probe
    use, intrinsic :: iso_c_binding, only: c_double, c_int
    implicit none
    interface
        subroutine probe_open() bind(c)
        end subroutine
        subroutine probe_begin(iteration) bind(c)
            import :: c_int
            integer(c_int), value :: iteration
        end subroutine
        subroutine probe_end() bind(c)
        end subroutine
        subroutine probe_close() bind(c)
        end subroutine
        function probe_now_s() result(now_s) bind(c)
            import :: c_double
            real(c_double) :: now_s
        end function
        subroutine probe_compute(seconds) bind(c)
            import :: c_double
            real(c_double), value :: seconds
        end subroutine
        subroutine probe_called(seconds) bind(c)
            import :: c_double
            real(c_double), value :: seconds
        end subroutine
    end interface
end module

subroutine begin_mpi(rank)
    use mpi
    implicit none
    integer, intent(out) :: rank
    integer :: ierror
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
end subroutine

subroutine wait_with_mpi()
    use mpi
    implicit none
    integer :: ierror
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
end subroutine

subroutine wait_with_mpi_f08()
    use mpi_f08
    implicit none
    call MPI_Barrier(MPI_COMM_WORLD)
end subroutine

program fortran_probe
    use mpi_f08, only: MPI_Finalize
    use probe
    implicit none
    integer :: n, rank
    double precision :: begin_s
    call begin_mpi(rank)
    call probe_open()
    do n = 0, 3
        call probe_begin(n)
        call probe_compute(merge(0.05d0, 0.01d0, rank == 0))
        begin_s = probe_now_s()
        if (mod(n, 2) == 0) then
            call wait_with_mpi()
        else
            call wait_with_mpi_f08()
        end if
        call probe_called(probe_now_s() - begin_s)
        call probe_compute(0.01d0)
        call probe_end()
    end do
    call probe_close()
    call MPI_Finalize()
end program
