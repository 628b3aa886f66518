// Values become what the coders take, a piece at a time.
//
// Invariants:
//  - A piece begins at a multiple of k_integer_piece, and pieces may be taken in any order.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "codec/integers/integer_part.hpp"

namespace caesura::codec {

/// Values to their places in a short list.
template <class U>
class Dictionary {
  public:
    /// @param values  at most k_most_entries, all different.
    explicit Dictionary(std::vector<U> values) : values_(std::move(values)) {
        // At most a quarter full, so that a search ends soon.
        slots_.fill(static_cast<std::uint16_t>(values_.size()));
        keys_.fill(U{0});
        for (std::size_t i = 0; i < values_.size(); ++i) {
            std::size_t at = slot_of(values_[i]);
            while (slots_[at] != values_.size()) at = (at + 1) % k_slots;
            slots_[at] = static_cast<std::uint16_t>(i);
            keys_[at] = values_[i];
        }
        if constexpr (sizeof(U) == 1) {
            for (std::size_t v = 0; v < places_.size(); ++v)
                places_[v] = static_cast<std::uint8_t>(search(static_cast<U>(v)));
        }
    }
    const std::vector<U>& values() const { return values_; }
    /// The place, or values().size().
    std::size_t find(U value) const {
        if constexpr (sizeof(U) == 1) return places_[value];
        return search(value);
    }

  private:
    static constexpr std::size_t k_slots = 1024;
    std::size_t search(U value) const {
        std::size_t at = slot_of(value);
        while (keys_[at] != value && slots_[at] != values_.size()) at = (at + 1) % k_slots;
        return slots_[at];
    }
    static std::size_t slot_of(U value) {
        return static_cast<std::size_t>((std::uint64_t{value} * 0x9e3779b97f4a7c15U) >> 54);
    }
    std::vector<U> values_;
    std::array<U, k_slots> keys_;
    std::array<std::uint16_t, k_slots> slots_;
    std::array<std::uint8_t, sizeof(U) == 1 ? 256 : 1> places_{};  // of every byte
};

template <class U>
constexpr U sign_bit(bool is_signed) {
    return is_signed ? static_cast<U>(U{1} << (8 * sizeof(U) - 1)) : U{0};
}

/// What a transform leaves out of the mapped values.
template <class U>
struct LeftOut {
    std::vector<U> smallest;  ///< of each piece
    std::vector<U> escapes;   ///< values that a dictionary lacks
};

template <class U>
class Forward {
  public:
    /// @param flip  sign_bit() of the type: for the smallest value. @param dictionary  of that
    /// form.
    Forward(std::span<const U> values, const IntegerTransform& transform, U flip,
            const Dictionary<U>* dictionary)
        : values_(values), transform_(transform), flip_(flip), dictionary_(dictionary) {}

    /// The values mapped from values[first .. first + n), n up to k_integer_piece.
    void take(std::uint64_t first, std::size_t n, U* mapped, LeftOut<U>& left_out) const {
        const U* values = values_.data() + first;
        switch (transform_.form) {
            case IntegerForm::residuals:
                kernels_.residuals(values_.data(), first, n, transform_.neighbours, mapped);
                if (transform_.base != 0 || transform_.zigzag)
                    kernels_.map(mapped, n, static_cast<U>(transform_.base), transform_.zigzag);
                return;
            case IntegerForm::smallest: {
                const U smallest = kernels_.smallest(values, n, flip_);
                left_out.smallest.push_back(smallest);
                std::copy_n(values, n, mapped);
                kernels_.map(mapped, n, smallest, false);
                return;
            }
            case IntegerForm::dictionary:
                take_places(values, n, mapped, left_out);
                return;
        }
    }

  private:
    void take_places(const U* values, std::size_t n, U* mapped, LeftOut<U>& left_out) const {
        const std::size_t nowhere = dictionary_->values().size();
        bool all = true;
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t place = dictionary_->find(values[i]);
            mapped[i] = static_cast<U>(place);
            all = all && place != nowhere;
        }
        if (all) return;
        for (std::size_t i = 0; i < n; ++i)
            if (mapped[i] == nowhere) left_out.escapes.push_back(values[i]);
    }

    std::span<const U> values_;
    const IntegerTransform& transform_;
    U flip_;
    const Dictionary<U>* dictionary_;
    const IntegerKernels<U>& kernels_ = integer_kernels<U>();
};

}  // namespace caesura::codec
