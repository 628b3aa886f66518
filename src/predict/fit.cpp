// Iteratively reweighted least squares: each round solves a non-negative least-squares problem by
// coordinate descent, in which a row weighs the inverse of its last error.
#include "predict/fit.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::predict {
namespace {

constexpr int k_rounds = 30;
constexpr int k_sweeps = 400;
constexpr double k_least_error = 1e-3;  // errors below this count alike
constexpr double k_ridge = 1e-9;        // decides where the rows do not

struct NormalEquations {
    std::vector<std::vector<double>> matrix;
    std::vector<double> right;
};

NormalEquations weigh(const std::vector<std::vector<double>>& rows,
                      const std::vector<double>& weights, std::size_t columns) {
    NormalEquations sums{std::vector(columns, std::vector<double>(columns, 0.0)),
                         std::vector<double>(columns, 0.0)};
    for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::size_t i = 0; i < columns; ++i) {
            sums.right[i] += weights[r] * rows[r][i];
            for (std::size_t j = 0; j < columns; ++j)
                sums.matrix[i][j] += weights[r] * rows[r][i] * rows[r][j];
        }
    return sums;
}

void descend(const NormalEquations& sums, std::vector<double>& v) {
    for (int sweep = 0; sweep < k_sweeps; ++sweep) {
        double moved = 0.0;
        for (std::size_t i = 0; i < v.size(); ++i) {
            const double diagonal = sums.matrix[i][i] * (1.0 + k_ridge);
            if (!(diagonal > 0.0)) continue;
            double right = sums.right[i];
            for (std::size_t j = 0; j < v.size(); ++j)
                if (j != i) right -= sums.matrix[i][j] * v[j];
            const double now = std::max(0.0, right / diagonal);
            moved = std::max(moved, std::fabs(now - v[i]));
            v[i] = now;
        }
        if (moved < 1e-12) return;
    }
}

}  // namespace

std::vector<double> fit_nonnegative(const std::vector<std::vector<double>>& rows,
                                    std::size_t columns) {
    // Columns of length 1: bytes and seconds differ by many orders of magnitude.
    std::vector<double> scale(columns, 0.0);
    for (const auto& row : rows)
        for (std::size_t i = 0; i < columns; ++i) scale[i] += row[i] * row[i];
    for (double& s : scale) s = s > 0.0 && std::isfinite(s) ? 1.0 / std::sqrt(s) : 0.0;
    auto scaled = rows;
    for (auto& row : scaled)
        for (std::size_t i = 0; i < columns; ++i) row[i] *= scale[i];

    std::vector<double> v(columns, 0.0), weights(rows.size(), 1.0);
    for (int round = 0; round < k_rounds; ++round) {
        descend(weigh(scaled, weights, columns), v);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            double error = -1.0;
            for (std::size_t i = 0; i < columns; ++i) error += scaled[r][i] * v[i];
            weights[r] = 1.0 / std::max(k_least_error, std::fabs(error));
        }
    }
    for (std::size_t i = 0; i < columns; ++i) v[i] *= scale[i];
    for (double& x : v)
        if (!std::isfinite(x)) x = 0.0;
    return v;
}

double median(std::vector<double> values) {
    if (values.empty()) return 0.0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

}  // namespace caesura::predict
