// Messages as bytes: they come back, and anything else is an error or a message, never a crash.
#include "transit/messages.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "transit/message_fields.hpp"
#include "transit/message_samples.hpp"
#include "transit/object_fields.hpp"

namespace caesura::transit {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t k_client_kinds = std::variant_size_v<ClientMessage>;
constexpr std::size_t k_service_kinds = std::variant_size_v<ServiceMessage>;

Result<ClientMessage> parse_as(const ClientMessage&, std::span<const std::byte> bytes,
                               std::uint64_t payload_bytes) {
    return parse_client(bytes, payload_bytes);
}
Result<ServiceMessage> parse_as(const ServiceMessage&, std::span<const std::byte> bytes,
                                std::uint64_t payload_bytes) {
    return parse_service(bytes, payload_bytes);
}

/// As a peer would send it that checks nothing.
template <class M>
Bytes unchecked(const M& message) {
    FieldWriter writer(M::k_kind);
    fields(writer, message);
    EXPECT_TRUE(writer.error().ok()) << writer.error().message();
    return writer.take();
}

template <class Message>
Bytes encoded(const Message& message) {
    auto bytes = encode(message);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    return bytes.ok() ? *bytes : Bytes();
}

template <class Message>
void expect_comes_back(const Message& message) {
    const Bytes bytes = encoded(message);
    const auto back = parse_as(message, bytes, payload_bytes_of(message));
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_TRUE(*back == message) << "kind " << message.index();
    ASSERT_EQ(encoded(*back), bytes) << "kind " << message.index();
}

/// Calls call(message, bytes) for samples and a few random messages of each kind.
template <class Call>
void for_many(std::uint64_t seed, Call call) {
    for (const ClientMessage& m : client_samples()) call(m, encoded(m));
    for (const ServiceMessage& m : service_samples()) call(m, encoded(m));
    RandomMessages random(seed);
    for (int i = 0; i < 5; ++i) {
        for (std::size_t k = 0; k < k_client_kinds; ++k) {
            const ClientMessage m = random.client(k);
            call(m, encoded(m));
        }
        for (std::size_t k = 0; k < k_service_kinds; ++k) {
            const ServiceMessage m = random.service(k);
            call(m, encoded(m));
        }
    }
}

TEST(Messages, samples_have_one_of_each_kind) {
    ASSERT_EQ(client_samples().size(), k_client_kinds);
    ASSERT_EQ(service_samples().size(), k_service_kinds);
    for (std::size_t k = 0; k < k_client_kinds; ++k) EXPECT_EQ(client_samples()[k].index(), k);
    for (std::size_t k = 0; k < k_service_kinds; ++k) EXPECT_EQ(service_samples()[k].index(), k);
}

// Goal: parse(encode(m)) == m, and the bytes are the same again.
TEST(Messages, come_back_whatever_they_say) {
    for (const ClientMessage& m : client_samples()) expect_comes_back(m);
    for (const ServiceMessage& m : service_samples()) expect_comes_back(m);
    constexpr std::uint64_t k_seed = 2101;
    RandomMessages random(k_seed);
    for (int i = 0; i < 400; ++i) {
        SCOPED_TRACE(fmt::format("seed {} round {}", k_seed, i));
        for (std::size_t k = 0; k < k_client_kinds; ++k) expect_comes_back(random.client(k));
        for (std::size_t k = 0; k < k_service_kinds; ++k) expect_comes_back(random.service(k));
        if (HasFatalFailure()) return;
    }
}

// Goal: no message is the begin of another one, so one that lost its end is noticed.
TEST(Messages, that_are_cut_or_longer_are_refused) {
    for_many(2102, [](const auto& message, const Bytes& good) {
        const std::uint64_t payload = payload_bytes_of(message);
        const std::size_t step = std::max<std::size_t>(1, good.size() / 500);
        for (std::size_t n = 0; n < good.size(); n += n < 200 ? 1 : step) {
            const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
            const auto parsed = parse_as(message, cut, payload);
            ASSERT_FALSE(parsed.ok()) << "kind " << message.index() << " cut to " << n;
            ASSERT_EQ(parsed.status().code(), StatusCode::insufficient_data)
                << parsed.status().message();
        }
        Bytes longer = good;
        longer.push_back(std::byte{0});
        ASSERT_EQ(parse_as(message, longer, payload).status().code(), StatusCode::corrupt);
    });
}

// Goal: one message has one byte form. A changed message says what no other bytes say.
TEST(Messages, with_a_changed_bit_are_refused_or_say_just_that) {
    std::size_t refused = 0, taken = 0;
    for_many(2103, [&](const auto& message, const Bytes& good) {
        for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
            if (bit / 8 > 600) bit += 997;  // of long ones some
            if (bit >= 8 * good.size()) break;
            Bytes bad = good;
            bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            const auto parsed = parse_as(message, bad, payload_bytes_of(message));
            ++(parsed.ok() ? taken : refused);
            if (!parsed.ok()) {
                ASSERT_NE(parsed.status().code(), StatusCode::internal);
                ASSERT_FALSE(parsed.status().message().empty());
                continue;
            }
            ASSERT_FALSE(*parsed == message) << "kind " << message.index() << " bit " << bit;
            ASSERT_EQ(encoded(*parsed), bad) << "kind " << message.index() << " bit " << bit;
        }
    });
    EXPECT_GT(refused, 10000u);
    EXPECT_GT(taken, 10000u);
}

// Goal: numbers at their ends, wherever they stand, are refused or taken at their word.
TEST(Messages, with_any_number_at_its_limit_are_refused_or_say_just_that) {
    constexpr std::uint64_t k_numbers[] = {0,
                                           1,
                                           0x7fffffff,
                                           0xffffffff,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0xffffffffffffffff,
                                           0x7ff0000000000000 /* infinity */};
    for_many(2104, [&](const auto& message, const Bytes& good) {
        for (std::size_t at = 1; at < std::min<std::size_t>(good.size(), 600); ++at)
            for (const std::size_t width : {1u, 4u, 8u})
                for (const std::uint64_t number : k_numbers) {
                    if (at + width > good.size()) continue;
                    Bytes bad = good;
                    base::put_little(&bad[at], number, width);
                    const auto parsed = parse_as(message, bad, payload_bytes_of(message));
                    if (parsed.ok()) {
                        ASSERT_EQ(encoded(*parsed), bad);
                    }
                }
    });
}

TEST(Messages, with_another_payload_than_they_say_are_refused) {
    for_many(2105, [](const auto& message, const Bytes& bytes) {
        const std::uint64_t said = payload_bytes_of(message);
        for (const std::uint64_t other : {said + 1, said - 1, said ^ (std::uint64_t{1} << 32)})
            ASSERT_EQ(parse_as(message, bytes, other).status().code(), StatusCode::corrupt);
    });
}

// Goal: what one side has sent cannot be sent back to it.
TEST(Messages, of_the_other_direction_are_no_messages) {
    for (const ClientMessage& m : client_samples())
        EXPECT_EQ(parse_service(encoded(m), payload_bytes_of(m)).status().code(),
                  StatusCode::unsupported);
    for (const ServiceMessage& m : service_samples())
        EXPECT_EQ(parse_client(encoded(m), payload_bytes_of(m)).status().code(),
                  StatusCode::unsupported);
}

TEST(Messages, of_unknown_kinds_are_refused_by_number) {
    EXPECT_EQ(parse_client({}, 0).status().code(), StatusCode::insufficient_data);
    for (unsigned kind = 0; kind < 256; ++kind) {
        if (to_string(static_cast<Kind>(kind)) != "unknown") continue;
        const Bytes bytes{static_cast<std::byte>(kind), std::byte{0}};
        const Status status = parse_client(bytes, 0).status();
        EXPECT_EQ(status.code(), StatusCode::unsupported);
        EXPECT_NE(status.message().find(fmt::format("{}", kind)), std::string::npos);
        EXPECT_EQ(parse_service(bytes, 0).status().code(), StatusCode::unsupported);
    }
}

// Goal: peers of two versions learn that from the first message, whatever else is in it.
TEST(Messages, of_another_version_are_refused_whatever_follows) {
    for (const std::size_t length : {9u, 10u, 200u}) {
        Bytes bytes(length, std::byte{0x55});
        base::put_little(&bytes[1], k_magic, 4);
        base::put_little(&bytes[5], k_protocol_version + 1, 4);
        const auto expect_both_versions = [](const Status& status) {
            EXPECT_EQ(status.code(), StatusCode::unsupported);
            EXPECT_NE(status.message().find(fmt::format("version {}", k_protocol_version + 1)),
                      std::string::npos)
                << status.message();
            EXPECT_NE(status.message().find(fmt::format("version {}", k_protocol_version)),
                      std::string::npos)
                << status.message();
        };
        bytes[0] = static_cast<std::byte>(Kind::hello);
        expect_both_versions(parse_client(bytes, 0).status());
        bytes[0] = static_cast<std::byte>(Kind::welcome);
        expect_both_versions(parse_service(bytes, 0).status());
        bytes[1] ^= std::byte{1};
        EXPECT_EQ(parse_service(bytes, 0).status().code(), StatusCode::corrupt);
    }
    Hello hello;
    hello.version = k_protocol_version + 1;
    EXPECT_EQ(encode(ClientMessage(hello)).status().code(), StatusCode::invalid_argument);
}

// ------------------------------------------------------------------------------- limits

template <class Message>
void expect_refused(const Message& message, const char* word) {
    const auto bytes = encode(message);
    ASSERT_EQ(bytes.status().code(), StatusCode::invalid_argument) << word;
    EXPECT_NE(bytes.status().message().find(word), std::string::npos) << bytes.status().message();
}

TEST(MessageLimits, hold_for_texts_that_mean_something) {
    OpenFile open;
    open.path = std::string(k_path_limit_bytes, 'p');
    expect_comes_back(ClientMessage(open));
    open.path += 'p';
    expect_refused(ClientMessage(open), "path has 4097 of at most 4096");
    BeginDump dump;
    dump.places = {{0, 0, 65536, 64 << 20, 0}};
    dump.manifest = std::string(k_manifest_limit_bytes, 'm');
    expect_comes_back(ClientMessage(dump));
    dump.manifest += 'm';
    expect_refused(ClientMessage(dump), "manifest");
}

// Goal: a field with a long name, or an error of many words, stops nothing.
TEST(MessageLimits, cut_texts_for_people_between_characters) {
    Block block = std::get<Block>(client_samples()[15]);
    for (std::size_t n = k_label_limit_bytes - 8; n < k_label_limit_bytes + 8; ++n) {
        block.label.clear();
        while (block.label.size() < n) block.label += "\xc3\xa9";  // e with an accent
        block.label += " #7";
        const auto back = parse_client(encoded(ClientMessage(block)), block.payload_bytes);
        ASSERT_TRUE(back.ok()) << back.status().message();
        const std::string label = std::get<Block>(*back).label;
        EXPECT_LE(label.size(), k_label_limit_bytes);
        EXPECT_GE(label.size(), std::min(block.label.size(), k_label_limit_bytes - 1));
        EXPECT_TRUE(block.label.ends_with(label));
        EXPECT_TRUE(label.starts_with("\xc3\xa9"));

        std::string words(n + k_reason_limit_bytes - k_label_limit_bytes, 'x');
        words += "\xc3\xa9 and more";
        const Refusal refusal{{StatusCode::io, words}};
        const auto refused = parse_service(encoded(ServiceMessage(refusal)), 0);
        ASSERT_TRUE(refused.ok()) << refused.status().message();
        const std::string reason = std::get<Refusal>(*refused).status.message();
        EXPECT_TRUE(words.starts_with(reason));
        EXPECT_LE(reason.size(), k_reason_limit_bytes);
        EXPECT_FALSE(reason.ends_with("\xc3"));
    }
}

TEST(MessageLimits, hold_for_lists) {
    Block block;
    block.chunk_box = {{0}, {4}};
    block.valid = {4};
    const Piece piece{{{0}, {4}}, {{0}, {4}}, Source::arena, 0};
    block.pieces.assign(k_pieces_limit, piece);
    expect_comes_back(ClientMessage(block));
    block.pieces.push_back(piece);
    expect_refused(ClientMessage(block), "pieces has 1048577 of at most 1048576");
    block.pieces.assign(1, piece);
    block.valid = {1, 1, 1, 1};
    block.chunk_box = {{0, 0, 0, 0}, {1, 1, 1, 1}};
    block.pieces.assign(k_pieces_limit, {block.chunk_box, block.chunk_box, Source::arena, 0});
    expect_refused(ClientMessage(block), "a message has at most");
}

// Goal: a count alone, however large, is an error and not a list.
TEST(MessageLimits, hold_before_a_list_is_made) {
    Finished finished = std::get<Finished>(service_samples()[8]);
    finished.status = {};
    const Bytes good = unchecked(finished);
    constexpr std::size_t k_at = 1 + 8 + 1 + 4;  // kind, request, status
    ASSERT_EQ(base::get_little(&good[k_at], 4), 1u);
    for (const std::uint64_t count : {2ull, 1000000ull, 1048576ull}) {
        Bytes bad = good;
        base::put_little(&bad[k_at], count, 4);
        EXPECT_EQ(parse_service(bad, 0).status().code(), StatusCode::insufficient_data) << count;
    }
    for (const std::uint64_t count : {1048577ull, 0xffffffffull}) {
        Bytes bad = good;
        base::put_little(&bad[k_at], count, 4);
        EXPECT_EQ(parse_service(bad, 0).status().code(), StatusCode::corrupt) << count;
    }
}

// Goal: both sides refuse the same. A sender learns it before he sends; a peer who does not look
// is found out.
template <class M, class Change>
void expect_both_refuse(M message, const char* what, Change change) {
    change(message);
    using Message = std::conditional_t<(static_cast<unsigned>(M::k_kind) >= 128), ServiceMessage,
                                       ClientMessage>;
    const Message one = message;
    const auto sent = encode(one);
    ASSERT_EQ(sent.status().code(), StatusCode::invalid_argument) << what;
    ASSERT_EQ(sent.status().message().find(to_string(M::k_kind)), 0u) << sent.status().message();
    const auto came = parse_as(one, unchecked(message), payload_bytes_of(one));
    ASSERT_EQ(came.status().code(), StatusCode::corrupt) << what;
    ASSERT_EQ(came.status().message(), sent.status().message()) << what;
}

template <class M>
M sample() {
    if constexpr (static_cast<unsigned>(M::k_kind) >= 128) {
        for (const auto& m : service_samples())
            if (std::holds_alternative<M>(m)) return std::get<M>(m);
    } else {
        for (const auto& m : client_samples())
            if (std::holds_alternative<M>(m)) return std::get<M>(m);
    }
    return {};
}

TEST(MessageChecks, of_sessions_and_files_are_the_same_on_both_sides) {
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    const auto hello = [](auto change) { expect_both_refuse(sample<Hello>(), "hello", change); };
    hello([](Hello& m) { m.application = "a\nb"; });
    hello([](Hello& m) { m.rank = 8; });
    hello([](Hello& m) { m.rank = -1; });
    hello([](Hello& m) { m.size = 0, m.rank = 0; });
    hello([](Hello& m) { m.size = (1 << 24) + 1; });
    for (const double weight : {0.0, -1.0, nan, 1001.0})
        hello([&](Hello& m) { m.weight = weight; });
    const auto share = [](auto change) { expect_both_refuse(sample<Share>(), "share", change); };
    share([](Share& m) { m.key.process = 0; });
    share([](Share& m) { m.key.descriptor = -1; });
    share([](Share& m) { m.key.bytes = 63; });
    share([](Share& m) { m.key.bytes = k_arena_limit_bytes + 1; });
    for (const std::string& path : {std::string(), std::string("a\0b", 3)}) {
        expect_both_refuse(sample<OpenFile>(), "open", [&](OpenFile& m) { m.path = path; });
        expect_both_refuse(sample<SyncDirectory>(), "dir", [&](auto& m) { m.path = path; });
    }
    const auto write = [](auto change) { expect_both_refuse(sample<WriteFile>(), "w", change); };
    write([](WriteFile& m) { m.payload_bytes = k_io_limit_bytes + 1; });
    write([](WriteFile& m) { m.offset = k_offset_limit - m.payload_bytes + 1; });
    const auto read = [](auto change) { expect_both_refuse(sample<ReadFile>(), "r", change); };
    read([](ReadFile& m) { m.bytes = k_io_limit_bytes + 1; });
    read([](ReadFile& m) { m.offset = ~std::uint64_t{0}; });
    expect_both_refuse(sample<TruncateFile>(), "truncate",
                       [](TruncateFile& m) { m.bytes = k_offset_limit + 1; });
}

TEST(MessageChecks, of_objects_with_a_chain_are_the_same_on_both_sides) {
    const auto create = [](auto change) {
        expect_both_refuse(sample<CreateObject>(), "c", change);
    };
    create([](CreateObject& m) { m.chain.text.clear(); });  // and a side
    create([](CreateObject& m) { m.chain.text = "zstd\n"; });
    create([](CreateObject& m) { m.bound = absolute(0.5); });
    create([](CreateObject& m) { m.keep = false, m.guest = true; });
    const auto put = [](auto change) { expect_both_refuse(sample<PutRegion>(), "p", change); };
    const std::uint64_t values = 3 * 6 * sizeof(float);
    put([](PutRegion& m) { m.payload_bytes = 0; });
    put([&](PutRegion& m) { m.payload_bytes = chained_limit_bytes(values) + 1; });
    put([&](PutRegion& m) { m.payload_bytes = ~std::uint64_t{0}; });
    put([](PutRegion& m) { m.chained = false; });
    // Its values fit a block; what a chain may make of them does not.
    put([](PutRegion& m) {
        m.box = {{0}, {k_block_limit_bytes / sizeof(float)}};
        m.payload_bytes = k_block_limit_bytes + 1;
    });
    const auto found = [](auto change) { expect_both_refuse(sample<FoundObjects>(), "f", change); };
    found([](FoundObjects& m) { m.objects[0].bound = absolute(0.5); });
    found([](FoundObjects& m) { m.objects[0].chain = {"", ChainSide::service}; });
}

TEST(MessageChecks, of_the_service_are_the_same_on_both_sides) {
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    const auto welcome = [](auto change) { expect_both_refuse(sample<Welcome>(), "w", change); };
    welcome([](Welcome& m) { m.credits_bytes = k_offset_limit + 1; });
    for (const double lease : {0.0, -1.0, nan, 1e10})
        welcome([&](Welcome& m) { m.lease_s = lease; });
    welcome([](Welcome& m) { m.limits.block_bytes = 0; });
    welcome([](Welcome& m) { m.limits.block_bytes = k_block_limit_bytes + 1; });
    welcome([](Welcome& m) { m.limits.io_bytes = 0; });
    welcome([](Welcome& m) { m.limits.io_bytes = k_io_limit_bytes + 1; });
    expect_both_refuse(sample<Refusal>(), "refusal", [](Refusal& m) { m.status = {}; });
    const auto answer = [](auto change) { expect_both_refuse(sample<Answer>(), "a", change); };
    answer([](Answer& m) { m.payload_bytes = k_io_limit_bytes + 1; });
    answer([](Answer& m) { m.status = {StatusCode::io, "no"}; });
    expect_both_refuse(sample<Taken>(), "taken", [](Taken& m) { m.job = k_blocks_limit; });
    expect_both_refuse(sample<Credit>(), "credit", [](Credit& m) { m.bytes = 0; });
    expect_both_refuse(sample<Credit>(), "credit", [](Credit& m) { m.bytes = ~0ull; });
    const auto result = [](auto change) { expect_both_refuse(sample<BlockResult>(), "r", change); };
    result([](BlockResult& m) { m.job = k_blocks_limit; });
    result([](BlockResult& m) { m.stored_bytes = m.payload_bytes = 0; });
    result([](BlockResult& m) { m.stored_bytes = m.payload_bytes = k_block_limit_bytes + 1; });
    result([](BlockResult& m) { m.payload_bytes = 0; });
    result([](BlockResult& m) { m.state = BlockState::written; });
    for (const double value : {-1.0, nan}) {
        result([&](BlockResult& m) { m.max_error = value; });
        result([&](BlockResult& m) { m.compress_s = value; });
    }
    result([](BlockResult& m) { m.statistics.assign(100, std::byte{1}); });
    const auto finished = [](auto change) { expect_both_refuse(sample<Finished>(), "f", change); };
    finished([](Finished& m) { m.records[0].bytes = 0; });
    finished([](Finished& m) { m.records[0].address = 65535; });
    finished([](Finished& m) { m.records[0].address = k_offset_limit; });
    finished([](Finished& m) { m.tails[0].bytes = k_offset_limit; });
    finished([](Finished& m) { m.used_end = k_offset_limit + 1; });
}

// Goal: only forms that a writer would have chosen.
TEST(MessageChecks, know_enums_and_flags) {
    const auto refuses = [](auto message, std::size_t at, std::uint64_t value) {
        Bytes bytes = unchecked(message);
        base::put_little(&bytes[at], value, 1);
        const Status status = parse_client(bytes, 0).status();
        EXPECT_EQ(status.code(), StatusCode::corrupt) << at << " " << value;
    };
    const std::size_t mode = unchecked(sample<OpenFile>()).size() - 2;
    refuses(sample<OpenFile>(), mode, 3);
    refuses(sample<OpenFile>(), mode, 255);
    refuses(sample<OpenFile>(), mode + 1, 4);
    refuses(sample<LockFile>(), 1 + 8 + 4, 2);
    OpenFile open = sample<OpenFile>();
    open.mode = static_cast<base::FileSystem::Mode>(3);
    EXPECT_EQ(encode(ClientMessage(open)).status().code(), StatusCode::invalid_argument);
    Bytes answer = unchecked(Answer{1, Status{StatusCode::io, "x"}, 0, 0});
    answer[9] = std::byte{9};  // one code more than there are
    EXPECT_EQ(parse_service(answer, 0).status().code(), StatusCode::corrupt);
    answer[9] = std::byte{0};  // ok, for a reason
    EXPECT_EQ(parse_service(answer, 0).status().code(), StatusCode::corrupt);
}

}  // namespace
}  // namespace caesura::transit
