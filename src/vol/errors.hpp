// The connector's errors on HDF5's error stack, and error stacks that survive clean-up.
//
// Invariants:
//  - Nothing is printed here: HDF5 prints its stack, or not, as the application told it to.
//  - No exception leaves a callback: guarded() turns it into an entry of the stack.
//  - Clean-up that calls HDF5 stands under a KeepErrors: every call of the library's clears the
//    stack, and the reason of the failure that is being cleaned up with it (trap 9).
#pragma once

#include <hdf5.h>

#include <exception>
#include <new>

#include "caesura/base.hpp"
#include "vol/in_call.hpp"

namespace caesura::vol {

/// Put `status` on the current error stack, under the class "Caesura".
void push_error(const Status& status) noexcept;

/// An error that no call of the application can return any more, shown the way the application lets
/// HDF5 show errors: by its H5Eset_auto2 function, which prints them unless it was changed.
void show_error(const Status& status) noexcept;

/// What a callback returns to say that it failed.
template <class R>
constexpr R k_failure = -1;
template <class T>
constexpr T* k_failure<T*> = nullptr;

template <class R = herr_t>
R fail(const Status& status) noexcept {
    push_error(status);
    return k_failure<R>;
}

/// -1 with the error pushed, or 0.
inline herr_t done(const Status& status) noexcept { return status.ok() ? 0 : fail(status); }

/// The body of a callback.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
    using R = decltype(body());
    const InCall in_call;
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail<R>({StatusCode::no_space, "the connector ran out of memory"});
    } catch (const std::exception& error) {
        return fail<R>({StatusCode::internal, error.what()});
    }
}

/// Puts the error stack back as it was. Free while the stack is empty.
class KeepErrors {
  public:
    KeepErrors() : stack_(H5Eget_num(H5E_DEFAULT) > 0 ? H5Eget_current_stack() : H5I_INVALID_HID) {}
    ~KeepErrors() {
        if (stack_ >= 0) H5Eset_current_stack(stack_);
    }
    KeepErrors(const KeepErrors&) = delete;
    KeepErrors& operator=(const KeepErrors&) = delete;

  private:
    hid_t stack_;
};

/// The identifiers of our error class go with the library that made them: called when it closes.
void forget_error_class() noexcept;

}  // namespace caesura::vol
