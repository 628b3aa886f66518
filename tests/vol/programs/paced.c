/* Goal: dumps one after the other, each in a file of its own and the last ones in one, at the pace
 * of whoever reads "dump N" and answers with a line: so a test knows what was done when. Started
 * with a number of dumps behind the directory; run by hand or by tests/transit. */
#include <math.h>
#include <stdio.h>

#include "check.h"

enum { k_n = 64 };

/* Rank 0 says it, and all go on when somebody has answered. */
static void pace(int dump) {
    if (g_rank == 0) {
        char line[16];
        printf("dump %d\n", dump);
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_dump(hid_t place, int dump) {
    hsize_t dims[3] = {k_n, k_n, k_n}, offset[3] = {0, 0, 0}, extent[3] = {0, k_n, k_n};
    share(k_n, &offset[0], &extent[0]);
    const size_t n = (size_t)(extent[0] * k_n * k_n);
    float* values = malloc(sizeof(float) * n);
    int* numbers = malloc(sizeof(int) * n);
    for (size_t i = 0; i < n; ++i) {
        const size_t at = (size_t)(offset[0] * k_n * k_n) + i;
        values[i] = (float)(sin(1e-3 * (double)at) + dump);
        numbers[i] = (int)at + dump;
    }
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE), memory = OK(H5Screate_simple(3, extent, NULL));
    hid_t fields = make_dataset(place, "rho", H5T_IEEE_F32LE, 3, dims, H5P_DEFAULT);
    hid_t ids = make_dataset(place, "ids", H5T_STD_I32LE, 3, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(fields));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    OK(H5Dwrite(fields, H5T_NATIVE_FLOAT, memory, space, list, values));
    OK(H5Dwrite(ids, H5T_NATIVE_INT, memory, space, list, numbers));
    put_int(fields, "dump", dump);
    OK(H5Sclose(space));
    OK(H5Dclose(fields));
    OK(H5Dclose(ids));
    OK(H5Sclose(memory));
    OK(H5Pclose(list));
    free(values);
    free(numbers);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    const int dumps = argc > 2 ? atoi(argv[2]) : 4;
    char name[32];
    for (int dump = 0; dump < dumps; ++dump) {
        snprintf(name, sizeof name, "dump_%d", dump);
        hid_t file = create_file(name);
        write_dump(file, dump);
        OK(H5Fclose(file));
        pace(dump);
    }
    hid_t file = create_file("all");
    for (int dump = 0; dump < dumps; ++dump) {
        snprintf(name, sizeof name, "step_%d", dump);
        hid_t group = OK(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        write_dump(group, dump);
        OK(H5Gclose(group));
        OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
        pace(dumps + dump);
    }
    OK(H5Fclose(file));
    return finish();
}
