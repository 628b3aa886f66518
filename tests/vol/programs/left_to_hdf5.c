/* Goal: files that the connector does not capture, each made in one way; left_to_hdf5.py reads what
 * stderr says of it.
 *
 *     vol_left_to_hdf5 PATH WAY */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int g_failed;

#define OK(call) ok((call), #call)

static hid_t ok(hid_t answer, const char* call) {
    if (answer < 0) fprintf(stderr, "%s failed\n", call), g_failed = 1;
    return answer;
}

static void make(const char* path, hid_t creation, hid_t access) {
    hsize_t n = 1 << 16;
    hid_t file = OK(H5Fcreate(path, H5F_ACC_TRUNC, creation, access));
    hid_t space = OK(H5Screate_simple(1, &n, NULL));
    hid_t dataset = OK(
        H5Dcreate2(file, "zeros", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Dclose(dataset));
    OK(H5Sclose(space));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const char* path = argv[1];
    const char* way = argv[2];
    const int has_mpi = strcmp(way, "without_mpi") != 0;
    const int too_early = strcmp(way, "early") == 0, too_late = strcmp(way, "late") == 0;
    if (has_mpi && !too_early) MPI_Init(&argc, &argv);
    if (too_late) MPI_Finalize();
    hid_t creation = OK(H5Pcreate(H5P_FILE_CREATE)), access = OK(H5Pcreate(H5P_FILE_ACCESS));
    if (strcmp(way, "scratch") == 0) OK(H5Pset_fapl_core(access, 1 << 16, 0));
    if (strcmp(way, "memory") == 0) OK(H5Pset_fapl_core(access, 1 << 16, 1));
    if (strcmp(way, "driver") == 0) OK(H5Pset_fapl_stdio(access));
    if (strcmp(way, "format") == 0) OK(H5Pset_libver_bounds(access, 0, H5F_LIBVER_V18));
    if (strcmp(way, "user_block") == 0 || strcmp(way, "twice") == 0)
        OK(H5Pset_userblock(creation, 512));
    make(path, creation, access);
    if (strcmp(way, "twice") == 0) make(path, creation, access);
    if (too_early) MPI_Init(&argc, &argv);
    if (strcmp(way, "reading") == 0) OK(H5Fclose(OK(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT))));
    OK(H5Pclose(creation));
    OK(H5Pclose(access));
    if (has_mpi && !too_late) MPI_Finalize();
    return g_failed;
}
