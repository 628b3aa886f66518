/* Goal: the connector found a second time, by another path, is the one that is there: a copy of
 * the plugin that the program loads and registers changes nothing, and may go again. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

enum { k_rows = 64 };

/* Where the plugin lies that HDF5 has loaded. */
static void find_plugin(char* path, size_t bytes) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4096];
    path[0] = '\0';
    while (fgets(line, sizeof line, maps) != NULL) {
        char* begin = strchr(line, '/');
        if (begin == NULL || strstr(begin, "libcaesura_vol") == NULL) continue;
        begin[strcspn(begin, "\n")] = '\0';
        snprintf(path, bytes, "%s", begin);
    }
    fclose(maps);
}

static void copy_file(const char* from, const char* to) {
    static char bytes[1 << 16];
    FILE* in = fopen(from, "rb");
    FILE* out = fopen(to, "wb");
    CHECK(in != NULL && out != NULL);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        CHECK(fwrite(bytes, 1, n, out) == n);
    CHECK(fclose(in) == 0 && fclose(out) == 0);
}

static hid_t register_copy(void* library) {
    const void* (*info)(void) = NULL;
    *(void**)&info = dlsym(library, "H5PLget_plugin_info");
    CHECK(info != NULL);
    return OK(H5VLregister_connector(info(), H5P_DEFAULT));
}

/* By the list, or by default. */
static void write_by(hid_t connector, const char* name, double base) {
    hid_t access = mpi_access(MPI_COMM_WORLD);
    void* info = NULL;
    if (connector >= 0) {
        OK(H5Pget_vol_info(access, &info));
        OK(H5Pset_vol(access, connector, info));
    }
    hid_t file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    check_connector(file);
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, base, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, k_rows, 64, base);
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    OK(H5Pclose(access));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    char plugin[4096], copy[1100];
    write_by(-1, "before", 1.0);
    hid_t connector = -1;
    void* library = NULL;
    if (getenv("VOL_TEST_CONNECTOR") != NULL) {
        find_plugin(plugin, sizeof plugin);
        CHECK(plugin[0] != '\0');
        snprintf(copy, sizeof copy, "%s_%d", path_of("libcopy"), g_rank);
        copy_file(plugin, copy);
        library = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        connector = register_copy(library);
    }
    write_by(connector, "by_the_copy", 2.0);
    write_by(-1, "beside_the_copy", 3.0);
    if (connector >= 0) {
        OK(H5VLunregister_connector(connector));
        CHECK(dlclose(library) == 0);
        CHECK(unlink(copy) == 0);
    }
    write_by(-1, "after", 4.0);
    check_file(MPI_COMM_WORLD, "before", k_rows, 1.0);
    check_file(MPI_COMM_WORLD, "by_the_copy", k_rows, 2.0);
    check_file(MPI_COMM_WORLD, "beside_the_copy", k_rows, 3.0);
    check_file(MPI_COMM_WORLD, "after", k_rows, 4.0);
    return finish();
}
