// Random choices that follow from one seed, the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace stand_in {

/// One number from two, well mixed (splitmix64).
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t z = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ = mix(state_, 1);
        return state_;
    }
    /// 0 to n - 1; 0 if n is 0.
    std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : (next() >> 11) % n; }
    /// Both ends included.
    int between(int low, int high) {
        return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    template <class T>
    T any_of(std::initializer_list<T> choices) {
        return choices.begin()[below(choices.size())];
    }
    template <class T>
    const T& any_of(const std::vector<T>& choices) {
        return choices[below(choices.size())];
    }

  private:
    std::uint64_t state_;
};

}  // namespace stand_in
