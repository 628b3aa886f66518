#include "lambda/registry.hpp"

#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

TEST(Registry, functions_are_listed_with_parameters_and_defaults) {
    const Registry registry;
    const std::string help = registry.help();
    for (const Function* function : registry.functions()) {
        EXPECT_NE(help.find("  " + function->name + " ("), std::string::npos) << function->name;
        EXPECT_EQ(function->help.back(), '.') << function->name;
        for (const Parameter& parameter : function->parameters)
            EXPECT_EQ(parameter.help.back(), '.') << function->name << " " << parameter.name;
    }
    EXPECT_NE(help.find("bins: How many bins. [whole number; default 64]"), std::string::npos);
}

TEST(Registry, what_is_not_there_is_named_with_what_is) {
    const Registry registry;
    const auto wrong = [&](std::string_view call) {
        return registry.bind(call).status().message();
    };
    EXPECT_NE(wrong("histogramm").find("no function 'histogramm'; there is: min, max, mean"),
              std::string::npos);
    EXPECT_NE(wrong("stats@gpu").find("stats has no variant 'gpu'; there is: plain"),
              std::string::npos);
    EXPECT_EQ(registry.start("histogram(low=1, high=0)").status().code(),
              StatusCode::invalid_argument);
}

TEST(Registry, no_call_gets_more_memory_than_the_operator_allows) {
    const Registry registry(32);
    for (const std::string name : {"entropy", "spectrum"}) {
        EXPECT_NE(registry.bind(name + "(memory_mb=33)").status().message().find("1 to 32"),
                  std::string::npos);
        EXPECT_EQ(registry.bind(name)->arguments.whole("memory_mb"), 32);
    }
}

TEST(Registry, functions_and_variants_are_added_once) {
    Registry registry;
    const auto count = [](const Arguments&, const RegionView& region) -> Result<Results> {
        Results results;
        results.put("n", static_cast<std::int64_t>(region.count()));
        return results;
    };
    Variant variant{Device::cpu, "plain", "here"};
    variant.direct = count;
    Function function{"mine", Kind::analysis, "Counts."};
    EXPECT_FALSE(registry.add(function).ok()) << "no variant";
    function.variants = {variant};
    EXPECT_TRUE(registry.add(function).ok());
    EXPECT_FALSE(registry.add(function).ok()) << "twice";
    EXPECT_FALSE(registry.add_variant("mine", variant).ok());
    variant.name = "fast";
    variant.device = Device::gpu;
    EXPECT_TRUE(registry.add_variant("mine", variant).ok());
    EXPECT_EQ(registry.bind("mine@fast")->variant->device, Device::gpu);
    function.name = "No Name";
    EXPECT_FALSE(registry.add(function).ok());
    function.name = "empty";
    function.variants = {Variant{}};
    EXPECT_FALSE(registry.add(function).ok());
    EXPECT_EQ(registry.find("empty"), nullptr);

    std::mt19937_64 random(31);
    auto object = random_object<float>({4, 5}, random);
    EXPECT_EQ(number(take(registry.run("mine", object.whole())), "n"), 20.0);
    object.cut(2, random);
    const std::vector<RegionView> regions{object.region(0), object.region(1)};
    ListedRegions two(regions);
    EXPECT_NE(registry.run("mine", two).status().message().find("takes one region"),
              std::string::npos);
    EXPECT_EQ(registry.start("mine").status().code(), StatusCode::unsupported);
}

TEST(Registry, regions_that_are_not_what_they_say_are_refused) {
    const Registry registry;
    std::mt19937_64 random(32);
    const auto object = random_object<float>({4, 5}, random);
    const auto refused = [&](auto&& change) {
        RegionView region = object.whole();
        change(region);
        return registry.run("stats", region).status().code() == StatusCode::invalid_argument;
    };
    EXPECT_TRUE(refused([](auto& r) { r.values = r.values.first(79); }));
    EXPECT_TRUE(refused([](auto& r) { r.box.offset[0] = 1; }));
    EXPECT_TRUE(refused([](auto& r) { r.box.offset[0] = ~std::uint64_t{0}; }));
    EXPECT_TRUE(refused([](auto& r) { r.box.extent = Shape{20}; }));
    EXPECT_TRUE(refused([](auto& r) { r.shape = Shape(); }));
    EXPECT_TRUE(refused([](auto& r) { r.shape = Shape{1ull << 40, 1ull << 40}; }));
    EXPECT_TRUE(refused([](auto& r) { r.dtype = DType{3}; }));
    std::vector<std::byte> odd(81);
    EXPECT_TRUE(refused([&](auto& r) {
        const std::size_t shift = reinterpret_cast<std::uintptr_t>(odd.data()) % 4 == 0 ? 1 : 0;
        r.values = std::span(odd).subspan(shift, 80);
    }));
}

TEST(Registry, states_of_other_calls_and_objects_do_not_merge) {
    const Registry registry;
    std::mt19937_64 random(33);
    const auto flat = random_object<float>({20}, random);
    const auto square = random_object<float>({4, 5}, random);
    auto state = take(registry.start("stats"));
    ASSERT_TRUE(state.add(flat.whole()).ok());
    EXPECT_FALSE(state.add(square.whole()).ok());
    auto other = take(registry.start("mean"));
    EXPECT_FALSE(state.merge(other).ok());
    auto bins = take(registry.start("histogram(bins=5)"));
    EXPECT_EQ(bins.passes_left(), 1);
    EXPECT_FALSE(bins.finish().ok());
    auto late = take(registry.start("histogram(bins=5)"));
    ASSERT_TRUE(late.next_pass().ok());
    EXPECT_FALSE(bins.merge(late).ok());
}

/// Regions that pass by once.
class Stream : public ListedRegions {
  public:
    using ListedRegions::ListedRegions;
    Status rewind() override { return RegionIterator::rewind(); }
};

TEST(Registry, two_passes_need_regions_that_come_again) {
    const Registry registry;
    std::mt19937_64 random(34);
    const auto object = random_object<float>({20}, random);
    const std::vector<RegionView> regions{object.whole()};
    Stream stream(regions);
    EXPECT_EQ(registry.run("histogram", stream).status().code(), StatusCode::unsupported);
    ListedRegions memory(regions);
    EXPECT_TRUE(registry.run("histogram", memory).ok());
}

/// Every analysis there is, small enough to be changed byte by byte.
std::vector<std::string> small_calls(const Registry& registry) {
    std::vector<std::string> calls;
    for (const Function* function : registry.functions())
        if (function->kind == Kind::analysis)
            calls.push_back(function->name == "clusters" ? "clusters(above=0.2, periodic=true)"
                                                         : function->name);
    calls.push_back("histogram(bins=5, low=-1, high=1)");
    return calls;
}

// A state comes from another server: any bytes are a state that works, or an error.
TEST(Registry, any_bytes_are_a_state_or_an_error) {
    const Registry registry;
    std::mt19937_64 random(35);
    for (const std::string& call : small_calls(registry)) {
        auto object = random_object<double>({5, 4, 3}, random, 0.05);
        object.cut(5, random);
        auto state = take(registry.start(call));
        for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(state.add(object.region(i)).ok());
        const auto good = state.bytes();
        EXPECT_EQ(take(registry.parse_state(good)).bytes(), good) << call;
        int parsed = 0;
        for (int round = 0; round < 6000; ++round) {
            auto broken = registry.parse_state(mutated(good, random));
            if (!broken.ok()) {
                EXPECT_NE(broken.status().code(), StatusCode::internal);
                continue;
            }
            ++parsed;
            (void)broken->merge(state).ok();
            (void)broken->add(object.region(4)).ok();
            if (broken->passes_left() > 0) (void)broken->next_pass().ok();
            (void)broken->finish().ok();
            (void)registry.parse_state(broken->bytes()).ok();
        }
        EXPECT_GT(parsed, 100) << call;
        for (std::size_t n = 0; n < good.size(); ++n)
            EXPECT_FALSE(registry.parse_state(std::span(good).first(n)).ok()) << call << " " << n;
    }
}

}  // namespace
}  // namespace caesura::lambda
