// Results of an emulated device by what they were made of, so that a block that comes again costs
// the host nothing but a look: the device then only takes its stated time. For benchmarks, in which
// an emulated GPU would else never be quicker than the cores that it is computed on.
//
// Invariants:
//  - A result is found only by the same bytes (XXH3, 128 bits), the same settings and the same
//    number of bytes. Results that are not there have to be computed.
//  - It never holds more than the stated bytes: what does not fit any more is not kept.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace caesura::transit {

class ResultKeep {
  public:
    explicit ResultKeep(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
    struct Key {
        std::array<std::uint64_t, 2> hash{};
        std::uint64_t bytes = 0;
        std::string settings;  ///< whatever else the result depends on
        auto operator<=>(const Key&) const = default;
    };
    static Key key_of(std::span<const std::byte> values, std::string settings);

    /// Any thread, as all else.
    std::optional<std::vector<std::byte>> find(const Key& key) const;
    void add(const Key& key, std::span<const std::byte> result);
    std::uint64_t bytes() const;

  private:
    const std::uint64_t most_bytes_;
    mutable std::mutex mutex_;
    std::uint64_t bytes_ = 0;
    std::map<Key, std::vector<std::byte>> results_;
};

}  // namespace caesura::transit
