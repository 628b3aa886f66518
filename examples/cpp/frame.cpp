// The codec by itself: an array becomes a frame and comes back within its bound.
#include <caesura/codec.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

int main() {
    std::vector<float> values(64 * 64 * 64), back(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.01f * float(i));

    const auto frame = caesura::compress(std::as_bytes(std::span(values)), caesura::float32,
                                         {64, 64, 64}, caesura::absolute(1e-3));
    if (!frame.ok()) return std::fprintf(stderr, "%s\n", frame.status().message().c_str()), 1;
    const auto status = caesura::decompress(*frame, std::as_writable_bytes(std::span(back)));
    if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;

    float worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        worst = std::fmax(worst, std::fabs(values[i] - back[i]));
    std::printf("%zu of %zu bytes, at most %g off\n", frame->size(), 4 * values.size(),
                double(worst));
    return worst <= 1e-3f ? 0 : 1;
}
