#include "transit/port/quiet.hpp"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include "transit/port/ucx.hpp"
// UCX's packages have its developers' headers almost everywhere. Without them UCX speaks for
// itself.
#if __has_include(<ucs/debug/log_def.h>)
#include <ucs/debug/log_def.h>
#define CAESURA_UCX_LOG 1
#endif

namespace caesura::transit {

struct QuietAccess {
    static thread_local Quiet* current;
    static std::string& said(Quiet& quiet) { return quiet.said_; }
};
thread_local Quiet* QuietAccess::current = nullptr;

#ifdef CAESURA_UCX_LOG
namespace {

ucs_log_func_rc_t take_note(const char*, unsigned, const char*, ucs_log_level_t level,
                            const ucs_log_component_config_t*, const char* message, va_list ap) {
    Quiet* quiet = QuietAccess::current;
    // Before an abort it may say why, and details come only if somebody has asked for them.
    if (quiet == nullptr || level == UCS_LOG_LEVEL_FATAL || level > UCS_LOG_LEVEL_WARN)
        return UCS_LOG_FUNC_RC_CONTINUE;
    char text[256];
    if (std::vsnprintf(text, sizeof text, message, ap) > 0)
        QuietAccess::said(*quiet) = std::string(" (UCX: ") + text + ")";
    return UCS_LOG_FUNC_RC_STOP;
}

void install() {
    static std::once_flag once;
    std::call_once(once, [] {
        reinterpret_cast<decltype(&ucs_log_push_handler)>(ucx().log_push_handler)(take_note);
    });
}

}  // namespace
#else
namespace {
void install() {}
}  // namespace
#endif

Quiet::Quiet() : outer_(QuietAccess::current) {
    install();
    QuietAccess::current = this;
}

Quiet::~Quiet() { QuietAccess::current = outer_; }

}  // namespace caesura::transit
