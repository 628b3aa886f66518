/* Goal: a file is what it is, whatever its name: renamed, linked, replaced or deleted while its
 * data are on their way, and reached from another directory. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 256 };

static void checkpoints(void) {
    for (int step = 0; step < 3; ++step) {
        write_file(MPI_COMM_WORLD, "checkpoint_new", k_rows, step);
        BY_ONE(rename(path_of("checkpoint_new"), path_of("checkpoint")));
    }
    check_file(MPI_COMM_WORLD, "checkpoint", k_rows, 2.0);
    hid_t file = open_file("checkpoint", H5F_ACC_RDWR);
    put_int(file, "step", 2);
    OK(H5Fclose(file));
    /* Replaced while the one before is on its way, and opened at once. */
    write_file(MPI_COMM_WORLD, "checkpoint_new", k_rows, 3.0);
    write_file(MPI_COMM_WORLD, "checkpoint", k_rows, 4.0);
    BY_ONE(rename(path_of("checkpoint_new"), path_of("checkpoint")));
    check_file(MPI_COMM_WORLD, "checkpoint", k_rows, 3.0);
}

static void links(void) {
    write_file(MPI_COMM_WORLD, "linked", k_rows, 5.0);
    BY_ONE(link(path_of("linked"), path_of("hard")));
    BY_ONE(symlink(path_of("linked"), path_of("soft")));
    hid_t access = mpi_access(MPI_COMM_WORLD);
    CHECK(OK(H5Fis_accessible(path_of("hard"), access)) > 0);
    OK(H5Pclose(access));
    check_file(MPI_COMM_WORLD, "hard", k_rows, 5.0);
    check_file(MPI_COMM_WORLD, "soft", k_rows, 5.0);
    write_file(MPI_COMM_WORLD, "linked", k_rows, 6.0);
    BY_ONE(unlink(path_of("linked")));
    check_file(MPI_COMM_WORLD, "hard", k_rows, 6.0);
    BY_ONE(unlink(path_of("soft")));
}

static void other_directories(void) {
    char before[1024], directory[1024];
    CHECK(getcwd(before, sizeof before) != NULL);
    snprintf(directory, sizeof directory, "%s", path_of("x"));
    *strrchr(directory, '/') = 0;
    OK(chdir(directory));
    hid_t access = mpi_access(MPI_COMM_WORLD);
    hsize_t dims[2] = {k_rows, 64};
    hid_t file = OK(H5Fcreate("relative.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access));
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 7.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Lcreate_external("hard.h5", "field", file, "far", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    BY_ONE(mkdir("below", 0755));
    OK(chdir("below"));
    file = OK(H5Fopen("../relative.h5", H5F_ACC_RDWR, access));
    OK(chdir("/"));
    dataset = OK(H5Dopen2(file, "far", H5P_DEFAULT)); /* found from where the file was opened */
    check_rows(dataset, k_rows, 64, 6.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    OK(H5Pclose(access));
    OK(chdir(before));
    check_file(MPI_COMM_WORLD, "relative", k_rows, 7.0);
}

static void deleted(void) {
    write_file(MPI_COMM_WORLD, "deleted", k_rows, 8.0);
    BY_ONE(unlink(path_of("deleted")));
    hid_t access = mpi_access(MPI_COMM_WORLD);
    FAILS(H5Fopen(path_of("deleted"), H5F_ACC_RDONLY, access));
    write_file(MPI_COMM_WORLD, "deleted", k_rows, 9.0);
    check_file(MPI_COMM_WORLD, "deleted", k_rows, 9.0);
    write_file(MPI_COMM_WORLD, "deleted", k_rows, 10.0);
    BY_ONE(rename(path_of("deleted"), path_of("moved")));
    OK(H5Fdelete(path_of("moved"), access));
    FAILS(H5Fopen(path_of("moved"), H5F_ACC_RDONLY, access));
    OK(H5Pclose(access));
}

static void while_open(void) {
    hid_t file = create_file("open");
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 11.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    BY_ONE(rename(path_of("open"), path_of("open_moved")));
    check_file(MPI_COMM_WORLD, "open_moved", k_rows, 11.0);
    write_rows(dataset, k_rows, 64, 12.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    check_file(MPI_COMM_WORLD, "open_moved", k_rows, 12.0);
}

/* Another file has the name before the first values of this one are written. */
static void replaced_while_open(void) {
    hid_t file = create_file("taken");
    OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    BY_ONE(rename(path_of("taken"), path_of("taken_moved")));
    write_file(MPI_COMM_WORLD, "other", k_rows, 13.0);
    check_file(MPI_COMM_WORLD, "other", k_rows, 13.0);
    BY_ONE(rename(path_of("other"), path_of("taken")));
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 14.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    check_file(MPI_COMM_WORLD, "taken_moved", k_rows, 14.0);
    check_file(MPI_COMM_WORLD, "taken", k_rows, 13.0);
}

/* One process, without MPI-IO: goes on with its file by its new name, and has it open twice. */
static void alone(void) {
    char name[32], moved[32], text[1024];
    snprintf(name, sizeof name, "alone_%d", g_rank);
    snprintf(moved, sizeof moved, "alone_moved_%d", g_rank);
    OK(H5Fclose(OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))));
    hsize_t dims[2] = {64, 64};
    double values[64 * 64], back[64 * 64];
    for (int round = 0; round < 4; ++round) {
        const char* now = round % 2 ? moved : name;
        hid_t file = OK(H5Fopen(path_of(now), H5F_ACC_RDWR, H5P_DEFAULT));
        char field_name[16];
        snprintf(field_name, sizeof field_name, "field_%d", round);
        hid_t dataset = make_dataset(file, field_name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
        for (uint64_t i = 0; i < 4096; ++i) values[i] = round + field(i, 64);
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        CHECK(H5Fget_name(file, text, sizeof text) > 0 && strcmp(text, path_of(now)) == 0);
        OK(H5Dclose(dataset));
        OK(H5Fclose(file));
        OK(rename(path_of(now), path_of(round % 2 ? name : moved)));
    }
    hid_t file = OK(H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT));
    OK(link(path_of(name), path_of(moved)));
    hid_t again = OK(H5Fopen(path_of(moved), H5F_ACC_RDWR, H5P_DEFAULT));
    unsigned long numbers[2];
    OK(H5Fget_fileno(file, &numbers[0]));
    OK(H5Fget_fileno(again, &numbers[1]));
    CHECK(numbers[0] == numbers[1]);
    for (int round = 0; round < 4; ++round) {
        char field_name[16];
        snprintf(field_name, sizeof field_name, "field_%d", round);
        hid_t dataset = OK(H5Dopen2(round % 2 ? again : file, field_name, H5P_DEFAULT));
        CHECK(H5Fget_name(dataset, text, sizeof text) > 0);
        CHECK(strcmp(text, path_of(round % 2 ? moved : name)) == 0);
        OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
        for (uint64_t i = 0; i < 4096; ++i) CHECK(near(back[i], round + field(i, 64)));
        OK(H5Dclose(dataset));
    }
    OK(H5Fclose(again));
    OK(unlink(path_of(moved)));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    checkpoints();
    links();
    other_directories();
    deleted();
    while_open();
    replaced_while_open();
    alone();
    return finish();
}
