// What is wrong with what a device was asked for.
#pragma once

#include <string>
#include <utility>

#include "caesura/base.hpp"

namespace caesura::device {

inline Status bad(std::string what) { return {StatusCode::invalid_argument, std::move(what)}; }

}  // namespace caesura::device
