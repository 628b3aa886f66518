// Goal: reading in C gives what was written, lists it, and says what is wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "caesura/caesura.h"
#include "caesura/reader.h"

namespace {

class CReader : public ::testing::Test {
  protected:
    void SetUp() override {
        caesura_writer* writer = nullptr;
        ASSERT_EQ(caesura_writer_create(path_.c_str(), nullptr, nullptr, &writer), CAESURA_OK);
        const std::uint64_t shape[] = {6, 4}, offset[] = {0, 0};
        caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
        const double spacing[] = {0.5, 0.25}, grid_offset[] = {1.0, -2.0};
        options.unit_si = 1000.0;
        options.grid_spacing = spacing;
        options.grid_offset = grid_offset;
        std::uint32_t rho = 0;
        ASSERT_EQ(caesura_define_field_with(writer, "rho", CAESURA_FLOAT64, 2, shape,
                                            CAESURA_LOSSLESS, 0.0, &options, &rho),
                  CAESURA_OK)
            << caesura_last_error();
        for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<double>(i);
        ASSERT_EQ(caesura_begin_iteration(writer, 7), CAESURA_OK);
        ASSERT_EQ(caesura_begin_dump(writer, 3.5, 0.5), CAESURA_OK);
        ASSERT_EQ(caesura_put(writer, rho, offset, shape, values_.data(), CAESURA_FLOAT64, 0),
                  CAESURA_OK);
        ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK);
        ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK);
        ASSERT_EQ(caesura_reader_open(path_.c_str(), nullptr, nullptr, &reader_), CAESURA_OK)
            << caesura_last_error();
    }
    void TearDown() override {
        caesura_reader_close(reader_);
        std::filesystem::remove(path_);
    }
    std::string path_ = ::testing::TempDir() + "caesura_c_reader_" + std::to_string(::getpid());
    std::vector<double> values_ = std::vector<double>(24);
    caesura_reader* reader_ = nullptr;
};

TEST_F(CReader, lists_dumps_and_fields) {
    std::size_t dumps = 0, fields = 0;
    ASSERT_EQ(caesura_reader_count(reader_, &dumps, &fields), CAESURA_OK);
    EXPECT_EQ(dumps, 1u);
    EXPECT_EQ(fields, 1u);
    caesura_dump_info dump{};
    dump.struct_bytes = sizeof dump;
    ASSERT_EQ(caesura_reader_dump(reader_, 0, &dump), CAESURA_OK);
    EXPECT_EQ(dump.iteration, 7u);
    EXPECT_EQ(dump.time, 3.5);
    caesura_field_info info{};
    info.struct_bytes = sizeof info;
    ASSERT_EQ(caesura_reader_field(reader_, 0, &info), CAESURA_OK);
    EXPECT_STREQ(info.name, "rho");
    EXPECT_STREQ(info.path, "/data/7/meshes/rho");
    EXPECT_EQ(info.kind, CAESURA_FIELD_MESH);
    EXPECT_EQ(info.number_kind, CAESURA_NUMBER_FLOATING);
    EXPECT_EQ(info.number_bytes, 8u);
    EXPECT_EQ(info.rank, 2);
    EXPECT_EQ(info.shape[0], 6u);
    EXPECT_EQ(info.bound_kind, CAESURA_LOSSLESS);
    EXPECT_EQ(info.unit_si, 1000.0);
    EXPECT_EQ(info.has_grid, 1);
    EXPECT_EQ(info.grid_spacing[1], 0.25);
    double numbers[2] = {};
    std::size_t count = 0;
    ASSERT_EQ(caesura_reader_numbers(reader_, 0, "gridGlobalOffset", numbers, 1, &count),
              CAESURA_OK);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(numbers[0], 1.0);
    EXPECT_EQ(numbers[1], 0.0) << "there was no room for it";
    const char* text = nullptr;
    ASSERT_EQ(caesura_reader_text(reader_, 0, "axisLabels", 1, &text), CAESURA_OK);
    EXPECT_STREQ(text, "x");
    EXPECT_EQ(caesura_reader_text(reader_, 0, "axisLabels", 2, &text), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_reader_numbers(reader_, 0, "geometry", numbers, 2, &count),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(std::string(caesura_last_error()).find("'geometry' has no numbers"),
              std::string::npos);
}

TEST_F(CReader, reads_a_box_into_any_strides) {
    std::size_t rho = 99;
    ASSERT_EQ(caesura_reader_find(reader_, "rho", 7, &rho), CAESURA_OK);
    const std::uint64_t offset[] = {2, 1}, extent[] = {3, 2};
    double dense[6] = {};
    ASSERT_EQ(caesura_reader_read(reader_, rho, offset, extent, dense, sizeof dense, nullptr),
              CAESURA_OK)
        << caesura_last_error();
    double fortran[6] = {};
    const std::uint64_t strides[] = {8, 24};
    ASSERT_EQ(
        caesura_reader_read_all(reader_, rho, offset, extent, fortran, sizeof fortran, strides),
        CAESURA_OK)
        << caesura_last_error();
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 2; ++j) {
            EXPECT_EQ(dense[2 * i + j], values_[(2 + i) * 4 + 1 + j]);
            EXPECT_EQ(fortran[i + 3 * j], dense[2 * i + j]);
        }
}

TEST_F(CReader, says_what_is_wrong) {
    const std::uint64_t offset[] = {5, 0}, extent[] = {2, 1};
    double values[2] = {};
    EXPECT_EQ(caesura_reader_read(reader_, 0, offset, extent, values, sizeof values, nullptr),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(
        std::string(caesura_last_error()).find("/data/7/meshes/rho: the box at offset [5, 0]"),
        std::string::npos)
        << caesura_last_error();
    EXPECT_EQ(caesura_reader_read(reader_, 4, offset, extent, values, sizeof values, nullptr),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_reader_read(reader_, 0, nullptr, extent, values, sizeof values, nullptr),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_reader_read(nullptr, 0, offset, extent, values, sizeof values, nullptr),
              CAESURA_INVALID_ARGUMENT);
    std::size_t field = 0;
    EXPECT_EQ(caesura_reader_find(reader_, "phi", 7, &field), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_reader_find_path(reader_, "/data/7/meshes/rho", &field), CAESURA_OK);
    caesura_reader* none = nullptr;
    EXPECT_EQ(caesura_reader_open("/no/such/file", nullptr, nullptr, &none), CAESURA_IO);
    EXPECT_EQ(none, nullptr);
    caesura_reader_options options = CAESURA_READER_OPTIONS_DEFAULT;
    options.threads = -2;
    EXPECT_EQ(caesura_reader_open(path_.c_str(), nullptr, &options, &none),
              CAESURA_INVALID_ARGUMENT);
    int changed = 1;
    EXPECT_EQ(caesura_reader_refresh(reader_, &changed), CAESURA_OK);
    EXPECT_EQ(changed, 0);
}

TEST(CIntegers, come_back_in_their_type_with_a_fill_value_that_no_double_holds) {
    const std::string path =
        ::testing::TempDir() + "caesura_c_integers_" + std::to_string(::getpid());
    caesura_writer* writer = nullptr;
    ASSERT_EQ(caesura_writer_create(path.c_str(), nullptr, nullptr, &writer), CAESURA_OK);
    const std::uint64_t shape[] = {6, 4}, offset[] = {2, 1}, extent[] = {3, 2};
    const std::uint64_t nobody = ~std::uint64_t{0};
    const std::uint64_t ids[] = {0, 9007199254740993U, nobody - 1, 3, 4, std::uint64_t{1} << 63};
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.partial = 1;
    options.fill = &nobody;
    std::uint32_t field = 0;
    const auto define = [&](int dtype, int kind) {
        return caesura_define_field_with(writer, "id", dtype, 2, shape, kind, 0.5, &options,
                                         &field);
    };
    EXPECT_EQ(define(CAESURA_UINT64, CAESURA_ABSOLUTE), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(std::string(caesura_last_error()).find("field 'id': an error bound for uint64"),
              std::string::npos)
        << caesura_last_error();
    EXPECT_EQ(define(16, CAESURA_LOSSLESS), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(define(CAESURA_BOOL, CAESURA_LOSSLESS), CAESURA_INVALID_ARGUMENT);  // its fill value
    ASSERT_EQ(define(CAESURA_UINT64, CAESURA_LOSSLESS), CAESURA_OK) << caesura_last_error();
    ASSERT_EQ(caesura_begin_iteration(writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(writer, field, offset, extent, ids, CAESURA_UINT64, 0), CAESURA_OK)
        << caesura_last_error();
    ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK);
    ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK);
    caesura_reader* reader = nullptr;
    ASSERT_EQ(caesura_reader_open(path.c_str(), nullptr, nullptr, &reader), CAESURA_OK);
    caesura_field_info info{};
    info.struct_bytes = sizeof info;
    ASSERT_EQ(caesura_reader_field(reader, 0, &info), CAESURA_OK);
    EXPECT_EQ(info.number_kind, CAESURA_NUMBER_UNSIGNED);
    EXPECT_EQ(info.number_bytes, 8u);
    const std::uint64_t all[] = {0, 0};
    std::uint64_t values[24] = {};
    ASSERT_EQ(caesura_reader_read(reader, 0, all, shape, values, sizeof values, nullptr),
              CAESURA_OK)
        << caesura_last_error();
    for (std::uint64_t i = 0; i < 24; ++i) {
        const std::uint64_t row = i / 4, column = i % 4;
        const bool is_put = row >= 2 && row < 5 && column >= 1 && column < 3;
        EXPECT_EQ(values[i], is_put ? ids[2 * (row - 2) + column - 1] : nobody) << i;
    }
    caesura_reader_close(reader);
    std::filesystem::remove(path);
}

struct CKind {
    const char* name;
    int dtype, bound, number_kind;
    std::size_t number_bytes, members;
};

TEST(CTypes, come_back_as_what_they_are_within_their_bounds) {
    const std::string path = ::testing::TempDir() + "caesura_c_types_" + std::to_string(::getpid());
    constexpr CKind k_kinds[] = {
        {"mask", CAESURA_BOOL, CAESURA_LOSSLESS, CAESURA_NUMBER_BOOL, 1, 1},
        {"half", CAESURA_FLOAT16, CAESURA_LOSSLESS, CAESURA_NUMBER_FLOATING, 2, 1},
        {"brain", CAESURA_BFLOAT16, CAESURA_LOSSLESS, CAESURA_NUMBER_BFLOAT, 2, 1},
        {"wave", CAESURA_COMPLEX64, CAESURA_ABSOLUTE, CAESURA_NUMBER_FLOATING, 4, 2},
        {"fine", CAESURA_COMPLEX128, CAESURA_LOSSLESS, CAESURA_NUMBER_FLOATING, 8, 2}};
    const std::uint64_t shape[] = {3, 2}, offset[] = {0, 0};
    const std::uint8_t mask[] = {1, 0, 0, 1, 1, 0};
    const std::uint16_t shorts[] = {0x3c00, 0x8000, 0x7e01, 0xfc00, 1, 0x7bff};
    float waves[12];
    double fine[12];
    for (int i = 0; i < 12; ++i) fine[i] = waves[i] = 0.75F * static_cast<float>(i * i) - 7.0F;
    const void* const data[] = {mask, shorts, shorts, waves, fine};
    caesura_writer* writer = nullptr;
    ASSERT_EQ(caesura_writer_create(path.c_str(), nullptr, nullptr, &writer), CAESURA_OK);
    std::uint32_t fields[5] = {};
    for (int k = 0; k < 5; ++k)
        ASSERT_EQ(caesura_define_field(writer, k_kinds[k].name, k_kinds[k].dtype, 2, shape,
                                       k_kinds[k].bound, 1e-2, &fields[k]),
                  CAESURA_OK)
            << caesura_last_error();
    ASSERT_EQ(caesura_begin_iteration(writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(writer, 0.0, 1.0), CAESURA_OK);
    for (int k = 0; k < 5; ++k)
        ASSERT_EQ(caesura_put(writer, fields[k], offset, shape, data[k], k_kinds[k].dtype, 0),
                  CAESURA_OK)
            << caesura_last_error();
    ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK);
    ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK);
    caesura_reader* reader = nullptr;
    ASSERT_EQ(caesura_reader_open(path.c_str(), nullptr, nullptr, &reader), CAESURA_OK);
    for (int k = 0; k < 5; ++k) {
        SCOPED_TRACE(k_kinds[k].name);
        std::size_t field = 0;
        ASSERT_EQ(caesura_reader_find(reader, k_kinds[k].name, 0, &field), CAESURA_OK);
        caesura_field_info info{};
        info.struct_bytes = sizeof info;
        ASSERT_EQ(caesura_reader_field(reader, field, &info), CAESURA_OK);
        EXPECT_EQ(info.number_kind, k_kinds[k].number_kind);
        EXPECT_EQ(info.number_bytes, k_kinds[k].number_bytes);
        EXPECT_EQ(info.members, k_kinds[k].members);
        double values[12] = {};
        const std::size_t bytes = 6 * info.number_bytes * info.members;
        ASSERT_EQ(caesura_reader_read(reader, field, offset, shape, values, bytes, nullptr),
                  CAESURA_OK)
            << caesura_last_error();
        if (k_kinds[k].bound == CAESURA_LOSSLESS) {
            EXPECT_EQ(std::memcmp(values, data[k], bytes), 0);
            continue;
        }
        float found[12];
        std::memcpy(found, values, sizeof found);
        for (int i = 0; i < 12; ++i) EXPECT_LE(std::abs(found[i] - waves[i]), 1e-2F);
    }
    caesura_reader_close(reader);
    std::filesystem::remove(path);
}

}  // namespace
