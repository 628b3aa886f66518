// Stock HDF5 loads the plugin, writes through it and reads through it. Built once beside the serial
// library and once beside the parallel one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

constexpr auto k_id = static_cast<H5Z_filter_t>(k_filter_id);
using Dims = std::vector<hsize_t>;
using Words = std::vector<unsigned>;

/// The descriptions on HDF5's error stack.
std::string errors() {
    std::string all;
    const auto add = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
        *static_cast<std::string*>(to) += std::string(error->desc) + "\n";
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, add, &all);
    return all;
}

class Hdf5 : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ASSERT_GE(H5PLprepend(CAESURA_TEST_PLUGINS), 0);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    void SetUp() override {
        path_ = testing::TempDir() + fmt::format("caesura_filter_{}.h5", getpid());
        file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        ASSERT_GE(file_, 0);
        list_ = H5Pcreate(H5P_DATASET_CREATE);
    }
    void TearDown() override {
        H5Pclose(list_);
        close_file();
        std::filesystem::remove(path_);
    }
    void close_file() {
        if (dataset_ >= 0) H5Dclose(dataset_);
        if (file_ >= 0) H5Fclose(file_);
        dataset_ = file_ = -1;
    }
    void reopen() {
        close_file();
        file_ = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        dataset_ = H5Dopen2(file_, "x", H5P_DEFAULT);
        ASSERT_GE(dataset_, 0);
    }
    bool create(hid_t type, const Dims& dims, const Dims& chunk, const Words& user,
                const Dims& most = {}) {
        const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(),
                                             most.empty() ? nullptr : most.data());
        H5Pset_chunk(list_, static_cast<int>(chunk.size()), chunk.data());
        H5Pset_filter(list_, k_id, flags_, user.size(), user.data());
        dataset_ = H5Dcreate2(file_, "x", type, space, H5P_DEFAULT, list_, H5P_DEFAULT);
        errors_ = errors();  // before the next call clears them
        H5Sclose(space);
        return dataset_ >= 0;
    }
    Words stored_values() const {
        const hid_t list = H5Dget_create_plist(dataset_);
        unsigned flags = 0;
        std::size_t count = 0;
        H5Pget_filter_by_id2(list, k_id, &flags, &count, nullptr, 0, nullptr, nullptr);
        Words words(count);
        H5Pget_filter_by_id2(list, k_id, &flags, &count, words.data(), 0, nullptr, nullptr);
        H5Pclose(list);
        return words;
    }

    std::string path_;
    std::string errors_;  // of create()
    unsigned flags_ = H5Z_FLAG_MANDATORY;
    hid_t file_ = -1;
    hid_t dataset_ = -1;
    hid_t list_ = -1;
};

std::size_t count(const Dims& dims) {
    std::size_t n = 1;
    for (const hsize_t extent : dims) n *= extent;
    return n;
}

/// Smooth along the last axis, with some values that no bound may change.
std::vector<double> field(const Dims& dims, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> step;
    std::vector<double> values(count(dims));
    double at = 0;
    for (double& value : values) value = at += step(random);
    if (values.size() > 20) {
        values[7] = std::nan("");
        values[13] = -HUGE_VAL;
    }
    return values;
}

double largest_error(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isfinite(a[i]))
            largest = std::max(largest, std::abs(a[i] - b[i]));
        else if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))))
            return HUGE_VAL;
    }
    return largest;
}

const struct Layout {
    Dims dims, chunk;
} k_layouts[] = {{{5000}, {999}},
                 {{60, 70}, {32, 32}},
                 {{20, 30, 17}, {20, 30, 17}},
                 {{9, 10, 11, 12}, {4, 5, 6, 7}},
                 {{3, 4, 5, 6, 7}, {2, 2, 5, 3, 7}},
                 {{1, 1, 700}, {1, 1, 300}}};

/// Of the first chunk: stored bytes, and whether it went through the filter.
std::pair<hsize_t, bool> first_chunk(hid_t dataset) {
    const Dims begin(H5S_MAX_RANK, 0);
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t bytes = 0;
    H5Dget_chunk_info_by_coord(dataset, begin.data(), &mask, &address, &bytes);
    return {bytes, mask == 0};
}

TEST_F(Hdf5, a_chunk_that_does_not_shrink_is_raw_where_the_filter_is_optional) {
    std::mt19937_64 random(3);
    std::vector<std::uint64_t> values(1000), read(1000);
    for (std::uint64_t& value : values) value = random();
    for (const unsigned flags : {H5Z_FLAG_OPTIONAL, H5Z_FLAG_MANDATORY}) {
        flags_ = flags;
        H5Premove_filter(list_, H5Z_FILTER_ALL);
        ASSERT_TRUE(create(H5T_STD_U64LE, {1000}, {1000}, {}));
        ASSERT_GE(
            H5Dwrite(dataset_, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
        reopen();
        const auto [bytes, filtered] = first_chunk(dataset_);
        EXPECT_EQ(filtered, flags == H5Z_FLAG_MANDATORY);  // which HDF5 lets no filter skip
        EXPECT_EQ(bytes > 8000, filtered);
        ASSERT_GE(H5Dread(dataset_, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()),
                  0);
        EXPECT_EQ(read, values);
        TearDown();
        SetUp();
    }
}

TEST_F(Hdf5, floats_of_any_rank_keep_the_bound_over_many_chunks) {
    for (const Layout& layout : k_layouts) {
        for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE}) {
            SCOPED_TRACE(fmt::format("{} axes, {} bytes", layout.dims.size(), H5Tget_size(type)));
            auto values = field(layout.dims, 1);
            for (double& value : values) value = static_cast<float>(value);
            ASSERT_TRUE(create(type, layout.dims, layout.chunk, {0, 1, 1, 2}));
            ASSERT_GE(
                H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                0);
            reopen();
            std::vector<double> read(values.size());
            ASSERT_GE(
                H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()),
                0);
            const double error = largest_error(values, read);
            EXPECT_LE(error, 0.01);
            EXPECT_GT(error, 0) << "was not lossy";
            EXPECT_LT(H5Dget_storage_size(dataset_), values.size() * H5Tget_size(type));
            H5Dclose(dataset_);
            H5Ldelete(file_, "x", H5P_DEFAULT);
            H5Premove_filter(list_, k_id);
            dataset_ = -1;
        }
    }
}

TEST_F(Hdf5, parts_of_a_dataset_are_read_alone) {
    const Dims dims = {40, 50, 60};
    const auto values = field(dims, 2);
    ASSERT_TRUE(create(H5T_NATIVE_DOUBLE, dims, {16, 16, 16}, {1, 1, 1, 3}));
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
    reopen();
    const Dims start = {14, 1, 30};
    const Dims extent = {20, 49, 30};
    const hid_t from = H5Dget_space(dataset_);
    H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
    const hid_t to = H5Screate_simple(3, extent.data(), nullptr);
    std::vector<double> read(count(extent));
    ASSERT_GE(H5Dread(dataset_, H5T_NATIVE_DOUBLE, to, from, H5P_DEFAULT, read.data()), 0);
    std::vector<double> expected;
    for (hsize_t z = 0; z < extent[0]; ++z)
        for (hsize_t y = 0; y < extent[1]; ++y)
            for (hsize_t x = 0; x < extent[2]; ++x)
                expected.push_back(
                    values[((z + start[0]) * 50 + y + start[1]) * 60 + x + start[2]]);
    EXPECT_LE(largest_error(expected, read), 1e-3);
    H5Sclose(from);
    H5Sclose(to);
}

hid_t compound_of(std::initializer_list<hid_t> types) {
    std::size_t bytes = 0;
    for (const hid_t type : types) bytes += H5Tget_size(type);
    const hid_t compound = H5Tcreate(H5T_COMPOUND, bytes);
    std::size_t at = 0;
    for (const hid_t type : types) {
        H5Tinsert(compound, fmt::format("at {}", at).c_str(), at, type);
        at += H5Tget_size(type);
    }
    return compound;
}

// Whoever gives all parameters may know the members of a compound type: an axis more. A dataset of
// another type does not inherit that.
TEST_F(Hdf5, members_of_a_compound_stay_the_axis_that_complete_parameters_name) {
    const hid_t f32 = H5T_IEEE_F32LE, f64 = H5T_IEEE_F64LE;
    const struct {
        hid_t type;
        bool kept;
    } k_cases[] = {{compound_of({f32, f32}), true},
                   {compound_of({f32, H5T_STD_I32LE}), false},
                   {compound_of({f32, H5T_IEEE_F32BE}), false},
                   {compound_of({f32, f32, f32}), false},
                   {compound_of({f64}), false}};
    const Settings settings =
        settings_of(float32, {30, 20, 2}, absolute(0.01), Mode::automatic, TableSet());
    const auto words = to_cd_values(settings);
    ASSERT_TRUE(words.ok());
    std::vector<float> values(60 * 50 * 2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.01f * float(i));
    for (const auto& one : k_cases) {
        ASSERT_TRUE(create(one.type, {60, 50}, {30, 20}, *words)) << errors_;
        const auto stored = parse_cd_values(stored_values());
        ASSERT_TRUE(stored.ok());
        EXPECT_EQ(stored->element == Element::float32, one.kept);
        if (one.kept) {
            EXPECT_EQ(*stored, settings);
            ASSERT_GE(H5Dwrite(dataset_, one.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                      0);
            reopen();
            std::vector<float> back(values.size());
            ASSERT_GE(H5Dread(dataset_, one.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()), 0);
            double largest = 0;
            for (std::size_t i = 0; i < values.size(); ++i)
                largest = std::max(largest, std::fabs(double{values[i]} - back[i]));
            EXPECT_LE(largest, 0.01);
        }
        H5Dclose(dataset_);
        H5Ldelete(file_, "x", H5P_DEFAULT);
        H5Premove_filter(list_, k_id);
        dataset_ = -1;
        H5Tclose(one.type);
    }
}

// Of members that differ the words of all their bytes are the axis.
TEST_F(Hdf5, words_of_a_compound_stay_the_axis_that_complete_parameters_name) {
    const struct {
        hid_t type;
        bool kept;
    } k_cases[] = {{compound_of({H5T_IEEE_F64LE, H5T_STD_I32LE}), true},
                   {compound_of({H5T_STD_I32LE, H5T_STD_I32BE, H5T_IEEE_F32LE}), true},
                   {compound_of({H5T_IEEE_F64LE, H5T_IEEE_F64LE}), false},
                   {H5Tcopy(H5T_STD_I32LE), false}};
    const Settings settings =
        settings_of(uint32, {30, 20, 3}, lossless(), Mode::automatic, TableSet());
    const auto words = to_cd_values(settings);
    ASSERT_TRUE(words.ok());
    std::vector<std::uint32_t> values(60 * 50 * 3);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i / 9);
    for (const auto& one : k_cases) {
        ASSERT_TRUE(create(one.type, {60, 50}, {30, 20}, *words)) << errors_;
        const auto stored = parse_cd_values(stored_values());
        ASSERT_TRUE(stored.ok());
        EXPECT_EQ(*stored == settings, one.kept);
        if (one.kept) {
            ASSERT_GE(H5Dwrite(dataset_, one.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                      0);
            reopen();
            std::vector<std::uint32_t> back(values.size());
            ASSERT_GE(H5Dread(dataset_, one.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()), 0);
            EXPECT_EQ(back, values);
        }
        H5Dclose(dataset_);
        H5Ldelete(file_, "x", H5P_DEFAULT);
        H5Premove_filter(list_, k_id);
        dataset_ = -1;
        H5Tclose(one.type);
    }
}

TEST_F(Hdf5, integers_structures_and_odd_floats_come_back_bit_for_bit) {
    const hid_t structure = H5Tcreate(H5T_COMPOUND, 14);
    H5Tinsert(structure, "a", 0, H5T_IEEE_F32LE);
    H5Tinsert(structure, "b", 4, H5T_STD_I64LE);
    H5Tinsert(structure, "c", 12, H5T_STD_I16BE);
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);  // as large as a float16, but not one
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_precision(half, 16);
    H5Tset_ebias(half, 16);
    H5Tset_size(half, 2);
    const hid_t vax_like = H5Tcopy(H5T_IEEE_F32LE);  // as large as a float, but not one
    H5Tset_ebias(vax_like, 129);
    const hsize_t three = 3;
    const hid_t array = H5Tarray_create2(H5T_IEEE_F64LE, 1, &three);
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 11);
    for (const hid_t type :
         {H5T_STD_I32LE, H5T_STD_U8LE, H5T_STD_I16BE, structure, half, vax_like, array, text}) {
        const std::size_t bytes = H5Tget_size(type);
        SCOPED_TRACE(fmt::format("class {}, {} bytes", H5Tget_class(type), bytes));
        std::mt19937 random(3);
        std::vector<unsigned char> values(30 * 40 * bytes);
        for (unsigned char& value : values) value = static_cast<unsigned char>(random() % 5);
        ASSERT_TRUE(create(type, {30, 40}, {16, 16}, {0, 1, 1, 0}));
        ASSERT_GE(H5Dwrite(dataset_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
        reopen();
        std::vector<unsigned char> read(values.size());
        ASSERT_GE(H5Dread(dataset_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
        EXPECT_EQ(read, values);
        EXPECT_EQ(parse_cd_values(stored_values())->element, Element::bytes);
        H5Dclose(dataset_);
        H5Ldelete(file_, "x", H5P_DEFAULT);
        H5Premove_filter(list_, k_id);
        dataset_ = -1;
    }
    for (const hid_t type : {structure, half, vax_like, array, text}) H5Tclose(type);
}

TEST_F(Hdf5, final_values_say_everything_and_are_accepted_again) {
    ASSERT_TRUE(create(H5T_IEEE_F64BE, {100, 100}, {30, 40}, {2, 2, 1, 4}));
    const Words words = stored_values();
    const auto settings = parse_cd_values(words);
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    EXPECT_EQ(settings->mode, Mode::strong);
    EXPECT_EQ(settings->bound, relative(1e-4));
    EXPECT_EQ(settings->element, Element::float64);
    EXPECT_TRUE(settings->big_endian);
    EXPECT_EQ(settings->chunk, (std::vector<std::uint32_t>{30, 40}));
    H5Dclose(dataset_);
    H5Ldelete(file_, "x", H5P_DEFAULT);
    H5Premove_filter(list_, k_id);
    ASSERT_TRUE(create(H5T_IEEE_F64BE, {100, 100}, {30, 40}, words));
    EXPECT_EQ(stored_values(), words);
    H5Dclose(dataset_);
    H5Ldelete(file_, "x", H5P_DEFAULT);
    H5Premove_filter(list_, k_id);
    // ... and those of another dataset are corrected.
    ASSERT_TRUE(create(H5T_IEEE_F32LE, {100}, {50}, words));
    EXPECT_EQ(parse_cd_values(stored_values())->chunk, std::vector<std::uint32_t>{50});
    EXPECT_EQ(parse_cd_values(stored_values())->element, Element::float32);
}

// Goal: 3-D boxes that lie one after the other in a dataset of one axis are coded as 3-D.
TEST_F(Hdf5, a_chunk_of_one_axis_may_be_an_array_of_three) {
    constexpr std::size_t k_side = 32, k_boxes = 3, k_box = k_side * k_side * k_side;
    std::vector<double> values(k_boxes * k_box);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto x = static_cast<double>(i % k_side);
        const auto y = static_cast<double>(i / k_side % k_side);
        const auto z = static_cast<double>(i / k_side / k_side);
        values[i] = std::sin(0.3 * x) * std::cos(0.25 * y) * std::sin(0.2 * z);
    }
    const auto stored_bytes = [&](const Shape& shape) {
        const Words words = *to_cd_values(
            settings_of(DType::float64, shape, absolute(1e-4), Mode::automatic, TableSet()));
        EXPECT_TRUE(create(H5T_IEEE_F64LE, {values.size()}, {k_box}, words)) << errors_;
        EXPECT_EQ(stored_values(), words);
        EXPECT_GE(
            H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
        reopen();
        std::vector<double> read(values.size());
        EXPECT_GE(H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()),
                  0);
        EXPECT_LE(largest_error(values, read), 1e-4);
        const auto bytes = H5Dget_storage_size(dataset_);
        H5Dclose(dataset_);
        H5Ldelete(file_, "x", H5P_DEFAULT);
        H5Premove_filter(list_, k_id);
        dataset_ = -1;
        return bytes;
    };
    const auto flat = stored_bytes({k_box}), known = stored_bytes({k_side, k_side, k_side});
    EXPECT_LT(3 * known, 2 * flat);
}

// As Caesura's writer leaves them: chunks at the array's edge hold their valid part only, and a
// table set lies in the dataset.
TEST_F(Hdf5, chunks_of_the_valid_part_read_as_values_and_zeros) {
    std::vector<float> values(50 * 30);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i)) + 5);
    const auto bytes = std::as_bytes(std::span(values));
    TableStatistics statistics;
    CompressOptions options;
    options.statistics = &statistics;
    ASSERT_TRUE(compress(bytes, float32, {50, 30}, absolute(1e-4), options).ok());
    const TableSet tables = statistics.train();
    options = {};
    options.tables = &tables;
    const auto frame = compress(bytes, float32, {50, 30}, absolute(1e-4), options);
    ASSERT_TRUE(frame.ok());
    const Words words =
        *to_cd_values(settings_of(float32, {64, 32}, absolute(1e-4), Mode::automatic, tables));
    ASSERT_TRUE(create(H5T_IEEE_F32LE, {50, 30}, {64, 32}, words, {1000, 1000}));
    const Dims origin = {0, 0};
    ASSERT_GE(H5Dwrite_chunk(dataset_, H5P_DEFAULT, 0, origin.data(), frame->size(), frame->data()),
              0);
    reopen();
    EXPECT_EQ(parse_cd_values(stored_values())->tables, tables);
    const Dims larger = {64, 32};
    ASSERT_GE(H5Dset_extent(dataset_, larger.data()), 0);
    std::vector<float> read(64 * 32, 9.0F);
    ASSERT_GE(H5Dread(dataset_, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    for (std::size_t i = 0; i < read.size(); ++i) {
        const std::size_t y = i / 32;
        const std::size_t x = i % 32;
        const bool inside = y < 50 && x < 30;
        ASSERT_LE(std::abs(read[i] - (inside ? values[y * 30 + x] : 0.0F)), inside ? 1e-4 : 0.0)
            << y << ' ' << x;
    }
}

TEST_F(Hdf5, fill_values_stand_where_nothing_was_written) {
    const float fill = -7.25F;
    H5Pset_fill_value(list_, H5T_NATIVE_FLOAT, &fill);
    ASSERT_TRUE(create(H5T_IEEE_F32LE, {100}, {40}, {0, 1, 1, 3}));
    std::vector<float> part(10, 1.5F);
    const Dims start = {35};
    const Dims extent = {10};
    const hid_t to = H5Dget_space(dataset_);
    H5Sselect_hyperslab(to, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
    const hid_t from = H5Screate_simple(1, extent.data(), nullptr);
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_FLOAT, from, to, H5P_DEFAULT, part.data()), 0);
    H5Sclose(from);
    H5Sclose(to);
    reopen();
    std::vector<float> read(100);
    ASSERT_GE(H5Dread(dataset_, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    for (std::size_t i = 0; i < 100; ++i)
        EXPECT_LE(std::abs(read[i] - (i >= 35 && i < 45 ? 1.5F : fill)), 1e-3) << i;
}

TEST_F(Hdf5, parameters_that_cannot_be_are_refused_with_the_reason) {
    EXPECT_FALSE(create(H5T_IEEE_F32LE, {100}, {40}, {0, 9, 1, 3}));
    EXPECT_NE(errors_.find("bound kind 9 is none of"), std::string::npos) << errors_;
    H5Premove_filter(list_, k_id);
    EXPECT_FALSE(create(H5T_IEEE_F32LE, {100}, {40}, {0, 1, 0, 3}));
    EXPECT_NE(errors_.find("cd_values"), std::string::npos) << errors_;
}

TEST_F(Hdf5, a_filter_before_ours_makes_a_bound_impossible_but_lossless_not) {
    H5Pset_shuffle(list_);
    EXPECT_FALSE(create(H5T_IEEE_F32LE, {100}, {40}, {0, 1, 1, 3}));
    EXPECT_NE(errors_.find("make this the first filter"), std::string::npos) << errors_;
    H5Premove_filter(list_, k_id);
    H5Pset_fletcher32(list_);
    const auto values = field({100}, 4);
    ASSERT_TRUE(create(H5T_NATIVE_DOUBLE, {100}, {40}, {}));
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
    reopen();
    std::vector<double> read(100);
    ASSERT_GE(H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    EXPECT_EQ(largest_error(values, read), 0);
}

TEST_F(Hdf5, filters_may_follow_ours) {
    const auto values = field({30, 30}, 5);
    const Words user = {0, 1, 1, 3};
    H5Pset_filter(list_, k_id, H5Z_FLAG_MANDATORY, user.size(), user.data());
    H5Pset_fletcher32(list_);
    const Dims dims = {30, 30};
    H5Pset_chunk(list_, 2, dims.data());
    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
    dataset_ = H5Dcreate2(file_, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list_, H5P_DEFAULT);
    H5Sclose(space);
    ASSERT_GE(dataset_, 0);
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
    reopen();
    std::vector<double> read(900);
    ASSERT_GE(H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    EXPECT_LE(largest_error(values, read), 1e-3);
}

TEST_F(Hdf5, a_damaged_chunk_is_an_error_of_the_read) {
    const auto values = field({64, 64}, 6);
    ASSERT_TRUE(create(H5T_NATIVE_DOUBLE, {64, 64}, {64, 64}, {0, 1, 1, 3}));
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
    reopen();
    const Dims origin = {0, 0};
    hsize_t bytes = 0;
    ASSERT_GE(H5Dget_chunk_storage_size(dataset_, origin.data(), &bytes), 0);
    std::vector<unsigned char> chunk(bytes);
    std::uint32_t mask = 0;
#if H5_VERSION_GE(2, 0, 0)
    ASSERT_GE(H5Dread_chunk1(dataset_, H5P_DEFAULT, origin.data(), &mask, chunk.data()), 0);
#else
    ASSERT_GE(H5Dread_chunk(dataset_, H5P_DEFAULT, origin.data(), &mask, chunk.data()), 0);
#endif
    chunk[chunk.size() / 2] ^= 1;
    ASSERT_GE(H5Dwrite_chunk(dataset_, H5P_DEFAULT, 0, origin.data(), bytes, chunk.data()), 0);
    reopen();
    std::vector<double> read(values.size());
    EXPECT_LT(H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    chunk[chunk.size() / 2] ^= 1;
    ASSERT_GE(H5Dwrite_chunk(dataset_, H5P_DEFAULT, 0, origin.data(), bytes, chunk.data()), 0);
    reopen();
    EXPECT_GE(H5Dread(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    EXPECT_LE(largest_error(values, read), 1e-3);
}

}  // namespace
}  // namespace caesura::hdf5
