// Callbacks that hand their arguments to the connector below, written once for all of them.
//
// The library's H5VLattr_get(object, connector, args, dxpl, request) is the callback
// get(object, args, dxpl, request) with the connector put in, and all others are made alike. So a
// callback's signature follows from the function it forwards to:
//
//     OnObject<H5VLattr_get>::call          (object, connector, rest...)           -> a code
//     AtLocation<H5VLlink_get>::call        (object, location, connector, rest...) -> a code
//     MakesAtLocation<H5VLgroup_open, H5I_GROUP>::call                             -> an Object
//     Closes<H5VLgroup_close>::call         frees the Object if that succeeded (trap 12)
//
// Invariant: the Object is not touched after the call below, except by Closes: refreshing an object
// replaces it, and its Object with it.
#pragma once

#include <tuple>

#include "vol/captured_file.hpp"
#include "vol/native_dataset.hpp"

namespace caesura::vol {

/// Where the caller wants a request put: always the last argument, if any.
template <class... A>
void** request_slot(const A&... rest) {
    using Last = std::tuple_element_t<sizeof...(A) - 1, std::tuple<A...>>;
    if constexpr (std::is_same_v<Last, void**>)
        return std::get<sizeof...(A) - 1>(std::tie(rest...));
    else
        return nullptr;
}

template <auto Below>
struct OnObject;

template <class... A, herr_t (*Below)(void*, hid_t, A...)>
struct OnObject<Below> {
    static herr_t call(void* object, A... rest) {
        return guarded([&] {
            const Object& on = object_of(object);
            const Request request(on, request_slot(rest...));
            return Below(on.under, on.connector, rest...);
        });
    }
};

template <auto Below>
struct AtLocation;

template <class... A, herr_t (*Below)(void*, const H5VL_loc_params_t*, hid_t, A...)>
struct AtLocation<Below> {
    static herr_t call(void* object, const H5VL_loc_params_t* location, A... rest) {
        return guarded([&] {
            const Object& on = object_of(object);
            const Request request(on, request_slot(rest...));
            return Below(on.under, location, on.connector, rest...);
        });
    }
};

/// The flush of one object: `native` does it in the image, and all of the file is committed. The
/// object may be another one afterwards.
template <class Native>
herr_t flush_object(void* object, Native&& native) {
    const std::shared_ptr<CapturedFile> file = object_of(object).file;
    const NativeObject through{object_of(object).under, object_of(object).kind};
    const herr_t flushed = native();
    return flushed < 0 || file == nullptr ? flushed : done(file->flush_from(through));
}

/// H5Oflush, H5Gflush and H5Tflush, which HDF5 refuses in files of MPI-IO.
template <class Native>
herr_t flush_serial_object(void* object, Native&& native) {
    const CapturedFile* const file = object_of(object).file.get();
    if (file != nullptr && H5Pget_driver(file->access()) == H5FD_MPIO)
        return fail(Status{StatusCode::unsupported,
                           file->name() + ": HDF5 flushes single objects in files without MPI-IO "
                                          "alone; call H5Fflush"});
    return flush_object(object, std::forward<Native>(native));
}

template <auto Below, H5I_type_t Kind>
struct MakesAtLocation;

template <class... A, void* (*Below)(void*, const H5VL_loc_params_t*, hid_t, A...), H5I_type_t Kind>
struct MakesAtLocation<Below, Kind> {
    static void* call(void* object, const H5VL_loc_params_t* location, A... rest) {
        return guarded([&]() -> void* {
            const Object& at = object_of(object);
            auto made = object_near(at, Kind);
            const Request request(at, request_slot(rest...));
            made->under = Below(at.under, location, at.connector, rest...);
            if (made->under == nullptr) return nullptr;
            CapturedFile::find_holder(*made);
            return made.release();
        });
    }
};

template <auto Below>
struct Closes;

template <herr_t (*Below)(void*, hid_t, hid_t, void**)>
struct Closes<Below> {
    static herr_t call(void* object, hid_t transfer, void** request_slot) {
        return guarded([&] {
            Object* const closed = object_or_null(object);
            auto root = CapturedFile::keep_for_deletion(*closed);
            const Status committed = root == nullptr ? CapturedFile::before_close(*closed)
                                                     : closed->file->commit_from(*closed, 0);
            if (!committed.ok()) return fail(committed);
            const Request request(*closed, request_slot);
            const herr_t status = Below(closed->under, closed->connector, transfer, request_slot);
            if (status < 0) return status;
            closed->file.reset();
            // The library still lists the identifier, and looks at its object.
            if (root != nullptr) CapturedFile::close_last(std::move(root));
            delete closed;
            return status;
        });
    }
};

}  // namespace caesura::vol
