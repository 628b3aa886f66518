#include "store/dump_path.hpp"

#include <algorithm>
#include <charconv>

namespace caesura::store {

DumpPath::DumpPath(const std::vector<Attribute>& root) {
    for (const Attribute& one : root) {
        const auto* const base = std::get_if<std::string>(&one.value);
        if (base != nullptr && one.name == k_layout) {
            // What is not understood is passed over: the file is still one of HDF5.
            if (auto layout = PathTemplate::parse(*base); layout.ok()) layout_ = std::move(*layout);
        }
        if (one.name != "basePath" || base == nullptr) continue;
        const auto at = base->find("%T");
        if (at == std::string::npos) continue;
        before_ = base->substr(0, at);
        after_ = base->substr(at + 2);
        if (!after_.ends_with('/')) after_ += '/';
    }
}

bool DumpPath::has_groups() const { return !layout_ || !layout_->dump_group(0).empty(); }

std::string DumpPath::layout() const { return layout_ ? layout_->text() : std::string(); }

std::optional<std::uint64_t> DumpPath::of_group(const std::string& group) const {
    if (layout_) return layout_->iteration_of(group);
    const auto dump = of(group + "/");
    return dump ? std::optional(dump->iteration) : std::nullopt;
}

bool DumpPath::is_in_dump(const std::string& group) const {
    for (std::size_t slash = group.find('/', 1);; slash = group.find('/', slash + 1)) {
        if (of_group(group.substr(0, slash))) return true;
        if (slash == std::string::npos) return false;
    }
}

std::string DumpPath::parent() const {
    if (layout_) return layout_->parent();
    return before_.substr(0, std::max<std::size_t>(before_.rfind('/'), 1));
}

std::optional<DumpPath::Dump> DumpPath::of(const std::string& path) const {
    if (layout_) {
        auto match = layout_->match(path);
        if (!match) return std::nullopt;
        const std::size_t group = layout_->dump_group(match->iteration).size();
        return Dump{match->iteration, group == 0 ? 0 : group + 1, std::move(match->field)};
    }
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
