/* Goal: what may be done with a file right after it was closed, while its data may still be on
 * their way: by its ranks together, and by a part of them. */
#include <stdio.h>

#include "check.h"

enum { k_rows = 256 };

/* One rank, without MPI-IO, reads what all have just closed. */
static void alone(const char* name) {
    if (g_rank == g_ranks - 1) {
        CHECK(OK(H5Fis_accessible(path_of(name), H5P_DEFAULT)) > 0);
        check_file(MPI_COMM_SELF, name, k_rows, 1.0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every second rank, through MPI-IO; the others know nothing of it. */
static void half(const char* name) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &comm);
    write_file(MPI_COMM_WORLD, name, k_rows, 1.0);
    check_file(comm, name, k_rows, 1.0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank % 2 == 0) {
        hid_t access = mpi_access(comm);
        hid_t file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, access));
        put_int(file, "half", g_ranks);
        OK(H5Fclose(file));
        OK(H5Pclose(access));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    write_file(MPI_COMM_WORLD, "half_deleted", k_rows, 1.0);
    if (g_rank == 0) OK(H5Fdelete(path_of("half_deleted"), H5P_DEFAULT));
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = open_file(name, H5F_ACC_RDONLY);
    CHECK(get_int(file, "half") == g_ranks);
    OK(H5Fclose(file));
    MPI_Comm_free(&comm);
}

/* One rank makes anew, without MPI-IO, what all ranks have closed. The others need not know. */
static void one_makes_anew(const char* name) {
    write_file(MPI_COMM_WORLD, name, k_rows, 2.0);
    if (g_rank == g_ranks - 1) {
        FAILS(H5Fcreate(path_of(name), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
        hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        hsize_t dims[2] = {k_rows, 32};
        OK(H5Dclose(make_dataset(file, "empty", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT)));
        OK(H5Fclose(file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t file = open_file(name, H5F_ACC_RDWR);
    H5G_info_t info;
    OK(H5Gget_info(file, &info));
    CHECK(info.nlinks == 1 && OK(H5Lexists(file, "empty", H5P_DEFAULT)) > 0);
    OK(H5Fclose(file));
    write_file(MPI_COMM_WORLD, name, k_rows, 3.0);
    check_file(MPI_COMM_WORLD, name, k_rows, 3.0);
}

/* The same at once after the close, of a file in which nothing waited. */
static void one_makes_anew_at_once(const char* name) {
    for (int round = 0; round < 4; ++round) {
        hid_t file = create_file(name);
        hsize_t dims[2] = {k_rows, 64};
        hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        write_rows(dataset, k_rows, 64, 1.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Dclose(dataset));
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        OK(H5Fclose(file));
        if (g_rank == round % g_ranks)
            OK(H5Fclose(OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* A file of one rank is known to the others when all open it. */
static void more_ranks_than_wrote(void) {
    if (g_rank == 0) write_file(MPI_COMM_SELF, "of_one", k_rows, 4.0);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(MPI_COMM_WORLD, "of_one", k_rows, 4.0);
}

/* A later call through another communicator of the same ranks. */
static void congruent(void) {
    MPI_Comm again;
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    write_file(MPI_COMM_WORLD, "congruent", k_rows, 5.0);
    check_file(again, "congruent", k_rows, 5.0);
    MPI_Comm_free(&again);
}

static void many(void) {
    char name[32];
    for (int i = 0; i < 9; ++i) {
        snprintf(name, sizeof name, "many_%d", i);
        write_file(MPI_COMM_WORLD, name, k_rows, i);
    }
    for (int i = 8; i >= 0; --i) {
        snprintf(name, sizeof name, "many_%d", i);
        check_file(MPI_COMM_WORLD, name, k_rows, i);
    }
}

/* Of a file that is pending the application has nothing open: neither what it wrote nor what it
 * has only read. */
static void nothing_is_open(void) {
    enum { k_width = 32 };
    hsize_t dims[2] = {k_rows, k_width};
    hid_t file = create_file("nothing_open");
    for (int i = 0; i < 2; ++i) {
        hid_t dataset =
            make_dataset(file, i == 0 ? "read" : "written", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        write_rows(dataset, k_rows, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(file));
    file = open_file("nothing_open", H5F_ACC_RDWR);
    hid_t read = OK(H5Dopen2(file, "read", H5P_DEFAULT));
    hid_t written = OK(H5Dopen2(file, "written", H5P_DEFAULT));
    write_rows(written, k_rows, k_width, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(read));
    OK(H5Dclose(written));
    OK(H5Fclose(file));
    CHECK(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    write_file(MPI_COMM_WORLD, "read", k_rows, 1.0);
    alone("read");
    half("half");
    check_file(MPI_COMM_WORLD, "read", k_rows, 1.0);
    write_file(MPI_COMM_WORLD, "replaced", k_rows, 2.0);
    write_file(MPI_COMM_WORLD, "replaced", k_rows, 3.0);
    check_file(MPI_COMM_WORLD, "replaced", k_rows, 3.0);
    write_file(MPI_COMM_WORLD, "deleted", k_rows, 2.0);
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Fdelete(path_of("deleted"), access));
    FAILS(H5Fopen(path_of("deleted"), H5F_ACC_RDONLY, access));
    OK(H5Pclose(access));
    one_makes_anew("anew");
    one_makes_anew_at_once("anew_at_once");
    more_ranks_than_wrote();
    congruent();
    many();
    nothing_is_open();
    return finish();
}
