// What is wrong with the numbers that a plan was asked of.
#pragma once

#include <string>
#include <utility>

#include "caesura/base.hpp"

namespace caesura::plan {

inline Status bad(std::string what) { return {StatusCode::invalid_argument, std::move(what)}; }

}  // namespace caesura::plan
