#include "stencil.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace wave {
namespace {

/// The stencil in the middle of a box in which a function is sampled.
float laplacian_of(const std::function<double(double, double, double)>& function) {
    constexpr int side = 9, middle = 4;
    std::vector<float> u;
    for (int z = -middle; z <= middle; ++z)
        for (int y = -middle; y <= middle; ++y)
            for (int x = -middle; x <= middle; ++x)
                u.push_back(static_cast<float>(function(z, y, x)));
    return laplacian(u.data() + (middle * side + middle) * side + middle, side, side * side);
}

TEST(Stencil, is_exact_for_polynomials_of_degree_nine_and_not_of_ten) {
    for (int degree = 0; degree <= 10; ++degree) {
        // (x + 1/2)^degree along each axis in turn, scaled so that its values stay near 1.
        const auto power = [&](double x) { return std::pow((x + 0.5) / 4.5, degree); };
        const double exact =
            degree < 2 ? 0.0 : degree * (degree - 1) * std::pow(0.5 / 4.5, degree - 2) / 4.5 / 4.5;
        for (int axis = 0; axis < 3; ++axis) {
            const float found = laplacian_of([&](double z, double y, double x) {
                return power(axis == 0 ? x : axis == 1 ? y : z);
            });
            if (degree <= 9)
                EXPECT_NEAR(found, exact, 2e-6) << "degree " << degree << " axis " << axis;
            else
                EXPECT_GT(std::abs(found - exact), 1e-4) << "axis " << axis;
        }
    }
}

TEST(Stencil, does_not_prefer_an_axis) {
    const auto along = [](double a, double b, double c) {
        return 0.1 * a + 0.2 * b * b + c * c * c;
    };
    const float x = laplacian_of([&](double z, double y, double xx) { return along(z, y, xx); });
    const float z = laplacian_of([&](double zz, double y, double xx) { return along(xx, y, zz); });
    EXPECT_NEAR(x, 0.4F, 1e-4F);
    EXPECT_NEAR(z, 0.4F, 1e-4F);
}

}  // namespace
}  // namespace wave
