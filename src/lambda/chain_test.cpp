#include "lambda/chain.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/whole_file.hpp"
#include "caesura/codec.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

class TestKeys {
  public:
    std::string file(unsigned char fill, std::size_t bytes = Key::k_bytes, mode_t mode = 0600) {
        const std::string path = ::testing::TempDir() + "caesura_key_" +
                                 std::to_string(::getpid()) + "_" + std::to_string(made_++);
        base::put_file(path, std::vector<std::byte>(bytes, std::byte{fill}));
        ::chmod(path.c_str(), mode);
        paths_.push_back(path);
        return path;
    }
    Operator with(unsigned char fill) { return {take(Key::read(file(fill)))}; }
    ~TestKeys() {
        for (const std::string& path : paths_) std::filesystem::remove(path);
    }

  private:
    int made_ = 0;
    std::vector<std::string> paths_;
};

const std::vector<std::string>& lossless_chains() {
    static const std::vector<std::string> all = {"shuffle",
                                                 "lossless",
                                                 "zstd",
                                                 "zstd(level=19)",
                                                 "deflate",
                                                 "deflate(level=1)",
                                                 "caesura",
                                                 "caesura@deflate",
                                                 "aead",
                                                 "shuffle | zstd | aead",
                                                 "shuffle(value_bytes=3) | deflate",
                                                 "caesura | aead",
                                                 "aead | aead",
                                                 "lossless | zstd | shuffle | deflate | lossless"};
    return all;
}

template <class T>
void check_round_trip(const Registry& registry, const std::string& text, const Operator& by,
                      std::mt19937_64& random) {
    auto object = random_object<T>(random_shape(1 + random() % 4, 9, random), random, 0.05);
    object.cut(1 + random() % 3, random);
    const auto chain = Chain::make(registry, text, by);
    ASSERT_TRUE(chain.ok()) << chain.status().message();
    for (std::size_t i = 0; i < object.regions.size(); ++i) {
        RegionView region = object.region(i);
        const auto made = chain->apply(region);
        ASSERT_TRUE(made.ok()) << made.status().message();
        const auto wanted = region.values;
        region.values = {};
        const auto back = restore(registry, *made, region, by);
        ASSERT_TRUE(back.ok()) << back.status().message();
        EXPECT_TRUE(std::equal(back->begin(), back->end(), wanted.begin(), wanted.end())) << text;
    }
}

TEST(Chain, values_come_back_bit_for_bit) {
    const Registry registry;
    TestKeys keys;
    const Operator by = keys.with(1);
    std::mt19937_64 random(101);
    for (const std::string& text : lossless_chains())
        for (int round = 0; round < 10; ++round) {
            check_round_trip<float>(registry, text, by, random);
            check_round_trip<double>(registry, text, by, random);
        }
}

TEST(Chain, a_region_without_values_goes_through_every_chain) {
    const Registry registry;
    TestKeys keys;
    const Operator by = keys.with(1);
    const TestObject<float> none{{3, 0}, {}, {}};
    for (const std::string& text : lossless_chains()) {
        const auto made = take(take(Chain::make(registry, text, by)).apply(none.whole()));
        const auto back = restore(registry, made, none.whole(), by);
        ASSERT_TRUE(back.ok()) << text << ": " << back.status().message();
        EXPECT_TRUE(back->empty());
    }
}

TEST(Chain, bounds_of_every_kind_hold_in_both_variants) {
    const Registry registry;
    std::mt19937_64 random(102);
    const auto object = random_object<float>({30, 40}, random);
    const auto [low, high] = std::minmax_element(object.values.begin(), object.values.end());
    const double range = double{*high} - double{*low};
    struct Case {
        std::string arguments;
        std::function<double(double)> most;
    };
    const std::vector<Case> cases = {
        {"bound=1e-3", [](double) { return 1e-3; }},
        {"bound=1e-3, kind=relative", [&](double) { return 1e-3 * range; }},
        {"bound=1e-2, kind=pointwise_relative", [](double x) { return 1e-2 * std::abs(x); }},
        {"bound=60, kind=psnr", [&](double) { return range; }}};
    for (const Case& one : cases)
        for (const std::string variant :
             {"caesura(", "caesura@deflate(", "caesura(mode=fast, ", "caesura(mode=strong, "}) {
            const auto chain = take(Chain::make(registry, variant + one.arguments + ")", {}));
            const auto made = take(chain.apply(object.whole()));
            EXPECT_LT(made.size(), object.values.size() * 3) << chain.text();
            const auto back = take(restore(registry, made, object.whole(), {}));
            const auto* values = reinterpret_cast<const float*>(back.data());
            for (std::size_t i = 0; i < object.values.size(); ++i)
                ASSERT_LE(std::abs(double{values[i]} - double{object.values[i]}),
                          one.most(double{object.values[i]}))
                    << chain.text();
        }
}

TEST(Chain, a_frame_becomes_values_and_is_coded_anew) {
    const Registry registry;
    std::mt19937_64 random(103);
    const auto object = random_object<double>({20, 20}, random);
    const auto frame = take(compress(object.whole().values, float64, object.shape, lossless()));
    RegionView region = object.whole();
    region.values = frame;
    const auto made = take(take(Chain::make(registry, "decompress | zstd", {})).apply(region));
    EXPECT_EQ(take(read_chain_info(made)).stages, std::vector<std::string>{"zstd"});
    const auto back = take(restore(registry, made, region, {}));
    EXPECT_TRUE(std::equal(back.begin(), back.end(), object.whole().values.begin()));
    region.box.extent = Shape{10, 20};
    EXPECT_EQ(take(Chain::make(registry, "decompress", {})).apply(region).status().code(),
              StatusCode::corrupt);
    EXPECT_FALSE(Chain::make(registry, "zstd | decompress", {}).ok());
}

TEST(Chain, mistakes_are_named) {
    const Registry registry;
    const auto wrong = [&](const char* text) {
        return Chain::make(registry, text, {}).status().message();
    };
    EXPECT_NE(wrong("stats").find("is no transform"), std::string::npos);
    EXPECT_NE(wrong("zstd | aead").find("there is no key"), std::string::npos);
    EXPECT_NE(wrong("caesura(kind=psnr)").find("no bound"), std::string::npos);
    EXPECT_NE(wrong("caesura(bound=-1)").find("-1"), std::string::npos);
    EXPECT_NE(wrong("zstd(level=20)").find("1 to 19"), std::string::npos);
    std::mt19937_64 random(104);
    const auto object = random_object<float>({8}, random);
    const auto chain = take(Chain::make(registry, "zstd | caesura", {}));
    EXPECT_NE(chain.apply(object.whole()).status().message().find("it takes values"),
              std::string::npos);
}

TEST(Aead, a_sealed_region_is_that_region_and_no_other) {
    const Registry registry;
    TestKeys keys;
    const Operator by = keys.with(1);
    std::mt19937_64 random(105);
    const auto object = random_object<float>({8, 8}, random);
    for (const char* text : {"aead", "shuffle | zstd | aead"}) {
        const auto chain = take(Chain::make(registry, text, by));
        const auto made = take(chain.apply(object.whole()));
        EXPECT_NE(made, take(chain.apply(object.whole()))) << "the same nonce twice";
        const auto refused = [&](auto&& change) {
            RegionView other = object.whole();
            change(other);
            return restore(registry, made, other, by).status().code() == StatusCode::corrupt;
        };
        EXPECT_FALSE(refused([](auto&) {}));
        EXPECT_TRUE(refused([](auto& r) { r.object = "rha"; }));
        EXPECT_TRUE(refused([](auto& r) { r.time = 1.25; }));
        EXPECT_TRUE(refused([](auto& r) { r.id = 8; }));
        EXPECT_TRUE(refused([](auto& r) { r.shape = Shape{9, 8}; }));
        EXPECT_TRUE(refused([](auto& r) {
            r.shape = Shape{16, 8};
            r.box.offset = Shape{8, 0};
        }));
        // Owner and tags may change hands.
        EXPECT_FALSE(refused([](auto& r) { r.owner = "other"; }));
        // Every single bit is guarded, the header's included.
        for (std::size_t i = 0; i < made.size(); ++i) {
            auto changed = made;
            changed[i] ^= static_cast<std::byte>(1u << random() % 8);
            EXPECT_FALSE(restore(registry, changed, object.whole(), by).ok()) << text << " " << i;
        }
        EXPECT_NE(restore(registry, made, object.whole(), keys.with(2))
                      .status()
                      .message()
                      .find("another key"),
                  std::string::npos);
        EXPECT_EQ(restore(registry, made, object.whole(), {}).status().code(),
                  StatusCode::invalid_argument);
    }
}

TEST(Key, comes_only_from_a_file_of_32_bytes_that_nobody_else_may_read) {
    TestKeys keys;
    const auto why = [](const std::string& path) { return Key::read(path).status().message(); };
    EXPECT_TRUE(Key::read(keys.file(1)).ok());
    EXPECT_TRUE(Key::read(keys.file(1, 32, 0400)).ok());
    EXPECT_NE(why(keys.file(1, 32, 0640)).find("mode 640"), std::string::npos);
    EXPECT_NE(why(keys.file(1, 31)).find("has 31 bytes"), std::string::npos);
    EXPECT_NE(why(::testing::TempDir()).find("no plain file"), std::string::npos);
    EXPECT_EQ(Key::read("/nowhere/key").status().code(), StatusCode::io);
    const std::string link = keys.file(1) + ".link";
    std::filesystem::create_symlink(keys.file(1), link);
    EXPECT_FALSE(Key::read(link).ok());
    std::filesystem::remove(link);
    if (::geteuid() == 0) {
        const std::string foreign = keys.file(1);
        ASSERT_EQ(::chown(foreign.c_str(), 65534, 65534), 0);
        EXPECT_NE(why(foreign).find("belongs to user 65534"), std::string::npos);
    }
    const auto first = take(Key::read(keys.file(1))), second = take(Key::read(keys.file(2)));
    EXPECT_NE(first->id(), second->id());
    EXPECT_EQ(first->id(), take(Key::read(keys.file(1)))->id());
}

// What comes back may come from anywhere: values of the right length, or an error.
TEST(Chain, any_bytes_are_values_or_an_error) {
    const Registry registry;
    TestKeys keys;
    const Operator by = keys.with(1);
    std::mt19937_64 random(106);
    std::vector<std::vector<std::byte>> outputs;
    const auto object = random_object<float>({6, 7}, random);
    for (const std::string& text : lossless_chains()) {
        outputs.push_back(take(take(Chain::make(registry, text, by)).apply(object.whole())));
        const auto& good = outputs.back();
        for (std::size_t n = 0; n < good.size(); ++n)
            EXPECT_FALSE(restore(registry, std::span(good).first(n), object.whole(), by).ok() &&
                         text != "shuffle")
                << text << " " << n;
    }
    int restored = 0;
    for (int round = 0; round < 60000; ++round) {
        auto bytes = mutated(outputs[random() % outputs.size()], random);
        if (random() % 3 == 0) bytes = mutated(std::move(bytes), random);
        const auto values = restore(registry, bytes, object.whole(), by);
        if (!values.ok()) {
            EXPECT_NE(values.status().code(), StatusCode::internal) << values.status().message();
            continue;
        }
        ++restored;
        ASSERT_EQ(values->size(), object.values.size() * 4);
    }
    EXPECT_GT(restored, 100);
}

}  // namespace
}  // namespace caesura::lambda
