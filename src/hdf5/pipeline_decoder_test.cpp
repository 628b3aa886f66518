// Goal: what any of the block codecs has encoded comes back from the pipeline alone, whatever the
// filter mask; what a filter lacks is an error of the chunks that need it.
#include "hdf5/pipeline_decoder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hdf5/test_blocks.hpp"
#include "hdf5/test_plugins.hpp"

namespace caesura::hdf5 {
namespace {

constexpr unsigned k_decoder_seed = 20251125;

/// Are these bytes what the codec itself decodes?
void compare(const BlockCodec& codec, const EncodedBlock& encoded, std::size_t bytes) {
    PluginsByFilter plugins;
    const PipelineDecoder decoder(codec.pipeline(), plugins);
    std::vector<std::byte> expected(bytes), values(bytes);
    ASSERT_TRUE(codec.decode(encoded.bytes, encoded.filter_mask, expected).ok());
    const Status status = decoder.decode(encoded.bytes, encoded.filter_mask, values);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(values, expected);
    if (decoder.stores_values(encoded.filter_mask)) {
        EXPECT_EQ(values, encoded.bytes);
    }
    EXPECT_EQ(decoder.stores_frame(encoded.filter_mask),
              codec.pipeline().size() == 1 && codec.pipeline()[0].id == k_filter_id);
    std::vector<std::byte> short_of(bytes - 1);
    EXPECT_EQ(decoder.decode(encoded.bytes, encoded.filter_mask, short_of).code(),
              StatusCode::corrupt);
}

void round_trips(const std::string& codec, int rounds) {
    std::mt19937_64 random(k_decoder_seed);
    for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(fmt::format("{} round {}", codec, round));
        const TestBlock block = random_block(random, 4000);
        auto made = make_block_codec({.name = codec}, block.dtype, block.chunk, absolute(0.01));
        ASSERT_TRUE(made.ok()) << made.status().message();
        const auto encoded = (*made)->encode(block.bytes, block.valid);
        ASSERT_TRUE(encoded.ok()) << encoded.status().message();
        ASSERT_NO_FATAL_FAILURE(compare(**made, *encoded, block.bytes.size()));
        const auto exactly = (*made)->encode_exactly(block.bytes, block.valid);
        ASSERT_TRUE(exactly.ok()) << exactly.status().message();
        ASSERT_NO_FATAL_FAILURE(compare(**made, *exactly, block.bytes.size()));
    }
}

TEST(PipelineDecoder, takes_back_what_our_codec_and_none_have_encoded) {
    for (const char* codec : {"none", "caesura", "caesura:planes"}) round_trips(codec, 40);
}

TEST(PipelineDecoder, takes_back_what_plugins_have_encoded) {
    CAESURA_NEEDS_PLUGINS();
    for (const char* codec : {"zstd", "zfp", "blosc2", "round+zstd"}) round_trips(codec, 30);
    round_trips("sz3", 6);
}

TEST(PipelineDecoder, a_filter_that_is_not_there_is_missed_by_the_chunks_that_need_it_alone) {
    const std::vector<FilterSpec> pipeline = {{.id = 298, .cd_values = {}},
                                              {.id = 6, .cd_values = {4}, .name = "scaleoffset"}};
    PluginsByFilter plugins;
    const PipelineDecoder decoder(pipeline, plugins);
    const std::vector<std::byte> stored(8, std::byte{7});
    std::vector<std::byte> chunk(8);
    EXPECT_TRUE(decoder.decode(stored, 3, chunk).ok());
    EXPECT_EQ(chunk, stored);
    for (const auto& [mask, what] :
         {std::pair{1u, "HDF5 filter 6 (scaleoffset)"}, std::pair{2u, "HDF5 filter 298"}}) {
        const Status status = decoder.decode(stored, mask, chunk);
        EXPECT_EQ(status.code(), StatusCode::unsupported);
        EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
    }
    EXPECT_EQ(decoder.decode(stored, 7, chunk).code(), StatusCode::corrupt) << "three filters";
}

TEST(PipelineDecoder, our_filter_is_decoded_where_it_is_alone_and_its_values_can_be) {
    const std::vector<FilterSpec> odd = {{.id = k_filter_id, .cd_values = {1, 2, 3, 4, 5, 6, 7}}};
    const std::vector<FilterSpec> two(2, {.id = k_filter_id, .cd_values = {}});
    PluginsByFilter plugins;
    std::vector<std::byte> chunk(8);
    EXPECT_EQ(PipelineDecoder(odd, plugins).decode(chunk, 0, chunk).code(), StatusCode::corrupt);
    EXPECT_EQ(PipelineDecoder(two, plugins).decode(chunk, 0, chunk).code(),
              StatusCode::unsupported);
}

}  // namespace
}  // namespace caesura::hdf5
