// The vector loops of the Lorenzo predictor, behind run-time dispatch.
//
// A block is rows of `row_values` values. Differences along the axes above x are taken with one
// history each: the same row of the previous slice along that axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

struct LorenzoPlan {
    struct History {
        std::int32_t* rows = nullptr;  ///< slice_rows rows of stride integers
        std::size_t slice_rows = 0;    ///< rows of one slice across the axis
        std::size_t extent = 0;        ///< slices along the axis
    };
    std::size_t row_values = 0;
    std::size_t n_rows = 0;
    std::size_t stride = 0;  ///< integers between rows of a history: row_values and whole vectors
    bool along_x = false;    ///< difference along the row too
    int n_histories = 0;     ///< outermost axis first
    std::array<History, k_max_rank - 1> histories{};
};

template <class T>
void lorenzo_encode(const LorenzoPlan& plan, const T* values, const Quantiser<T>& quantiser,
                    CodeWriter& codes, ExactValues<T>& exact);
/// Leaves out the exact values.
template <class T>
void lorenzo_decode(const LorenzoPlan& plan, T* values, T step, CodeReader& codes);

/// Where each history stands while rows go by in order.
class LorenzoCursor {
  public:
    using HistoryRows = std::array<std::int32_t*, k_max_rank - 1>;

    explicit LorenzoCursor(const LorenzoPlan& plan) : plan_(plan) {}
    /// The histories' rows for the next row of values.
    HistoryRows next() {
        HistoryRows rows{};
        for (int h = 0; h < plan_.n_histories; ++h) {
            const auto index = static_cast<std::size_t>(h);
            const LorenzoPlan::History& history = plan_.histories[index];
            if (row_[index] == 0) {
                // At the axis' first slice there is nothing before: a history of zeros.
                if (slice_[index] == 0) clear(history);
                if (++slice_[index] == history.extent) slice_[index] = 0;
            }
            rows[index] = history.rows + row_[index] * plan_.stride;
            if (++row_[index] == history.slice_rows) row_[index] = 0;
        }
        return rows;
    }

  private:
    void clear(const LorenzoPlan::History& history) const {
        std::memset(history.rows, 0, history.slice_rows * plan_.stride * sizeof(std::int32_t));
    }

    const LorenzoPlan& plan_;
    std::array<std::size_t, k_max_rank - 1> row_{};
    std::array<std::size_t, k_max_rank - 1> slice_{};
};

}  // namespace caesura::codec
