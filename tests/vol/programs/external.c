/* Goal: external links: from file to file to file, into files that are open, to read and to write
 * and to make things there; links that lead nowhere; and links of files that one process opened. */
#include "check.h"

enum { k_rows = 64, k_width = 64 };

static void make_target(const char* name, const char* next) {
    hid_t file = create_file(name);
    hid_t group = OK(H5Gcreate2(file, "there", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_int(group, "answer", 42);
    hsize_t dims[2] = {k_rows, k_width};
    hid_t dataset = make_dataset(group, "field", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, k_width, 1.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    if (next != NULL)
        OK(H5Lcreate_external(next, "/there", file, "next", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(group));
    OK(H5Fclose(file));
}

static void check_field(hid_t file, const char* name, double base) {
    hid_t dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    check_connector(dataset);
    check_rows(dataset, k_rows, k_width, base);
    OK(H5Dclose(dataset));
}

static void write_through(hid_t file) {
    hid_t dataset = OK(H5Dopen2(file, "link/field", H5P_DEFAULT));
    write_rows(dataset, k_rows, k_width, 2.0, H5FD_MPIO_COLLECTIVE);
    check_rows(dataset, k_rows, k_width, 2.0);
    OK(H5Dclose(dataset));
    hsize_t dims[2] = {k_rows, k_width};
    dataset = make_dataset(file, "link/made", H5T_IEEE_F64LE, 2, dims, H5P_DEFAULT);
    write_rows(dataset, k_rows, k_width, 3.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    hid_t group = OK(H5Gopen2(file, "link", H5P_DEFAULT));
    put_int(group, "made", 7);
    OK(H5Gclose(group));
    check_field(file, "link/made", 3.0);
}

static void nowhere(hid_t file) {
    OK(H5Lcreate_external("absent.h5", "/", file, "no_file", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_external("external_near.h5", "/absent", file, "no_object", H5P_DEFAULT,
                          H5P_DEFAULT));
    if (captured())
        FAILS_SAYING(H5Gopen2(file, "no_file", H5P_DEFAULT), "no file of that name");
    else
        FAILS(H5Gopen2(file, "no_file", H5P_DEFAULT));
    FAILS(H5Gopen2(file, "no_object", H5P_DEFAULT));
    CHECK(OK(H5Lexists(file, "no_file", H5P_DEFAULT)) == 1);
    CHECK(OK(H5Oexists_by_name(file, "no_file", H5P_DEFAULT)) == 0);
}

/* One process, ordinary driver: made so a file is captured, opened so it is not. */
static hid_t open_alone(const char* name) {
    return OK(H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT));
}

/* link1 leads to link2 in the other file, that to link3 in this one, and so on. */
static void back_and_forth(void) {
    const char *names[2] = {"external_ping", "external_pong"}, *links[] = {"a", "b", "c", "d"};
    const char* files[2] = {"external_ping.h5", "external_pong.h5"};
    for (int i = 0; i < 2; ++i)
        OK(H5Fclose(OK(H5Fcreate(path_of(names[i]), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))));
    for (int i = 0; i < 2; ++i) {
        hid_t file = open_alone(names[i]);
        for (int j = i; j < 3; j += 2)
            OK(H5Lcreate_external(files[1 - i], links[j + 1], file, links[j], H5P_DEFAULT,
                                  H5P_DEFAULT));
        if (i == 1) OK(H5Gclose(OK(H5Gcreate2(file, "d", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
        OK(H5Fclose(file));
    }
    for (int i = 0; i < 2; ++i) {
        hid_t file = open_alone(names[i]);
        hid_t end = OK(H5Gopen2(file, links[i], H5P_DEFAULT));
        check_connector(end);
        put_int(end, links[i], i);
        OK(H5Gclose(end));
        OK(H5Fclose(file));
    }
    hid_t file = open_alone(names[1]), end = OK(H5Gopen2(file, "d", H5P_DEFAULT));
    CHECK(get_int(end, "a") == 0 && get_int(end, "b") == 1);
    OK(H5Gclose(end));
    OK(H5Fclose(file));
}

/* Into a file that is open and whose image has what lies in no file system yet. */
static void into_open(void) {
    OK(H5Fclose(OK(H5Fcreate(path_of("external_alone"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))));
    hid_t target = OK(H5Fcreate(path_of("external_open"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t file = open_alone("external_alone");
    OK(H5Lcreate_external("external_open.h5", "/later", file, "link", H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Gopen2(file, "link", H5P_DEFAULT));
    OK(H5Gclose(OK(H5Gcreate2(target, "later", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    hid_t group = OK(H5Gopen2(file, "link", H5P_DEFAULT));
    put_int(group, "through", 3);
    OK(H5Gclose(group));
    group = OK(H5Gopen2(target, "later", H5P_DEFAULT));
    CHECK(get_int(group, "through") == 3);
    OK(H5Gclose(group));
    if (captured() && g_ranks > 1) { /* whose commit would wait for the others */
        OK(H5Lcreate_external("external.h5", "/", file, "others", H5P_DEFAULT, H5P_DEFAULT));
        FAILS_SAYING(H5Gopen2(file, "others", H5P_DEFAULT), "have open together");
        OK(H5Ldelete(file, "others", H5P_DEFAULT));
    }
    OK(H5Fclose(file));
    OK(H5Fclose(target));
}

/* Links that lead back into their own file, directly and through another one, must not keep either
 * of them open: the library's end would find them. */
static void around(void) {
    const char *names[2] = {"external_here", "external_round"}, *path = "/there";
    for (int i = 0; i < 2; ++i) {
        hid_t file = create_file(names[i]);
        hid_t group = OK(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        put_int(group, "answer", i);
        OK(H5Gclose(group));
        OK(H5Lcreate_external("external_here.h5", path, file, "here", H5P_DEFAULT, H5P_DEFAULT));
        OK(H5Lcreate_external("external_round.h5", i == 0 ? "/here" : path, file, "round",
                              H5P_DEFAULT, H5P_DEFAULT));
        OK(H5Fclose(file));
    }
    for (int i = 0; i < 2; ++i) {
        hid_t file = open_file(names[0], i == 0 ? H5F_ACC_RDONLY : H5F_ACC_RDWR);
        hid_t here = OK(H5Gopen2(file, "here", H5P_DEFAULT));
        hid_t round = OK(H5Gopen2(file, "round", H5P_DEFAULT));
        CHECK(get_int(here, "answer") == 0 && get_int(round, "answer") == 0);
        OK(H5Gclose(here));
        OK(H5Gclose(round));
        OK(H5Fclose(file));
        for (int j = 0; j < 2; ++j) OK(H5Fclose(open_file(names[j], H5F_ACC_RDWR)));
    }
}

/* One process, a close degree that HDF5 refuses for targets of links. */
static void into_itself(void) {
    hid_t access = OK(H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_fclose_degree(access, H5F_CLOSE_SEMI));
    hid_t file = OK(H5Fcreate(path_of("external_self"), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    OK(H5Lcreate_external("external_self.h5", "/", file, "self", H5P_DEFAULT, H5P_DEFAULT));
    FAILS(H5Gopen2(file, "self", H5P_DEFAULT));
    CHECK(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1);
    OK(H5Fclose(file));
    OK(H5Pclose(access));
    file = open_alone("external_self");
    OK(H5Gclose(OK(H5Gopen2(file, "self", H5P_DEFAULT))));
    CHECK(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1);
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    make_target("external_far", NULL);
    make_target("external_near", "external_far.h5");
    hid_t file = create_file("external");
    OK(H5Lcreate_external("external_near.h5", "/there", file, "link", H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Lcreate_external("external_near.h5", "/next", file, "chain", H5P_DEFAULT, H5P_DEFAULT));
    check_field(file, "link/field", 1.0);
    check_field(file, "chain/field", 1.0);
    CHECK(OK(H5Lexists(file, "link/field", H5P_DEFAULT)) == 1);
    hid_t attribute = OK(H5Aopen_by_name(file, "link", "answer", H5P_DEFAULT, H5P_DEFAULT));
    int answer = 0;
    OK(H5Aread(attribute, H5T_NATIVE_INT, &answer));
    CHECK(answer == 42);
    OK(H5Aclose(attribute));
    write_through(file);
    nowhere(file);
    OK(H5Fclose(file));
    file = open_file("external_near", H5F_ACC_RDONLY);
    check_field(file, "there/field", 2.0);
    check_field(file, "there/made", 3.0);
    hid_t group = OK(H5Gopen2(file, "there", H5P_DEFAULT));
    CHECK(get_int(group, "made") == 7);
    OK(H5Gclose(group));
    OK(H5Fclose(file));
    file = open_file("external", H5F_ACC_RDWR); /* while the target is open for itself */
    hid_t near_file = open_file("external_near", H5F_ACC_RDWR);
    hid_t dataset = OK(H5Dopen2(near_file, "there/field", H5P_DEFAULT));
    write_rows(dataset, k_rows, k_width, 4.0, H5FD_MPIO_COLLECTIVE);
    OK(H5Dclose(dataset));
    check_field(file, "link/field", 4.0);
    OK(H5Fclose(near_file));
    check_field(file, "link/field", 4.0);
    around();
    if (g_rank == 0) {
        back_and_forth();
        into_itself();
        into_open();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(H5Fclose(file));
    return finish();
}
