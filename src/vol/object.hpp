// What the library holds for us wherever the native connector would have an object of its own.
//
// Invariants:
//  - An Object is made before the native call whose result it takes: nothing that was opened can be
//    lost for want of memory.
//  - The connector below is the native one, whose identifier lives as long as the library: nobody
//    counts references to it. Counting cost a quarter of the time of small calls.
//  - An Object is freed when the native object is closed, and not when closing it failed: under the
//    close degree SEMI the application may go on using it (trap 12).
#pragma once

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <hdf5.h>

#include <memory>

#include "vol/errors.hpp"

namespace caesura::vol {

class CapturedFile;
struct CapturedDataset;

/// The connector below; a borrowed identifier.
hid_t native_connector();

struct Object {
    Object(H5I_type_t kind, hid_t connector, std::shared_ptr<CapturedFile> file);
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    void* under = nullptr;  ///< the connector below's
    const hid_t connector;
    H5I_type_t kind;                           ///< H5I_BADID: a request
    std::shared_ptr<CapturedFile> file;        ///< null: all of it is the native connector's
    std::shared_ptr<CapturedDataset> dataset;  ///< of a dataset that is not simply handed on
    /// The application opened or created this file: closing it ends a use of it. Files that the
    /// library wraps by itself, to find the file of an object, are not (trap 1).
    bool is_use_of_file = false;
};

inline Object& object_of(void* object) { return *static_cast<Object*>(object); }
inline Object* object_or_null(void* object) { return static_cast<Object*>(object); }
inline void* under_or_null(void* object) {
    return object == nullptr ? nullptr : object_of(object).under;
}

/// An Object to be, in the same file as `near`.
inline std::unique_ptr<Object> object_near(const Object& near, H5I_type_t kind) {
    return std::make_unique<Object>(kind, near.connector, near.file);
}

/// While one lives the native connector finishes an open. It then keeps a wrapper of its own file,
/// for values of variable length, for as long as that is open: a wrapper that keeps no captured
/// file, or none would ever be seen to be out of use.
class FileIsOpening {
  public:
    FileIsOpening();
    ~FileIsOpening();
    FileIsOpening(const FileIsOpening&) = delete;
    FileIsOpening& operator=(const FileIsOpening&) = delete;
};
/// After the native file `under` has been closed outside a callback, where the library cannot give
/// its wrapper back.
void forget_wrapper_of(void* under);

/// Take what the native connector returned; null stays null.
inline void* adopt(std::unique_ptr<Object> object, void* under) {
    if (under == nullptr) return nullptr;
    object->under = under;
    return object.release();
}

/// A request that an asynchronous operation below may give back, wrapped as we wrap everything.
/// The native connector gives none: what it was asked for is done when it returns.
class Request {
  public:
    Request(const Object& on, void** slot)
        : slot_(slot), prepared_(slot == nullptr ? nullptr : object_near(on, H5I_BADID)) {}
    ~Request() {
        if (slot_ != nullptr && *slot_ != nullptr) *slot_ = adopt(std::move(prepared_), *slot_);
    }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

  private:
    void** slot_;
    std::unique_ptr<Object> prepared_;
};

}  // namespace caesura::vol
