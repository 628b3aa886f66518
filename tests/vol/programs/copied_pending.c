/* Goal: a copy of an object has what was written before it, though that has reached no disk: of a
 * file that is open, and of one that was closed a moment ago; what is written to the original or
 * to the copy afterwards is the other's not. */
#include "check.h"

enum { k_rows = 96, k_width = 64 };

static void write(hid_t place, const char* name, double base) {
    hid_t dataset = OK(H5Dopen2(place, name, H5P_DEFAULT));
    write_rows(dataset, k_rows, k_width, base, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
}

static void check(hid_t place, const char* name, double base) {
    hid_t dataset = OK(H5Dopen2(place, name, H5P_DEFAULT));
    check_rows(dataset, k_rows, k_width, base);
    OK(H5Dclose(dataset));
}

static void copy(hid_t from, const char* name, hid_t to, const char* copied) {
    OK(H5Ocopy(from, name, to, copied, H5P_DEFAULT, H5P_DEFAULT));
}

static void make(hid_t place, const char* name, bool in_chunks) {
    hsize_t dims[2] = {k_rows, k_width}, chunk[2] = {20, 30};
    hid_t creation = in_chunks ? chunked(2, chunk) : OK(H5Pcreate(H5P_DATASET_CREATE));
    OK(H5Dclose(make_dataset(place, name, H5T_IEEE_F64LE, 2, dims, creation)));
    OK(H5Pclose(creation));
}

/* Both files wait while the copies are made. */
static void between_open_files(void) {
    hid_t from = create_file("copied_from"), to = create_file("copied_to");
    hid_t group = OK(H5Gcreate2(from, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    make(group, "whole", false);
    make(group, "chunks", true);
    make(to, "own", true);
    write(group, "whole", 1.0);
    write(group, "chunks", 2.0);
    write(to, "own", 3.0);
    copy(from, "group", to, "first");
    write(group, "whole", 4.0);
    copy(from, "group/whole", to, "second");
    copy(to, "own", from, "back");
    write(to, "first/chunks", 5.0);
    copy(to, "first/chunks", to, "of_a_copy");
    OK(H5Gclose(group));
    OK(H5Ldelete(from, "group", H5P_DEFAULT));
    copy(from, "back", from, "twice");
    write(from, "back", 6.0);
    OK(H5Fclose(from)); /* before the file that has copies of it */
    check(to, "first/whole", 1.0);
    check(to, "first/chunks", 5.0);
    check(to, "second", 4.0);
    check(to, "own", 3.0);
    check(to, "of_a_copy", 5.0);
    OK(H5Fclose(to));
}

static void check_closed(void) {
    hid_t from = open_file("copied_from", H5F_ACC_RDONLY);
    CHECK(OK(H5Lexists(from, "group", H5P_DEFAULT)) == 0);
    check(from, "back", 6.0);
    check(from, "twice", 3.0);
    OK(H5Fclose(from));
    hid_t to = open_file("copied_to", H5F_ACC_RDONLY);
    check(to, "first/whole", 1.0);
    check(to, "first/chunks", 5.0);
    check(to, "second", 4.0);
    OK(H5Fclose(to));
}

/* The original is closed, and its blocks may still be on their way. */
static void of_a_file_just_closed(void) {
    hid_t file = create_file("copied_late");
    make(file, "late", true);
    write(file, "late", 7.0);
    OK(H5Fclose(file));
    file = open_file("copied_late", H5F_ACC_RDWR);
    hid_t to = create_file("copied_late_to");
    copy(file, "late", to, "late");
    copy(file, "late", file, "beside");
    write(file, "late", 8.0);
    OK(H5Fclose(to));
    OK(H5Fclose(file));
    to = open_file("copied_late_to", H5F_ACC_RDONLY);
    check(to, "late", 7.0);
    OK(H5Fclose(to));
    file = open_file("copied_late", H5F_ACC_RDONLY);
    check(file, "late", 8.0);
    check(file, "beside", 7.0);
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    between_open_files();
    check_closed();
    of_a_file_just_closed();
    return finish();
}
