/* Goal: a time series that grows record by record, by all ranks together or by each by itself, is
 * the file that one call makes. argv[2]: "once", "together" or "by_themselves". */
#include "check.h"

enum { k_records = 64, k_width = 4096 };

int main(int argc, char** argv) {
    const char* const how = argc > 2 ? argv[2] : "together";
    start(&argc, &argv);
    const bool once = strcmp(how, "once") == 0;
    const H5FD_mpio_xfer_t transfer_mode =
        strcmp(how, "by_themselves") == 0 ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE;
    hid_t file = create_file("records");
    hsize_t dims[2] = {once ? k_records : 0, k_width}, most[2] = {H5S_UNLIMITED, k_width};
    const hsize_t chunk[2] = {16, k_width};
    hid_t creation = chunked(2, chunk), space = OK(H5Screate_simple(2, dims, most));
    hid_t dataset =
        OK(H5Dcreate2(file, "u", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    OK(H5Sclose(space));
    OK(H5Pclose(creation));
    double* values = malloc(sizeof(double) * k_records * k_width);
    for (hsize_t first = 0; first < k_records; first = dims[0]) {
        dims[0] = once ? k_records : first + 1;
        if (!once) OK(H5Dset_extent(dataset, dims));
        hsize_t begin, count; /* each rank a part of every record */
        share(k_width, &begin, &count);
        const hsize_t offset[2] = {first, begin}, extent[2] = {dims[0] - first, count};
        for (hsize_t row = 0; row < extent[0]; ++row)
            for (hsize_t i = 0; i < count; ++i)
                values[row * count + i] = field((first + row) * k_width + begin + i, k_width);
        hid_t at = OK(H5Dget_space(dataset)), memory = OK(H5Screate_simple(2, extent, NULL));
        OK(H5Sselect_hyperslab(at, H5S_SELECT_SET, offset, NULL, extent, NULL));
        hid_t list = transfer(transfer_mode);
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, at, list, values));
        OK(H5Pclose(list));
        OK(H5Sclose(memory));
        OK(H5Sclose(at));
    }
    free(values);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    return finish();
}
