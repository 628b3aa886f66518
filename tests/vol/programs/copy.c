/* Goal: H5Ocopy of datasets, groups and types, within a file and between files, right after they
 * were written. */
#include <string.h>

#include "check.h"

enum { k_rows = 80, k_width = 64 };

static void make(hid_t file) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {16, 32};
    hid_t group = OK(H5Gcreate2(file, "from", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t dataset = make_dataset(group, "contiguous", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
    put_int(dataset, "kept", 11);
    OK(H5Dclose(dataset));
    hid_t creation = chunked(2, chunk);
    dataset = make_dataset(group, "chunked", H5T_IEEE_F32LE, 2, dims, creation);
    write_rows(dataset, k_rows, k_width, 0.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    OK(H5Pclose(creation));
    OK(H5Gclose(group));
    OK(H5Lcreate_soft("contiguous", file, "from/soft", H5P_DEFAULT, H5P_DEFAULT));
}

static void check(hid_t file, const char* name, double base, double tolerance) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    double* values = malloc(sizeof(double) * k_rows * k_width);
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values));
    OK(H5Pclose(list));
    for (uint64_t i = 0; i < k_rows * k_width; ++i) {
        double wanted = base + field(i, k_width);
        double away = values[i] > wanted ? values[i] - wanted : wanted - values[i];
        CHECK(near(values[i], wanted) || away < tolerance);
    }
    free(values);
    OK(H5Dclose(dataset));
}

/* The only axis without limit is the second. HDF5 loses chunks in a copy of such a dataset in newer
 * formats: there the copy has to fail, and not to have other values. */
static void copy_that_grows_along_a_later_axis(hid_t file) {
    enum { k_all = 8 * 6 * 6 };
    const hsize_t dims[3] = {8, 6, 6}, most[3] = {16, H5S_UNLIMITED, 20}, chunk[3] = {1, 5, 4};
    hid_t space = OK(H5Screate_simple(3, dims, most)), list = chunked(3, chunk);
    hid_t dataset =
        OK(H5Dcreate2(file, "grows", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT));
    float values[k_all], read[k_all];
    for (int i = 0; i < k_all; ++i) values[i] = (float)i + 1;
    hsize_t begin, count;
    share(dims[0], &begin, &count);
    const hsize_t offset[3] = {begin, 0, 0}, extent[3] = {count, 6, 6};
    hid_t memory = OK(H5Screate_simple(3, extent, NULL)),
          transfers = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset, NULL, extent, NULL));
    OK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, transfers, values + begin * 36));
    for (int in_group = 0; in_group < 2; ++in_group) {
        if (in_group) {
            OK(H5Gclose(OK(H5Gcreate2(file, "with", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
            OK(H5Lmove(file, "grows", file, "with/grows", H5P_DEFAULT, H5P_DEFAULT));
        }
        herr_t copied;
        H5E_BEGIN_TRY {
            copied =
                H5Ocopy(file, in_group ? "with" : "grows", file, "grown", H5P_DEFAULT, H5P_DEFAULT);
        }
        H5E_END_TRY
        if (copied < 0) continue;
        hid_t copy = OK(H5Dopen2(file, in_group ? "grown/grows" : "grown", H5P_DEFAULT));
        OK(H5Dread(copy, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, transfers, read));
        CHECK(memcmp(read, values, sizeof values) == 0);
        OK(H5Dclose(copy));
        OK(H5Ldelete(file, "grown", H5P_DEFAULT));
    }
    OK(H5Pclose(transfers));
    OK(H5Sclose(memory));
    OK(H5Dclose(dataset));
    OK(H5Pclose(list));
    OK(H5Sclose(space));
}

static herr_t copy_quietly(hid_t file, const char* from, const char* to, unsigned flags) {
    hid_t list = OK(H5Pcreate(H5P_OBJECT_COPY));
    OK(H5Pset_copy_object(list, flags));
    herr_t copied;
    H5E_BEGIN_TRY { copied = H5Ocopy(file, from, file, to, list, H5P_DEFAULT); }
    H5E_END_TRY
    OK(H5Pclose(list));
    return copied;
}

/* HDF5 puts a hard link in the place of a soft one, and damages the group if the path was short, in
 * newer formats. The copy is whole, and the source says what it said. */
static void expand_soft_links(hid_t file) {
    OK(H5Gclose(OK(H5Gcreate2(file, "d", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    OK(H5Gclose(OK(H5Gcreate2(file, "short", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    OK(H5Gclose(OK(H5Gcreate2(file, "long", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    OK(H5Lcreate_soft("/d", file, "short/link", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_soft("/no", file, "long/dangling", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_soft("/././d", file, "long/link", H5P_DEFAULT, H5P_DEFAULT));
    OK(copy_quietly(file, "short", "as_it_is", 0));
    OK(copy_quietly(file, "long", "expanded", H5O_COPY_EXPAND_SOFT_LINK_FLAG));
    OK(H5Lcreate_soft("/short", file, "long/further", H5P_DEFAULT, H5P_DEFAULT));
    OK(copy_quietly(file, "short", "of_short", H5O_COPY_EXPAND_SOFT_LINK_FLAG));
    OK(copy_quietly(file, "long", "of_long", H5O_COPY_EXPAND_SOFT_LINK_FLAG));
    char target[16] = "";
    OK(H5Lget_val(file, "short/link", target, sizeof target, H5P_DEFAULT));
    CHECK(strcmp(target, "/d") == 0);
    OK(H5Gclose(OK(H5Gopen2(file, "expanded/link", H5P_DEFAULT))));
    H5L_info2_t link;
    OK(H5Lget_info2(file, "expanded/dangling", &link, H5P_DEFAULT));
    CHECK(link.type == H5L_TYPE_SOFT);
    OK(H5Lget_info2(file, "expanded/link", &link, H5P_DEFAULT));
    CHECK(link.type == H5L_TYPE_HARD);
    OK(H5Lget_info2(file, "as_it_is/link", &link, H5P_DEFAULT));
    CHECK(link.type == H5L_TYPE_SOFT);
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t linked = create_file("copy_linked");
    expand_soft_links(linked);
    OK(H5Fclose(linked));
    linked = open_file("copy_linked", H5F_ACC_RDONLY);
    OK(H5Gclose(OK(H5Gopen2(linked, "expanded/link", H5P_DEFAULT))));
    OK(H5Gclose(OK(H5Gopen2(linked, "of_short/link", H5P_DEFAULT))));
    OK(H5Gclose(OK(H5Gopen2(linked, "of_long/further/link", H5P_DEFAULT))));
    OK(H5Fclose(linked));
    hid_t apart = create_file("copy_apart");
    copy_that_grows_along_a_later_axis(apart);
    OK(H5Fclose(apart));
    hid_t file = create_file("copy");
    make(file);
    OK(H5Ocopy(file, "from/contiguous", file, "copied", H5P_DEFAULT, H5P_DEFAULT));
    check(file, "copied", 1.0, 0);
    hid_t copied = OK(H5Dopen2(file, "copied", H5P_DEFAULT));
    CHECK(get_int(copied, "kept") == 11);
    /* A copy is another dataset: the original keeps its values. */
    write_rows(copied, k_rows, k_width, 5.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(copied));
    check(file, "copied", 5.0, 0);
    check(file, "from/contiguous", 1.0, 0);
    OK(H5Ocopy(file, "from", file, "to", H5P_DEFAULT, H5P_DEFAULT));
    check(file, "to/chunked", 0.0, 1e-6);
    check(file, "to/soft", 1.0, 0);
    hid_t list = OK(H5Pcreate(H5P_OBJECT_COPY));
    OK(H5Pset_copy_object(list, H5O_COPY_SHALLOW_HIERARCHY_FLAG | H5O_COPY_WITHOUT_ATTR_FLAG));
    hid_t other = create_file("copy_other");
    OK(H5Ocopy(file, "from", other, "shallow", list, H5P_DEFAULT));
    OK(H5Ocopy(file, "from/contiguous", other, "without_attributes", list, H5P_DEFAULT));
    OK(H5Pclose(list));
    copied = OK(H5Dopen2(other, "without_attributes", H5P_DEFAULT));
    CHECK(OK(H5Aexists(copied, "kept")) == 0);
    OK(H5Dclose(copied));
    check(other, "without_attributes", 1.0, 0);
    OK(H5Fclose(other));
    OK(H5Fclose(file));
    other = open_file("copy_other", H5F_ACC_RDONLY);
    check(other, "without_attributes", 1.0, 0);
    OK(H5Fclose(other));
    return finish();
}
