/* Goal: creating, opening and asking about files, with the answers of parallel HDF5. */
#include "check.h"

static void creation(void) {
    hid_t file = create_file("files");
    put_int(file, "generation", 1);
    OK(H5Fclose(file));
    hid_t access = mpi_access(MPI_COMM_WORLD);
    FAILS(H5Fcreate(path_of("files"), H5F_ACC_EXCL, H5P_DEFAULT, access));
    file = OK(H5Fopen(path_of("files"), H5F_ACC_RDONLY, access));
    CHECK(get_int(file, "generation") == 1); /* the failed create left it alone */
    OK(H5Fclose(file));
    FAILS(H5Fopen(path_of("no_such_file"), H5F_ACC_RDWR, access));
    FAILS(H5Fcreate(path_of("no_such_directory/x"), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    CHECK(OK(H5Fis_accessible(path_of("files"), access)) > 0);
    file = create_file("files"); /* truncated: nothing of the first is left */
    CHECK(OK(H5Aexists(file, "generation")) == 0);
    put_int(file, "generation", 2);
    OK(H5Fclose(file));
    OK(H5Pclose(access));
}

static void intent(void) {
    unsigned flags = 0;
    hid_t file = open_file("files", H5F_ACC_RDONLY);
    OK(H5Fget_intent(file, &flags));
    CHECK(flags == H5F_ACC_RDONLY);
    FAILS(H5Gcreate2(file, "refused", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Fclose(file));
    file = open_file("files", H5F_ACC_RDWR);
    OK(H5Fget_intent(file, &flags));
    CHECK(flags == H5F_ACC_RDWR);
    hid_t group = OK(H5Gcreate2(file, "taken", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(H5Gclose(group));
    OK(H5Fclose(file));
}

static void own_lists_come_back(void) {
    hid_t file = open_file("files", H5F_ACC_RDWR);
    hid_t access = OK(H5Fget_access_plist(file));
    CHECK(H5Pget_driver(access) == H5FD_MPIO);
    MPI_Comm comm;
    MPI_Info info;
    int same;
    OK(H5Pget_fapl_mpio(access, &comm, &info));
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
    CHECK(same == MPI_CONGRUENT || same == MPI_IDENT);
    MPI_Comm_free(&comm);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    OK(H5Pclose(access));
    hid_t creation = OK(H5Fget_create_plist(file));
    hsize_t user_block = 1;
    OK(H5Pget_userblock(creation, &user_block));
    CHECK(user_block == 0);
    OK(H5Pclose(creation));
    OK(H5Fclose(file));
}

static void names_and_counts(void) {
    char name[1024];
    hid_t file = open_file("files", H5F_ACC_RDWR);
    CHECK(OK(H5Fget_name(file, name, sizeof name)) == (int64_t)strlen(path_of("files")));
    CHECK(strcmp(name, path_of("files")) == 0);
    hid_t group = OK(H5Gopen2(file, "taken", H5P_DEFAULT));
    CHECK(OK(H5Fget_name(group, name, sizeof name)) == (int64_t)strlen(path_of("files")));
    CHECK(OK(H5Iget_name(group, name, sizeof name)) == 6 && strcmp(name, "/taken") == 0);
    CHECK(OK(H5Fget_obj_count(file, H5F_OBJ_ALL)) == 2);
    CHECK(OK(H5Fget_obj_count(file, H5F_OBJ_GROUP)) == 1);
    hid_t ids[2] = {-1, -1};
    CHECK(OK(H5Fget_obj_ids(file, H5F_OBJ_GROUP, 2, ids)) == 1);
    CHECK(ids[0] == group);
    hid_t again = OK(H5Iget_file_id(group));
    CHECK(OK(H5Fget_obj_count(again, H5F_OBJ_GROUP)) == 1);
    OK(H5Fclose(again));
    OK(H5Gclose(group));
    hsize_t bytes = 0;
    OK(H5Fget_filesize(file, &bytes));
    CHECK(bytes > 0);
    H5F_info2_t info;
    OK(H5Fget_info2(file, &info));
    CHECK(info.super.super_size > 0);
    OK(H5Fclose(file));
}

static void reopened_handles(void) {
    hid_t first = open_file("files", H5F_ACC_RDWR);
    hid_t second = OK(H5Freopen(first));
    check_connector(second);
    unsigned long numbers[2];
    OK(H5Fget_fileno(first, &numbers[0]));
    OK(H5Fget_fileno(second, &numbers[1]));
    CHECK(numbers[0] == numbers[1]);
    put_int(second, "through_second", 7);
    CHECK(get_int(first, "through_second") == 7);
    OK(H5Fclose(first));
    CHECK(get_int(second, "through_second") == 7);
    OK(H5Fclose(second));
}

static void settings_of_a_file(void) {
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST));
    OK(H5Pset_alignment(access, 1, 4096));
    OK(H5Pset_meta_block_size(access, 65536));
    OK(H5Pset_all_coll_metadata_ops(access, true));
    OK(H5Pset_coll_metadata_write(access, true));
    hid_t creation = OK(H5Pcreate(H5P_FILE_CREATE));
    OK(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    OK(H5Pset_attr_phase_change(creation, 4, 2));
    hid_t file = OK(H5Fcreate(path_of("settings"), H5F_ACC_TRUNC, creation, access));
    check_connector(file);
    OK(H5Pclose(creation));
    OK(H5Pclose(access));
    access = OK(H5Fget_access_plist(file));
    H5F_libver_t low, high;
    OK(H5Pget_libver_bounds(access, &low, &high));
    CHECK(low == H5F_LIBVER_V110);
    OK(H5Pclose(access));
    creation = OK(H5Fget_create_plist(file));
    unsigned order = 0;
    OK(H5Pget_link_creation_order(creation, &order));
    CHECK(order == (H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    OK(H5Pclose(creation));
    char name[16];
    for (int i = 0; i < 8; ++i) { /* beyond the phase change: dense storage */
        name[0] = (char)('a' + i);
        name[1] = 0;
        put_int(file, name, i);
    }
    OK(H5Fclose(file));
    file = open_file("settings", H5F_ACC_RDONLY);
    for (int i = 0; i < 8; ++i) {
        name[0] = (char)('a' + i);
        name[1] = 0;
        CHECK(get_int(file, name) == i);
    }
    OK(H5Fclose(file));
}

static void deletion(void) {
    hid_t file = create_file("deleted");
    OK(H5Fclose(file));
    hid_t access = mpi_access(MPI_COMM_WORLD);
    OK(H5Fdelete(path_of("deleted"), access));
    FAILS(H5Fopen(path_of("deleted"), H5F_ACC_RDONLY, access));
    OK(H5Pclose(access));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    creation();
    intent();
    own_lists_come_back();
    names_and_counts();
    reopened_handles();
    settings_of_a_file();
    deletion();
    return finish();
}
