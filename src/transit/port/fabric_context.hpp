// UCX's context, and how it is configured: by values in the program, never by the process's
// environment, which the application's MPI reads too.
#pragma once

#include <memory>
#include <string_view>

#include "transit/port/fabric.hpp"
#include "transit/port/ucx.hpp"

namespace caesura::transit {

class Quiet;

/// A Status of UCX's, with what it was about and what else UCX has said.
Status ucx_failure(std::string_view what, ucs_status_t status, const Quiet& quiet);

class Fabric::Context {
  public:
    explicit Context(ucp_context_h handle) : handle_(handle) {}
    ~Context() { ucx().cleanup(handle_); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ucp_context_h handle() const { return handle_; }

  private:
    ucp_context_h handle_;
};

}  // namespace caesura::transit
