// What the rooms of CAESURA_DEVICE_ONLY use of fmt, for machines without it (a GPU's, where nothing
// can be installed): `{}` and `{:#x}`, which is all there is in their messages.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace fmt {
namespace plain {

template <class T>
void append(std::string& to, const T& value, bool hexadecimal) {
    if constexpr (std::is_same_v<T, bool>) {
        to += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, char>) {
        to += value;
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        to += std::string_view(value);
    } else {
        char digits[32];
        std::to_chars_result end{};
        if constexpr (std::is_floating_point_v<T>)
            end = std::to_chars(digits, digits + sizeof digits, value);
        else
            end = std::to_chars(digits, digits + sizeof digits, value, hexadecimal ? 16 : 10);
        to += hexadecimal ? "0x" : "";
        to.append(digits, end.ptr);
    }
}

/// Copies text up to the next argument's place, which it leaves out. @return how the place reads.
inline std::string_view copy_up_to_place(std::string& to, std::string_view& text) {
    while (!text.empty()) {
        const bool doubled = text.size() > 1 && text[0] == text[1];
        if (text[0] == '{' && !doubled) {
            const std::string_view place = text.substr(0, text.find('}') + 1);
            text.remove_prefix(place.size());
            return place;
        }
        to += text[0];
        text.remove_prefix((text[0] == '{' || text[0] == '}') && doubled ? 2 : 1);
    }
    return {};
}

}  // namespace plain

template <class... Arguments>
std::string format(std::string_view text, const Arguments&... arguments) {
    std::string made;
    (plain::append(made, arguments, plain::copy_up_to_place(made, text) == "{:#x}"), ...);
    (void)plain::copy_up_to_place(made, text);
    return made;
}

template <class Iterator>
std::string join(Iterator begin, Iterator end, std::string_view between) {
    std::string made;
    for (Iterator at = begin; at != end; ++at) {
        if (at != begin) made += between;
        plain::append(made, *at, false);
    }
    return made;
}

}  // namespace fmt
