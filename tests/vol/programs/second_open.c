/* Goal: a file that is open is opened, replaced and deleted by the rules of the library: one
 * process with the ordinary driver; some of the ranks that have it open through MPI-IO. */
#include "check.h"

enum { k_rows = 64 };

static hid_t g_file;
static const char* g_name;

/* Opening it once more with a list that differs from the first's. */
static void refuse_list(hid_t list) {
    FAILS(H5Fopen(path_of(g_name), H5F_ACC_RDWR, list));
    OK(H5Pclose(list));
}

static hid_t new_list(void) { return OK(H5Pcreate(H5P_FILE_ACCESS)); }

static void rules(void) {
    g_file = OK(H5Fcreate(path_of(g_name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    check_connector(g_file);
    FAILS(H5Fcreate(path_of(g_name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Fcreate(path_of(g_name), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Fopen(path_of(g_name), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, H5P_DEFAULT));
    hid_t list = new_list();
    OK(H5Pset_fclose_degree(list, H5F_CLOSE_STRONG));
    refuse_list(list);
    list = new_list();
    OK(H5Pset_file_locking(list, false, true));
    refuse_list(list);
    list = new_list();
    OK(H5Pset_evict_on_close(list, true));
    refuse_list(list);
    /* The library asks how the file was opened first. */
    hid_t again = OK(H5Fopen(path_of(g_name), H5F_ACC_RDONLY, H5P_DEFAULT));
    unsigned intent = 0;
    OK(H5Fget_intent(again, &intent));
    CHECK(intent == H5F_ACC_RDWR);
    OK(H5Gclose(OK(H5Gcreate2(again, "by_the_second", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    CHECK(OK(H5Lexists(g_file, "by_the_second", H5P_DEFAULT)) > 0);
    OK(H5Fclose(g_file));
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(again, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    double values[k_rows * 64];
    for (uint64_t i = 0; i < k_rows * 64; ++i) values[i] = field(i, 64);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    /* Open by an object alone, which the close degree allows. */
    OK(H5Fclose(again));
    again = OK(H5Fopen(path_of(g_name), H5F_ACC_RDWR, H5P_DEFAULT));
    CHECK(OK(H5Lexists(again, "by_the_second", H5P_DEFAULT)) > 0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(again));
}

/* A file that is open for reading is not written to. */
static void readers_first(void) {
    hid_t file = OK(H5Fopen(path_of(g_name), H5F_ACC_RDONLY, H5P_DEFAULT));
    FAILS(H5Fopen(path_of(g_name), H5F_ACC_RDWR, H5P_DEFAULT));
    FAILS(H5Fcreate(path_of(g_name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Fclose(file));
    hid_t list = new_list();
    OK(H5Pset_file_locking(list, false, true)); /* no lock tells of the other opening */
    file = OK(H5Fopen(path_of(g_name), H5F_ACC_RDONLY, list));
    FAILS(H5Fopen(path_of(g_name), H5F_ACC_RDWR, list));
    FAILS(H5Fcreate(path_of(g_name), H5F_ACC_TRUNC, H5P_DEFAULT, list));
    CHECK(OK(H5Lexists(file, "by_the_second", H5P_DEFAULT)) > 0);
    OK(H5Fclose(file));
    OK(H5Pclose(list));
}

static void deletion(void) {
    g_file = OK(H5Fopen(path_of(g_name), H5F_ACC_RDWR, H5P_DEFAULT));
    OK(H5Fdelete(path_of(g_name), H5P_DEFAULT));
    FAILS(H5Fopen(path_of(g_name), H5F_ACC_RDONLY, H5P_DEFAULT));
    put_int(g_file, "without_a_name", 1);
    CHECK(get_int(g_file, "without_a_name") == 1);
    OK(H5Fclose(g_file));
}

/* One of the ranks reads for itself what all have open and have flushed. */
static void part_of_the_ranks(void) {
    hid_t file = create_file("together");
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
        hid_t alone = OK(H5Fopen(path_of("together"), H5F_ACC_RDONLY, H5P_DEFAULT));
        hid_t read = OK(H5Dopen2(alone, "field", H5P_DEFAULT));
        double values[k_rows * 64];
        OK(H5Dread(read, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        for (uint64_t i = 0; i < k_rows * 64; ++i) CHECK(near(values[i], 1.0 + field(i, 64)));
        OK(H5Dclose(read));
        OK(H5Fclose(alone));
        if (captured() && g_ranks > 1)
            FAILS_SAYING(H5Fopen(path_of("together"), H5F_ACC_RDWR, H5P_DEFAULT),
                         "is open already");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (captured() && g_ranks > 1) {
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
        hid_t access = mpi_access(half);
        FAILS_SAYING(H5Fopen(path_of("together"), H5F_ACC_RDWR, access), "is open already");
        OK(H5Pclose(access));
        MPI_Comm_free(&half);
    }
    write_rows(dataset, k_rows, 64, 2.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    check_file(MPI_COMM_WORLD, "together", k_rows, 2.0);
}

/* One rank has a file open that all want. */
static void more_ranks(void) {
    if (!captured() || g_ranks == 1) return;
    hid_t mine = -1;
    if (g_rank == 0)
        mine = OK(H5Fcreate(path_of("of_one"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t access = mpi_access(MPI_COMM_WORLD);
    FAILS_SAYING(H5Fopen(path_of("of_one"), H5F_ACC_RDWR, access), "is open already");
    FAILS_SAYING(H5Fcreate(path_of("of_one"), H5F_ACC_TRUNC, H5P_DEFAULT, access),
                 "is open already");
    FAILS_SAYING(H5Fdelete(path_of("of_one"), access), "is open");
    if (g_rank == 0) OK(H5Fclose(mine));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(H5Fdelete(path_of("of_one"), access));
    OK(H5Pclose(access));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    char name[] = "second_0";
    name[7] = (char)('0' + g_rank);
    g_name = name;
    rules();
    readers_first();
    deletion();
    part_of_the_ranks();
    more_ranks();
    return finish();
}
