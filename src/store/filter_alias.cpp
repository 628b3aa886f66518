#include "store/filter_alias.hpp"

#include <fmt/format.h>

#include <set>

#include "store/object_header.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_first_alias = 448, k_last_alias = 511;

extern "C" std::size_t caesura_no_filter(unsigned, std::size_t, const unsigned*, std::size_t,
                                         std::size_t*, void**) {
    return 0;  // failure: nothing is ever filtered during a commit
}

/// The library keeps the pointer, so a name lives as long as the process.
const char* immortal(const std::string& name) {
    static auto* const names = new std::set<std::string>;
    return names->insert(name).first->c_str();
}

}  // namespace

Result<unsigned> FilterAliases::alias(const FilterSpec& filter) {
    if (filter.id < H5Z_FILTER_RESERVED) {
        if (!filter.optional && H5Zfilter_avail(static_cast<H5Z_filter_t>(filter.id)) <= 0)
            return Status{StatusCode::unsupported,
                          fmt::format("filter {} is not in this HDF5 library; use another filter "
                                      "or an HDF5 that has it",
                                      filter.id)};
        return filter.id;
    }
    const auto key = std::pair(filter.id, filter.name);
    if (const auto it = aliases_.find(key); it != aliases_.end()) return it->second;
    const unsigned number = k_first_alias + static_cast<unsigned>(aliases_.size());
    if (number > k_last_alias || filter.id > H5Z_FILTER_MAX)
        return Status{
            StatusCode::unsupported,
            fmt::format("filter {} ({}): at most {} different filters in one commit, "
                        "numbers up to {}",
                        filter.id, filter.name, k_last_alias - k_first_alias + 1, H5Z_FILTER_MAX)};
    H5Z_class2_t stub{};
    stub.version = H5Z_CLASS_T_VERS;
    stub.id = static_cast<H5Z_filter_t>(number);
    stub.encoder_present = 1;
    stub.decoder_present = 1;
    stub.name = filter.name.empty() ? nullptr : immortal(filter.name);
    stub.filter = caesura_no_filter;
    if (H5Zregister(&stub) < 0)
        return hdf5_error(StatusCode::internal,
                          fmt::format("registering the stand-in for filter {}", filter.id));
    aliases_.emplace(key, number);
    real_.emplace(number, filter.id);
    return number;
}

Status FilterAliases::resolve(Overlay& overlay, std::uint64_t address) const {
    return real_.empty() ? Status{} : rename_filters(overlay, address, real_);
}

}  // namespace caesura::store
