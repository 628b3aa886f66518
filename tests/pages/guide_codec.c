/* Around the lines of the page: a file that the filter writes. The bound of 1e-3 holds. */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>

enum { k_side = 16, k_values = k_side * k_side * k_side };

static float written[k_values], read_back[k_values];

int main(void) {
    const hsize_t chunk[3] = {k_side, k_side, k_side};
    const hid_t file = H5Fcreate("run.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, chunk, NULL);
    /* block c 1 */
    const hid_t rho =
        H5Dcreate2(file, "rho", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int i;
    for (i = 0; i < k_values; ++i) written[i] = (float)sin(0.01 * i);
    if (H5Dwrite(rho, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) < 0) return 1;
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return 2;
    if (H5Dread(rho, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read_back) < 0) return 3;
    for (i = 0; i < k_values; ++i)
        if (!(fabs((double)read_back[i] - (double)written[i]) <= 1e-3)) return 4;
    printf("%d bytes for %d\n", (int)H5Dget_storage_size(rho), (int)sizeof written);
    if (H5Dget_storage_size(rho) >= sizeof written) return 5;
    return H5Dclose(rho) < 0 || H5Sclose(space) < 0 || H5Pclose(dcpl) < 0 || H5Fclose(file) < 0;
}
