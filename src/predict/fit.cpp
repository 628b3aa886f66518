// Iteratively reweighted least squares: each round solves a non-negative least-squares problem by
// active sets (Lawson and Hanson 1974), in which a row weighs what turns its squared error into the
// logarithm's absolute value.
#include "predict/fit.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::predict {
namespace {

constexpr int k_rounds = 40;
constexpr double k_least_error = 1e-3;  // errors below this count alike
constexpr double k_least_ratio = 1e-6;
constexpr double k_ridge = 1e-10;  // decides where the rows do not
// A coefficient that promises less stays 0: more than the ridge leaves of one that is redundant.
constexpr double k_least_slope = 1e-7;

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

/// Solve the equations for the free coefficients alone; the others are 0. Gaussian elimination with
/// the ridge on the diagonal: the matrix is positive definite, so no pivot is needed.
std::vector<double> solve_free(const NormalEquations& sums, const std::vector<std::size_t>& free) {
    const std::size_t n = free.size();
    std::vector<std::vector<double>> m(n, std::vector<double>(n + 1));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) m[i][j] = sums.matrix[free[i]][free[j]];
        m[i][i] *= 1.0 + k_ridge;
        m[i][n] = sums.right[free[i]];
    }
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = i + 1; r < n; ++r) {
            const double factor = m[r][i] / m[i][i];
            for (std::size_t c = i; c <= n; ++c) m[r][c] -= factor * m[i][c];
        }
    std::vector<double> v(n);
    for (std::size_t i = n; i-- > 0;) {
        double sum = m[i][n];
        for (std::size_t j = i + 1; j < n; ++j) sum -= m[i][j] * v[j];
        v[i] = sum / m[i][i];
    }
    return v;
}

/// Takes free coefficients back to 0 until the solution of the rest is positive, moving `v` to it.
void move_to_solution(const NormalEquations& sums, std::vector<double>& v,
                      std::vector<std::size_t>& free) {
    while (!free.empty()) {
        const std::vector<double> wanted = solve_free(sums, free);
        double step = 1.0;
        for (std::size_t i = 0; i < free.size(); ++i)
            if (!(wanted[i] > 0.0))
                step = std::min(step, v[free[i]] / std::max(1e-300, v[free[i]] - wanted[i]));
        for (std::size_t i = 0; i < free.size(); ++i) v[free[i]] += step * (wanted[i] - v[free[i]]);
        if (step >= 1.0) return;
        std::erase_if(free, [&](std::size_t i) {
            if (v[i] > 1e-14) return false;
            v[i] = 0.0;
            return true;
        });
    }
}

std::vector<double> solve_nonnegative(const NormalEquations& sums) {
    const std::size_t columns = sums.right.size();
    std::vector<double> v(columns, 0.0);
    std::vector<std::size_t> free;
    for (std::size_t round = 0; round < 3 * columns; ++round) {
        // The coefficient that promises most when it leaves 0.
        std::size_t best = columns;
        double steepest = k_least_slope;
        for (std::size_t i = 0; i < columns; ++i) {
            if (std::find(free.begin(), free.end(), i) != free.end()) continue;
            double slope = sums.right[i];
            for (std::size_t j = 0; j < columns; ++j) slope -= sums.matrix[i][j] * v[j];
            if (sums.matrix[i][i] > 0.0 && slope / std::sqrt(sums.matrix[i][i]) > steepest) {
                steepest = slope / std::sqrt(sums.matrix[i][i]);
                best = i;
            }
        }
        if (best == columns) break;
        free.push_back(best);
        move_to_solution(sums, v, free);
    }
    return v;
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
        v = solve_nonnegative(weigh(scaled, weights, columns));
        for (std::size_t r = 0; r < rows.size(); ++r) {
            double ratio = 0.0;  // of predicted to measured
            for (std::size_t i = 0; i < columns; ++i) ratio += scaled[r][i] * v[i];
            const double error = std::max(k_least_error, std::fabs(ratio - 1.0));
            const double log_error = std::fabs(std::log(std::max(ratio, k_least_ratio)));
            weights[r] = std::max(k_least_error, log_error) / (error * error);
        }
    }
    for (std::size_t i = 0; i < columns; ++i) v[i] *= scale[i];
    for (double& x : v)
        if (!std::isfinite(x)) x = 0.0;
    return v;
}

}  // namespace caesura::predict
