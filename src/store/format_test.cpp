// The bytes on disk: pinned, exact after a round trip, and nothing damaged is accepted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "store/journal.hpp"
#include "store/manifest.hpp"
#include "store/object_header.hpp"
#include "store/overlay.hpp"
#include "store/region_format.hpp"
#include "store/region_writer.hpp"
#include "store/scan.hpp"
#include "store/store_fixture.hpp"

namespace caesura::store {
namespace {

RunId format_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(i);
    return run;
}

std::string hex(std::span<const std::byte> bytes) {
    std::string out;
    for (const std::byte b : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    return out;
}

RegionHeader sample_header() { return {7, 3, 1 << 20, 1 << 16, 65536, 10, 0x0123456789abcdef}; }
ChunkRecord sample_record() { return {3, 2, 1, 5, (1 << 20) + 192, 1000, 0xfedcba9876543210}; }

TEST(Format, region_header_bytes_are_pinned) {
    EXPECT_EQ(hex(encode_region_header(sample_header(), format_run())),
              "8a4341455352470a0100000007000000000102030405060708090a0b0c0d0e0f"
              "0300000000000000000010000000000000000100000000000000010000000000"
              "0a00000000000000efcdab896745230100000000000000000000000000000000"
              "000000000000000000000000000000000000000000000000c529f68bf58f94bd");
}

TEST(Format, block_prefix_bytes_are_pinned) {
    EXPECT_EQ(hex(encode_block_prefix(sample_record(), run_tag(format_run()))),
              "8a43424b01000000db7017f6a6e3558303000000000000000500000000000000"
              "e8030000000000001032547698badcfe02000000010000001167509ad23ec52a");
}

CommitRecord sample_commit() {
    CommitRecord commit;
    commit.sequence = 9, commit.file_end = 1 << 30, commit.metadata_bytes = 12345;
    for (const std::uint64_t dump : {0, 1, 2, 5, 9, 8}) EXPECT_TRUE(commit.add(dump).ok());
    return commit;
}

TEST(Format, file_header_bytes_are_pinned) {
    EXPECT_EQ(hex(encode_file_header(format_run())),
              "8a43414553464c0a0100000000000000000102030405060708090a0b0c0d0e0f0014000000000000"
              "00200000000000000000010000000000000000000000000000000000000000000000000000000000"
              "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
              "f82ec7e0e75efe6a");
}

TEST(Format, commit_record_bytes_are_pinned) {
    const std::string bytes = hex(encode_commit_record(sample_commit(), format_run()));
    const std::string begin =
        "8a43414553434d0a0100000003000000000102030405060708090a0b0c0d0e0f0900000000000000"
        "00000040000000003930000000000000000000000000000000000000000000000300000000000000"
        "0500000000000000060000000000000008000000000000000a000000000000000000000000000000"
        "0000000000000000";
    const std::string checksum = "ec80c1dfd3a6cb45";
    EXPECT_EQ(bytes, begin + std::string(6144U - begin.size() - checksum.size(), '0') + checksum);
}

TEST(Format, journal_bytes_are_pinned) {
    const std::vector<Extent> overwrites{{96, {std::byte{1}, std::byte{2}}},
                                         {4096, {std::byte{3}}}};
    const auto payload = encode_journal_payload(overwrites);
    EXPECT_EQ(hex(payload),
              "60000000000000000200000000000000010200000000000000100000000000000100000000000000"
              "0300000000000000");
    EXPECT_EQ(hex(encode_journal(format_run(), 9, 1 << 20, payload)),
              "8a434145534a4e0a0100000000000000000102030405060708090a0b0c0d0e0f0900000000000000"
              "00001000000000003000000000000000d1827ad0bd3f144300000000000000000000000000000000"
              "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
              "1a705e961d7be989");
}

TEST(Format, manifest_bytes_are_pinned) {
    DumpManifest manifest;
    manifest.dump = 3, manifest.iteration = 120;
    manifest.root = {{"openPMD", std::string("1.1.0")}};
    manifest.groups = {{"/data/120", {{"time", 0.5}, {"steps", std::uint64_t{7}}}}};
    manifest.datasets = {{"/data/120/meshes/rho",
                          float64,
                          {4, 6},
                          {2, 3},
                          {{322, 0, {0, 1, 1, 3}}},
                          {{"unitSI", 1.0}, {"position", std::vector<double>{0.0, 0.5}}}}};
    EXPECT_EQ(encode_manifest(manifest),
              R"({"datasets":[{"attributes":[["unitSI",{"float64":1.0}],["position",)"
              R"({"float64s":[0.0,0.5]}]],)"
              R"("chunk":[2,3],)"
              R"("dtype":"float64",)"
              R"("path":"/data/120/meshes/rho",)"
              R"("pipeline":[{"cd_values":[0,1,1,3],"id":322,"name":"","optional":false}],)"
              R"("shape":[4,6]}],)"
              R"("dump":3,)"
              R"("groups":[{"attributes":[["time",{"float64":0.5}],["steps",{"uint64":7}]],)"
              R"("path":"/data/120"}],)"
              R"("iteration":120,)"
              R"("root":[["openPMD",{"string":"1.1.0"}]],)"
              R"("version":1})");
}

TEST(Format, records_survive_a_round_trip) {
    const auto header = decode_region_header(encode_region_header(sample_header(), format_run()),
                                             format_run(), sample_header().address);
    EXPECT_EQ(header, sample_header());
    const std::uint64_t tag = run_tag(format_run());
    EXPECT_EQ(decode_block_prefix(encode_block_prefix(sample_record(), tag), tag,
                                  sample_record().address - k_block_prefix_bytes),
              sample_record());
    EXPECT_EQ(*decode_file_header(encode_file_header(format_run()), "x"), format_run());
    EXPECT_EQ(
        decode_commit_record(encode_commit_record(sample_commit(), format_run()), format_run()),
        sample_commit());
}

template <class Bytes, class Decode>
void expect_every_flip_refused(const Bytes& good, Decode decode) {
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        auto bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        ASSERT_FALSE(decode(bad)) << "bit " << bit;
    }
}

TEST(Format, any_flipped_bit_makes_a_record_invalid) {
    const std::uint64_t tag = run_tag(format_run());
    expect_every_flip_refused(encode_region_header(sample_header(), format_run()), [](auto& b) {
        return decode_region_header(b, format_run(), sample_header().address).has_value();
    });
    expect_every_flip_refused(encode_block_prefix(sample_record(), tag), [&](auto& b) {
        return decode_block_prefix(b, tag, sample_record().address - 64).has_value();
    });
    expect_every_flip_refused(encode_file_header(format_run()),
                              [](auto& b) { return decode_file_header(b, "x").ok(); });
}

TEST(Format, a_record_is_only_valid_at_its_own_address_and_in_its_own_run) {
    const auto header = encode_region_header(sample_header(), format_run());
    EXPECT_FALSE(decode_region_header(header, format_run(), sample_header().address + 4096));
    EXPECT_FALSE(decode_region_header(header, RunId{}, sample_header().address));
    const auto prefix = encode_block_prefix(sample_record(), run_tag(format_run()));
    const std::uint64_t at = sample_record().address - 64;
    EXPECT_FALSE(decode_block_prefix(prefix, run_tag(format_run()), at + 8));
    EXPECT_FALSE(decode_block_prefix(prefix, run_tag(RunId{}), at));
}

// Goal: whatever a header says, a scan goes forward and ends.
TEST(Format, a_region_that_would_leave_the_address_space_is_none) {
    for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 4095}) {
        RegionHeader header = sample_header();
        header.bytes = bytes;
        EXPECT_FALSE(decode_region_header(encode_region_header(header, format_run()), format_run(),
                                          header.address));
    }
}

TEST(Format, commit_record_joins_intervals_and_says_when_it_is_full) {
    CommitRecord record;
    std::vector<std::uint64_t> dumps(100);
    for (std::size_t i = 0; i < dumps.size(); ++i) dumps[i] = i;
    std::mt19937 random(11);
    std::shuffle(dumps.begin(), dumps.end(), random);
    for (const std::uint64_t dump : dumps) ASSERT_TRUE(record.add(dump).ok());
    EXPECT_EQ(record.dumps, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 100}}));
    EXPECT_EQ(record.count(), 100u);
    Status status;
    std::uint64_t next = 200;
    for (; status.ok() && next < 2000; next += 2) status = record.add(next);
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    EXPECT_GT(record.dumps.size(), 150u);
    EXPECT_EQ(decode_commit_record(encode_commit_record(record, format_run()), format_run()),
              record);
}

TEST(Format, manifest_survives_a_round_trip) {
    DumpManifest manifest;
    manifest.dump = std::uint64_t{1} << 63;
    manifest.iteration = 77;
    manifest.root = {{"a", std::int64_t{-1}}, {"b", std::uint64_t{18446744073709551615u}}};
    manifest.groups = {{"/g",
                        {{"d", 0.1},
                         {"f", 0.1f},
                         {"tiny", 5e-324},
                         {"inf", -HUGE_VAL},
                         {"s", std::string("quote \" and \\ and \n")},
                         {"latin", std::string("\xe9\xff")},
                         {"ds", std::vector<double>{1e300, HUGE_VAL}},
                         {"us", std::vector<std::uint64_t>{1, 18446744073709551615u}},
                         {"is", std::vector<std::int64_t>{-1, INT64_MAX}},
                         {"none", std::vector<double>{}},
                         {"ss", std::vector<std::string>{"", "\xc3\xa9", "\xff"}}}}};
    manifest.groups.push_back({"/g/none", {{"shape", std::vector<std::uint64_t>{0}}}, complex64});
    manifest.datasets = {{"/g/x",
                          float64,
                          {1, 2, 3, 4},
                          {1, 1, 1, 1},
                          {{32024, false, {1, 4294967295u}, "name"}},
                          {{"u", 1.0}}},
                         {"/g/y", float32, {9}, {2}, {}, {}}};
    manifest.arrays = {{"/g/n", std::vector<std::uint64_t>{3, 18446744073709551615u}, {}},
                       {"/g/p", std::vector<double>{-0.5, HUGE_VAL}, {{"unitSI", 2.0}}}};
    const std::string text = encode_manifest(manifest);
    auto back = decode_manifest(text);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, manifest);
    EXPECT_EQ(encode_manifest(*back), text);
}

TEST(Format, a_damaged_manifest_is_refused_or_another_manifest_but_never_a_crash) {
    std::mt19937 random(5);
    DumpManifest manifest;
    manifest.groups = {{"/g", {{"x", 1.0}, {"y", std::vector<std::string>{"a"}}}}};
    manifest.datasets = {{"/g/x", float64, {8}, {4}, {{1, true, {6}, "deflate"}}, {}}};
    const std::string good = encode_manifest(manifest);
    for (std::size_t n = 0; n < good.size(); ++n)
        EXPECT_FALSE(decode_manifest(good.substr(0, n)).ok()) << n;
    for (int trial = 0; trial < 3000; ++trial) {
        std::string bad = good;
        for (int i = 0; i < 2; ++i) bad[random() % bad.size()] = static_cast<char>(random() % 128);
        (void)decode_manifest(bad);
    }
    EXPECT_FALSE(decode_manifest("[]").ok());
    EXPECT_FALSE(decode_manifest("{\"version\": 2}").ok());
}

// Goal: in a region with slots a scan finds blocks in any slot, in whatever order they were
// written, goes past empty ones, and finds the region behind; a damaged table hides that region's
// blocks only.
TEST(Slots, are_found_by_their_table_and_may_stay_empty) {
    const TemporaryPath path("caesura_slots");
    auto file = SharedFile::create(base::FileSystem::posix(), path.str(), format_run());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto offsets = slot_offsets(std::vector<std::uint64_t>{1000, 2001, 500, 0}, 0);
    ASSERT_EQ(offsets.size(), 5u);
    EXPECT_EQ(offsets[1] - offsets[0], 64u + 1000u);
    EXPECT_EQ(offsets[2] - offsets[1], 64u + 2008u);
    EXPECT_EQ(offsets[4] - offsets[3], 64u);
    const std::uint64_t begin = first_region_address(), bytes = 3 * k_region_alignment;
    RegionWriter slots(*file, {0, 7, begin, bytes, 0}, "", offsets);
    EXPECT_EQ(slots.free_bytes(), 0u);
    EXPECT_EQ(slots.slot_bytes(0), 1000u);
    EXPECT_EQ(slots.slot_bytes(3), 0u);
    EXPECT_EQ(slots.slot_bytes(4), 0u);
    const std::vector<std::byte> large(1001, std::byte{1}), small(500, std::byte{2});
    std::vector<ChunkRecord> records;
    const BlockView too_large{0, 0, 9, large, 0};
    EXPECT_EQ(slots.write({&too_large, 1}, records).code(), StatusCode::invalid_argument);
    const std::vector<BlockView> blocks = {{0, 0, 5, small, 2}, {1, 0, 3, large, 1}};
    ASSERT_TRUE(slots.write(blocks, records).ok());
    const auto [tail, tail_bytes] = slots.tail();
    EXPECT_EQ(tail, begin + k_region_alignment);
    RegionWriter behind(*file, {0, 8, tail, tail_bytes, begin}, "");
    const BlockView plain{0, 0, 1, small};
    ASSERT_TRUE(behind.write({&plain, 1}, records).ok());

    const std::uint64_t end = *file->file().size();
    const auto found = scan_regions(file->file(), format_run(), end);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].blocks, (std::vector<ChunkRecord>{records[1], records[0]}));
    EXPECT_EQ((*found)[1].blocks, (std::vector<ChunkRecord>{records[2]}));
    for (const ChunkRecord& record : records) EXPECT_TRUE(*is_intact(file->file(), record));

    const std::byte wrong{0xff};
    ASSERT_TRUE(file->file().write_at(begin + k_region_header_bytes + 9, {&wrong, 1}).ok());
    const auto damaged = scan_regions(file->file(), format_run(), end);
    ASSERT_EQ(damaged->size(), 2u);
    EXPECT_TRUE((*damaged)[0].blocks.empty());
    EXPECT_EQ((*damaged)[1].blocks.size(), 1u);
}

TEST(Format, metadata_checksum_is_hdf5s) {
    // The published check values of lookup3's hashlittle with initial value 0.
    EXPECT_EQ(metadata_checksum({}), 0xdeadbeefu);
    const std::string_view text = "Four score and seven years ago";
    EXPECT_EQ(metadata_checksum(std::as_bytes(std::span(text))), 0x17770551u);
}

TEST(Overlay, reads_what_was_written_last_like_an_array) {
    std::mt19937 random(3);
    constexpr std::size_t k_size = 600;
    std::vector<std::byte> model(k_size), base(k_size, std::byte{0xee});
    model = base;
    std::vector<bool> written(k_size, false);
    Overlay overlay;
    for (int step = 0; step < 3000; ++step) {
        const std::size_t begin = random() % k_size;
        const std::size_t bytes = random() % std::min<std::size_t>(k_size - begin, 40) + 1;
        std::vector<std::byte> data(bytes);
        for (std::byte& b : data) b = static_cast<std::byte>(random() % 256);
        if (step % 50 == 0) {  // start again, so that there are gaps
            overlay = Overlay();
            model = base;
            written.assign(k_size, false);
        }
        overlay.write(begin, data);
        std::copy(data.begin(), data.end(), model.begin() + static_cast<std::ptrdiff_t>(begin));
        std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(begin), bytes, true);
        auto seen = base;
        overlay.read(0, seen);
        ASSERT_TRUE(seen == model) << step;
        const std::size_t at = random() % k_size, n = random() % (k_size - at) + 1;
        const auto from = written.begin() + static_cast<std::ptrdiff_t>(at);
        ASSERT_EQ(overlay.covers(at, n), std::all_of(from, from + static_cast<std::ptrdiff_t>(n),
                                                     [](bool b) { return b; }));
        std::size_t total = 0;
        std::uint64_t end = 0;
        for (const Extent& extent : overlay.extents(0, k_size)) {
            ASSERT_TRUE(total == 0 || extent.address > end);  // merged
            end = extent.end();
            total += extent.bytes.size();
        }
        ASSERT_EQ(total,
                  static_cast<std::size_t>(std::count(written.begin(), written.end(), true)));
        ASSERT_EQ(overlay.end(), end);
    }
}

}  // namespace
}  // namespace caesura::store
