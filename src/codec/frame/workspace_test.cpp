// Goal: working memory that is kept between calls serves calls at any time: after others have
// failed, and while the process ends.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

bool comes_back() {
    const Shape shape{20, 30};
    const auto values = smooth_array<float>(shape, 1);
    const auto frame =
        compress(std::as_bytes(std::span(values)), DType::float32, shape, absolute(1e-3));
    if (!frame.ok()) return false;
    std::vector<float> decoded(values.size());
    if (!decompress(*frame, std::as_writable_bytes(std::span(decoded))).ok()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!(std::abs(values[i] - decoded[i]) <= 1e-3F)) return false;
    return true;
}

/// As HDF5 does where a file is still open: chunks are compressed when exit() is under way.
void compress_at_exit() { std::_Exit(comes_back() ? 0 : 1); }

void end_after_compressing() {
    if (std::atexit(compress_at_exit) != 0) std::_Exit(2);  // so it runs after later ones have
    if (!comes_back()) std::_Exit(3);
    std::exit(4);  // NOLINT: whose handler ends the process
}

TEST(Workspace, serves_handlers_of_exit_that_were_there_before_it) {
    // In a process of its own, in which nothing has been compressed yet.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(end_after_compressing(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace caesura::codec
