#include <gtest/gtest.h>

#include "plan/together_reference.hpp"

namespace caesura::plan {
namespace {

TEST(TogetherFile, every_number_is_read_back_exactly) {
    constexpr unsigned k_together_file_seed = 5;
    std::mt19937_64 random(k_together_file_seed);
    for (int round = 0; round < 50; ++round) {
        const CheckpointProfile profile = random_profile(random, random() % 30);
        const auto again = parse_checkpoint_profile(to_json(profile));
        ASSERT_TRUE(again.ok()) << again.status().message() << " seed " << k_together_file_seed;
        EXPECT_EQ(again->checkpoint_bytes, profile.checkpoint_bytes);
        EXPECT_EQ(again->intervals_s, profile.intervals_s);
        EXPECT_EQ(again->compressed_bytes, profile.compressed_bytes);
        ASSERT_EQ(again->compress_curve.size(), profile.compress_curve.size());
        for (std::size_t i = 0; i < profile.compress_curve.size(); ++i) {
            EXPECT_EQ(again->compress_curve[i].bytes, profile.compress_curve[i].bytes);
            EXPECT_EQ(again->compress_curve[i].seconds, profile.compress_curve[i].seconds);
        }
        EXPECT_EQ(again->link_bytes_per_s, profile.link_bytes_per_s);
        EXPECT_EQ(again->cache_bytes, profile.cache_bytes);
        EXPECT_EQ(again->header_bytes, profile.header_bytes);
        EXPECT_EQ(again->copy_bytes_per_s, profile.copy_bytes_per_s);
    }
}

TEST(TogetherFile, cut_off_anywhere_it_is_an_error_and_never_a_profile) {
    const std::string text = to_json(paper_like(3, 100e9));
    for (std::size_t n = 0; n + 2 < text.size(); ++n)
        EXPECT_FALSE(parse_checkpoint_profile(std::string_view(text).substr(0, n)).ok()) << n;
}

TEST(TogetherFile, what_is_wrong_is_named) {
    const auto says = [](std::string_view from, std::string_view to, StatusCode code,
                         std::string_view what) {
        std::string text = to_json(paper_like(2, 100e9));
        const std::size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        const auto parsed = parse_checkpoint_profile(text);
        ASSERT_FALSE(parsed.ok()) << what;
        EXPECT_EQ(parsed.status().code(), code) << parsed.status().message();
        EXPECT_NE(parsed.status().message().find(what), std::string::npos)
            << parsed.status().message();
    };
    says("caesura-checkpoints", "other", StatusCode::unsupported, "format");
    says("\"version\":1", "\"version\":2", StatusCode::unsupported, "version 2");
    says("\"cache_bytes\"", "\"cash_bytes\"", StatusCode::corrupt, "cache_bytes");
    says("[200000,", "[-200000,", StatusCode::corrupt, "compressed_bytes[0] is -200000");
    says("[200000,", "[2.5,", StatusCode::corrupt, "compressed_bytes[0] is 2.5");
    says("[200000,", "[", StatusCode::corrupt, "2 intervals_s, but 1 compressed_bytes");
    says("\"compress_curve\":[[", "\"compress_curve\":[7,[", StatusCode::corrupt, "compress_curve");
}

}  // namespace
}  // namespace caesura::plan
