#include "store/path_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/invalid.hpp"

namespace caesura::store {
namespace {

constexpr std::string_view k_field = "{field}";
constexpr std::size_t k_most_digits = 20;  // of a number of 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where "%T" or "%06T" begins, and how long it is.
struct Place {
    std::size_t at = 0, bytes = 0;
    int digits = 1;
};

std::optional<Place> number_place(std::string_view text) {
    Place place;
    place.at = text.find('%');
    if (place.at == std::string_view::npos) return std::nullopt;
    std::size_t end = place.at + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == text.size() || text[end] != 'T') return std::nullopt;
    const std::string_view width = text.substr(place.at + 1, end - place.at - 1);
    if (!width.empty()) {
        if (width.size() < 2 || width.size() > 3 || width[0] != '0') return std::nullopt;
        std::from_chars(width.data(), width.data() + width.size(), place.digits);
        if (place.digits < 1 || place.digits > static_cast<int>(k_most_digits)) return std::nullopt;
    }
    place.bytes = end + 1 - place.at;
    return place;
}

/// Empty: HDF5 takes it, and every tool finds it.
std::string wrong_with(std::string_view text) {
    if (text.empty() || text.front() != '/') return "it begins with no '/'";
    for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "a character is not visible";
    std::size_t begin = 1;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('/', begin), text.size());
        const std::string_view name = text.substr(begin, end - begin);
        if (name.empty()) return "a name between two '/' is empty";
        if (name == "." || name == "..") return "a name is '.' or '..'";
        begin = end + 1;
    }
    return {};
}

}  // namespace

Result<PathTemplate> PathTemplate::parse(std::string_view text) {
    const auto bad = [&](std::string_view why) {
        return base::invalid(
            fmt::format("layout '{}': {}; a layout is like /step_%06T/{{field}}", text, why));
    };
    if (const std::string why = wrong_with(text); !why.empty()) return bad(why);
    const std::size_t field = text.find(k_field);
    if (field == std::string_view::npos) return bad("{field} is missing");
    const auto place = number_place(text);
    if (!place)
        return bad("%T, the iteration's number, is missing (%06T: with zeros, 1 to 20 digits)");
    PathTemplate made;
    made.text_ = text;
    made.digits_ = place->digits;
    made.number_first_ = place->at < field;
    const std::size_t first = std::min(place->at, field), second = std::max(place->at, field);
    const std::size_t first_end = first + (made.number_first_ ? place->bytes : k_field.size());
    const std::size_t second_end = second + (made.number_first_ ? k_field.size() : place->bytes);
    made.before_ = text.substr(0, first);
    made.between_ = text.substr(first_end, second - first_end);
    made.after_ = text.substr(second_end);
    if ((made.before_ + made.between_ + made.after_).find_first_of("%{}") != std::string::npos)
        return bad("%T and {field} stand there once each, and no other '%', '{' or '}'");
    // Digits beside the number, or no sign between it and a field's name, would be taken for it.
    const char before = made.number_first_      ? made.before_.back()
                        : made.between_.empty() ? '0'
                                                : made.between_.back();
    const char after = made.number_first_    ? (made.between_.empty() ? '0' : made.between_.front())
                       : made.after_.empty() ? '/'
                                             : made.after_.front();
    if (is_digit(before) || is_digit(after))
        return bad("%T needs something that is no digit on both of its sides");
    return made;
}

std::string PathTemplate::number(std::uint64_t iteration) const {
    return fmt::format("{:0{}}", iteration, digits_);
}

std::optional<std::uint64_t> PathTemplate::number_in(std::string_view digits) const {
    std::uint64_t iteration = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), iteration);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (number(iteration) != digits) return std::nullopt;
    return iteration;
}

std::string PathTemplate::path(std::uint64_t iteration, std::string_view field) const {
    const std::string digits = number(iteration);
    return number_first_ ? before_ + digits + between_ + std::string(field) + after_
                         : before_ + std::string(field) + between_ + digits + after_;
}

std::string PathTemplate::dump_group(std::uint64_t iteration) const {
    if (!number_first_) return {};
    const std::size_t end = between_.find('/');
    if (end == std::string::npos) return {};
    return before_ + number(iteration) + between_.substr(0, end);
}

std::optional<std::uint64_t> PathTemplate::iteration_of(std::string_view group) const {
    const std::size_t end = between_.find('/');
    if (!number_first_ || end == std::string::npos) return std::nullopt;
    const std::string_view behind = std::string_view(between_).substr(0, end);
    if (group.size() < before_.size() + behind.size() || !group.starts_with(before_) ||
        !group.ends_with(behind))
        return std::nullopt;
    return number_in(group.substr(before_.size(), group.size() - before_.size() - behind.size()));
}

std::string PathTemplate::parent() const {
    return before_.substr(0, std::max<std::size_t>(before_.rfind('/'), 1));
}

std::optional<PathTemplate::Match> PathTemplate::match(std::string_view path) const {
    if (path.size() < before_.size() + between_.size() + after_.size() ||
        !path.starts_with(before_) || !path.ends_with(after_))
        return std::nullopt;
    path = path.substr(before_.size(), path.size() - before_.size() - after_.size());
    // A name may hold what lies between; the number cannot, so the end nearer to it counts.
    const std::size_t at = number_first_ ? path.find(between_) : path.rfind(between_);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view first = path.substr(0, at), second = path.substr(at + between_.size());
    const auto iteration = number_in(number_first_ ? first : second);
    const std::string_view field = number_first_ ? second : first;
    if (!iteration || field.empty()) return std::nullopt;
    return Match{*iteration, std::string(field)};
}

}  // namespace caesura::store
