// What the parameters of an ADIOS2 engine or operator say, as its configuration gives them: names
// in any case, texts.
//
//     FileName      the file, or "run_%06T.h5" for one each step. Engine only, and needed: ADIOS2
//                   does not tell a plugin what was opened.
//     Ranks         "all": every rank of MPI_COMM_WORLD opens it; "one": a single rank does. Needed
//                   by several ranks: ADIOS2 does not tell a plugin who opened.
//     Bound         "1e-3", "relative 1e-3", "pointwise_relative 1e-3", "psnr 80" or "lossless"
//                   (the default) of what no other says; integers are lossless.
//     Bound.NAME    of the variable NAME.
//     Codec, Layout, Durable, MaxDelay, MemoryBytes, ChunkBytes, CompressThreads, TracePath
//                   as WriterOptions. Layout "steps" is that of ADIOS2's own HDF5 engine.
//
// What openPMD-api says to every engine (Profile, AsyncWrite, ...) says nothing to this one.
#pragma once

#include <map>

#include "caesura/writer.hpp"

namespace caesura::adios {

using Parameters = std::map<std::string, std::string>;

/// Errors: invalid_argument, naming the text and what it can be.
Result<ErrorBound> bound_of(const std::string& text);

struct Settings {
    enum class Ranks { unsaid, all, one };

    std::string file;
    Ranks ranks = Ranks::unsaid;
    WriterOptions options;
    std::map<std::string, ErrorBound> bounds;  ///< of variables, by name

    ErrorBound bound_of(const std::string& variable, DType dtype) const;
};

/// Errors: invalid_argument (no file; a parameter that there is not, or that is not what it should
/// be), naming the parameter.
Result<Settings> settings_of(const Parameters& parameters);

/// The bound of an operator: "bound", or "accuracy" as ADIOS2's own operators call an absolute one.
/// Errors: as settings_of's, and where both are there.
Result<ErrorBound> operator_bound(const Parameters& parameters);

}  // namespace caesura::adios
