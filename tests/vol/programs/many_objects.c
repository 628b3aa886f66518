/* Goal: very many small things: 200 datasets with 20 attributes each, created by all ranks; or as
 * many as the second argument says (1000 is the size that is measured). */
#include <stdio.h>

#include "check.h"

enum { k_attributes = 20, k_columns = 8 };

static void make(hid_t group, int which) {
    char name[32];
    snprintf(name, sizeof name, "dataset_%04d", which);
    hsize_t dims[2] = {(hsize_t)g_ranks, k_columns};
    hid_t dataset = make_dataset(group, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (int i = 0; i < k_attributes; ++i) {
        snprintf(name, sizeof name, "attribute_%02d", i);
        put_int(dataset, name, which * k_attributes + i);
    }
    write_rows(dataset, (hsize_t)g_ranks, k_columns, which, H5FD_MPIO_INDEPENDENT);
    OK(H5Dclose(dataset));
}

static void check(hid_t group, int which) {
    char name[32];
    snprintf(name, sizeof name, "dataset_%04d", which);
    hid_t dataset = OK(H5Dopen2(group, name, H5P_DEFAULT));
    CHECK(get_int(dataset, "attribute_07") == which * k_attributes + 7);
    check_rows(dataset, (hsize_t)g_ranks, k_columns, which);
    OK(H5Dclose(dataset));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    int datasets = argc > 2 ? atoi(argv[2]) : 200;
    hid_t file = create_file("many_objects");
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    double begin_s = MPI_Wtime();
    for (int i = 0; i < datasets; ++i) make(group, i);
    OK(H5Gclose(group));
    OK(H5Fclose(file));
    if (g_rank == 0) printf("%d datasets: %.3f s\n", datasets, MPI_Wtime() - begin_s);
    file = open_file("many_objects", H5F_ACC_RDONLY);
    group = OK(H5Gopen2(file, "group", H5P_DEFAULT));
    for (int i = 0; i < datasets; i += 17) check(group, i);
    OK(H5Gclose(group));
    OK(H5Fclose(file));
    return finish();
}
