// What the library asks a connector besides operations on objects: what it can do, how requests
// went, blobs (variable-length values), tokens (addresses of objects).
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

herr_t get_connector_class(void* object, H5VL_get_conn_lvl_t level, const H5VL_class_t** found) {
    if (level == H5VL_GET_CONN_LVL_CURR) {
        *found = &connector_class();
        return 0;
    }
    return OnObject<H5VLintrospect_get_conn_cls>::call(object, level, found);
}

/// We can do what the connector below can; `info` is ours and says nothing to it.
herr_t get_capabilities(const void*, std::uint64_t* flags) {
    return H5VLintrospect_get_cap_flags(nullptr, native_connector(), flags);
}

/// Freed with its wrapper.
herr_t request_free(void* object) {
    return guarded([&] {
        Object* const freed = object_or_null(object);
        const herr_t status = H5VLrequest_free(freed->under, freed->connector);
        if (status >= 0) delete freed;
        return status;
    });
}

// Tokens of a captured file are those of this rank's image, and equal on all ranks.
template <auto Below>
struct OnToken;

template <class... A, herr_t (*Below)(void*, H5I_type_t, hid_t, A...)>
struct OnToken<Below> {
    static herr_t call(void* object, H5I_type_t kind, A... rest) {
        const Object& on = object_of(object);
        return Below(on.under, kind, on.connector, rest...);
    }
};

}  // namespace

H5VL_introspect_class_t introspect_callbacks() {
    H5VL_introspect_class_t table{};
    table.get_conn_cls = get_connector_class;
    table.get_cap_flags = get_capabilities;
    table.opt_query = OnObject<H5VLintrospect_opt_query>::call;
    return table;
}

H5VL_request_class_t request_callbacks() {
    H5VL_request_class_t table{};
    table.wait = OnObject<H5VLrequest_wait>::call;
    table.notify = OnObject<H5VLrequest_notify>::call;
    table.cancel = OnObject<H5VLrequest_cancel>::call;
    table.specific = OnObject<H5VLrequest_specific>::call;
    table.optional = OnObject<H5VLrequest_optional>::call;
    table.free = request_free;
    return table;
}

H5VL_blob_class_t blob_callbacks() {
    H5VL_blob_class_t table{};
    table.put = OnObject<H5VLblob_put>::call;
    table.get = OnObject<H5VLblob_get>::call;
    table.specific = OnObject<H5VLblob_specific>::call;
    table.optional = OnObject<H5VLblob_optional>::call;
    return table;
}

H5VL_token_class_t token_callbacks() {
    H5VL_token_class_t table{};
    table.cmp = OnObject<H5VLtoken_cmp>::call;
    table.to_str = OnToken<H5VLtoken_to_str>::call;
    table.from_str = OnToken<H5VLtoken_from_str>::call;
    return table;
}

}  // namespace caesura::vol
