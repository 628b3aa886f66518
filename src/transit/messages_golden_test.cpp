// The bytes of messages as version 3 of the protocol has them: one of each kind.
//
// A change of these bytes is another version: k_protocol_version goes up, and tests/golden.sha256
// with it. New kinds that a peer may ignore or refuse one by one add a line here and change none.
//
// CAESURA_WRITE_GOLDEN=1 writes the files of the fuzzer's corpus that are missing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/little_endian.hpp"
#include "transit/message_samples.hpp"

namespace caesura::transit {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

template <class Message>
std::string hex(const Message& message) {
    const auto bytes = encode(message);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    std::string out;
    if (bytes.ok())
        for (const std::byte b : *bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    return out;
}

template <class M>
std::string client() {
    for (const ClientMessage& message : client_samples())
        if (std::holds_alternative<M>(message)) return hex(message);
    return {};
}

template <class M>
std::string service() {
    for (const ServiceMessage& message : service_samples())
        if (std::holds_alternative<M>(message)) return hex(message);
    return {};
}

TEST(TransitBytes, session_bytes_are_pinned) {
    EXPECT_EQ(client<Hello>(),
              "014354524e04000000030000006e79780300000008000000000102030405060708090a0b0c0d0e0f"
              "1211000000000000141300000000000000000040000000000000000000000040");
    EXPECT_EQ(client<Share>(),
              "02101112131415161718191a1b1c1d1e1f6712000000000000090000000000100000000000");
    EXPECT_EQ(client<Heartbeat>(), "03");
    EXPECT_EQ(client<Bye>(), "04");
}

TEST(TransitBytes, file_bytes_are_pinned) {
    EXPECT_EQ(client<OpenFile>(), "1005000000000000000c0000002f646174612f72756e2e68350203");
    EXPECT_EQ(client<CloseFile>(), "11060000000000000002000000");
    EXPECT_EQ(client<WriteFile>(), "120700000000000000020000000010000000000000012c01000000000000");
    EXPECT_EQ(client<ReadFile>(), "1308000000000000000200000000200000000000000002000000000000");
    EXPECT_EQ(client<SyncFile>(), "14090000000000000002000000");
    EXPECT_EQ(client<TruncateFile>(), "150a00000000000000020000000000010000000000");
    EXPECT_EQ(client<SizeOfFile>(), "160b0000000000000002000000");
    EXPECT_EQ(client<LockFile>(), "170c000000000000000200000001");
    EXPECT_EQ(client<UnlockFile>(), "180d0000000000000002000000");
    EXPECT_EQ(client<SyncDirectory>(), "190e000000000000000c0000002f646174612f72756e2e6835");
}

TEST(TransitBytes, dump_bytes_are_pinned) {
    EXPECT_EQ(client<BeginDump>(),
              "200f0000000000000003000000000000000200000078000000000000000200000002000000070000"
              "00030000000000000000000100000000000020000000000000001000000000000007000000030000"
              "0000000000004001000000000000100000000000000000010000000000020000007b7d0100000001"
              "03000000a00000000000000000040000000000000010000000000000010700000003000000000000"
              "00000010000000000000100000000000000000000000000000020000000c00000063616573757261"
              "3a6661737400000000010102020400000000000000060000000000000001000000000000d03f0000"
              "00000101000000000000008087c3c00c00000066696c7465723a3332303234020000000100000002"
              "0000000001010900000000000000000000000000000000000000000000001e40");
    EXPECT_EQ(client<FinishDump>(), "2310000000000000000300000000000000");
    EXPECT_EQ(client<EndSpill>(), "2411000000000000000300000000000000");
    EXPECT_EQ(client<DropDump>(), "2512000000000000000300000000000000");
}

TEST(TransitBytes, block_bytes_are_pinned) {
    EXPECT_EQ(client<Block>(),
              "210300000000000000010000000600000072686f2023350200000005000000000000000202040000"
              "00000000000600000000000000040000000000000006000000000000000400000000000000050000"
              "00000000000200000004000000000000000600000000000000040000000000000002000000000000"
              "00040000000000000006000000000000000400000000000000020000000000000001080000000000"
              "00000400000000000000080000000000000004000000000000000300000000000000000000000000"
              "00000800000000000000090000000000000004000000000000000000100000000000000100010203"
              "040506070100000002000000020400000000000000030000000000000003000000000000e03f0100"
              "00000000010800000000000000000200000001000101000000000000d03f01000000060000000000"
              "00000000e03f4800000000000000");
    EXPECT_EQ(client<StoredBlock>(),
              "220300000000000000000000000600000072686f2023340200000004000000000000000100000001"
              "00000007000000e803000000000000");
}

TEST(TransitBytes, service_bytes_are_pinned) {
    EXPECT_EQ(service<Welcome>(),
              "804354524e0400000000000010000000000000000000001440000000080000000000000004000000"
              "00100000000400000001");
    EXPECT_EQ(service<Refusal>(), "8104020000006e6f");
    EXPECT_EQ(service<ServiceHeartbeat>(), "82");
    EXPECT_EQ(service<Draining>(), "83");
    EXPECT_EQ(service<Answer>(), "900800000000000000000000000002000000000000000002000000000000");
    EXPECT_EQ(service<Taken>(), "a0030000000000000001000000");
    EXPECT_EQ(service<Credit>(), "a10000100000000000");
}

TEST(TransitBytes, result_bytes_are_pinned) {
    EXPECT_EQ(service<BlockResult>(),
              "a203000000000000000100000001e8030000000000000100000001000000000000c03f0101000000"
              "000000e03f0000000003000000637075e803000000000000");
    EXPECT_EQ(service<Finished>(),
              "a31000000000000000050400000066756c6c01000000030000000000000002000000010000000500"
              "0000000000000001010000000000e8030000000000001032547698badcfe01000000001001000000"
              "00000010000000000000001001000000000000");
}

TEST(TransitBytes, object_bytes_are_pinned) {
    EXPECT_EQ(client<DescribeDump>(),
              "3013000000000000000300000000000000000000000000e03f01000000120000002f646174612f31"
              "2f6d65736865732f72686f0202080000000000000006000000000000000200000005000000737461"
              "7473030000006d696e");
    EXPECT_EQ(client<CreateObject>(),
              "3114000000000000000300000072756e0300000072686f0102080000000000000006000000000000"
              "00000000000000d03f000100010000000300000072756e01000000610e00000073687566666c6520"
              "7c207a73746401");
    EXPECT_EQ(client<PutRegion>(),
              "32150000000000000005000000000000000102020000000000000000000000000000000300000000"
              "0000000600000000000000630000000000000001");
    EXPECT_EQ(client<GetRegion>(),
              "33160000000000000005000000000000000201000000000000000200000000000000030000000000"
              "0000040000000000000001");
    EXPECT_EQ(client<DeleteObject>(), "3417000000000000000500000000000000");
    EXPECT_EQ(client<FindObjects>(),
              "3518000000000000000300000072756e02000000722a010000000300000072756e01000000610100"
              "0000000000e03f000000000000f03f01000000000000f0bf000000000000f03f0164000000040000"
              "0000000000");
    EXPECT_EQ(client<RunFunction>(),
              "50190000000000000005000000000000000101010000000000000003000000000000000500000073"
              "74617473");
    EXPECT_EQ(client<ListFunctions>(), "511a00000000000000");
    EXPECT_EQ(client<RunPass>(),
              "521b0000000000000005000000000000000200000001010000000000000003000000000000000104"
              "000000000000000200000000000000020000000708");
    EXPECT_EQ(client<PersistObjects>(),
              "5a1c000000000000000c0000002f646174612f72756e2e6835000000000200000005000000000000"
              "0006000000000000000c000000636165737572613a66617374010000000700000001010101000000"
              "000000e03f");
    EXPECT_EQ(client<AnalyseRegion>(),
              "531d000000000000000500000073746174730a0000006275696c7420696e20310300000072686f05"
              "00000000000000020208000000000000000600000000000000020100000000000000020000000000"
              "000003000000000000000400000000000000000000000000e03f03000000626f6201000000030000"
              "0072756e01000000610200000007086000000000000000");
    EXPECT_EQ(client<ListVersions>(), "541e00000000000000");
    EXPECT_EQ(service<AnalysedRegion>(),
              "d31d000000000000000000000000000000000000e03f000000000000e83f030000006770756f0000"
              "0000000000");
    EXPECT_EQ(service<FoundObjects>(),
              "b0180000000000000000000000000300000000000000020000000000000001010000000500000000"
              "000000010600000072756e2e68350300000072686f02010800000000000000000000000000e03f00"
              "0b0000007a737464207c20616561640003000000626f62010000000300000072756e010000006104"
              "000000000000000100000000000000140000000000000001000000000000f0bf0000000000000040"
              "01000000030000006d696e0100000007010000000104000000000000000400000000000000020100"
              "0000000000f0bf00000000000000401400000000000000");
    EXPECT_EQ(service<FoundInDump>(), "d00300000000000000010000003000000000000000020000000102");
}

// A number that is new is another version: a peer of before says 'corrupt' of it.
TEST(TransitBytes, types_are_pinned) {
    std::string types;
    CreateObject object;
    object.name = "rho";
    object.shape = {4};
    for (unsigned number = 0; number < 256; ++number) {
        object.dtype = static_cast<DType>(number);
        if (const auto bytes = encode(ClientMessage(object)); bytes.ok())
            types += fmt::format("{} {} ", std::to_integer<unsigned>(bytes->at(20)),
                                 to_string(object.dtype));
    }
    EXPECT_EQ(types,
              "1 float32 2 float64 3 int8 4 int16 5 int32 6 int64 7 uint8 8 uint16 9 uint32 "
              "10 uint64 11 bool 12 float16 13 bfloat16 14 complex64 15 complex128 ");
}

// ------------------------------------------------------------------- the fuzzer's corpus

/// Those that say the version are named by it: the ones of before stay, as what is refused.
template <class Message>
std::string name_of(const Message& message) {
    const Kind kind = std::visit([](auto& m) { return m.k_kind; }, message);
    const bool says_version = kind == Kind::hello || kind == Kind::welcome;
    return std::string(to_string(kind)) +
           (says_version ? fmt::format("_{}", k_protocol_version) : std::string());
}

/// What tests/fuzz/transit_fuzz.cpp reads: the payload's length, 4 bytes, and the message.
template <class Message>
void expect_in_corpus(const std::string& name, const Message& message) {
    const auto bytes = encode(message);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    Bytes wanted(4);
    base::put_little(wanted.data(), payload_bytes_of(message), 4);
    wanted.insert(wanted.end(), bytes->begin(), bytes->end());
    const fs::path path = fs::path(CAESURA_TRANSIT_CORPUS_DIR) / name;
    if (!fs::exists(path) && std::getenv("CAESURA_WRITE_GOLDEN") != nullptr) {
        std::ofstream out(path, std::ios::binary);
        out.write(reinterpret_cast<const char*>(wanted.data()),
                  static_cast<std::streamsize>(wanted.size()));
    }
    std::ifstream in(path, std::ios::binary);
    const std::string found((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto view = std::as_bytes(std::span(found));
    EXPECT_TRUE(Bytes(view.begin(), view.end()) == wanted) << path;
}

// Goal: the fuzzer begins from one message of each kind, as it is today.
TEST(TransitCorpus, has_each_kind_of_message) {
    for (const ClientMessage& message : client_samples())
        expect_in_corpus(name_of(message), message);
    for (const ServiceMessage& message : service_samples())
        expect_in_corpus(name_of(message), message);
}

// Goal: to a peer of version 2 the first message says both versions, and nobody is half understood.
TEST(TransitCorpus, has_messages_of_version_2_which_are_refused) {
    for (const char* name : {"hello", "welcome"}) {
        std::ifstream in(fs::path(CAESURA_TRANSIT_CORPUS_DIR) / name, std::ios::binary);
        const std::string file((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
        ASSERT_GT(file.size(), 4u) << name;
        const auto bytes = std::as_bytes(std::span(file)).subspan(4);
        const Status status = std::string_view(name) == "hello" ? parse_client(bytes, 0).status()
                                                                : parse_service(bytes, 0).status();
        EXPECT_EQ(status.code(), StatusCode::unsupported) << name;
        EXPECT_NE(status.message().find("version 2"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("version 4"), std::string::npos) << status.message();
    }
}

// Goal: the fuzzer gets through a table set's and statistics' checksums once. What a codec makes of
// a field may change; then these files stay as they are.
TEST(TransitCorpus, has_tables_and_statistics) {
    for (const char* name : {"begin_dump_tables", "result_statistics"}) {
        const fs::path path = fs::path(CAESURA_TRANSIT_CORPUS_DIR) / name;
        if (!fs::exists(path) && std::getenv("CAESURA_WRITE_GOLDEN") != nullptr) {
            auto dump = std::get<BeginDump>(client_samples()[14]);
            dump.codecs[0].tables = trained_tables();
            auto result = std::get<BlockResult>(service_samples()[7]);
            result.statistics = counted_statistics();
            expect_in_corpus("begin_dump_tables", ClientMessage(dump));
            expect_in_corpus("result_statistics", ServiceMessage(result));
        }
        std::ifstream in(path, std::ios::binary);
        const std::string file((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
        ASSERT_GT(file.size(), 4u) << path;
        const auto bytes = std::as_bytes(std::span(file));
        const std::uint64_t payload = base::get_little(bytes.data(), 4);
        EXPECT_TRUE(parse_client(bytes.subspan(4), payload).ok() ||
                    parse_service(bytes.subspan(4), payload).ok())
            << path;
    }
}

}  // namespace
}  // namespace caesura::transit
