// HDF5's state for calls that no call of the application has begun.
#pragma once

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <hdf5.h>

namespace caesura::vol {

/// Trap 2: outside a callback H5VL* calls find no context of the library's; inside one they find
/// that of a call on another file.
class LibraryState {
  public:
#if H5_VERSION_GE(2, 0, 0)
    LibraryState() : begun_(H5VLopen_lib_context(&context_) >= 0) {}
    ~LibraryState() {
        if (begun_) H5VLclose_lib_context(context_);
    }
#else
    LibraryState() : begun_(H5VLstart_lib_state() >= 0) {}
    ~LibraryState() {
        if (begun_) H5VLfinish_lib_state();
    }
#endif
    LibraryState(const LibraryState&) = delete;
    LibraryState& operator=(const LibraryState&) = delete;
    bool ok() const { return begun_; }

  private:
#if H5_VERSION_GE(2, 0, 0)
    void* context_ = nullptr;
#endif
    bool begun_;
};

}  // namespace caesura::vol
