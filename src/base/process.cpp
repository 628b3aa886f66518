#include "base/process.hpp"

#include <fmt/format.h>

#include <vector>

namespace caesura::base {

Status Process::check(std::string_view what) const {
    if (!is_forked()) return {};
    return {
        StatusCode::cancelled,
        fmt::format("{} belongs to process {}; this process ({}) was forked from it and has none "
                    "of its threads: make a new one here, for another file",
                    what, made_in_, ::getpid())};
}

void Process::keep(void* object) {
    // Reachable to the end, so that leak checkers know that this is wanted.
    static auto& kept = *new std::vector<void*>;
    kept.push_back(object);
}

}  // namespace caesura::base
