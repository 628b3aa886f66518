#include "transit/port/ucx.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace caesura::transit {
namespace {

constexpr const char* k_library = "libucp.so.0";

std::string loader_error() {
    const char* text = ::dlerror();
    return text != nullptr ? text : "no reason given";
}

/// The functions of an open library and of what it is linked to (libucs).
class Finder {
  public:
    explicit Finder(void* library) : library_(library) {}
    template <class Function>
    void operator()(Function& function, const char* name) {
        function = reinterpret_cast<Function>(::dlsym(library_, name));
        if (function == nullptr && missing_.empty()) missing_ = name;
    }
    const std::string& missing() const { return missing_; }

  private:
    void* library_;
    std::string missing_;
};

void find_all(Finder& find, Ucx& ucx) {
    find(ucx.config_read, "ucp_config_read");
    find(ucx.config_modify, "ucp_config_modify");
    find(ucx.config_release, "ucp_config_release");
    find(ucx.init_version, "ucp_init_version");
    find(ucx.cleanup, "ucp_cleanup");
    find(ucx.worker_create, "ucp_worker_create");
    find(ucx.worker_destroy, "ucp_worker_destroy");
    find(ucx.worker_get_efd, "ucp_worker_get_efd");
    find(ucx.worker_query, "ucp_worker_query");
    find(ucx.worker_get_address, "ucp_worker_get_address");
    find(ucx.worker_release_address, "ucp_worker_release_address");
    find(ucx.worker_progress, "ucp_worker_progress");
    find(ucx.worker_arm, "ucp_worker_arm");
    find(ucx.worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
    find(ucx.listener_create, "ucp_listener_create");
    find(ucx.listener_destroy, "ucp_listener_destroy");
    find(ucx.listener_query, "ucp_listener_query");
    find(ucx.listener_reject, "ucp_listener_reject");
    find(ucx.conn_request_query, "ucp_conn_request_query");
    find(ucx.ep_create, "ucp_ep_create");
    find(ucx.ep_close_nbx, "ucp_ep_close_nbx");
    find(ucx.ep_print_info, "ucp_ep_print_info");
    find(ucx.am_send_nbx, "ucp_am_send_nbx");
    find(ucx.am_recv_data_nbx, "ucp_am_recv_data_nbx");
    find(ucx.am_data_release, "ucp_am_data_release");
    find(ucx.request_free, "ucp_request_free");
    find(ucx.status_string, "ucs_status_string");
    find(ucx.log_push_handler, "ucs_log_push_handler");
}

/// By its soname first: so it is the one that the process has, or the loader's. Where the loader
/// finds none, the one of the build.
Result<Ucx> find_ucx() {
    Result<Ucx> found = load_ucx(k_library);
    if (found.ok()) return found;
    Result<Ucx> of_the_build = load_ucx(CAESURA_UCX_LIBRARY);
    return of_the_build.ok() ? of_the_build : found;
}

const Result<Ucx>& found_once() {
    static const auto& found = *new Result<Ucx>(find_ucx());
    return found;
}

}  // namespace

Result<Ucx> load_ucx(const char* library) {
    // Never closed: UCX has threads and handlers of its own.
    void* const open = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (open == nullptr)
        return Status{StatusCode::unsupported,
                      fmt::format("the service needs UCX 1.13 or newer: {}; install it (Debian: "
                                  "libucx0), or add its directory to LD_LIBRARY_PATH",
                                  loader_error())};
    Ucx ucx{};
    Finder find(open);
    find_all(find, ucx);
    if (find.missing().empty()) return ucx;
    return Status{
        StatusCode::unsupported,
        fmt::format("the service needs UCX 1.13 or newer: {} has no {}", library, find.missing())};
}

const Ucx& ucx() { return *found_once(); }

Status load_ucx_once() { return found_once().ok() ? Status{} : found_once().status(); }

}  // namespace caesura::transit
