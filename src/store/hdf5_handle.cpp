#include "store/hdf5_handle.hpp"

#include <fmt/format.h>

namespace caesura::store {

// H5Eget_auto2 fails when the application set a handler of the old kind: then leave it alone.
QuietErrors::QuietErrors() {
    unsigned is_v2 = 0;
    if (H5Eauto_is_v2(H5E_DEFAULT, &is_v2) < 0 || is_v2 == 0) return;
    if (H5Eget_auto2(H5E_DEFAULT, &function_, &data_) < 0) return;
    saved_ = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
}

QuietErrors::~QuietErrors() {
    if (saved_) H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

namespace {

extern "C" herr_t caesura_collect_error(unsigned, const H5E_error2_t* error, void* data) {
    auto& text = *static_cast<std::string*>(data);
    if (error->desc == nullptr || *error->desc == '\0') return 0;
    if (!text.empty()) text += ": ";
    text += error->desc;
    return 0;
}

}  // namespace

Status hdf5_error(StatusCode code, std::string_view doing) {
    std::string reason;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, caesura_collect_error, &reason);
    H5Eclear2(H5E_DEFAULT);
    return {code, fmt::format("{}: HDF5: {}", doing, reason.empty() ? "no reason given" : reason)};
}

}  // namespace caesura::store
