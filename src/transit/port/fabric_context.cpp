#include "transit/port/fabric_context.hpp"

#include <fmt/format.h>

#include "transit/port/dead_segments.hpp"
#include "transit/port/quiet.hpp"
#include "transit/port/ucx.hpp"

namespace caesura::transit {
namespace {

class UcxConfig {
  public:
    UcxConfig() = default;
    UcxConfig(const UcxConfig&) = delete;
    UcxConfig& operator=(const UcxConfig&) = delete;
    ~UcxConfig() {
        if (handle_ != nullptr) ucx().config_release(handle_);
    }
    // CAESURA_UCX_... in the environment is for us alone, and goes before UCX_...
    ucs_status_t read() { return ucx().config_read("CAESURA", nullptr, &handle_); }
    ucp_config_t* handle() const { return handle_; }
    void set(const Fabric::Options& options, const char* shared_memory) {
        set("KEEPALIVE_INTERVAL", "1s");
        if (options.reach == Fabric::Reach::node) return set_node(shared_memory);
        set("TLS",
            options.transports.empty() ? "^posix,sysv,xpmem,knem,cma,self" : options.transports);
        if (!options.devices.empty()) set("NET_DEVICES", options.devices);
        if (!options.tcp_ports.empty()) set("TCP_PORT_RANGE", options.tcp_ports);
        if (options.remote_memory) return;
        set("RNDV_SCHEME", "am");
        set("TCP_PUT_ENABLE", "n");
    }

  private:
    // A name that this UCX does not know is none that it would act on.
    void set(const std::string& name, const std::string& value) {
        (void)ucx().config_modify(handle_, name.c_str(), value.c_str());
    }
    void set_node(const char* shared_memory) {
        set("TLS", shared_memory);
        // Else shared memory is not for links whose death is told.
        set("MM_ERROR_HANDLING", "y");
        set("RNDV_SCHEME", "am");
        // A worker has one sender: what it prepares at once is memory of every connection.
        set("SYSV_RX_BUFS_GROW", "64");
        set("POSIX_RX_BUFS_GROW", "64");
    }

    ucp_config_t* handle_ = nullptr;
};

Result<ucp_context_h> make_context(const Fabric::Options& options, const char* shared_memory) {
    const Quiet quiet;
    UcxConfig config;
    ucs_status_t status = config.read();
    if (status != UCS_OK) return ucx_failure("UCX: configuration", status, quiet);
    config.set(options, shared_memory);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.name = "caesura";
    ucp_context_h context = nullptr;
    status = ucx().init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config.handle(), &context);
    if (status != UCS_OK) return ucx_failure("UCX: context", status, quiet);
    return context;
}

}  // namespace

Status ucx_failure(std::string_view what, ucs_status_t status, const Quiet& quiet) {
    const StatusCode code = status == UCS_ERR_NO_MEMORY     ? StatusCode::no_space
                            : status == UCS_ERR_CANCELED    ? StatusCode::cancelled
                            : status == UCS_ERR_UNSUPPORTED ? StatusCode::unsupported
                            : status == UCS_ERR_NO_DEVICE   ? StatusCode::unsupported
                                                            : StatusCode::io;
    return {code, fmt::format("{}: {}{}", what, ucx().status_string(status), quiet.last())};
}

Result<std::shared_ptr<Fabric::Context>> Fabric::prepare(const Options& options) {
    if (Status status = load_ucx_once(); !status.ok()) return status;
    if (options.reach == Reach::node) (void)remove_dead_segments();
    // One kind of shared memory: each costs every connection memory and descriptors. System V's
    // does not depend on the size of /dev/shm, which containers keep small.
    auto context = make_context(options, "sysv");
    if (!context.ok() && options.reach == Reach::node) context = make_context(options, "posix");
    if (!context.ok()) return context.status();
    return std::make_shared<Context>(*context);
}

}  // namespace caesura::transit
