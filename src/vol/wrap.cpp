// The five callbacks by which the library turns native objects, which it finds by itself while it
// iterates or dereferences, into ours and back.
#include "vol/callbacks.hpp"

namespace caesura::vol {
namespace {

/// What wrap_object must know of the object from which the library set out.
struct WrapContext {
    explicit WrapContext(const Object& from) : connector(from.connector), file(from.file) {
        const KeepErrors keep;
        H5Iinc_ref(connector);
    }
    ~WrapContext() {
        const KeepErrors keep;
        if (under != nullptr) H5VLfree_wrap_ctx(under, connector);
        H5Idec_ref(connector);
    }
    WrapContext(const WrapContext&) = delete;
    WrapContext& operator=(const WrapContext&) = delete;

    const hid_t connector;
    const std::weak_ptr<CapturedFile> file;  ///< a context keeps no file open
    void* under = nullptr;
};

void* get_object(const void* object) {
    const Object& from = *static_cast<const Object*>(object);
    return H5VLget_object(from.under, from.connector);
}

herr_t get_wrap_context(const void* object, void** context) {
    return guarded([&] {
        const Object& from = *static_cast<const Object*>(object);
        auto made = std::make_unique<WrapContext>(from);
        const herr_t status = H5VLget_wrap_ctx(from.under, from.connector, &made->under);
        if (status >= 0) *context = made.release();
        return status;
    });
}

void* wrap_object(void* native, H5I_type_t kind, void* context) {
    return guarded([&] {
        const WrapContext& in = *static_cast<WrapContext*>(context);
        auto made = std::make_unique<Object>(kind, in.connector, in.file.lock());
        return adopt(std::move(made), H5VLwrap_object(native, kind, in.connector, in.under));
    });
}

void* unwrap_object(void* object) {
    return guarded([&] {
        Object* const from = object_or_null(object);
        void* const native = H5VLunwrap_object(from->under, from->connector);
        if (native != nullptr) delete from;
        return native;
    });
}

herr_t free_wrap_context(void* context) {
    delete static_cast<WrapContext*>(context);
    return 0;
}

}  // namespace

H5VL_wrap_class_t wrap_callbacks() {
    H5VL_wrap_class_t table{};
    table.get_object = get_object;
    table.get_wrap_ctx = get_wrap_context;
    table.wrap_object = wrap_object;
    table.unwrap_object = unwrap_object;
    table.free_wrap_ctx = free_wrap_context;
    return table;
}

}  // namespace caesura::vol
