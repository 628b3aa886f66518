#include "store/dump_path.hpp"

#include <algorithm>
#include <charconv>

namespace caesura::store {

DumpPath::DumpPath(const std::vector<Attribute>& root) {
    for (const Attribute& one : root) {
        const auto* const base = std::get_if<std::string>(&one.value);
        if (one.name != "basePath" || base == nullptr) continue;
        const auto at = base->find("%T");
        if (at == std::string::npos) continue;
        before_ = base->substr(0, at);
        after_ = base->substr(at + 2);
        if (!after_.ends_with('/')) after_ += '/';
    }
}

std::string DumpPath::parent() const {
    return before_.substr(0, std::max<std::size_t>(before_.rfind('/'), 1));
}

std::optional<DumpPath::Dump> DumpPath::of(const std::string& path) const {
    if (!path.starts_with(before_)) return std::nullopt;
    Dump dump;
    const char* const number = path.data() + before_.size();
    const auto [end, error] = std::from_chars(number, path.data() + path.size(), dump.iteration);
    const auto at = static_cast<std::size_t>(end - path.data());
    if (error != std::errc() || path.compare(at, after_.size(), after_) != 0) return std::nullopt;
    dump.bytes = at + after_.size();
    return dump;
}

}  // namespace caesura::store
