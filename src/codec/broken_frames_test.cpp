// Broken frames of every kind: each truncation and each changed byte is an error while the checksum
// is on, and at worst wrong values within the array's bounds while it is off.
#include <gtest/gtest.h>

#include "codec/golden_cases.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

/// As the format says: flag off, the field 0.
Bytes without_checksum(Bytes frame) {
    if (frame.size() < 16) return frame;
    frame[5] &= ~std::byte{1};
    for (std::size_t i = 8; i < 16; ++i) frame[i] = std::byte{0};
    return frame;
}

struct Tables {
    TableSet rans = golden_tables(Entropy::rans);
    TableSet huffman = golden_tables(Entropy::huffman);
    const TableSet* of(const GoldenCase& one) const {
        if (!one.shared_tables) return nullptr;
        return one.options.entropy == Entropy::rans ? &rans : &huffman;
    }
};

/// Decode between two guards; they must survive whatever the frame says.
Status decode_guarded(std::span<const std::byte> frame, std::size_t raw_bytes,
                      const TableSet* tables) {
    constexpr std::size_t k_guard = 256;
    Bytes memory(raw_bytes + 2 * k_guard, std::byte{0xa5});
    // Exactly the frame's bytes on the heap, so that a sanitizer sees a read past them.
    const Bytes copy(frame.begin(), frame.end());
    const Status status = decompress(copy, std::span(memory).subspan(k_guard, raw_bytes), tables);
    for (std::size_t i = 0; i < k_guard; ++i) {
        EXPECT_EQ(memory[i], std::byte{0xa5});
        EXPECT_EQ(memory[k_guard + raw_bytes + i], std::byte{0xa5});
    }
    return status;
}

class BrokenFrames : public testing::TestWithParam<GoldenCase> {
  protected:
    void SetUp() override {
        const TableSet* set = tables();
        if (set != nullptr && set->entropy() != GetParam().options.entropy)
            GTEST_SKIP() << "this entropy stage trains no tables";
    }
    static void SetUpTestSuite() { tables_ = new Tables; }
    static void TearDownTestSuite() { delete tables_; }
    const TableSet* tables() const { return tables_->of(GetParam()); }
    static Tables* tables_;
};
Tables* BrokenFrames::tables_ = nullptr;

TEST_P(BrokenFrames, truncated_anywhere_they_are_errors) {
    const GoldenCase& one = GetParam();
    const auto frame = one.compressed(tables());
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    ASSERT_TRUE(decode_guarded(*frame, one.values.size(), tables()).ok());
    const Bytes bare = without_checksum(*frame);
    ASSERT_TRUE(decode_guarded(bare, one.values.size(), tables()).ok());
    for (std::size_t length = 0; length < frame->size(); ++length) {
        EXPECT_FALSE(
            decode_guarded(std::span(*frame).first(length), one.values.size(), tables()).ok());
        // Sections have sizes, so even without a checksum nothing is taken for whole.
        EXPECT_FALSE(
            decode_guarded(std::span(bare).first(length), one.values.size(), tables()).ok())
            << length;
    }
}

TEST_P(BrokenFrames, with_any_byte_changed_they_are_errors_or_without_checksum_harmless) {
    const GoldenCase& one = GetParam();
    GoldenCase with_checksum = one;
    with_checksum.options.checksum = true;
    auto frame = with_checksum.compressed(tables());
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    Bytes bare = without_checksum(*frame);
    GoldenNoise noise(frame->size());
    for (std::size_t at = 0; at < frame->size(); ++at) {
        for (const unsigned flip : {1U, 0x80U, 1U + static_cast<unsigned>(noise.next() % 255)}) {
            const auto mask = static_cast<std::byte>(flip);
            (*frame)[at] ^= mask;
            EXPECT_FALSE(decode_guarded(*frame, one.values.size(), tables()).ok()) << at;
            (*frame)[at] ^= mask;
            bare[at] ^= mask;
            const Status status = decode_guarded(bare, one.values.size(), tables());
            EXPECT_NE(status.code(), StatusCode::internal) << status.message();
            const auto info = read_frame_info(bare);
            if (info.ok()) {
                EXPECT_GE(info->slabs, 1U);
            }
            bare[at] ^= mask;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, BrokenFrames, testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(BrokenFrames, missing_and_wrong_tables_are_named) {
    const Tables tables;
    for (const GoldenCase& one : golden_cases()) {
        if (!one.shared_tables || tables.of(one)->entropy() != one.options.entropy) continue;
        const auto frame = one.compressed(tables.of(one));
        ASSERT_TRUE(frame.ok());
        const auto info = read_frame_info(*frame);
        ASSERT_TRUE(info.ok());
        EXPECT_EQ(info->table_set_id, tables.of(one)->id());
        const Status missing = decode_guarded(*frame, one.values.size(), nullptr);
        EXPECT_EQ(missing.code(), StatusCode::invalid_argument);
        const TableSet trained_on_nothing = TableStatistics(one.options.entropy).train();
        const TableSet* other = &trained_on_nothing;
        ASSERT_NE(other->id(), info->table_set_id);
        const Status wrong = decode_guarded(*frame, one.values.size(), other);
        EXPECT_EQ(wrong.code(), StatusCode::invalid_argument);
        EXPECT_NE(wrong.message().find(missing.message().substr(0, 20)), std::string::npos);
    }
}

}  // namespace
}  // namespace caesura::codec
