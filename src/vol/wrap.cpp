// The five callbacks by which the library turns native objects, which it finds by itself while it
// iterates or dereferences, into ours and back.
#include <map>

#include "vol/callbacks.hpp"
#include "vol/captured_dataset.hpp"

namespace caesura::vol {
namespace {

/// What FileIsOpening is about; by native file. Never destroyed, as the library may outlive us.
struct FileWrappers {
    bool opening = false;
    std::map<void*, Object*> kept;
};
FileWrappers& file_wrappers() {
    static auto& wrappers = *new FileWrappers;
    return wrappers;
}

/// What wrap_object must know of the object from which the library set out. One is made for almost
/// every call of the application; the native connector has none of its own.
struct WrapContext {
    const hid_t connector;
    const std::weak_ptr<CapturedFile> file;  ///< a context keeps no file open
};

void* get_object(const void* object) {
    const Object& from = *static_cast<const Object*>(object);
    return H5VLget_object(from.under, from.connector);
}

herr_t get_wrap_context(const void* object, void** context) {
    return guarded([&] {
        const Object& from = *static_cast<const Object*>(object);
        *context = new WrapContext{from.connector, from.file};
        return 0;
    });
}

void* wrap_object(void* native, H5I_type_t kind, void* context) {
    return guarded([&]() -> void* {
        const WrapContext& in = *static_cast<WrapContext*>(context);
        const bool of_file = kind == H5I_FILE && file_wrappers().opening;
        auto made =
            std::make_unique<Object>(kind, in.connector, of_file ? nullptr : in.file.lock());
        Object* const wrapper = made.get();
        void* const wrapped =
            adopt(std::move(made), H5VLwrap_object(native, kind, in.connector, nullptr));
        if (wrapped == nullptr) return nullptr;
        if (of_file)
            file_wrappers().kept[native] = wrapper;
        else
            CapturedFile::find_holder(*wrapper);
        // As H5Drefresh makes one; it is the dataset that it was.
        if (kind == H5I_DATASET && wrapper->file != nullptr) inspect_without_list(*wrapper);
        return wrapped;
    });
}

void* unwrap_object(void* object) {
    return guarded([&] {
        Object* const from = object_or_null(object);
        void* const native = H5VLunwrap_object(from->under, from->connector);
        if (native == nullptr) return native;
        auto& kept = file_wrappers().kept;
        if (const auto found = kept.find(native); found != kept.end() && found->second == from)
            kept.erase(found);
        delete from;
        return native;
    });
}

herr_t free_wrap_context(void* context) {
    delete static_cast<WrapContext*>(context);
    return 0;
}

}  // namespace

FileIsOpening::FileIsOpening() { file_wrappers().opening = true; }
FileIsOpening::~FileIsOpening() { file_wrappers().opening = false; }

void forget_wrapper_of(void* under) {
    const auto found = file_wrappers().kept.find(under);
    if (found == file_wrappers().kept.end()) return;
    delete found->second;
    file_wrappers().kept.erase(found);
}

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
