#include "transit/devices/result_keep.hpp"

#include <xxhash.h>

namespace caesura::transit {

ResultKeep::Key ResultKeep::key_of(std::span<const std::byte> values, std::string settings) {
    const XXH128_hash_t hash = XXH3_128bits(values.data(), values.size());
    return {{hash.low64, hash.high64}, values.size(), std::move(settings)};
}

std::optional<std::vector<std::byte>> ResultKeep::find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = results_.find(key);
    if (found == results_.end()) return std::nullopt;
    return found->second;
}

void ResultKeep::add(const Key& key, std::span<const std::byte> result) {
    const std::lock_guard lock(mutex_);
    if (results_.contains(key) || result.size() > most_bytes_ - bytes_) return;
    results_.emplace(key, std::vector(result.begin(), result.end()));
    bytes_ += result.size();
}

std::uint64_t ResultKeep::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

}  // namespace caesura::transit
