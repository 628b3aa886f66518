#include "base/series_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/invalid.hpp"

namespace caesura::base {
namespace {

constexpr std::size_t k_most_digits = 20;  // of 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Mark {
    std::size_t at = std::string::npos, length = 0, digits = 0;
};

/// The first "%T" or "%0NT" at or behind `from`.
Mark find_mark(const std::string& path, std::size_t from) {
    for (std::size_t at = path.find('%', from); at != std::string::npos;
         at = path.find('%', at + 1)) {
        std::size_t end = at + 1;
        if (end < path.size() && path[end] == '0')
            while (end < path.size() && is_digit(path[end])) ++end;
        if (end >= path.size() || path[end] != 'T') continue;
        Mark mark{at, end + 1 - at, 0};
        for (std::size_t i = at + 1; i < end && mark.digits <= k_most_digits; ++i)
            mark.digits = 10 * mark.digits + static_cast<std::size_t>(path[i] - '0');
        return mark;
    }
    return {};
}

}  // namespace

Result<std::optional<SeriesName>> SeriesName::parse(const std::string& path) {
    const Mark mark = find_mark(path, 0);
    if (mark.at == std::string::npos) return std::optional<SeriesName>();
    const auto bad = [&](const char* why) {
        return invalid(fmt::format("path '{}' {}", path, why));
    };
    if (find_mark(path, mark.at + mark.length).at != std::string::npos)
        return bad("has two places for the number of a file; keep one %T");
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos && slash > mark.at)
        return bad("has %T in the name of a directory; only a file's name may have it");
    if (mark.digits > k_most_digits) return bad("asks for more digits than the 20 of any number");
    SeriesName name;
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    name.directory_ = path.substr(0, begin);
    name.before_ = path.substr(begin, mark.at - begin);
    name.mark_ = path.substr(mark.at, mark.length);
    name.after_ = path.substr(mark.at + mark.length);
    name.digits_ = mark.digits;
    return std::optional<SeriesName>(std::move(name));
}

std::string SeriesName::path_of(std::uint64_t number) const {
    return fmt::format("{}{}{:0{}}{}", directory_, before_, number, digits_, after_);
}

std::optional<std::uint64_t> SeriesName::number_of(const std::string& file_name) const {
    if (file_name.size() <= before_.size() + after_.size() || !file_name.starts_with(before_) ||
        !file_name.ends_with(after_))
        return std::nullopt;
    const char* const begin = file_name.data() + before_.size();
    const char* const end = file_name.data() + file_name.size() - after_.size();
    const auto length = static_cast<std::size_t>(end - begin);
    if (!std::all_of(begin, end, is_digit) || length < digits_) return std::nullopt;
    if (digits_ > 0 && length > digits_ && *begin == '0') return std::nullopt;
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(begin, end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    return number;
}

std::string SeriesName::format() const { return before_ + mark_ + after_; }

std::string SeriesName::directory() const {
    if (directory_.empty()) return ".";
    return directory_.size() == 1 ? directory_ : directory_.substr(0, directory_.size() - 1);
}

Result<std::vector<SeriesName::Found>> SeriesName::find() const {
    namespace fs = std::filesystem;
    std::error_code error;
    std::vector<Found> found;
    for (fs::directory_iterator entry(directory(), error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (const auto number = number_of(name)) found.push_back({*number, directory_ + name});
    }
    if (error)
        return Status{StatusCode::io,
                      fmt::format("{}: cannot be listed: {}", directory(), error.message())};
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.number < b.number; });
    const auto twice =
        std::adjacent_find(found.begin(), found.end(),
                           [](const Found& a, const Found& b) { return a.number == b.number; });
    if (twice != found.end())
        return invalid(fmt::format("{} and {} have the same number; give their digits, as in %06T",
                                   twice->path, std::next(twice)->path));
    return found;
}

}  // namespace caesura::base
