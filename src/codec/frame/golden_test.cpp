// Golden files: frames of version 1 as they were first written. Readers must read them for ever.
// Writers may get better, but one input gives the same bytes on every instruction set.
//
// CAESURA_WRITE_GOLDEN=1 writes those of tests/golden and tests/fuzz/corpus that are missing.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "codec/bundle/bundle.hpp"
#include "codec/frame/frame.hpp"
#include "codec/frame/golden_cases.hpp"
#include "codec/frame/verify.hpp"
#include "codec/integers/integer_part.hpp"
#include "codec/test_targets.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;
namespace fs = std::filesystem;

const fs::path k_golden = CAESURA_GOLDEN_DIR;
const fs::path k_corpus = CAESURA_CORPUS_DIR;

Bytes read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

void write_missing(const fs::path& path, std::span<const std::byte> bytes) {
    if (fs::exists(path)) return;
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.good()) << path;
}

std::string checksum_of(std::span<const std::byte> bytes) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
    return text;
}

/// decoded.txt: a line per file, its name and the checksum of the bytes that it decodes to.
std::map<std::string, std::string> read_checksums() {
    std::map<std::string, std::string> checksums;
    std::ifstream in(k_golden / "decoded.txt");
    std::string name, value;
    while (in >> name >> value) checksums[name] = value;
    return checksums;
}

std::vector<GoldenCase> all_cases() {
    auto cases = golden_cases();
    for (GoldenCase& one : golden_slab_cases()) cases.push_back(std::move(one));
    return cases;
}

TableSet stored_tables() {
    const auto set = TableSet::parse(read_file(k_golden / "tables.bin"));
    EXPECT_TRUE(set.ok()) << set.status().message();
    return set.ok() ? *set : TableSet();
}

void write_golden() {
    write_missing(k_golden / "tables.bin", golden_tables().bytes());
    const TableSet tables = stored_tables();
    const auto known = read_checksums();
    std::ofstream index(k_golden / "decoded.txt", std::ios::app);
    for (const GoldenCase& one : all_cases()) {
        if (known.count(one.name) != 0) continue;
        const auto frame = one.compressed(&tables);
        ASSERT_TRUE(frame.ok()) << one.name << ": " << frame.status().message();
        Bytes decoded(one.values.size());
        ASSERT_TRUE(decompress(*frame, decoded, one.shared_tables ? &tables : nullptr).ok());
        write_missing(k_golden / (one.name + ".cae"), *frame);
        index << one.name << " " << checksum_of(decoded) << "\n";
    }
}

/// Boxes of three quantities one after the other, and two members that take turns.
void write_bundles() {
    std::vector<float> values(180);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(0.1F * static_cast<float>(i));
    const std::vector<BundlePart> boxes = {
        {{6, 5, 4}, absolute(1e-3), 0}, {{40}, lossless(), 2, true}, {{4, 5}, relative(1e-2), 1}};
    const std::vector<BundlePart> members = {{{9, 10}, absolute(1e-2), 0, false, true},
                                             {{9, 10}, lossless(), 1, false, true}};
    const auto write = [&](const char* name, std::span<const BundlePart> parts) {
        const auto bundle = compress_bundle(std::as_bytes(std::span(values)), float32, parts);
        ASSERT_TRUE(bundle.ok()) << bundle.status().message();
        write_missing(k_corpus / name, *bundle);
    };
    write("bundle", boxes);
    write("bundle_interleaved", members);
}

void write_corpus() {
    write_bundles();
    const TableSet tables = stored_tables();
    for (const GoldenCase& one : golden_cases(true)) {
        const auto frame = one.compressed(&tables);
        ASSERT_TRUE(frame.ok()) << one.name << ": " << frame.status().message();
        write_missing(k_corpus / one.name, *frame);
    }
    write_missing(k_corpus / "tables", tables.bytes());
    write_missing(k_corpus / "statistics", TableStatistics().bytes());
}

class Golden : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (std::getenv("CAESURA_WRITE_GOLDEN") == nullptr) return;
        write_golden();
        write_corpus();
    }
};

TEST_F(Golden, files_decode_to_what_they_always_did_on_every_instruction_set) {
    const auto checksums = read_checksums();
    const TableSet tables = stored_tables();
    for_each_target([&](const char* target) {
        SCOPED_TRACE(target);
        for (const GoldenCase& one : all_cases()) {
            SCOPED_TRACE(one.name);
            const Bytes frame = read_file(k_golden / (one.name + ".cae"));
            ASSERT_FALSE(frame.empty());
            const TableSet* given = one.shared_tables ? &tables : nullptr;
            const auto result = verify_frame(frame, one.values, given);
            ASSERT_TRUE(result.ok()) << result.status().message();
            EXPECT_EQ(result->violations, 0u);
            Bytes decoded(one.values.size());
            ASSERT_TRUE(decompress(frame, decoded, given).ok());
            const auto known = checksums.find(one.name);
            ASSERT_NE(known, checksums.end());
            EXPECT_EQ(checksum_of(decoded), known->second);
        }
    });
}

TEST_F(Golden, files_hold_every_kind_of_part_and_coding) {
    // Goal: nobody's change of a case leaves a kind without a file.
    std::set<Mode> modes;
    std::size_t exact = 0, exact_values = 0, shared = 0, inline_tables = 0, slabs = 0;
    for (const GoldenCase& one : all_cases()) {
        const auto info = read_frame_info(read_file(k_golden / (one.name + ".cae")));
        ASSERT_TRUE(info.ok()) << one.name << ": " << info.status().message();
        const bool recoded =
            !info->untyped && (info->dtype == DType::boolean || is_short_float(info->dtype));
        const bool integers = !info->untyped && is_integer(info->dtype);
        if (one.name.starts_with("masked")) {
            EXPECT_EQ(info->version, k_masked_frame_version) << one.name;
            EXPECT_GT(info->missing_values, 0u) << one.name;
        } else if (one.name.starts_with("burst")) {
            // Cut too, in the mode that cuts.
            EXPECT_EQ(info->version, k_adaptive_frame_version) << one.name;
        } else {
            EXPECT_EQ(info->version, recoded ? 4 : integers ? 3 : 1) << one.name;
        }
        exact += info->stored_exactly ? 1 : 0;
        exact_values += info->exact_values;
        shared += info->table_set_id != 0 ? 1 : 0;
        inline_tables += info->inline_tables ? 1 : 0;
        slabs += info->slabs > 1 ? 1 : 0;
        if (!info->stored_exactly) modes.insert(info->mode);
    }
    EXPECT_EQ(modes.size(), 3u);
    EXPECT_GT(exact, 0u);
    EXPECT_GT(exact_values, 0u);
    EXPECT_GT(shared, 0u);
    EXPECT_GT(inline_tables, 0u);
    EXPECT_GT(slabs, 0u);
}

TEST_F(Golden, files_hold_every_form_and_coder_of_integers) {
    std::set<IntegerForm> forms;
    std::set<IntegerCoder> coders;
    std::set<DType> types;
    for (const GoldenCase& one : all_cases()) {
        if (one.untyped_bytes > 0 || !is_integer(one.dtype) || one.dtype == DType::boolean)
            continue;
        const Bytes frame = read_file(k_golden / (one.name + ".cae"));
        const auto layout = read_layout(frame);
        ASSERT_TRUE(layout.ok()) << one.name << ": " << layout.status().message();
        types.insert(layout->header.dtype);
        if (layout->parts[0][0] != static_cast<std::byte>(PartKind::integers)) continue;
        const auto part =
            read_integer_part(layout->parts[0], one.shape.count(), size_of(one.dtype));
        ASSERT_TRUE(part.ok()) << one.name << ": " << part.status().message();
        forms.insert(part->head.transform.form);
        coders.insert(part->head.coder);
    }
    EXPECT_EQ(types.size(), 8u);
    EXPECT_EQ(forms.size(), 3u);
    EXPECT_EQ(coders.size(), 2u);
}

TEST_F(Golden, a_frame_that_names_the_huffman_coder_is_refused_by_name) {
    constexpr std::size_t k_values = 12 * 13 * 14;
    for (const auto& [name, value_bytes] :
         {std::pair("huffman_f32.cae", 4U), std::pair("huffman_f64.cae", 8U)}) {
        SCOPED_TRACE(name);
        const Bytes frame = read_file(k_golden / "refused" / name);
        ASSERT_FALSE(frame.empty());
        Bytes values(k_values * value_bytes);
        for (const Status& status : {read_frame_info(frame).status(), decompress(frame, values)}) {
            EXPECT_EQ(status.code(), StatusCode::unsupported);
            EXPECT_NE(status.message().find("Huffman"), std::string::npos) << status.message();
        }
    }
}

TEST_F(Golden, every_instruction_set_writes_the_same_bytes) {
    std::map<std::string, Bytes> first;
    const TableSet tables = golden_tables();
    for_each_target([&](const char* target) {
        SCOPED_TRACE(target);
        EXPECT_EQ(golden_tables(), tables);
        for (const GoldenCase& one : all_cases()) {
            SCOPED_TRACE(one.name);
            const auto frame = one.compressed(&tables);
            ASSERT_TRUE(frame.ok()) << frame.status().message();
            const auto [known, added] = first.emplace(one.name, *frame);
            EXPECT_TRUE(added || known->second == *frame);
        }
    });
}

}  // namespace
}  // namespace caesura::codec
