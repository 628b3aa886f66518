// Checkpoints in C work from C (checkpointer_example.c is compiled as C), and say what is wrong.
#include "caesura/checkpointer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <vector>

extern "C" int caesura_c_checkpointer_example(const char* path);

namespace {

constexpr caesura_compress_point k_curve[] = {{1e3, 34e-6}, {2e7, 3.7e-3}};

std::string temporary_file(const char* name) {
    return ::testing::TempDir() + name + std::to_string(::getpid()) + ".h5";
}

caesura_device* device() {
    caesura_device* made = nullptr;
    EXPECT_EQ(caesura_device_create_emulated(200'000, 250e6, 5e9, k_curve, 2, &made), CAESURA_OK);
    return made;
}

caesura_checkpointer_options options_of(const std::string& path) {
    caesura_checkpointer_options options = CAESURA_CHECKPOINTER_OPTIONS_DEFAULT;
    options.checkpoint_bytes = 20'000;
    options.cache_bytes = 128'000;
    options.link_bytes_per_s = 250e6;
    options.curve = k_curve;
    options.curve_points = 2;
    options.path = path.c_str();
    return options;
}

std::vector<float> wave(std::uint64_t id) {
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(0.01f * static_cast<float>(i) + static_cast<float>(id));
    return values;
}

TEST(CCheckpointer, a_c_program_makes_checkpoints_and_restores_them_backwards) {
    const std::string path = temporary_file("caesura_c_checkpointer_");
    EXPECT_EQ(caesura_c_checkpointer_example(path.c_str()), 0) << caesura_last_error();
    EXPECT_GT(std::filesystem::file_size(path), 100u * 1'000u);
    std::filesystem::remove(path);
}

TEST(CCheckpointer, a_later_one_reopens_the_file_and_takes_over_the_profile) {
    const std::string path = temporary_file("caesura_c_reopen_");
    caesura_device* const first = device();
    caesura_checkpointer_options options = options_of(path);
    options.rank = 2;
    options.shape[0] = 50;
    options.shape[1] = 100;
    options.kind = CAESURA_ABSOLUTE;
    options.bound = 1e-3;
    caesura_checkpointer* checkpointer = nullptr;
    ASSERT_EQ(caesura_checkpointer_create(first, &options, &checkpointer), CAESURA_OK)
        << caesura_last_error();
    for (std::uint64_t id = 0; id < 30; ++id) {
        ASSERT_EQ(caesura_device_work(first, 1e-6), CAESURA_OK);
        ASSERT_EQ(caesura_checkpointer_checkpoint(checkpointer, id, wave(id).data()), CAESURA_OK)
            << caesura_last_error();
    }
    ASSERT_EQ(caesura_checkpointer_save(checkpointer), CAESURA_OK) << caesura_last_error();
    std::size_t bytes = 0;
    ASSERT_EQ(caesura_checkpointer_profile(checkpointer, nullptr, 0, &bytes), CAESURA_OK);
    std::string profile(bytes + 1, '\0');
    ASSERT_EQ(caesura_checkpointer_profile(checkpointer, profile.data(), profile.size(), &bytes),
              CAESURA_OK);
    caesura_checkpointer_report report = {};
    report.struct_bytes = sizeof report;
    ASSERT_EQ(caesura_checkpointer_get_report(checkpointer, &report), CAESURA_OK);
    EXPECT_EQ(report.checkpoints, 30u);
    EXPECT_EQ(report.raw_bytes, 600'000u);
    EXPECT_LT(report.link_bytes, 300'000u);
    EXPECT_EQ(report.written_bytes, report.link_bytes);
    EXPECT_GT(caesura_device_now_s(first), 30e-6);
    caesura_checkpointer_free(checkpointer);
    caesura_device_free(first);

    caesura_device* const second = device();
    options.profile = profile.c_str();
    options.checkpoint_bytes = 0;  // said by the profile
    ASSERT_EQ(caesura_checkpointer_reopen(second, &options, &checkpointer), CAESURA_OK)
        << caesura_last_error();
    std::vector<std::uint64_t> ids(10);
    std::size_t count = 0;
    ASSERT_EQ(caesura_checkpointer_ids(checkpointer, ids.data(), ids.size(), &count), CAESURA_OK);
    EXPECT_EQ(count, 30u);
    EXPECT_EQ(ids[9], 9u);
    std::vector<float> back(5000);
    for (std::uint64_t id = 30; id-- > 0;) {
        ASSERT_EQ(caesura_checkpointer_restore(checkpointer, id, back.data()), CAESURA_OK)
            << caesura_last_error();
        const std::vector<float> made = wave(id);
        for (std::size_t i = 0; i < back.size(); ++i)
            ASSERT_LE(std::abs(double{back[i]} - double{made[i]}), 1e-3);
    }
    caesura_checkpointer_free(checkpointer);
    caesura_device_free(second);
    std::filesystem::remove(path);
}

TEST(CCheckpointer, a_refused_call_leaves_an_older_file_as_it_was) {
    const std::string path = temporary_file("caesura_c_kept_");
    caesura_device* const made_on = device();
    caesura_checkpointer_options options = options_of(path);
    caesura_checkpointer* checkpointer = nullptr;
    ASSERT_EQ(caesura_checkpointer_create(made_on, &options, &checkpointer), CAESURA_OK)
        << caesura_last_error();
    ASSERT_EQ(caesura_checkpointer_checkpoint(checkpointer, 7, wave(7).data()), CAESURA_OK);
    ASSERT_EQ(caesura_checkpointer_save(checkpointer), CAESURA_OK) << caesura_last_error();
    caesura_checkpointer_free(checkpointer);
    options.host_bytes = 3 * options.cache_bytes - 1;
    EXPECT_EQ(caesura_checkpointer_create(made_on, &options, &checkpointer),
              CAESURA_INVALID_ARGUMENT);
    options.host_bytes = 0;
    options.cache_bytes = 0;
    EXPECT_EQ(caesura_checkpointer_create(made_on, &options, &checkpointer),
              CAESURA_INVALID_ARGUMENT);
    options = options_of(path);
    ASSERT_EQ(caesura_checkpointer_reopen(made_on, &options, &checkpointer), CAESURA_OK)
        << caesura_last_error();
    std::vector<float> back(5000);
    ASSERT_EQ(caesura_checkpointer_restore(checkpointer, 7, back.data()), CAESURA_OK);
    EXPECT_EQ(back, wave(7));
    caesura_checkpointer_free(checkpointer);
    caesura_device_free(made_on);
    std::filesystem::remove(path);
}

TEST(CCheckpointer, a_gpu_is_there_or_it_is_said_what_is_missing) {
    caesura_device* gpu = nullptr;
    const caesura_code code = caesura_device_create_cuda(0, nullptr, &gpu);
    EXPECT_EQ(code == CAESURA_OK, gpu != nullptr);
    if (code != CAESURA_OK) {
        EXPECT_EQ(code, CAESURA_UNSUPPORTED);
        EXPECT_GT(std::string(caesura_last_error()).size(), 10u);
    } else {
        EXPECT_EQ(caesura_device_work(gpu, 1.0), CAESURA_INVALID_ARGUMENT);
    }
    caesura_device_free(gpu);
}

TEST(CCheckpointer, errors_have_a_code_and_a_sentence) {
    const auto said = [](caesura_code code, caesura_code expected, const char* words) {
        EXPECT_EQ(code, expected);
        EXPECT_NE(std::string(caesura_last_error()).find(words), std::string::npos)
            << caesura_last_error();
    };
    caesura_device* none = nullptr;
    said(caesura_device_create_emulated(1, 0.0, 1.0, k_curve, 2, &none), CAESURA_INVALID_ARGUMENT,
         "link_bytes_per_s is 0");
    EXPECT_EQ(none, nullptr);
    const std::string path = temporary_file("caesura_c_errors_");
    caesura_device* const there = device();
    caesura_checkpointer* made = nullptr;
    caesura_checkpointer_options options = options_of(path);
    said(caesura_checkpointer_reopen(there, &options, &made), CAESURA_IO, path.c_str());
    said(caesura_checkpointer_create(nullptr, &options, &made), CAESURA_INVALID_ARGUMENT, "NULL");
    options.path = nullptr;
    said(caesura_checkpointer_reopen(there, &options, &made), CAESURA_INVALID_ARGUMENT, "path");
    options.host_bytes = 1 << 20;
    said(caesura_checkpointer_create(there, &options, &made), CAESURA_INVALID_ARGUMENT,
         "there is no store");
    options.host_bytes = 0;
    options.kind = CAESURA_RELATIVE;
    said(caesura_checkpointer_create(there, &options, &made), CAESURA_INVALID_ARGUMENT, "bound");
    options.kind = CAESURA_LOSSLESS;
    options.curve_points = 0;
    EXPECT_EQ(caesura_checkpointer_create(there, &options, &made), CAESURA_INVALID_ARGUMENT);
    options.profile = "{";
    EXPECT_EQ(caesura_checkpointer_create(there, &options, &made), CAESURA_CORRUPT);
    options = options_of(path);
    options.path = nullptr;
    EXPECT_EQ(made, nullptr);
    ASSERT_EQ(caesura_checkpointer_create(there, &options, &made), CAESURA_OK)
        << caesura_last_error();
    said(caesura_checkpointer_restore(made, 3, options.shape), CAESURA_INVALID_ARGUMENT,
         "checkpoint 3 was not made");
    said(caesura_checkpointer_save(made), CAESURA_INVALID_ARGUMENT, "without a file");
    said(caesura_checkpointer_checkpoint(made, 3, nullptr), CAESURA_INVALID_ARGUMENT, "data");
    EXPECT_EQ(caesura_checkpointer_flush(nullptr), CAESURA_INVALID_ARGUMENT);
    caesura_checkpointer_free(made);
    caesura_checkpointer_free(nullptr);
    caesura_device_free(there);
    caesura_device_free(nullptr);
}

}  // namespace
