// What libcaesura_completion.so has for the connector that loads it (vol/completer.cpp). The
// library makes the last commit of a closed file by an HDF5 of its own: linked in, one version
// everywhere, and hidden, so that it touches neither the application's HDF5 nor its locks.
//
// Invariants:
//  - Both come from one build: C++ objects pass between them. `version` says so.
//  - One thread at a time. It need not be the application's.
#pragma once

#include "store/shared_file.hpp"

namespace caesura::completion {

struct Entry {
    const char* version;
    /// As store::complete_closed().
    Status (*complete)(const store::SharedFile& file, bool durable);
};

/// The one name that the library exports: a function without arguments that returns the Entry.
inline constexpr char k_entry_name[] = "caesura_completion_entry";
using GetEntry = const Entry* (*)();

}  // namespace caesura::completion
