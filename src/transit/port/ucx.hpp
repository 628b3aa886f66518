// UCX's functions, found in the process when the first one is wanted. They are not linked: a
// program that never talks to a service loads no UCX, and one whose MPI brings its own UCX, perhaps
// a newer one, shares that. Two versions of UCX in one process break both.
#pragma once

#include <ucp/api/ucp.h>

#include "caesura/base.hpp"

namespace caesura::transit {

/// UCX's functions by their names without `ucp_` and `ucs_`. Complete, or there is none.
struct Ucx {
    decltype(&ucp_config_read) config_read;
    decltype(&ucp_config_modify) config_modify;
    decltype(&ucp_config_release) config_release;
    decltype(&ucp_init_version) init_version;
    decltype(&ucp_cleanup) cleanup;
    decltype(&ucp_worker_create) worker_create;
    decltype(&ucp_worker_destroy) worker_destroy;
    decltype(&ucp_worker_get_efd) worker_get_efd;
    decltype(&ucp_worker_query) worker_query;
    decltype(&ucp_worker_get_address) worker_get_address;
    decltype(&ucp_worker_release_address) worker_release_address;
    decltype(&ucp_worker_progress) worker_progress;
    decltype(&ucp_worker_arm) worker_arm;
    decltype(&ucp_worker_set_am_recv_handler) worker_set_am_recv_handler;
    decltype(&ucp_listener_create) listener_create;
    decltype(&ucp_listener_destroy) listener_destroy;
    decltype(&ucp_listener_query) listener_query;
    decltype(&ucp_listener_reject) listener_reject;
    decltype(&ucp_conn_request_query) conn_request_query;
    decltype(&ucp_ep_create) ep_create;
    decltype(&ucp_ep_close_nbx) ep_close_nbx;
    decltype(&ucp_ep_print_info) ep_print_info;
    decltype(&ucp_am_send_nbx) am_send_nbx;
    decltype(&ucp_am_recv_data_nbx) am_recv_data_nbx;
    decltype(&ucp_am_data_release) am_data_release;
    decltype(&ucp_request_free) request_free;
    decltype(&ucs_status_string) status_string;
    /// `ucs_log_push_handler`, whose header not every UCX has.
    void* log_push_handler;
};

/// The functions of a libucp. Errors: unsupported, where it is not there or lacks one.
Result<Ucx> load_ucx(const char* library);

/// The process's functions, which load_ucx_once() has found.
const Ucx& ucx();

/// Finds UCX, the first time. Errors: unsupported, with what to install. Thread-safe.
Status load_ucx_once();

}  // namespace caesura::transit
