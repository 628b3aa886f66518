// Memory that cannot be had becomes a Status.
#pragma once

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <string_view>

#include "caesura/base.hpp"

namespace caesura::lambda {

/// What `work` returns (a Status or a Result), or no_space.
template <class Work>
auto guarded(std::string_view what, Work&& work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    return Status(StatusCode::no_space, fmt::format("{}: not enough memory", what));
}

}  // namespace caesura::lambda
