// What the functions of the C API share: codes and the sentence behind them, per thread.
#pragma once

#include <new>

#include "base/invalid.hpp"
#include "caesura/base.hpp"
#include "caesura/caesura.h"

namespace caesura::capi {

/// The status as a code; its message becomes caesura_last_error().
caesura_code finish(const Status& status);

using base::invalid;

/// No exception leaves a function of C.
template <class Body>
caesura_code guarded(Body body) {
    try {
        return finish(body());
    } catch (const std::bad_alloc&) {
        return finish({StatusCode::no_space, {}});  // a message might need memory
    } catch (const std::exception& error) {
        return finish({StatusCode::internal, error.what()});
    }
}

inline bool known(int dtype) { return dtype >= CAESURA_FLOAT32 && dtype <= CAESURA_COMPLEX128; }

}  // namespace caesura::capi
