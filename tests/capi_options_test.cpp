// Goal: C's bounds, codec parameters, analyses and layouts mean what those of C++ mean.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "caesura/caesura.h"
#include "caesura/reader.h"
#include "caesura/store.hpp"
#include "capi_file.hpp"

namespace {

using caesura::testing_c::File;
using caesura::testing_c::last_error;

TEST(COptions, every_bound_is_kept_and_said) {
    const File file("caesura_c_bounds_");
    const std::uint64_t shape[] = {4096}, offset[] = {0};
    std::vector<double> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::exp(0.01 * static_cast<double>(i)) * (i % 2 == 0 ? 1.0 : -1.0);
    const std::pair<int, double> bounds[] = {{CAESURA_LOSSLESS, 0.0},
                                             {CAESURA_ABSOLUTE, 0.5},
                                             {CAESURA_RELATIVE, 1e-3},
                                             {CAESURA_POINTWISE_RELATIVE, 1e-2},
                                             {CAESURA_PSNR, 90.0}};
    std::vector<std::uint32_t> fields;
    for (const auto& [kind, bound] : bounds) {
        const std::string name = "f" + std::to_string(kind);
        ASSERT_EQ(caesura_define_field(file.writer, name.c_str(), CAESURA_FLOAT64, 1, shape, kind,
                                       bound, &fields.emplace_back()),
                  CAESURA_OK)
            << last_error();
    }
    std::uint32_t none = 0;
    EXPECT_EQ(caesura_define_field(file.writer, "none", CAESURA_FLOAT64, 1, shape, 5, 1.0, &none),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("bound kind 5 is unknown"), std::string::npos) << last_error();
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    for (const std::uint32_t field : fields)
        ASSERT_EQ(caesura_put(file.writer, field, offset, shape, values.data(), CAESURA_FLOAT64, 0),
                  CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    caesura_reader* reader = nullptr;
    ASSERT_EQ(caesura_reader_open(file.path.c_str(), nullptr, nullptr, &reader), CAESURA_OK)
        << last_error();
    const double range = values[4094] - values[4095];
    double squares = 0.0;
    for (const auto& [kind, bound] : bounds) {
        const std::string name = "f" + std::to_string(kind);
        std::vector<double> read(values.size());
        std::size_t field = 0;
        ASSERT_EQ(caesura_reader_find(reader, name.c_str(), 0, &field), CAESURA_OK) << last_error();
        ASSERT_EQ(caesura_reader_read(reader, field, offset, shape, read.data(),
                                      read.size() * sizeof(double), nullptr),
                  CAESURA_OK)
            << last_error();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double error = std::abs(values[i] - read[i]);
            const double allowed[] = {0.0, 0.5, 1e-3 * range, 1e-2 * std::abs(values[i]), HUGE_VAL};
            ASSERT_LE(error, allowed[kind]) << name << " " << i;
            if (kind == CAESURA_PSNR) squares += error * error;
        }
    }
    EXPECT_GE(20.0 * std::log10(range / std::sqrt(squares / 4096.0)), 90.0);
    EXPECT_GT(squares, 0.0) << "nothing was lost, so nothing was tested";
    caesura_reader_close(reader);
}

TEST(COptions, a_codecs_own_parameters_reach_its_filter) {
    const File file("caesura_c_parameters_");
    const std::uint64_t shape[] = {64};
    const unsigned parameters[] = {7};
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.cd_values = parameters;
    options.cd_value_count = 1;
    std::uint32_t field = 0;
    const auto define = [&] {
        return caesura_define_field_with(file.writer, "f", CAESURA_FLOAT32, 1, shape,
                                         CAESURA_LOSSLESS, 0.0, &options, &field);
    };
    EXPECT_EQ(define(), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("belong to a codec"), std::string::npos) << last_error();
    // No such filter: that it was asked for shows that the codec and its parameters went along.
    options.codec = "filter:65000";
    EXPECT_EQ(define(), CAESURA_UNSUPPORTED);
    EXPECT_NE(last_error().find("65000"), std::string::npos) << last_error();
    EXPECT_EQ(caesura_writer_close(file.writer), CAESURA_OK);
}

TEST(COptions, paths_are_those_of_the_layout) {
    const std::string path =
        ::testing::TempDir() + "caesura_c_layout_" + std::to_string(::getpid()) + ".h5";
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.layout = "/step/{field}";
    caesura_writer* writer = nullptr;
    EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("a layout is like /step_%06T/{field}"), std::string::npos)
        << last_error();
    options.layout = "/step_%06T/{field}";
    const char* analyses[] = {"stats", nullptr};
    options.analyses = analyses;
    options.analysis_count = 2;
    EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("analyses[1] is NULL"), std::string::npos) << last_error();
    options.analysis_count = 1;
    EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("set transport, or drop analyses"), std::string::npos)
        << last_error();
    options.analysis_count = 0;
    ASSERT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer), CAESURA_OK)
        << last_error();
    const std::uint64_t shape[] = {8}, offset[] = {0};
    const std::vector<float> values(8, 1.5f);
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field(writer, "v/x", CAESURA_FLOAT32, 1, shape, CAESURA_LOSSLESS, 0.0,
                                   &field),
              CAESURA_OK);
    ASSERT_EQ(caesura_begin_iteration(writer, 12), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(writer, 0.5, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(writer, field, offset, shape, values.data(), CAESURA_FLOAT32, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK) << last_error();
    const auto info = caesura::store::read_info(path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->datasets.size(), 1u);
    EXPECT_EQ(info->datasets[0].spec.path, "/step_000012/v/x");
    EXPECT_EQ(info->datasets[0].iteration, 12u);
    std::filesystem::remove(path);
}

/// Three dumps of 400 kB by a Writer that may hold 64 KiB. @return  what stderr got.
std::string stderr_of_a_small_budget(const caesura_options& options) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("caesura_c_messages_" + std::to_string(::getpid()) + ".h5");
    testing::internal::CaptureStderr();
    caesura_writer* writer = nullptr;
    EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer), CAESURA_OK);
    const std::uint64_t shape[] = {100'000}, offset[] = {0};
    const std::vector<float> values(shape[0], 1.0F);
    std::uint32_t field = 0;
    EXPECT_EQ(caesura_define_field(writer, "rho", CAESURA_FLOAT32, 1, shape, CAESURA_LOSSLESS, 0.0,
                                   &field),
              CAESURA_OK);
    for (std::uint64_t n = 0; n < 3; ++n) {
        EXPECT_EQ(caesura_begin_iteration(writer, n), CAESURA_OK);
        EXPECT_EQ(caesura_begin_dump(writer, 0.1 * static_cast<double>(n), 1.0), CAESURA_OK);
        EXPECT_EQ(caesura_put(writer, field, offset, shape, values.data(), CAESURA_FLOAT32, 0),
                  CAESURA_OK);
        EXPECT_EQ(caesura_end_iteration(writer), CAESURA_OK) << last_error();
    }
    EXPECT_EQ(caesura_writer_close(writer), CAESURA_OK) << last_error();
    std::filesystem::remove(path);
    return testing::internal::GetCapturedStderr();
}

// In this order in one process: stderr gets each kind of line once.
TEST(COptions, what_a_user_must_know_reaches_the_callback_or_else_stderr_once) {
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.memory_bytes = 1 << 16;
    options.chunk_bytes = 1 << 18;
    std::vector<std::string> heard;
    options.on_message = [](void* context, const char* message) {
        static_cast<std::vector<std::string>*>(context)->emplace_back(message);
    };
    options.message_context = &heard;
    EXPECT_EQ(stderr_of_a_small_budget(options), "");
    ASSERT_FALSE(heard.empty());
    EXPECT_NE(heard.front().find("memory budget of 65536"), std::string::npos) << heard.front();

    options.on_message = nullptr;
    const std::string said = stderr_of_a_small_budget(options);
    EXPECT_TRUE(said.starts_with("caesura: rank 0: iteration 0 needs ")) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(stderr_of_a_small_budget(options), "");
}

}  // namespace
