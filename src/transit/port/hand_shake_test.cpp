// Goal: only who knows the secret gets through, whatever else he sends, and both ends then have the
// same keys for each direction and other ones for each connection.
#include "transit/port/hand_shake.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

namespace caesura::transit {
namespace {

using Bytes = std::vector<std::byte>;

Secret secret_of(char c) {
    const std::string text(32, c);
    return *Secret::of(std::as_bytes(std::span(text)));
}

HandShake::Self self_of(char c, bool trusted = false) { return {secret_of(c), "me", trusted}; }

struct Both {
    HandShake asks{HandShake::Role::asks, self_of('a')};
    HandShake answers{HandShake::Role::answers, self_of('a')};
    Bytes said[4];
    // To the end, or to where it fails.
    Status run() {
        said[0] = asks.hello();
        auto challenge = answers.answer(said[0]);
        if (!challenge.ok()) return challenge.status();
        auto proof = asks.answer(said[1] = *challenge);
        if (!proof.ok()) return proof.status();
        auto welcome = answers.answer(said[2] = *proof);
        if (!welcome.ok()) return welcome.status();
        return asks.answer(said[3] = *welcome).status();
    }
};

TEST(HandShake, gives_both_ends_the_same_keys_and_each_connection_its_own) {
    Both one, other;
    ASSERT_TRUE(one.run().ok());
    ASSERT_TRUE(other.run().ok());
    EXPECT_TRUE(one.asks.done() && one.answers.done());
    EXPECT_EQ(one.asks.other_token(), one.answers.own_token());
    EXPECT_EQ(one.answers.other_token(), one.asks.own_token());
    const Bytes text(100, std::byte{5});
    const auto tag = [&](const Seal& seal) { return seal.tag(Seal::Use::data, 3, text); };
    EXPECT_EQ(tag(one.asks.outgoing()), tag(one.answers.incoming()));
    EXPECT_EQ(tag(one.asks.incoming()), tag(one.answers.outgoing()));
    EXPECT_NE(tag(one.asks.incoming()), tag(one.asks.outgoing()));
    EXPECT_NE(tag(one.asks.outgoing()), tag(other.asks.outgoing()));
    const Seal seal = one.asks.outgoing();
    EXPECT_NE(tag(seal), seal.tag(Seal::Use::head, 3, text));
    EXPECT_NE(tag(seal), seal.tag(Seal::Use::data, 4, text));
}

TEST(HandShake, refuses_who_does_not_know_the_secret_and_tells_him_nothing) {
    Both both;
    both.asks = HandShake(HandShake::Role::asks, self_of('b'));
    const Status status = both.run();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.message();
    EXPECT_FALSE(both.answers.done());
    EXPECT_TRUE(both.said[3].empty());
}

// A false service gets no further than the proof that it cannot answer.
TEST(HandShake, refuses_a_service_that_does_not_know_the_secret) {
    HandShake client(HandShake::Role::asks, self_of('a'));
    HandShake fake(HandShake::Role::answers, self_of('b'));
    const auto challenge = fake.answer(client.hello());
    const auto proof = client.answer(*challenge);
    ASSERT_TRUE(proof.ok());
    EXPECT_FALSE(fake.answer(*proof).ok());
    Bytes welcome = *proof;
    welcome[0] = std::byte{4};
    const auto last = client.answer(welcome);  // its own proof, sent back
    EXPECT_EQ(last.status().code(), StatusCode::invalid_argument);
    EXPECT_FALSE(client.done());
}

TEST(HandShake, takes_no_message_twice_or_of_another_connection) {
    Both first, second;
    ASSERT_TRUE(first.run().ok());
    HandShake answers(HandShake::Role::answers, self_of('a'));
    ASSERT_TRUE(answers.answer(first.said[0]).ok());   // a recorded hello gets a challenge,
    EXPECT_FALSE(answers.answer(first.said[2]).ok());  // the recorded proof does not fit it
    HandShake again(HandShake::Role::answers, self_of('a'));
    ASSERT_TRUE(again.answer(first.said[0]).ok());
    EXPECT_FALSE(again.answer(first.said[0]).ok());
    EXPECT_FALSE(first.asks.answer(first.said[3]).ok());
    EXPECT_FALSE(second.asks.answer(first.said[1]).ok()) << "before it has said hello";
}

TEST(HandShake, refuses_a_side_that_trusts_the_network_alone_and_other_versions) {
    Both both;
    both.asks = HandShake(HandShake::Role::asks, self_of('a', true));
    const Status status = both.run();
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    EXPECT_NE(status.message().find("trusted_network"), std::string::npos);
    HandShake asks(HandShake::Role::asks, self_of('a'));
    HandShake answers(HandShake::Role::answers, self_of('a'));
    Bytes hello = asks.hello();
    hello[17 + 4] = std::byte{9};
    EXPECT_EQ(answers.answer(hello).status().code(), StatusCode::unsupported);
}

// Every bit of every message counts: flipped or cut anywhere, nobody gets through.
TEST(HandShake, fails_when_a_message_is_changed_or_cut_anywhere) {
    const std::size_t lengths[] = {17 + 8 + 1 + 16 + 32 + 3, 17 + 8 + 1 + 16 + 32 + 3, 49, 49};
    for (int message = 0; message < 4; ++message)
        for (std::size_t at = 0; at < lengths[message]; ++at)
            for (const bool cut : {false, true}) {
                Both both;
                const auto spoil = [&](int i, Bytes bytes) {
                    if (i != message) return bytes;
                    EXPECT_EQ(bytes.size(), lengths[message]);
                    if (cut)
                        bytes.resize(at);
                    else
                        bytes[at] ^= std::byte{0x10};
                    return bytes;
                };
                auto next = both.answers.answer(spoil(0, both.asks.hello()));
                if (next.ok()) next = both.asks.answer(spoil(1, *next));
                if (next.ok()) next = both.answers.answer(spoil(2, *next));
                if (next.ok()) next = both.asks.answer(spoil(3, *next));
                // The token in front only says whom a message is for; the port looks at it.
                const bool routing = !cut && at >= 1 && at < 17 && message >= 2;
                EXPECT_EQ(next.ok(), routing) << message << " " << at << " " << cut;
            }
}

TEST(HandShake, survives_random_messages) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 20000; ++i) {
        HandShake answers(HandShake::Role::answers, self_of('a'));
        Bytes bytes(random() % 200);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        if (!bytes.empty() && i % 2 == 0) bytes[0] = static_cast<std::byte>(1 + random() % 5);
        EXPECT_FALSE(answers.answer(bytes).ok());
        (void)HandShake::receiver_of(bytes);
        (void)HandShake::refusal_in(bytes);
        EXPECT_FALSE(Greeting::decode(bytes).ok());
    }
}

TEST(HandShake, greetings_come_back_as_they_were_and_cut_ones_do_not) {
    Greeting greeting{{}, "name \n", Bytes(100, std::byte{3}), ""};
    fill_with_random(greeting.token);
    const Bytes bytes = greeting.encode();
    const auto back = Greeting::decode(bytes);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->token, greeting.token);
    EXPECT_EQ(back->identity, "name ?");
    EXPECT_EQ(back->worker, greeting.worker);
    for (std::size_t n = 0; n < bytes.size(); ++n)
        EXPECT_FALSE(Greeting::decode(std::span(bytes).first(n)).ok());
    Bytes more = bytes;
    more.push_back(std::byte{0});
    EXPECT_FALSE(Greeting::decode(more).ok());
}

// --------------------------------------------------------------------------- the file

class SecretFile : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + "caesura_secret_" + std::to_string(::getpid());
    void write(const std::string& text, int mode = 0600) const {
        std::ofstream(path_) << text;
        ASSERT_EQ(::chmod(path_.c_str(), static_cast<mode_t>(mode)), 0);
    }
    void TearDown() override { ::unlink(path_.c_str()); }
    StatusCode code() const { return Secret::read(path_).status().code(); }
};

TEST_F(SecretFile, is_read_if_only_its_owner_may) {
    write(std::string(40, 'x') + "\r\n ");
    const auto secret = Secret::read(path_);
    ASSERT_TRUE(secret.ok()) << secret.status().message();
    const std::string text(40, 'x');
    const auto same_one = Secret::of(std::as_bytes(std::span(text)));
    EXPECT_EQ(authenticate(secret->key(), "t", {}), authenticate(same_one->key(), "t", {}));
    for (const int mode : {0640, 0604, 0620, 0602, 0610}) {
        write(std::string(40, 'x'), mode);
        EXPECT_EQ(code(), StatusCode::invalid_argument) << mode;
    }
    EXPECT_NE(Secret::read(path_).status().message().find("chmod 600"), std::string::npos);
}

TEST_F(SecretFile, is_refused_if_it_is_short_long_missing_or_no_file) {
    EXPECT_EQ(code(), StatusCode::io);
    write(std::string(31, 'x') + "\n\n");
    EXPECT_EQ(code(), StatusCode::invalid_argument);
    write(std::string(5000, 'x'));
    EXPECT_EQ(code(), StatusCode::invalid_argument);
    ::unlink(path_.c_str());
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(code(), StatusCode::invalid_argument);
    if (::geteuid() != 0) return;
    ::unlink(path_.c_str());
    write(std::string(40, 'x'));
    ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_EQ(code(), StatusCode::invalid_argument) << "another user's";
}

// Of FIPS 180: that the library does what its name says.
TEST(Digests, are_the_published_ones) {
    const auto hex = [](const Digest& digest) {
        std::string text;
        for (const std::byte byte : digest) {
            char two[3];
            std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(byte));
            text += two;
        }
        return text;
    };
    const std::string abc = "abc";
    EXPECT_EQ(hex(sha256(std::as_bytes(std::span(abc)), {})),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace caesura::transit
