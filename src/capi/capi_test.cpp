// The C face works from C (example_c.c is compiled as C) and translates errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "caesura/caesura.h"

extern "C" int caesura_c_example(const char* path);

namespace {

std::string temporary(const char* name) {
    return ::testing::TempDir() + name + std::to_string(::getpid()) + ".h5";
}

TEST(CApi, a_c_program_writes_a_file) {
    const std::string path = temporary("caesura_capi_");
    EXPECT_EQ(caesura_c_example(path.c_str()), 0) << caesura_last_error();
    EXPECT_GT(std::filesystem::file_size(path), 64u * 64u * 4u);
    std::filesystem::remove(path);
}

TEST(CApi, errors_have_a_code_and_a_sentence) {
    caesura_writer* writer = nullptr;
    EXPECT_EQ(caesura_writer_create("/nonexistent/x.h5", nullptr, nullptr, &writer), CAESURA_IO);
    EXPECT_EQ(writer, nullptr);
    EXPECT_NE(std::string(caesura_last_error()).find("/nonexistent/x.h5"), std::string::npos);
    EXPECT_STREQ(caesura_code_name(CAESURA_NO_SPACE), "no_space");
    EXPECT_EQ(caesura_writer_create(nullptr, nullptr, nullptr, &writer), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_put(nullptr, 0, nullptr, nullptr, nullptr, CAESURA_FLOAT32, 0),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_writer_close(nullptr), CAESURA_INVALID_ARGUMENT);
}

TEST(CApi, options_are_named_by_what_they_may_be) {
    const std::string path = temporary("caesura_capi_options_");
    caesura_writer* writer = nullptr;
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.reserve = "heaps";
    EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(std::string(caesura_last_error()).find("'heaps'; use one of regions, slots"),
              std::string::npos)
        << caesura_last_error();
    options.reserve = "slots";
    options.algorithm = "magic";
    EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(std::string(caesura_last_error()).find("'magic'"), std::string::npos);
    EXPECT_EQ(writer, nullptr);
}

TEST(CApi, a_cooperative_writer_compresses_where_it_is_let) {
    const std::string path = temporary("caesura_capi_cooperative_");
    caesura_writer* writer = nullptr;
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.cooperative = 1;
    double spent_s = -1.0;
    ASSERT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer), CAESURA_OK);
    EXPECT_EQ(caesura_compress_for(writer, 1.0, &spent_s), CAESURA_INVALID_ARGUMENT);
    const std::uint64_t shape[] = {1024}, offset[] = {0};
    const std::vector<float> values(1024, 1.5f);
    std::uint32_t field = 0;
    ASSERT_EQ(
        caesura_define_field(writer, "a", CAESURA_FLOAT32, 1, shape, CAESURA_ABSOLUTE, 0.1, &field),
        CAESURA_OK);
    ASSERT_EQ(caesura_begin_iteration_of(writer, 0, "step"), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(writer, field, offset, shape, values.data(), CAESURA_FLOAT32, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK);
    ASSERT_EQ(caesura_begin_iteration(writer, 1), CAESURA_OK);
    EXPECT_EQ(caesura_compress_for(writer, 60.0, &spent_s), CAESURA_OK);
    EXPECT_GT(spent_s, 0.0);
    EXPECT_EQ(caesura_compress_for(writer, 60.0, &spent_s), CAESURA_OK);
    EXPECT_EQ(spent_s, 0.0) << "nothing is left";
    EXPECT_EQ(caesura_finish_by(writer, -1.0), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_finish_by(writer, 1e9), CAESURA_OK) << caesura_last_error();
    int asked = 0, is_done = 0;
    const auto third_time = [](void* context) {
        return ++*static_cast<int*>(context) == 3 ? 1 : 0;
    };
    EXPECT_EQ(caesura_wait_until(writer, nullptr, nullptr, 1.0, &is_done),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_wait_until(writer, third_time, &asked, 60.0, &is_done), CAESURA_OK);
    EXPECT_EQ(is_done, 1);
    EXPECT_EQ(asked, 3);
    ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK);
    EXPECT_EQ(caesura_writer_close(writer), CAESURA_OK) << caesura_last_error();
    std::filesystem::remove(path);
}

TEST(CApi, bounds_and_dtypes_are_checked) {
    const std::string path = temporary("caesura_capi_bounds_");
    caesura_writer* writer = nullptr;
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.codec = "none";
    ASSERT_EQ(caesura_writer_create(path.c_str(), nullptr, &options, &writer), CAESURA_OK);
    const std::uint64_t shape[] = {8};
    std::uint32_t field = 0;
    EXPECT_EQ(caesura_define_field(writer, "a", CAESURA_FLOAT32, 1, shape, CAESURA_ABSOLUTE,
                                   std::nan(""), &field),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_define_field(writer, "a", 16, 1, shape, CAESURA_LOSSLESS, 0, &field),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(
        caesura_define_field(writer, "a", CAESURA_FLOAT32, 5, shape, CAESURA_LOSSLESS, 0, &field),
        CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_busy_end(writer, CAESURA_LANE_WRITE), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_writer_close(writer), CAESURA_OK) << caesura_last_error();
    std::filesystem::remove(path);
}

}  // namespace
