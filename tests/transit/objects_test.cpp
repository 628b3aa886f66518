// Objects that clients put into a service: what comes back, what queries find, what analyses say.
#include <fstream>

#include "lambda/plugins.hpp"
#include "lambda/python_functions.hpp"
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

using lambda::random_object;
using lambda::random_shape;
using lambda::take;

// Goal: any box of what was put in any regions comes back bit for bit from memory.
TEST_F(ObjectHub, gives_back_any_box_of_what_was_put) {
    const auto objects = connect();
    std::mt19937_64 random(7001);
    const auto check = [&](auto object, const std::string& name) {
        object.cut(1 + random() % 20, random);
        const ObjectNumber id = create(*objects, object, name);
        put_all(*objects, id, object);
        for (int i = 0; i < 5; ++i)
            EXPECT_EQ(off_by(*objects, id, object, random_box(object.shape, random)), 0.0);
    };
    for (int round = 0; round < 20; ++round) {
        const int rank = 1 + round % k_max_rank;
        check(random_object<float>(random_shape(rank, 12, random), random, 0.05),
              "f" + std::to_string(round));
        check(random_object<double>(random_shape(rank, 12, random), random, 0.05),
              "d" + std::to_string(round));
    }
}

// Goal: a get larger than one answer comes in pieces, and is put together.
TEST_F(ObjectHub, gives_back_more_than_one_answer_holds) {
    options_.service.limits.io_bytes = 1000;
    options_.credits_bytes = 20000;
    const auto objects = connect();
    std::mt19937_64 random(7002);
    auto object = random_object<float>({3, 40, 50}, random);
    object.cut(7, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
}

// Goal: what memory has no room for lies in the sink, comes back within the bound, and into memory
// when it is read and there is room.
TEST_F(ObjectHub, sinks_what_memory_has_no_room_for_and_brings_it_back) {
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 100'000;
    const auto objects = connect();
    std::mt19937_64 random(7003);
    for (const ErrorBound bound : {lossless(), absolute(1e-3), pointwise_relative(1e-3)}) {
        auto object = random_object<float>({20, 50, 50}, random, 0.01);  // 200 kB
        object.cut(12, random);
        const ObjectNumber id = create(*objects, object, "rho", bound);
        put_all(*objects, id, object);
        const auto counts = hub_->service().objects().counts();
        EXPECT_GT(counts.sunk, 0u);
        EXPECT_LE(counts.memory_bytes, 100'000u);
        EXPECT_GT(counts.spool_bytes, 0u);
        const double most = bound.kind == ErrorBound::Kind::lossless ? 0.0 : 5e-3;
        for (int i = 0; i < 10; ++i)
            EXPECT_LE(off_by(*objects, id, object, random_box(object.shape, random)), most);
        EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), most);
        EXPECT_TRUE(objects->remove(id).ok());
        EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 0u);
        EXPECT_EQ(hub_->service().objects().counts().spool_bytes, 0u);
    }
    // Half of it is deleted: the other half has room again.
    auto first = random_object<float>({20, 50, 50}, random);
    auto second = random_object<float>({10, 50, 50}, random);  // 100 kB, and pushes the first out
    first.cut(10, random);
    second.cut(1, random);
    const ObjectNumber one = create(*objects, first, "one"), two = create(*objects, second, "two");
    put_all(*objects, one, first);
    put_all(*objects, two, second);
    EXPECT_TRUE(objects->remove(two).ok());
    const auto before = hub_->service().objects().counts().came_back;
    EXPECT_EQ(off_by(*objects, one, first, whole(first.shape)), 0.0);
    EXPECT_GT(hub_->service().objects().counts().came_back, before);
    EXPECT_EQ(off_by(*objects, one, first, whole(first.shape)), 0.0);
    // It never had a name.
    EXPECT_TRUE(std::filesystem::is_empty(place_ + "/sink"));
}

// Goal: a value range skips regions, and never one that has such a value, in memory or sunk with a
// loss. Every region is counted once.
TEST_F(ObjectHub, finds_regions_by_their_values_and_misses_none) {
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 20'000;
    const auto objects = connect();
    std::mt19937_64 random(7004);
    std::uint64_t skipped = 0;
    for (int round = 0; round < 12; ++round) {
        auto object = random_object<float>(random_shape(2, 120, random), random, 0.01);
        for (std::size_t i = 0; i < object.values.size(); ++i)  // regions that differ
            object.values[i] += static_cast<float>(i / object.shape[1]);
        object.cut(20, random);
        const double slack = round % 2 == 0 ? 0.0 : 0.1;
        const ObjectNumber id =
            create(*objects, object, "rho", slack > 0.0 ? absolute(slack) : lossless());
        put_all(*objects, id, object);
        for (int i = 0; i < 10; ++i) {
            const double low = static_cast<double>(random() % 130) - 5.0;
            const Range wanted{low, low + static_cast<double>(random() % 10)};
            Objects::Query query;
            query.container = "run";
            query.values = wanted;
            query.regions = true;
            const auto found = take(objects->find(query));
            EXPECT_EQ(found.regions_kept + found.regions_skipped, object.regions.size());
            skipped += found.regions_skipped;
            for (const auto& region : object.regions) {
                std::vector<float> got(region.values.size());
                ASSERT_TRUE(objects->get(id, region.box, got.data()).wait().ok());
                const bool has = std::any_of(got.begin(), got.end(), [&](float x) {
                    return x >= wanted.lowest && x <= wanted.highest;
                });
                const bool listed =
                    !found.objects.empty() &&
                    std::any_of(found.objects[0].regions.begin(), found.objects[0].regions.end(),
                                [&](const RegionInfo& one) { return one.box == region.box; });
                ASSERT_TRUE(listed || !has) << to_string(region.box);
            }
        }
        ASSERT_TRUE(objects->remove(id).ok());
    }
    EXPECT_GT(skipped, 500u);
}

// Goal: container, name, tags and time select; long lists come whole.
TEST_F(ObjectHub, finds_objects_by_what_is_said_of_them) {
    const auto objects = connect();
    for (int i = 0; i < 30; ++i) {
        Objects::NewObject object{i % 2 == 0 ? "even" : "odd",
                                  "rho" + std::to_string(i),
                                  float32,
                                  {4},
                                  static_cast<double>(i)};
        object.tags = {{"third", i % 3 == 0 ? "yes" : "no"}, {"run", "a"}};
        ASSERT_TRUE(objects->create(object).ok());
    }
    const auto count = [&](const Objects::Query& query) {
        return take(objects->find(query)).objects.size();
    };
    EXPECT_EQ(count({}), 30u);
    EXPECT_EQ(count({.container = "even"}), 15u);
    EXPECT_EQ(count({.container = "neither"}), 0u);
    EXPECT_EQ(count({.name = "rho1*"}), 11u);
    EXPECT_EQ(count({.name = "rho?"}), 10u);
    EXPECT_EQ(count({.container = "odd", .name = "rho?"}), 5u);
    EXPECT_EQ(count({.tags = {{"third", "yes"}, {"run", "a"}}}), 10u);
    EXPECT_EQ(count({.tags = {{"third", "maybe"}}}), 0u);
    EXPECT_EQ(count({.times = Range{3.0, 7.0}}), 5u);
    const auto one = take(objects->find({.name = "rho7"})).objects.at(0);
    EXPECT_EQ(one.container, "odd");
    EXPECT_EQ(one.owner, "tester");
    EXPECT_EQ(one.time, 7.0);
    EXPECT_EQ(one.origin, Origin::put);
    EXPECT_EQ(one.values, 0u);
}

// Goal: every analysis of an object in the service, in memory or sunk, says what it says of the
// array; of a box what it says of the box; and stays with the object.
TEST_F(ObjectHub, runs_every_analysis_as_on_the_whole_array) {
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 30'000;
    const auto objects = connect();
    const lambda::Registry registry;
    std::mt19937_64 random(7005);
    for (int round = 0; round < 6; ++round) {
        const int rank = 1 + round % 3;
        auto object = random_object<float>(rank == 1   ? Shape{9000}
                                           : rank == 2 ? Shape{90, 100}
                                                       : Shape{20, 24, 25},
                                           random);
        object.cut(15, random);
        const ObjectNumber id = create(*objects, object);
        put_all(*objects, id, object);
        std::vector<std::pair<std::string, RunTicket>> runs;  // side by side
        for (const std::string& call : all_calls()) runs.emplace_back(call, objects->run(id, call));
        for (const auto& [call, ticket] : runs)
            expect_same(take(ticket.wait()), take(registry.run(call, object.whole())), 1e-9, call);
        const Box box = random_box(object.shape, random);
        std::vector<float> values(box.extent.count());
        copy_box(box, whole(object.shape), reinterpret_cast<const std::byte*>(object.values.data()),
                 box, reinterpret_cast<std::byte*>(values.data()), 4);
        expect_same(take(objects->run(id, "stats", box).wait()),
                    take(registry.run("stats", object.view(box, values))), 1e-9, "stats of a box");
        const auto info = take(objects->find({.name = "rho"})).objects.at(0);
        EXPECT_EQ(info.results.size(), all_calls().size() - (rank == 1));  // a long spectrum
        EXPECT_TRUE(lambda::Results::parse(info.results.at(0).results).ok());
        ASSERT_TRUE(objects->remove(id).ok());
    }
}

// Goal: an operator's plugin and Python function run in the service, of both kinds; what they are
// called is what `functions` says.
TEST_F(ObjectHub, runs_the_operators_plugins_and_python) {
    const std::string plugins = place_ + "/plugins", python = place_ + "/python";
    std::filesystem::create_directories(plugins);
    std::filesystem::create_directories(python);
    std::filesystem::copy_file(CAESURA_TEST_PLUGIN, plugins + "/example.so");
    std::ofstream(python + "/halo.py") << R"(
from caesura.lambda_functions import direct, iterative

@iterative
def above(regions, limit: float = 0.0):
    "Values above a limit."
    return {"above": int(sum((region.values > limit).sum() for region in regions))}

@direct
def first(region):
    "The first value."
    return {"first": float(region.values.flat[0])}
)";
    const auto registry = std::make_shared<lambda::Registry>();
    const auto loaded = take(lambda::load_plugins(*registry, plugins));
    ASSERT_TRUE(loaded.refused.empty()) << loaded.refused[0].message();
    lambda::PythonSettings settings;
    settings.python = CAESURA_TEST_PYTHON;
    settings.module_path = CAESURA_TEST_PACKAGES;
    const auto added = take(lambda::add_python_functions(*registry, python, settings));
    ASSERT_TRUE(added.refused.empty()) << added.refused[0].message();
    options_.service.functions = registry;
    const auto objects = connect();
    std::mt19937_64 random(7006);
    auto object = random_object<float>({60, 50}, random);
    object.cut(9, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    const auto above = static_cast<double>(std::count_if(object.values.begin(), object.values.end(),
                                                         [](float x) { return x > 0.25f; }));
    const std::string help = take(objects->functions());
    for (const char* name : {"example.above_all", "halo.above", "halo.first", "stats"})
        EXPECT_NE(help.find(name), std::string::npos) << name;
    EXPECT_EQ(
        lambda::number(take(objects->run(id, "example.above_all(limit=0.25)").wait()), "above"),
        above);
    EXPECT_EQ(lambda::number(take(objects->run(id, "halo.above(limit=0.25)").wait()), "above"),
              above);
    const Box region = object.regions[3].box;
    EXPECT_EQ(lambda::number(take(objects->run(id, "halo.first", region).wait()), "first"),
              static_cast<double>(object.regions[3].values[0]));
    EXPECT_EQ(objects->run(id, "halo.first").wait().status().code(), StatusCode::invalid_argument);
}

// Goal: what a client sends is a name and numbers; files, paths and modules are no functions.
TEST_F(ObjectHub, loads_nothing_that_a_client_names) {
    const auto objects = connect();
    std::mt19937_64 random(7007);
    auto object = random_object<float>({10}, random);
    object.cut(1, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    for (const std::string call :
         {CAESURA_TEST_PLUGIN, "os.system(command=\"true\")", "example.above", "../plugin",
          "stats; min", "caesura", "stats(\x01)", "lambda: 0"}) {
        const auto told = objects->run(id, call).wait();
        EXPECT_EQ(told.status().code(), StatusCode::invalid_argument)
            << call << ": " << told.status().message();
    }
    EXPECT_TRUE(objects->run(id, "stats").wait().ok());
}

// Goal: who asks for another bound than an object has learns both.
TEST_F(ObjectHub, says_both_bounds_of_an_object_that_is_there_with_another_one) {
    const auto objects = connect();
    const auto create_within = [&](const ErrorBound& bound) {
        return objects->create({"run", "rho", float32, {8, 8}, 0.0, bound});
    };
    ASSERT_TRUE(create_within(absolute(0.25)).ok());
    EXPECT_TRUE(create_within(absolute(0.25)).ok()) << "it is the same one";
    const auto other = create_within(absolute(0.5));
    ASSERT_FALSE(other.ok());
    const std::string said = other.status().message();
    EXPECT_NE(said.find("float32, within 0.25 and not within 0.5 as asked for"), std::string::npos)
        << said;
    EXPECT_NE(create_within(lossless()).status().message().find("and not without loss"),
              std::string::npos);
}

}  // namespace
}  // namespace caesura::transit
