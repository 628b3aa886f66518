// Do the values of a dataset of one axis rise, or fall, from each to the next? Then they are more
// likely coordinates along it than a field.
//
// Invariant: where two values are equal, or one is NaN, they neither rise nor fall. Of no value and
// of one they do both: nothing speaks against it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caesura/base.hpp"

namespace caesura::writer {

/// Why a bound for fields did not hold in a dataset's last dump.
enum class KeptExact : std::uint8_t {
    no,        ///< it did
    told,      ///< OpenWriter::keep_exact, on some rank
    by_values  ///< they rise, or fall
};

class ValueOrder {
  public:
    /// Values that follow, dense. Cost: until the order is broken, and nothing after that.
    void add(const std::byte* values, std::uint64_t count, DType dtype);
    /// A stretch that follows.
    void add(const ValueOrder& next);
    /// Another stretch, which lies somewhere else.
    void join(const ValueOrder& other);
    /// Is either still possible?
    bool holds() const { return rises_ || falls_; }

  private:
    void add(double value);

    bool rises_ = true, falls_ = true, any_ = false;
    double first_ = 0.0, last_ = 0.0;
};

}  // namespace caesura::writer
