#include "vol/info.hpp"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "vol/callbacks.hpp"
#include "vol/config.hpp"

namespace caesura::vol {
namespace {

constexpr std::string_view k_blanks = " \t", k_config = "config=";

void* copy(const void* info) {
    return guarded([&]() -> void* { return new Info(*static_cast<const Info*>(info)); });
}

herr_t compare(int* order, const void* a, const void* b) {
    *order =
        static_cast<const Info*>(a)->config_path.compare(static_cast<const Info*>(b)->config_path);
    return 0;
}

herr_t destroy(void* info) {
    delete static_cast<Info*>(info);
    return 0;
}

/// The library frees the text with free().
herr_t to_text(const void* info, char** text) {
    return guarded([&]() -> herr_t {
        const std::string& path = static_cast<const Info*>(info)->config_path;
        const std::string plain = path.empty() ? "" : std::string(k_config) + path;
        *text = strdup(plain.c_str());
        if (*text == nullptr) throw std::bad_alloc();
        return 0;
    });
}

/// A name that cannot be right must not be passed over: HDF5 then refuses to start, and says why.
herr_t from_text(const char* text, void** info) {
    return guarded([&]() -> herr_t {
        auto parsed = parse_info(text == nullptr ? "" : text);
        if (!parsed.ok()) return fail(parsed.status());
        if (auto config = load_config(parsed->config_path); !config.ok())
            return fail(config.status());
        *info = new Info(std::move(*parsed));
        return 0;
    });
}

}  // namespace

Result<Info> parse_info(std::string_view text) {
    const std::size_t first = text.find_first_not_of(k_blanks);
    if (first == std::string_view::npos) return Info{};
    text = text.substr(first, text.find_last_not_of(k_blanks) - first + 1);
    if (!text.starts_with(k_config) || text.size() == k_config.size())
        return Status{StatusCode::invalid_argument,
                      fmt::format("HDF5_VOL_CONNECTOR: '{}' behind the connector's name is not "
                                  "config=PATH",
                                  text)};
    return Info{std::string(text.substr(k_config.size()))};
}

Result<Info> info_of(hid_t access) {
    void* copied = nullptr;
    if (H5Pget_vol_info(access, &copied) < 0)
        return Status{StatusCode::internal, "the file access list has no place for the connector"};
    if (copied == nullptr) return Info{};
    const std::unique_ptr<Info> owned(static_cast<Info*>(copied));
    return std::move(*owned);
}

H5VL_info_class_t info_callbacks() {
    H5VL_info_class_t table{};
    table.size = sizeof(Info);
    table.copy = copy;
    table.cmp = compare;
    table.free = destroy;
    table.to_str = to_text;
    table.from_str = from_text;
    return table;
}

}  // namespace caesura::vol
