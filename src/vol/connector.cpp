// The connector as the library loads it: HDF5_PLUGIN_PATH names the directory of this library,
// HDF5_VOL_CONNECTOR="caesura" (or "caesura config=PATH") asks for it.
//
// Invariants:
//  - Linked with -z nodelete (trap 3): the library unloads its plugins when it closes, and MPI may
//    call us later still.
//  - One binary per HDF5 series (trap 15): 1.14 and 2.x have the same H5VL_VERSION, but structures
//    of some optional operations differ.
#include <H5PLextern.h>

#include "vol/callbacks.hpp"
#include "vol/closing_line.hpp"
#include "vol/errors.hpp"
#include "vol/external_link.hpp"
#include "vol/found_datasets.hpp"
#include "vol/pending_files.hpp"
#include "vol/report.hpp"
#include "vol/shutdown.hpp"

#define CAESURA_EXPORT extern "C" __attribute__((visibility("default")))

namespace caesura::vol {
namespace {

/// 256 to 511 are free for anyone; a number of its own needs the connector's registration.
constexpr H5VL_class_value_t k_value = 371;
constexpr unsigned k_connector_version = 1;

/// All that the native connector can do: nothing is taken away.
constexpr std::uint64_t k_capabilities =
    H5VL_CAP_FLAG_NATIVE_FILES | H5VL_CAP_FLAG_ATTR_BASIC | H5VL_CAP_FLAG_ATTR_MORE |
    H5VL_CAP_FLAG_DATASET_BASIC | H5VL_CAP_FLAG_DATASET_MORE | H5VL_CAP_FLAG_FILE_BASIC |
    H5VL_CAP_FLAG_FILE_MORE | H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_GROUP_MORE |
    H5VL_CAP_FLAG_LINK_BASIC | H5VL_CAP_FLAG_LINK_MORE | H5VL_CAP_FLAG_OBJECT_BASIC |
    H5VL_CAP_FLAG_OBJECT_MORE | H5VL_CAP_FLAG_REF_BASIC | H5VL_CAP_FLAG_REF_MORE |
    H5VL_CAP_FLAG_OBJ_REF | H5VL_CAP_FLAG_REG_REF | H5VL_CAP_FLAG_ATTR_REF |
    H5VL_CAP_FLAG_STORED_DATATYPES | H5VL_CAP_FLAG_CREATION_ORDER | H5VL_CAP_FLAG_ITERATE |
    H5VL_CAP_FLAG_STORAGE_SIZE | H5VL_CAP_FLAG_BY_IDX | H5VL_CAP_FLAG_GET_PLIST |
    H5VL_CAP_FLAG_FLUSH_REFRESH | H5VL_CAP_FLAG_EXTERNAL_LINKS | H5VL_CAP_FLAG_HARD_LINKS |
    H5VL_CAP_FLAG_SOFT_LINKS | H5VL_CAP_FLAG_UD_LINKS | H5VL_CAP_FLAG_TRACK_TIMES |
    H5VL_CAP_FLAG_MOUNT | H5VL_CAP_FLAG_FILTERS | H5VL_CAP_FLAG_FILL_VALUES;

herr_t initialize(hid_t) {
    library_begins();
    return done(register_filter());
}

/// Our statics outlive the library, which may be opened again: no identifier may stay in them.
/// Something can be pending only where the application gives the connector up while HDF5 goes on.
herr_t terminate() {
    return guarded([]() -> herr_t {
        if (is_forked()) return 0;
        const KeepErrors keep;  // a configuration that was refused ends here, with its reason
        pending_files::complete_all();
        pending_files::show_errors();
        print_closing_line(world_rank());
        const herr_t status = done(write_reports());
        forget_error_class();
        forget_external_links();
        return status;
    });
}

herr_t optional(void* object, H5VL_optional_args_t* args, hid_t transfer, void** request_slot) {
    return guarded([&] {
        const Object& on = object_of(object);
        const Request request(on, request_slot);
        return H5VLoptional(on.under, on.connector, args, transfer, request_slot);
    });
}

H5VL_class_t make_class() {
    H5VL_class_t connector{};
    connector.version = H5VL_VERSION;
    connector.value = k_value;
    connector.name = k_connector_name;
    connector.conn_version = k_connector_version;
    connector.cap_flags = k_capabilities;
    connector.initialize = initialize;
    connector.terminate = terminate;
    connector.info_cls = info_callbacks();
    connector.wrap_cls = wrap_callbacks();
    connector.attr_cls = attribute_callbacks();
    connector.dataset_cls = dataset_callbacks();
    connector.datatype_cls = datatype_callbacks();
    connector.file_cls = file_callbacks();
    connector.group_cls = group_callbacks();
    connector.link_cls = link_callbacks();
    connector.object_cls = object_callbacks();
    connector.introspect_cls = introspect_callbacks();
    connector.request_cls = request_callbacks();
    connector.blob_cls = blob_callbacks();
    connector.token_cls = token_callbacks();
    connector.optional = optional;
    return connector;
}

}  // namespace

const H5VL_class_t& connector_class() {
    static const H5VL_class_t connector = make_class();
    return connector;
}

}  // namespace caesura::vol

CAESURA_EXPORT H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }
CAESURA_EXPORT const void* H5PLget_plugin_info(void) { return &caesura::vol::connector_class(); }
