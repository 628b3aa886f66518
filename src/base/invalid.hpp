// A caller's mistake, in a sentence.
#pragma once

#include <string>
#include <utility>

#include "caesura/base.hpp"

namespace caesura::base {

inline Status invalid(std::string what) { return {StatusCode::invalid_argument, std::move(what)}; }

}  // namespace caesura::base
