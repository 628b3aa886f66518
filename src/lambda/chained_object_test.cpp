// Goal: an object's chain takes back only what went through all of its stages; and which chains a
// file has, too.
#include "lambda/chained_object.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/whole_file.hpp"
#include "lambda/file_codec.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

Operator key_of(unsigned char fill) {
    const std::string path =
        ::testing::TempDir() + "caesura_object_key_" + std::to_string(::getpid());
    base::put_file(path, std::vector<std::byte>(Key::k_bytes, std::byte{fill}));
    ::chmod(path.c_str(), 0600);
    Operator by{take(Key::read(path))};
    std::filesystem::remove(path);
    return by;
}

// Goal: bytes of a chain without the encryption, with other stages before it, or with more behind,
// are never taken for the object's, although each could be undone.
TEST(ChainedObject, takes_no_bytes_that_left_a_stage_out) {
    const Registry functions;
    const Operator by = key_of(1);
    std::mt19937_64 random(301);
    const auto object = random_object<float>({7, 9}, random);
    const RegionView all = object.whole();
    const auto wanted = take(ChainedObject::make(functions, "zstd | aead", by, all));
    const auto made = take(wanted.apply(all.box, all.values));
    const auto back = take(wanted.undo(all.box, made));
    EXPECT_TRUE(std::equal(back.begin(), back.end(), all.values.begin(), all.values.end()));
    for (const char* other : {"zstd", "aead", "aead | zstd", "shuffle | aead", "zstd | aead | aead",
                              "zstd | deflate"}) {
        const auto bytes =
            take(take(ChainedObject::make(functions, other, by, all)).apply(all.box, all.values));
        ASSERT_TRUE(restore(functions, bytes, all, by).ok()) << other;
        const Status status = wanted.undo(all.box, bytes).status();
        EXPECT_EQ(status.code(), StatusCode::corrupt) << other;
        EXPECT_NE(status.message().find("zstd | aead"), std::string::npos) << status.message();
        EXPECT_EQ(wanted.check(all.box, bytes).code(), StatusCode::corrupt) << other;
    }
}

// Goal: without the key stages and lengths are checked, and nothing is applied.
TEST(ChainedObject, can_be_checked_without_its_key) {
    const Registry functions;
    std::mt19937_64 random(302);
    const auto object = random_object<double>({5, 6}, random);
    const RegionView all = object.whole();
    const auto with = take(ChainedObject::make(functions, "zstd | aead", key_of(1), all));
    const auto without = take(ChainedObject::make(functions, "zstd | aead", {}, all));
    EXPECT_TRUE(with.is_keyed() && without.is_keyed() && with.can_apply());
    EXPECT_FALSE(without.can_apply());
    EXPECT_EQ(with.text(), without.text());
    const auto made = take(with.apply(all.box, all.values));
    EXPECT_TRUE(without.check(all.box, made).ok());
    EXPECT_FALSE(without.check({{0, 0}, {5, 5}}, made).ok());
    EXPECT_FALSE(without.check({{0, 1}, {5, 6}}, made).ok());
    for (std::size_t n = 0; n < 24; ++n)
        EXPECT_FALSE(without.check(all.box, std::span(made).first(n)).ok()) << n;
    EXPECT_EQ(without.apply(all.box, all.values).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(without.undo(all.box, made).status().code(), StatusCode::invalid_argument);
}

// Goal: a chain is a field's codec where every HDF5 program can undo it; else it is said why.
TEST(FileCodec, is_what_a_chain_means_in_a_file) {
    const Registry functions;
    const auto lossy = take(file_codec(functions, "caesura(bound=1e-3, kind=relative, mode=fast)"));
    EXPECT_EQ(lossy.codec.name, "caesura:fast");
    EXPECT_EQ(lossy.bound, (ErrorBound{ErrorBound::Kind::relative, 1e-3}));
    const auto plain = take(file_codec(functions, "caesura"));
    EXPECT_EQ(plain.codec.name, "caesura");
    EXPECT_EQ(plain.bound.kind, ErrorBound::Kind::lossless);
    const auto zstd = take(file_codec(functions, "zstd(level=5)"));
    EXPECT_EQ(zstd.codec.name, "zstd");
    EXPECT_EQ(zstd.codec.cd_values, std::vector<unsigned>{5});
    EXPECT_EQ(zstd.bound.kind, ErrorBound::Kind::lossless);
    const std::vector<std::pair<std::string, std::string>> unfit = {
        {"caesura | aead", "key"},        {"shuffle | zstd", "one stage"}, {"deflate", "no filter"},
        {"caesura@deflate", "own coder"}, {"decompress", "filter"},        {"shuffle", "filter"}};
    for (const auto& [chain, why] : unfit) {
        const Status status = file_codec(functions, chain).status();
        EXPECT_EQ(status.code(), StatusCode::unsupported) << chain;
        EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
    }
    EXPECT_EQ(file_codec(functions, "zst").status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(file_codec(functions, "caesura(kind=psnr)").status().code(),
              StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::lambda
