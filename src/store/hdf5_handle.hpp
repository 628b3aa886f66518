// HDF5 identifiers that close themselves, and HDF5's error stack as a Status.
//
// Invariant: nothing here prints; QuietErrors gives the application back its own error handler.
#pragma once

#include <hdf5.h>

#include "caesura/base.hpp"

namespace caesura::store {

class Handle {
  public:
    using Close = herr_t (*)(hid_t);
    Handle() = default;
    Handle(hid_t id, Close close) : id_(id), close_(close) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Handle& operator=(Handle&& other) noexcept {
        if (this != &other) {
            reset();
            id_ = std::exchange(other.id_, -1);
            close_ = other.close_;
        }
        return *this;
    }
    ~Handle() { reset(); }
    bool ok() const { return id_ >= 0; }
    hid_t get() const { return id_; }
    hid_t release() { return std::exchange(id_, -1); }
    herr_t reset() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

  private:
    hid_t id_ = -1;
    Close close_ = nullptr;
};

/// Switches HDF5's automatic error printing off while it lives.
class QuietErrors {
  public:
    QuietErrors();
    ~QuietErrors();
    QuietErrors(const QuietErrors&) = delete;
    QuietErrors& operator=(const QuietErrors&) = delete;

  private:
    bool saved_ = false;
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

/// What HDF5 says about the call that just failed; `doing` is in front of it. Clears the stack.
Status hdf5_error(StatusCode code, std::string_view doing);

}  // namespace caesura::store
