// What Caesura's calls return, as this program's errors.
#pragma once

#include <stdexcept>
#include <string>

#include "caesura/base.hpp"

namespace cosmology {

inline void expect_ok(const caesura::Status& status, const std::string& doing) {
    if (!status.ok()) throw std::runtime_error(doing + ": " + status.message());
}

}  // namespace cosmology
