#include "lambda/plugins.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/whole_file.hpp"
#include "lambda/chain.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// A directory of the operator's, gone at the end.
class OperatorDirectory {
  public:
    OperatorDirectory() {
        std::string path = ::testing::TempDir() + "caesura_plugins_XXXXXX";
        path_ = ::mkdtemp(path.data());
    }
    ~OperatorDirectory() { std::filesystem::remove_all(path_); }
    std::string add(const std::string& name, const std::string& from = CAESURA_TEST_PLUGIN,
                    mode_t mode = 0644) const {
        const std::string path = path_ + "/" + name;
        std::filesystem::copy_file(from, path, std::filesystem::copy_options::overwrite_existing);
        ::chmod(path.c_str(), mode);
        return path;
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

TEST(Plugins, run_as_functions_of_every_kind) {
    OperatorDirectory directory;
    directory.add("example.so");
    Registry registry;
    const auto loaded = take(load_plugins(registry, directory.path()));
    ASSERT_TRUE(loaded.refused.empty()) << loaded.refused[0].message();
    EXPECT_EQ(loaded.added[0],
              "example.so: example.above, example.firsts, example.above_all, example.mask");

    std::mt19937_64 random(111);
    auto object = random_object<float>({9, 8}, random);
    object.cut(5, random);
    const auto above = static_cast<double>(std::count_if(object.values.begin(), object.values.end(),
                                                         [](float x) { return x > 0.25f; }));
    const std::vector<Tag> tags{{"unit", "kg"}};
    RegionView whole = object.whole();
    whole.tags = tags;
    const Results direct = take(registry.run("example.above(limit=0.25)", whole));
    EXPECT_EQ(number(direct, "above"), above);
    EXPECT_EQ(std::get<std::string>(*direct.find("object")), "rho");
    EXPECT_EQ(std::get<std::string>(*direct.find("tag")), "kg");
    EXPECT_EQ(list<double>(direct, "offset"), (std::vector<double>{0, 0}));

    EXPECT_EQ(
        number(take(in_parts(registry, "example.above_all(limit=0.25)", object, random)), "above"),
        above);

    std::vector<RegionView> regions;
    double firsts = 0.0;
    for (std::size_t i = 0; i < 5; ++i) {
        regions.push_back(object.region(i));
        firsts += double{object.regions[i].values[0]} / 5.0;
    }
    ListedRegions listed(regions);
    EXPECT_NEAR(number(take(registry.run("example.firsts", listed)), "mean_of_firsts"), firsts,
                1e-12);

    const auto chain = take(Chain::make(registry, "example.mask(mask=85) | zstd", {}));
    const auto made = take(chain.apply(object.whole()));
    const auto back = take(restore(registry, made, object.whole(), {}));
    EXPECT_TRUE(std::equal(back.begin(), back.end(), object.whole().values.begin()));
}

TEST(Plugins, say_what_is_wrong_in_their_own_words) {
    OperatorDirectory directory;
    directory.add("example.so");
    Registry registry;
    ASSERT_TRUE(load_plugins(registry, directory.path()).ok());
    const TestObject<float> none{{0}, {}, {}};
    EXPECT_EQ(registry.run("example.above(limit=nan)", none.whole()).status().code(),
              StatusCode::invalid_argument);
    EXPECT_NE(registry.run("example.firsts", none.whole())
                  .status()
                  .message()
                  .find("no region has a value"),
              std::string::npos);
    EXPECT_NE(registry.bind("example.mask").status().message().find("needs 'mask'"),
              std::string::npos);
    // Its state and its transform meet any bytes, too.
    std::mt19937_64 random(112);
    const auto object = random_object<float>({6}, random);
    const auto state = take(registry.start("example.above_all")).bytes();
    const auto made =
        take(take(Chain::make(registry, "example.mask(mask=1)", {})).apply(object.whole()));
    for (int round = 0; round < 5000; ++round) {
        (void)registry.parse_state(mutated(state, random)).ok();
        (void)restore(registry, mutated(made, random), object.whole(), {}).ok();
    }
}

/// An iterator whose second region cannot be fetched.
class Broken : public RegionIterator {
  public:
    explicit Broken(RegionView region) : region_(region) {}
    Result<std::optional<RegionView>> next() override {
        if (given_++ > 0) return Status(StatusCode::io, "the other server is gone");
        return std::optional<RegionView>(region_);
    }

  private:
    RegionView region_;
    int given_ = 0;
};

TEST(Plugins, the_iterators_error_is_the_functions) {
    OperatorDirectory directory;
    directory.add("example.so");
    Registry registry;
    ASSERT_TRUE(load_plugins(registry, directory.path()).ok());
    std::mt19937_64 random(113);
    const auto object = random_object<float>({6}, random);
    for (const char* call : {"example.firsts", "example.above_all", "stats"}) {
        Broken broken(object.whole());
        const auto status = registry.run(call, broken).status();
        EXPECT_EQ(status.code(), StatusCode::io) << call;
        EXPECT_NE(status.message().find("the other server is gone"), std::string::npos);
    }
}

TEST(Plugins, only_what_the_operator_alone_can_write_is_loaded) {
    OperatorDirectory directory;
    Registry registry;
    const auto refusal = [&] {
        const auto loaded = take(load_plugins(registry, directory.path()));
        EXPECT_TRUE(loaded.added.empty());
        return loaded.refused.empty() ? std::string() : loaded.refused[0].message();
    };
    const std::string path = directory.add("a.so", CAESURA_TEST_PLUGIN, 0664);
    EXPECT_NE(refusal().find("mode 664; others may write it"), std::string::npos);
    std::filesystem::remove(path);
    std::filesystem::create_symlink(CAESURA_TEST_PLUGIN, path);
    EXPECT_NE(refusal().find("a.so: "), std::string::npos);
    std::filesystem::remove(path);
    directory.add("a.so");
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
        EXPECT_NE(refusal().find("belongs to user 65534"), std::string::npos);
        ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    }
    ::chmod(directory.path().c_str(), 0777);
    EXPECT_NE(load_plugins(registry, directory.path()).status().message().find("mode 777"),
              std::string::npos);
    ::chmod(directory.path().c_str(), 0755);
    const std::string inner = directory.path() + "/open", deep = inner + "/deep";
    std::filesystem::create_directories(deep);
    ::chmod(inner.c_str(), 0777);
    EXPECT_NE(load_plugins(registry, deep).status().message().find("/open has mode 777"),
              std::string::npos)
        << "who may rename a directory may put another in its place";
    ::chmod(inner.c_str(), 01777);
    EXPECT_TRUE(load_plugins(registry, deep).ok()) << "sticky, as for temporary files";
    EXPECT_EQ(load_plugins(registry, directory.path() + "/none").status().code(), StatusCode::io);
    EXPECT_EQ(load_plugins(registry, path).status().code(), StatusCode::invalid_argument);
    EXPECT_TRUE(take(load_plugins(registry, directory.path())).refused.empty());
}

TEST(Plugins, what_is_no_plugin_is_refused_and_adds_nothing) {
    OperatorDirectory directory;
    directory.add("a_wrong.so", CAESURA_TEST_WRONG_PLUGIN);
    base::put_file(directory.path() + "/b_text.so", std::vector<std::byte>(100, std::byte{65}));
    ::chmod((directory.path() + "/b_text.so").c_str(), 0644);
    directory.add("c_example.so");
    directory.add("d_again.so");
    Registry registry;
    const std::size_t before = registry.functions().size();
    const auto loaded = take(load_plugins(registry, directory.path()));
    ASSERT_EQ(loaded.added.size(), 1u);
    ASSERT_EQ(loaded.refused.size(), 3u);
    EXPECT_NE(loaded.refused[0].message().find("give one of direct, iterative and state"),
              std::string::npos)
        << loaded.refused[0].message();
    EXPECT_NE(loaded.refused[2].message().find("is there already"), std::string::npos);
    EXPECT_EQ(registry.functions().size(), before + 4);
}

}  // namespace
}  // namespace caesura::lambda
