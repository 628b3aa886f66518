// A bound that differs from place to place: tight where it matters, loose where it does not.
//
// Rules say of some values what they are held to: those in a box, those of a size, those where the
// field is steep. A value under several rules is held to the tightest of them, a value under none
// to the field's own bound. So a tight bound with loose boxes is said as well as a loose one with
// tight boxes.
//
// A block is held, layer by layer along its slowest axis, to the tightest bound that any value of
// the layer has. The file has the rules as text, and every stored layer its bound.
#pragma once

#include <string>
#include <vector>

#include "caesura/base.hpp"

#pragma GCC visibility push(default)

namespace caesura {

struct BoundMap {
    /// Values at these places, all of them inside the field.
    struct InBox {
        Box box;
        double bound = 0.0;  ///< absolute, in units of the field; 0: exact
        friend bool operator==(const InBox&, const InBox&) = default;
    };
    /// Values from `lowest` to `highest`, both included; either may be infinite.
    struct OfValue {
        double lowest = 0.0, highest = 0.0;
        double bound = 0.0;
        friend bool operator==(const OfValue&, const OfValue&) = default;
    };
    /// Values that differ by `change` or more from a neighbour along some axis. Neighbours in
    /// another block are not looked at.
    struct WhereSteep {
        double change = 0.0;
        double bound = 0.0;
        friend bool operator==(const WhereSteep&, const WhereSteep&) = default;
    };
    std::vector<InBox> boxes;
    std::vector<OfValue> values;
    std::vector<WhereSteep> steep;

    std::size_t rules() const { return boxes.size() + values.size() + steep.size(); }
    friend bool operator==(const BoundMap&, const BoundMap&) = default;
};

inline constexpr std::size_t k_most_bound_rules = 256;

/// Can a field of this shape have the map? Errors: invalid_argument, naming rule, box and value.
Status validate(const BoundMap& map, const Shape& shape);

}  // namespace caesura

#pragma GCC visibility pop
