// Broken frames of every kind: each truncation and each changed byte is an error while the checksum
// is on, and at worst wrong values within the array's bounds while it is off.
#include <gtest/gtest.h>

#include "codec/frame/golden_cases.hpp"

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

/// A golden frame, and a tiny one of the same kind where each byte costs a decoding.
struct Pair {
    GoldenCase golden;
    GoldenCase tiny;
};

std::vector<Pair> pairs() {
    const auto golden = golden_cases();
    const auto tiny = golden_cases(true);
    std::vector<Pair> both;
    for (std::size_t i = 0; i < golden.size(); ++i) both.push_back({golden[i], tiny[i]});
    return both;
}

std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.golden; }

class BrokenFrames : public testing::TestWithParam<Pair> {
  protected:
    const TableSet* tables() const {
        static const TableSet trained = golden_tables();
        return GetParam().golden.shared_tables ? &trained : nullptr;
    }
    Bytes frame_of(GoldenCase one) const {
        one.options.checksum = true;
        const auto frame = one.compressed(tables());
        EXPECT_TRUE(frame.ok()) << frame.status().message();
        EXPECT_TRUE(decode_guarded(*frame, one.values.size(), tables()).ok());
        return *frame;
    }
};

TEST_P(BrokenFrames, golden_ones_with_any_byte_missing_or_changed_are_errors) {
    const std::size_t raw_bytes = GetParam().golden.values.size();
    Bytes frame = frame_of(GetParam().golden);
    GoldenNoise noise(frame.size());
    for (std::size_t at = 0; at < frame.size(); ++at) {
        EXPECT_FALSE(decode_guarded(std::span(frame).first(at), raw_bytes, tables()).ok()) << at;
        const auto mask = static_cast<std::byte>(1 + noise.next() % 255);
        frame[at] ^= mask;
        EXPECT_FALSE(decode_guarded(frame, raw_bytes, tables()).ok()) << at;
        frame[at] ^= mask;
    }
}

TEST_P(BrokenFrames, without_checksum_truncated_ones_are_errors_still) {
    const std::size_t raw_bytes = GetParam().tiny.values.size();
    const Bytes bare = without_checksum(frame_of(GetParam().tiny));
    ASSERT_TRUE(decode_guarded(bare, raw_bytes, tables()).ok());
    for (std::size_t length = 0; length < bare.size(); ++length) {
        // Sections have sizes, so nothing that is cut is taken for whole.
        const auto cut = std::span(bare).first(length);
        EXPECT_FALSE(decode_guarded(cut, raw_bytes, tables()).ok()) << length;
    }
}

TEST_P(BrokenFrames, without_checksum_changed_ones_do_no_harm) {
    const std::size_t raw_bytes = GetParam().tiny.values.size();
    Bytes bare = without_checksum(frame_of(GetParam().tiny));
    GoldenNoise noise(bare.size());
    for (std::size_t at = 0; at < bare.size(); ++at) {
        for (const std::uint64_t flip : {std::uint64_t{1}, 1 + noise.next() % 255}) {
            const auto mask = static_cast<std::byte>(flip);
            bare[at] ^= mask;
            const Status status = decode_guarded(bare, raw_bytes, tables());
            EXPECT_NE(status.code(), StatusCode::internal) << status.message();
            bare[at] ^= mask;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, BrokenFrames, testing::ValuesIn(pairs()),
                         [](const auto& test) { return test.param.golden.name; });

TEST(BrokenFrames, missing_and_wrong_tables_are_named) {
    const TableSet tables = golden_tables();
    const TableSet other = TableStatistics().train();
    ASSERT_NE(other.id(), tables.id());
    int tried = 0;
    for (const GoldenCase& one : golden_cases()) {
        if (!one.shared_tables) continue;
        ++tried;
        const auto frame = one.compressed(&tables);
        ASSERT_TRUE(frame.ok());
        const auto info = read_frame_info(*frame);
        ASSERT_TRUE(info.ok());
        EXPECT_EQ(info->table_set_id, tables.id());
        for (const TableSet* given : {static_cast<const TableSet*>(nullptr), &other}) {
            const Status status = decode_guarded(*frame, one.values.size(), given);
            EXPECT_EQ(status.code(), StatusCode::invalid_argument);
            EXPECT_NE(status.message().find("needs table set"), std::string::npos);
        }
    }
    EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace caesura::codec
