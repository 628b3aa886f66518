#include "vol/errors.hpp"

#include <array>

namespace caesura::vol {
namespace {

constexpr std::size_t k_codes = 9;  // StatusCode's numbers are pinned: 0 to 8

struct ErrorClass {
    hid_t id = H5I_INVALID_HID;
    hid_t major = H5I_INVALID_HID;
    std::array<hid_t, k_codes> minor{};
};

ErrorClass& error_class() {
    static ErrorClass made;
    return made;
}

void make(ErrorClass& made) {
    made.id = H5Eregister_class("Caesura", "caesura", "0.1");
    made.major = H5Ecreate_msg(made.id, H5E_MAJOR, "Caesura's VOL connector");
    for (std::size_t code = 0; code < k_codes; ++code) {
        const std::string name(to_string(static_cast<StatusCode>(code)));
        made.minor[code] = H5Ecreate_msg(made.id, H5E_MINOR, name.c_str());
    }
}

}  // namespace

void push_error(const Status& status) noexcept {
    try {
        ErrorClass& made = error_class();
        if (made.id < 0) {
            const KeepErrors keep;
            make(made);
        }
        const auto code = static_cast<std::size_t>(status.code());
        H5Epush2(H5E_DEFAULT, "caesura", "", 0, made.id, made.major,
                 made.minor[code < k_codes ? code : k_codes - 1], "%s", status.message().c_str());
    } catch (const std::exception&) {
        // Out of memory while saying so: the failure itself is still returned.
        return;
    }
}

void show_error(const Status& status) noexcept {
    const KeepErrors keep;
    H5Eclear2(H5E_DEFAULT);
    push_error(status);
    H5E_auto2_t show = nullptr;
    void* data = nullptr;
    if (H5Eget_auto2(H5E_DEFAULT, &show, &data) >= 0 && show != nullptr) show(H5E_DEFAULT, data);
    H5Eclear2(H5E_DEFAULT);
}

void forget_error_class() noexcept {
    ErrorClass& made = error_class();
    if (made.id >= 0) H5Eunregister_class(made.id);  // its messages go with it
    made = {};
    made.id = H5I_INVALID_HID;
}

}  // namespace caesura::vol
