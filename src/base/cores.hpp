// The cores that a thread may run on, and how long they have been idle.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace caesura::base {

/// As the kernel says it. Larger than cpu_set_t: machines are.
class CoreMask {
  public:
    static constexpr std::size_t k_most = 8192;

    bool has(std::size_t core) const {
        return core < k_most && ((words_[core / 64] >> (core % 64)) & 1u) != 0;
    }
    void add(std::size_t core) { words_[core / 64] |= std::uint64_t{1} << (core % 64); }
    std::size_t count() const;

  private:
    friend CoreMask cores_of_this_thread();
    std::array<std::uint64_t, k_most / 64> words_{};
};

/// Empty where the kernel knows more cores than the mask has room for.
CoreMask cores_of_this_thread();

/// Seconds that all these cores together have been idle since the machine started. The kernel
/// counts hundredths. Nothing: /proc/stat lacks one of them.
std::optional<double> idle_s(const CoreMask& cores);
/// The same of the text of /proc/stat. @param ticks_per_s  of its numbers.
std::optional<double> idle_s(std::string_view stat, const CoreMask& cores, double ticks_per_s);

}  // namespace caesura::base
