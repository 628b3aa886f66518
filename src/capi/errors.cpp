#include "capi/errors.hpp"

namespace {
thread_local std::string last_error;
}

namespace caesura::capi {

caesura_code finish(const Status& status) {
    if (!status.ok()) last_error = status.message();
    return static_cast<caesura_code>(status.code());
}

}  // namespace caesura::capi

extern "C" {

const char* caesura_last_error(void) { return last_error.c_str(); }

const char* caesura_code_name(int code) {
    return caesura::to_string(static_cast<caesura::StatusCode>(code)).data();
}

}  // extern "C"
