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
    *order = static_cast<const Info*>(a)->text.compare(static_cast<const Info*>(b)->text);
    return 0;
}

herr_t destroy(void* info) {
    delete static_cast<Info*>(info);
    return 0;
}

/// The library frees the text with free().
herr_t to_text(const void* info, char** text) {
    return guarded([&]() -> herr_t {
        *text = strdup(static_cast<const Info*>(info)->text.c_str());
        if (*text == nullptr) throw std::bad_alloc();
        return 0;
    });
}

/// A relative path means the directory in which HDF5 was told it: the process may go to another one
/// before its first file.
std::string with_absolute_path(std::string text) {
    const std::size_t at = text.find(k_config);
    if (at == std::string::npos || text.find_first_not_of(k_blanks) != at) return text;
    const std::size_t begin = at + k_config.size(), end = text.find_last_not_of(k_blanks) + 1;
    if (end <= begin) return text;
    return text.replace(begin, end - begin, absolute_path(text.substr(begin, end - begin)));
}

/// Whatever is wrong is said when a file is created or opened. Said here it would stop HDF5 from
/// starting, once: a program that ignores the result of its first call then goes on without us.
herr_t from_text(const char* text, void** info) {
    return guarded([&]() -> herr_t {
        auto told = std::make_unique<Info>(Info{text == nullptr ? "" : with_absolute_path(text)});
        // What it has of relative paths means this directory too, so it is read here. What could
        // not be read is tried again, and said, when a file is created or opened.
        (void)config_of(*told);
        *info = told.release();
        return 0;
    });
}

}  // namespace

Result<std::shared_ptr<const Config>> config_of(const Info& info) {
    std::string_view text = info.text;
    const std::size_t first = text.find_first_not_of(k_blanks);
    if (first == std::string_view::npos) return load_config("");
    text = text.substr(first, text.find_last_not_of(k_blanks) - first + 1);
    if (!text.starts_with(k_config) || text.size() == k_config.size())
        return Status{StatusCode::invalid_argument,
                      fmt::format("HDF5_VOL_CONNECTOR: '{}' behind the connector's name is not "
                                  "config=PATH",
                                  text)};
    return load_config(std::string(text.substr(k_config.size())));
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
