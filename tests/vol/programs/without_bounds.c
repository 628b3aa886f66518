/* Goal: what the connector says of bounds is right, and nothing else in its files differs from
 * native ones. Checks the attributes of every dataset of the given files that has blocks with a
 * bound, and takes them away, so that h5diff compares the rest. No MPI, no connector.
 *
 * Arguments: the absolute bound that the runs have, and files, which are changed; after "copied"
 * those whose datasets H5Ocopy may have left without attributes. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_filter = 322, k_most_words = 256, k_lossless = 0, k_absolute = 1 };

static double g_bound;
static int g_copied;
static const char* g_file;

static void check(int holds, const char* path, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s: %s: %s\n", g_file, path, what);
    exit(1);
}

/* How many values an attribute has; 0: it is not there. */
static hssize_t count_of(hid_t dataset, const char* name) {
    if (H5Aexists(dataset, name) <= 0) return 0;
    hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT), space = H5Aget_space(attribute);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    H5Aclose(attribute);
    return n;
}

static void numbers_of(hid_t dataset, const char* name, double* values) {
    hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    check(H5Aread(attribute, H5T_NATIVE_DOUBLE, values) >= 0, name, "cannot be read");
    H5Aclose(attribute);
}

/* Does the filter say that blocks are held to a bound, and which? */
static int kind_in(hid_t dataset, double* bound) {
    hid_t creation = H5Dget_create_plist(dataset);
    unsigned words[k_most_words], flags = 0, config = 0;
    size_t n = k_most_words;
    int kind = k_lossless;
    if (H5Pget_nfilters(creation) == 1 &&
        H5Pget_filter2(creation, 0, &flags, &n, words, 0, NULL, &config) == k_filter && n > 4) {
        kind = (int)words[2];
        memcpy(bound, &words[3], sizeof *bound); /* little-endian, as this machine */
    }
    H5Pclose(creation);
    return kind;
}

static void check_bounds(hid_t dataset, const char* path) {
    const hssize_t n = count_of(dataset, "caesura_bound");
    double asked = 0;
    const int kind = kind_in(dataset, &asked);
    check(n > 0 || g_copied || kind == k_lossless || H5Dget_storage_size(dataset) == 0, path,
          "it has blocks with a bound, and no attribute says so");
    check(count_of(dataset, "caesura_bound_kind") == n, path, "kinds and bounds");
    check(count_of(dataset, "caesura_bound_requested") == n, path, "what was asked, and bounds");
    const hssize_t named = count_of(dataset, "caesura_components");
    check(named == (n > 1 ? n : 0), path, "names and bounds");
    if (n == 0) return;
    double* bounds = malloc(sizeof(double) * (size_t)n);
    double* requested = malloc(sizeof(double) * (size_t)n);
    numbers_of(dataset, "caesura_bound", bounds);
    numbers_of(dataset, "caesura_bound_requested", requested);
    for (hssize_t i = 0; i < n; ++i)
        check(bounds[i] >= 0 && bounds[i] <= g_bound * (1 + 1e-12), path, "the bound is too large");
    /* 0: it was found to hold coordinates, for which a bound without a path does not hold. */
    if (kind == k_absolute)
        check(n == 1 && (bounds[0] == asked || bounds[0] == 0) && requested[0] == asked, path,
              "filter and attributes");
    free(bounds);
    free(requested);
}

static herr_t visit(hid_t file, const char* name, const H5O_info2_t* info, void* data) {
    static const char* const names[] = {"caesura_bound", "caesura_bound_kind",
                                        "caesura_bound_requested", "caesura_components",
                                        "caesura_component_axis"};
    (void)data;
    if (info->type != H5O_TYPE_DATASET) return 0;
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    check(dataset >= 0, name, "cannot be opened");
    check_bounds(dataset, name);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (H5Aexists(dataset, names[i]) > 0)
            check(H5Adelete(dataset, names[i]) >= 0, name, names[i]);
    H5Dclose(dataset);
    return 0;
}

int main(int argc, char** argv) {
    g_bound = argc > 1 ? atof(argv[1]) : 0;
    for (int i = 2; i < argc; ++i) {
        g_file = argv[i];
        if (strcmp(g_file, "copied") == 0) {
            g_copied = 1;
            continue;
        }
        hid_t file = H5Fopen(g_file, H5F_ACC_RDWR, H5P_DEFAULT);
        check(file >= 0, "/", "cannot be opened");
        check(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, visit, NULL, H5O_INFO_BASIC) >= 0, "/",
              "cannot be visited");
        check(H5Fclose(file) >= 0, "/", "cannot be closed");
    }
    return 0;
}
