/* Goal: what an application asks about its connector; identifiers wrapped and unwrapped. */
#include <H5VLconnector.h>
#include <H5VLnative.h>

#include "check.h"

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("introspect");
    hid_t connector = OK(H5VLget_connector_id(file));
    CHECK(H5Iget_type(connector) == H5I_VOL);
    const char* wanted = getenv("VOL_TEST_CONNECTOR");
    hid_t by_name = OK(H5VLget_connector_id_by_name(wanted ? wanted : "native"));
    hbool_t is_native = false;
    int order = 1;
    OK(H5VLcmp_connector_cls(&order, connector, by_name));
    CHECK(order == 0);
    CHECK(OK(H5VLis_connector_registered_by_name("native")) > 0);
    OK(H5VLclose(by_name));
    OK(H5VLclose(connector));
    uint64_t capabilities = 0;
    hid_t access = OK(H5Fget_access_plist(file));
    OK(H5Pget_vol_cap_flags(access, &capabilities));
    const uint64_t needed = H5VL_CAP_FLAG_FILE_BASIC | H5VL_CAP_FLAG_DATASET_BASIC |
                            H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_ATTR_BASIC |
                            H5VL_CAP_FLAG_LINK_MORE | H5VL_CAP_FLAG_OBJECT_MORE |
                            H5VL_CAP_FLAG_ITERATE | H5VL_CAP_FLAG_STORED_DATATYPES;
    CHECK((capabilities & needed) == needed);
    hid_t of_list = -1;
    OK(H5Pget_vol_id(access, &of_list));
    OK(H5VLclose(of_list));
    OK(H5Pclose(access));
    /* Chunk queries are optional operations; h5py and netCDF ask before they use them. */
    uint64_t flags = 0;
    OK(H5VLquery_optional(file, H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_NUM_CHUNKS, &flags));
    CHECK(flags & H5VL_OPT_QUERY_SUPPORTED);
    OK(H5VLobject_is_native(file, &is_native));
    CHECK(is_native); /* through whatever lies above, the native connector stores it */
    hid_t group = OK(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    CHECK(OK(H5Iget_type(group)) == H5I_GROUP);
    void* object = H5VLobject(group);
    CHECK(object != NULL);
    OK(H5Gclose(group));
    OK(H5Fclose(file));
    access = mpi_access(MPI_COMM_WORLD);
    CHECK(OK(H5Fis_accessible(path_of("introspect"), access)) > 0);
    OK(H5Pclose(access));
    return finish();
}
