#include <gtest/gtest.h>

#include <random>

#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_profile_seed = 20221119;

Profile example() {
    Profile profile;
    profile.host_class = "some-processor-16";
    profile.processor = "Some \"Processor\" \xff @ 3 GHz";
    profile.cores = 16;
    profile.created = "2026-11-20T12:00:00+00:00";
    CompressCurve sz3;
    sz3.low_bytes_per_s = 101.7e6 / 3.0;
    CompressCurve ours;
    ours.form = CompressCurve::Form::points;
    ours.bits = {0.1, 2.0, 1.0e1 / 3.0 + 7.0};
    ours.s_per_byte = {1e-10, 2e-10 / 3.0 * 4.0, 1e-9};
    ours.per_block_s = 1.0 / 7000.0;
    profile.compress = {{"sz3", "", float32, sz3, 0.04, 30},
                        {"caesura", "fast", float64, ours, 0.02, 60}};
    profile.write = {{"ext4", true, {1.0 / 300.0, {0.0, 1e6}, {1e-9, 2e-9 / 3.0}}, 0.1, 24}};
    return profile;
}

TEST(Profile, is_read_back_exactly_as_written) {
    const Profile profile = example();
    const std::string text = to_json(profile);
    const auto read = parse_profile(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(to_json(*read), text);
    EXPECT_EQ(read->host_class, profile.host_class);
    EXPECT_EQ(read->cores, 16);
    const CompressCurve* ours = read->find("caesura", "fast", float64);
    ASSERT_NE(ours, nullptr);
    EXPECT_EQ(ours->bits, profile.compress[1].curve.bits);
    EXPECT_EQ(ours->s_per_byte, profile.compress[1].curve.s_per_byte);
    EXPECT_EQ(ours->per_block_s, profile.compress[1].curve.per_block_s);
    EXPECT_EQ(read->find("sz3", "", float32)->low_bytes_per_s, 101.7e6 / 3.0);
    EXPECT_EQ(read->find_write("ext4", true)->predict_s(3e6),
              profile.write[0].curve.predict_s(3e6));
    EXPECT_EQ(read->find("caesura", "fast", float32), nullptr);
    EXPECT_EQ(read->find("caesura", "strong", float64), nullptr);
    EXPECT_EQ(read->find_write("lustre", true), nullptr);
    EXPECT_EQ(read->find_write("ext4", false), nullptr);
}

TEST(Profile, of_another_version_or_kind_is_refused_with_what_to_do) {
    std::string text = to_json(example());
    const std::string version = "\"version\": 1";
    ASSERT_NE(text.find(version), std::string::npos);
    text.replace(text.find(version), version.size(), "\"version\": 7");
    const Status later = parse_profile(text).status();
    EXPECT_EQ(later.code(), StatusCode::unsupported);
    EXPECT_NE(later.message().find("version 7"), std::string::npos) << later.message();
    EXPECT_NE(later.message().find("caesura calibrate"), std::string::npos);
    for (const char* other : {"{}", "[]", "3", "null", "{\"format\": 5}", "{\"format\": \"x\"}"}) {
        const Status status = parse_profile(other).status();
        EXPECT_FALSE(status.ok()) << other;
        EXPECT_NE(status.message().find("caesura calibrate"), std::string::npos) << other;
    }
}

// Goal: cut off at any byte, or with any byte changed, a profile is refused or still usable; never
// a crash.
TEST(Profile, survives_any_damage) {
    RecordProperty("seed", static_cast<int>(k_profile_seed));
    std::mt19937 random(k_profile_seed);
    const std::string text = to_json(example());
    for (std::size_t length = 0; length + 2 < text.size(); ++length)
        EXPECT_EQ(parse_profile(text.substr(0, length)).status().code(), StatusCode::corrupt);
    for (int round = 0; round < 3000; ++round) {
        std::string broken = text;
        for (unsigned i = 0, n = 1 + random() % 3; i < n; ++i)
            broken[random() % broken.size()] = static_cast<char>(random());
        const auto read = parse_profile(broken);
        if (!read.ok()) {
            EXPECT_FALSE(read.status().message().empty());
            continue;
        }
        for (const auto& entry : read->compress) EXPECT_TRUE(check(entry.curve).ok());
        for (const auto& entry : read->write) EXPECT_TRUE(check(entry.curve).ok());
    }
}

TEST(Profile, with_a_curve_that_cannot_be_is_refused_by_name) {
    const auto message_with = [](const std::string& from, const std::string& to) {
        std::string text = to_json(example());
        EXPECT_NE(text.find(from), std::string::npos) << from;
        text.replace(text.find(from), from.size(), to);
        const Status status = parse_profile(text).status();
        EXPECT_EQ(status.code(), StatusCode::corrupt);
        return status.message();
    };
    EXPECT_NE(message_with("\"exponent\": -1.716", "\"exponent\": 2").find("compress[0]"),
              std::string::npos);
    EXPECT_NE(message_with("\"form\": \"points\"", "\"form\": \"spline\"").find("spline"),
              std::string::npos);
    EXPECT_NE(message_with("\"dtype\": \"float64\"", "\"dtype\": \"int8\"").find("int8"),
              std::string::npos);
    EXPECT_NE(message_with("\"synced\": true", "\"synced\": 1").find("write[0]"),
              std::string::npos);
    EXPECT_NE(message_with("\"write\": [", "\"writes\": [").find("write"), std::string::npos);
}

// Goal: a model that starts from a profile predicts what the profile measured, mode by mode.
TEST(Profile, gives_models_their_starting_points) {
    const Profile profile = example();
    const CompressModel sz3("sz3", float32, &profile);
    EXPECT_TRUE(sz3.calibrated());
    EXPECT_DOUBLE_EQ(sz3.predict_s(1 << 23, 5.0),
                     profile.compress[0].curve.predict_s(1 << 23, 5.0));
    for (const char* name : {"caesura", "caesura:fast"}) {
        const CompressModel ours(name, float64, &profile);
        EXPECT_TRUE(ours.calibrated()) << name;
        EXPECT_DOUBLE_EQ(ours.predict_s(1 << 23, 5.0, Mode::fast),
                         profile.compress[1].curve.predict_s(1 << 23, 5.0))
            << name;
    }
    const CompressModel single("caesura", float32, &profile);
    EXPECT_FALSE(single.calibrated());
    EXPECT_EQ(single.predict_s(1 << 23, 5.0, Mode::fast),
              CompressModel("caesura", float32).predict_s(1 << 23, 5.0, Mode::fast));
    const WriteModel writes(*profile.find_write("ext4", true));
    EXPECT_DOUBLE_EQ(writes.predict_s(3'000'000), profile.write[0].curve.predict_s(3e6));
}

}  // namespace
}  // namespace caesura::predict
