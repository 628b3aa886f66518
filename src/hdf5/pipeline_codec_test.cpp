// Goal: chunks through filters as an application has set them are what stock HDF5 reads back to
// the last bit, each filter that made nothing of a chunk skipped by its mask; what cannot be run
// is said.
#include "hdf5/pipeline_codec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <random>

#include "hdf5/known_filters.hpp"
#include "hdf5/test_plugins.hpp"

namespace caesura::hdf5 {
namespace {

constexpr unsigned k_deflate = 1, k_shuffle = 2, k_fletcher32 = 3, k_szip = 4;
const Shape k_chunk{16, 50};
constexpr unsigned k_seed = 20251126;

/// The filters as HDF5 keeps them: with what their set_local has made of the parameters.
std::vector<FilterSpec> kept_filters(hid_t dataset) {
    const hid_t creation = H5Dget_create_plist(dataset);
    std::vector<FilterSpec> filters;
    for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
        std::array<unsigned, 32> values{};
        std::size_t n = values.size();
        unsigned flags = 0, config = 0;
        const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &n,
                                               values.data(), 0, nullptr, &config);
        filters.push_back({.id = static_cast<unsigned>(id),
                           .optional = (flags & H5Z_FLAG_OPTIONAL) != 0,
                           .cd_values = {values.begin(), values.begin() + n}});
    }
    H5Pclose(creation);
    return filters;
}

std::vector<std::int32_t> values_of(bool noise) {
    std::mt19937_64 random(k_seed);
    std::vector<std::int32_t> values(k_chunk.count());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>(noise ? random() : 7 * i + random() % 3);
    return values;
}

class PipelineCodecInFile : public testing::Test {
  protected:
    void SetUp() override {
        (void)find_test_plugins();
        path_ = testing::TempDir() + fmt::format("caesura_pipeline_{}.h5", getpid());
        creation_ = H5Pcreate(H5P_DATASET_CREATE);
        const std::array<hsize_t, 2> chunk{k_chunk[0], k_chunk[1]};
        H5Pset_chunk(creation_, 2, chunk.data());
    }
    void TearDown() override {
        H5Pclose(creation_);
        std::filesystem::remove(path_);
    }
    /// One chunk of values through the codec into a file and back by HDF5.
    /// @param expected_mask  of filters that are to be skipped.
    void round_trip(bool noise, std::uint32_t expected_mask) {
        const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const std::array<hsize_t, 2> dims{k_chunk[0], k_chunk[1]};
        const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
        hid_t dataset =
            H5Dcreate2(file, "d", H5T_NATIVE_INT32, space, H5P_DEFAULT, creation_, H5P_DEFAULT);
        ASSERT_GE(dataset, 0);
        const auto codec = make_block_codec(pipeline_spec(kept_filters(dataset)), DType::int32,
                                            k_chunk, lossless());
        ASSERT_TRUE(codec.ok()) << codec.status().message();
        EXPECT_EQ((*codec)->pipeline().size(), kept_filters(dataset).size());
        const auto values = values_of(noise);
        const auto block = (*codec)->encode(std::as_bytes(std::span(values)), k_chunk);
        ASSERT_TRUE(block.ok()) << block.status().message();
        EXPECT_EQ(block->filter_mask, expected_mask);
        const std::array<hsize_t, 2> begin{};
        ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, block->filter_mask, begin.data(),
                                 block->bytes.size(), block->bytes.data()),
                  0);
        H5Dclose(dataset);  // it remembers the mask that chunks had before
        dataset = H5Dopen2(file, "d", H5P_DEFAULT);
        std::vector<std::int32_t> read(values.size()), decoded(values.size());
        ASSERT_GE(H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()),
                  0);
        EXPECT_EQ(read, values);
        ASSERT_TRUE((*codec)
                        ->decode(block->bytes, block->filter_mask,
                                 std::as_writable_bytes(std::span(decoded)))
                        .ok());
        EXPECT_EQ(decoded, values);
        H5Dclose(dataset);
        H5Sclose(space);
        H5Fclose(file);
    }

    std::string path_;
    hid_t creation_ = H5I_INVALID_HID;
};

TEST_F(PipelineCodecInFile, deflate_alone_is_read_by_stock_hdf5) {
    for (const unsigned level : {0U, 1U, 6U, 9U}) {
        H5Premove_filter(creation_, H5Z_FILTER_ALL);
        H5Pset_deflate(creation_, level);
        round_trip(false, 0);
    }
}

TEST_F(PipelineCodecInFile, shuffle_deflate_and_checksum_are_read_by_stock_hdf5) {
    H5Pset_shuffle(creation_);
    H5Pset_deflate(creation_, 4);
    H5Pset_fletcher32(creation_);
    round_trip(false, 0);
}

// Goal: no mask. HDF5 forgets to change one where it stores a chunk anew at the same length.
TEST_F(PipelineCodecInFile, a_chunk_that_does_not_shrink_goes_through_all_filters) {
    H5Pset_shuffle(creation_);
    round_trip(true, 0);
    H5Pset_deflate(creation_, 4);
    round_trip(true, 0);
    H5Pset_fletcher32(creation_);
    round_trip(true, 0);
}

TEST_F(PipelineCodecInFile, a_plugin_may_make_a_chunk_a_little_longer) {
    CAESURA_NEEDS_PLUGINS();
    const unsigned level = 3;
    H5Pset_filter(creation_, k_zstd_id, H5Z_FLAG_MANDATORY, 1, &level);
    round_trip(true, 0);
}

TEST_F(PipelineCodecInFile, a_plugin_behind_shuffle_is_read_by_stock_hdf5) {
    CAESURA_NEEDS_PLUGINS();
    const unsigned level = 3;
    H5Pset_shuffle(creation_);
    H5Pset_filter(creation_, k_zstd_id, H5Z_FLAG_MANDATORY, 1, &level);
    round_trip(false, 0);
}

TEST(PipelineCodec, says_which_filter_threads_cannot_run) {
    for (const unsigned id : {k_deflate, k_shuffle, k_fletcher32}) EXPECT_TRUE(can_run(id).ok());
    EXPECT_EQ(can_run(k_szip).code(), StatusCode::unsupported);
    EXPECT_NE(can_run(k_szip).message().find("filter 4"), std::string::npos);
    constexpr unsigned k_nobodys = 65000;
    EXPECT_EQ(can_run(k_nobodys).code(), StatusCode::unsupported);
}

TEST(PipelineCodec, exact_blocks_leave_out_what_may_be_lossy) {
    CAESURA_NEEDS_PLUGINS();
    const std::vector<unsigned> accuracy = {3, 0, 0, 0x3fe00000, 0, 0};  // within 0.5
    auto probe = make_block_codec({.name = "filter:32013", .cd_values = accuracy}, DType::float32,
                                  k_chunk, lossless());
    ASSERT_TRUE(probe.ok()) << probe.status().message();
    const std::vector<FilterSpec> zfp = {
        {.id = k_zfp_id, .optional = true, .cd_values = (*probe)->pipeline()[0].cd_values}};
    EXPECT_FALSE(is_lossless(zfp[0]));
    const auto codec = make_block_codec(pipeline_spec(zfp), DType::float32, k_chunk, lossless());
    ASSERT_TRUE(codec.ok()) << codec.status().message();
    std::vector<float> values(k_chunk.count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01F * static_cast<float>(i);
    const auto bytes = std::as_bytes(std::span(values));
    const auto lossy = (*codec)->encode(bytes, k_chunk);
    const auto exact = (*codec)->encode_exactly(bytes, k_chunk);
    ASSERT_TRUE(lossy.ok() && exact.ok());
    EXPECT_EQ(lossy->filter_mask, 0u);
    EXPECT_LT(lossy->bytes.size(), bytes.size() / 2);
    EXPECT_EQ(exact->filter_mask, 1u);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), exact->bytes.begin(), exact->bytes.end()));
}

TEST(PipelineCodec, words_that_are_no_pipeline_are_an_error) {
    for (const std::vector<unsigned>& words : std::vector<std::vector<unsigned>>{
             {}, {1}, {1, 1}, {1, 1, 2, 6}, {1, 1, 0xffffffff, 6}, {1, 1, 1, 6, 7}}) {
        CodecSpec spec = pipeline_spec({});
        spec.cd_values = words;
        EXPECT_EQ(make_block_codec(spec, DType::int32, k_chunk, lossless()).status().code(),
                  StatusCode::invalid_argument);
    }
}

}  // namespace
}  // namespace caesura::hdf5
