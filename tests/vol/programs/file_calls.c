/* Goal: every operation on a file that HDF5 has beside opening and closing is answered as natively,
 * or refused with an error that says why; no output of a call that succeeds stays unset. The table
 * is docs/reference/connector_calls.md. */
#include <unistd.h>

#include "check.h"

/* More than HDF5 keeps back of contiguous data by itself. */
enum { k_rows = 256, k_poison = 0x5a };

static hid_t g_file;

#define POISON(variable) memset(&(variable), k_poison, sizeof(variable))
static bool is_poison(const void* at, size_t bytes) {
    const unsigned char* byte = at;
    for (size_t i = 0; i < bytes; ++i)
        if (byte[i] != k_poison) return false;
    return true;
}
#define SET(variable) CHECK(!is_poison(&(variable), sizeof(variable)))
/* Under the connector refused, with these words; natively `call` may do what it does. */
#define REFUSED(call, words)                       \
    do {                                           \
        if (captured()) FAILS_SAYING(call, words); \
    } while (0)

static void write_all(hid_t file, const char* name, double base) {
    hsize_t dims[2] = {k_rows, 64};
    static double values[k_rows * 64];
    hid_t dataset = make_dataset(file, name, H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    for (int i = 0; i < 2; ++i) { /* where HDF5 has data already it writes at once */
        for (uint64_t j = 0; j < k_rows * 64; ++j) values[j] = i * base + field(j, 64);
        OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        if (i == 0) OK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    }
    OK(H5Dclose(dataset));
}

static void check_all(hid_t file, const char* name, double base) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    static double values[k_rows * 64];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (uint64_t i = 0; i < k_rows * 64; ++i) CHECK(near(values[i], base + field(i, 64)));
    OK(H5Dclose(dataset));
}

static void asked(const char* name, bool mpi) {
    char text[1024];
    POISON(text);
    CHECK(OK(H5Fget_name(g_file, NULL, 0)) == (int64_t)strlen(path_of(name)));
    OK(H5Fget_name(g_file, text, sizeof text));
    CHECK(strcmp(text, path_of(name)) == 0);
    unsigned intent;
    POISON(intent);
    OK(H5Fget_intent(g_file, &intent));
    CHECK(intent == H5F_ACC_RDWR);
    unsigned long number;
    POISON(number);
    OK(H5Fget_fileno(g_file, &number));
    SET(number);
    hid_t list = OK(H5Fget_access_plist(g_file));
    CHECK(H5Pget_driver(list) == (mpi ? H5FD_MPIO : H5FD_SEC2));
    OK(H5Pclose(list));
    list = OK(H5Fget_create_plist(g_file));
    OK(H5Pclose(list));
    CHECK(OK(H5Fget_obj_count(g_file, H5F_OBJ_ALL)) == 1);
    hid_t ids[2];
    POISON(ids);
    CHECK(OK(H5Fget_obj_ids(g_file, H5F_OBJ_ALL, 2, ids)) == 1 && ids[0] == g_file);
    hid_t again = OK(H5Freopen(g_file));
    check_connector(again);
    OK(H5Fclose(again));
    CHECK(OK(H5Fis_accessible(path_of(name), H5P_DEFAULT)) > 0);
}

static void sizes(bool mpi) {
    hsize_t bytes;
    POISON(bytes);
    OK(H5Fget_filesize(g_file, &bytes));
    CHECK(bytes > 512 && bytes < (1 << 20));
    H5F_info2_t info;
    POISON(info);
    OK(H5Fget_info2(g_file, &info));
    CHECK(info.super.super_size > 0 && info.super.super_size < 1024 && info.free.tot_space < bytes);
    CHECK(OK(H5Fget_freespace(g_file)) >= 0);
    OK(H5Fget_free_sections(g_file, H5FD_MEM_DEFAULT, 0, NULL));
    haddr_t end;
    POISON(end);
    if (mpi) {
        FAILS(H5Fget_eoa(g_file, &end));
    } else {
        OK(H5Fget_eoa(g_file, &end));
        CHECK(end > 512 && end < (1 << 20));
        REFUSED(H5Fincrement_filesize(g_file, 512), "reserved space");
    }
    haddr_t address;
    hsize_t length;
    POISON(address);
    POISON(length);
    OK(H5Fget_mdc_image_info(g_file, &address, &length));
    SET(address);
    CHECK(length == 0);
}

/* What is in the image of a file is a file that has all that was written. */
static void image(double base) {
    ssize_t bytes = OK(H5Fget_file_image(g_file, NULL, 0));
    CHECK(bytes > 512);
    void* const buffer = malloc((size_t)bytes);
    CHECK(OK(H5Fget_file_image(g_file, buffer, (size_t)bytes)) == bytes);
    hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_fapl_core(access, 1 << 20, false));
    OK(H5Pset_file_image(access, buffer, (size_t)bytes));
    hid_t copy = OK(H5Fopen("image", H5F_ACC_RDONLY, access));
    check_all(copy, "field", base);
    OK(H5Fclose(copy));
    OK(H5Pclose(access));
    free(buffer);
}

static void caches(void) {
    H5AC_cache_config_t config;
    config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    OK(H5Fget_mdc_config(g_file, &config));
    OK(H5Fset_mdc_config(g_file, &config));
    double rate;
    POISON(rate);
    OK(H5Fget_mdc_hit_rate(g_file, &rate));
    CHECK(rate >= 0 && rate <= 1);
    OK(H5Freset_mdc_hit_rate_stats(g_file));
    size_t most, clean, now;
    int entries;
    POISON(most);
    POISON(clean);
    POISON(now);
    POISON(entries);
    OK(H5Fget_mdc_size(g_file, &most, &clean, &now, &entries));
    CHECK(entries >= 0 && now <= most);
    hbool_t enabled, logging;
    POISON(enabled);
    POISON(logging);
    OK(H5Fget_mdc_logging_status(g_file, &enabled, &logging));
    CHECK(!enabled && !logging);
    FAILS(H5Fstart_mdc_logging(g_file));
    FAILS(H5Fstop_mdc_logging(g_file));
    unsigned counts[2];
    FAILS(H5Freset_page_buffering_stats(g_file));
    FAILS(H5Fget_page_buffering_stats(g_file, counts, counts, counts, counts, counts));
    H5F_retry_info_t retries;
    OK(H5Fget_metadata_read_retry_info(g_file, &retries));
    for (int i = 0; i < H5F_NUM_METADATA_READ_RETRY_TYPES; ++i)
        if (retries.retries[i] != NULL) H5free_memory(retries.retries[i]);
    OK(H5Fclear_elink_file_cache(g_file));
}

static void ways(bool mpi) {
    hbool_t hint;
    POISON(hint);
    OK(H5Fget_dset_no_attrs_hint(g_file, &hint));
    CHECK(!hint);
    OK(H5Fset_dset_no_attrs_hint(g_file, true));
    OK(H5Fget_dset_no_attrs_hint(g_file, &hint));
    CHECK(hint);
    OK(H5Fset_libver_bounds(g_file, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST));
    REFUSED(H5Fset_libver_bounds(g_file, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18), "1.10");
    if (mpi) FAILS(H5Fstart_swmr_write(g_file));
    REFUSED(H5Fformat_convert(g_file), "h5format_convert");
    void* handle = NULL;
    if (captured() && (mpi || getenv("VOL_TEST_SERVED") != NULL)) {
        FAILS_SAYING(H5Fget_vfd_handle(g_file, H5P_DEFAULT, &handle), "no handle");
    } else {
        OK(H5Fget_vfd_handle(g_file, H5P_DEFAULT, &handle));
        CHECK(handle != NULL);
    }
    if (!mpi && handle != NULL) CHECK(fsync(*(const int*)handle) == 0);
    if (!mpi) return;
    hbool_t atomic;
    POISON(atomic);
    OK(H5Fget_mpi_atomicity(g_file, &atomic));
    CHECK(!atomic);
    OK(H5Fset_mpi_atomicity(g_file, false));
    REFUSED(H5Fset_mpi_atomicity(g_file, true), "atomic");
}

static void one_process(const char* name, hid_t access, bool mpi) {
    g_file = OK(H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    check_connector(g_file);
    asked(name, mpi);
    caches();
    write_all(g_file, "field", 1.0);    /* waits under the connector */
    if (!mpi || captured()) sizes(mpi); /* natively unknown once it was written through MPI-IO */
    image(1.0);
    ways(mpi);
    write_all(g_file, "after", 2.0);
    OK(H5Fclose(g_file));
    g_file = OK(H5Fopen(path_of(name), H5F_ACC_RDONLY, access));
    check_all(g_file, "field", 1.0);
    check_all(g_file, "after", 2.0);
    OK(H5Fclose(g_file));
    OK(H5Fdelete(path_of(name), access));
    CHECK(H5Fis_accessible(path_of(name), access) <= 0);
    forget_told();
}

/* Where ranks share the file, what waits for a call of all of them is no part of an image. */
static void shared_image(void) {
    g_file = create_file("shared_image");
    hsize_t dims[2] = {k_rows, 64};
    hid_t dataset = make_dataset(g_file, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, 64, 3.0, H5FD_MPIO_COLLECTIVE);
    if (captured() && g_ranks > 1) FAILS_SAYING(H5Fget_file_image(g_file, NULL, 0), "H5Fflush");
    OK(H5Fflush(g_file, H5F_SCOPE_GLOBAL));
    MPI_Barrier(MPI_COMM_WORLD);
    image(3.0);
    OK(H5Dclose(dataset));
    OK(H5Fclose(g_file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    char name[] = "calls_0";
    name[6] = (char)('0' + g_rank);
    one_process(name, H5P_DEFAULT, false);
    name[0] = 'm';
    hid_t access = mpi_access(MPI_COMM_SELF);
    one_process(name, access, true);
    OK(H5Pclose(access));
    shared_image();
    return finish();
}
