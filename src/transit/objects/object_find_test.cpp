// Goal: what a find answers at once always fits a message; the answers together are all there is,
// and an object that fits none comes without its regions.
#include <gtest/gtest.h>

#include <set>

#include "transit/messages.hpp"
#include "transit/objects/object_store.hpp"

namespace caesura::transit {
namespace {

constexpr std::uint64_t k_regions = 40;

ObjectId put_object(ObjectStore& store, const Asker& asker, const std::string& name,
                    std::uint64_t regions) {
    CreateObject order;
    order.container = "run";
    order.name = name;
    order.dtype = float32;
    order.shape = {regions};
    order.tags = {{"made by", "a test"}};
    const ObjectId id = store.create(asker, order).value();
    for (std::uint64_t i = 0; i < regions; ++i) {
        PutRegion region;
        region.object = id;
        region.dtype = float32;
        region.box = {{i}, {1}};
        region.payload_bytes = 4;
        const RegionId number = store.begin_put(asker, region).value();
        const double value = static_cast<double>(i);
        store.finish_put(id, number, ObjectStore::pool().take(4).value(), 4, Range{value, value});
    }
    return id;
}

FindObjects all_regions() {
    FindObjects query;
    query.regions = true;
    query.most = k_found_limit;
    return query;
}

/// A store whose answers are short, with the objects that a test puts.
class FindObjectsTest : public ::testing::Test {
  protected:
    ObjectId put(const std::string& name, std::uint64_t regions) {
        return put_object(store, asker, name, regions);
    }
    void put_thirty() {
        for (int i = 0; i < 30; ++i) put("o" + std::to_string(i), k_regions);
    }
    const StoreLimits limits{.answer_bytes = 20'000};
    ObjectStore store{limits, nullptr};
    const Asker asker{0, "alice", {}, nullptr};
};

TEST_F(FindObjectsTest, answers_in_pages_that_fit) {
    put_thirty();
    FindObjects query = all_regions();
    std::set<std::string> names;
    int pages = 0;
    for (bool more = true; more; ++pages) {
        const FoundObjects found = store.find(asker, query);
        ASSERT_TRUE(found.status.ok());
        ASSERT_FALSE(found.objects.empty());
        EXPECT_LE(encode(found).value().size(), limits.answer_bytes);
        for (const ObjectInfo& object : found.objects) {
            EXPECT_TRUE(names.insert(object.name).second);
            EXPECT_EQ(object.regions.size(), k_regions);
        }
        more = found.more;
        query.after = found.objects.back().id;
    }
    EXPECT_EQ(names.size(), 30u);
    EXPECT_GT(pages, 5);
}

TEST_F(FindObjectsTest, counts_every_region_in_one_page) {
    put_thirty();
    FindObjects query = all_regions();
    query.values = Range{10.0, 29.0};
    std::uint64_t kept = 0, skipped = 0;
    for (bool more = true; more;) {
        const FoundObjects found = store.find(asker, query);
        kept += found.regions_kept;
        skipped += found.regions_skipped;
        more = found.more;
        query.after = found.objects.back().id;
    }
    EXPECT_EQ(kept, 30 * 20u);
    EXPECT_EQ(skipped, 30 * 20u);
}

TEST_F(FindObjectsTest, lists_an_object_of_too_many_regions_without_them_and_goes_on) {
    put("small", k_regions);
    const ObjectId large = put("large", 1000);
    put("last", k_regions);
    FindObjects query = all_regions();
    const FoundObjects found = store.find(asker, query);
    ASSERT_TRUE(found.status.ok()) << found.status.message();
    EXPECT_LE(encode(found).value().size(), limits.answer_bytes);
    ASSERT_EQ(found.objects.size(), 3u);
    EXPECT_EQ(found.objects[1].id, large);
    EXPECT_EQ(found.objects[1].regions_known, 1000u);
    EXPECT_TRUE(found.objects[1].regions.empty());
    EXPECT_EQ(found.objects[2].regions.size(), k_regions);
    query.name = "large";
    query.values = Range{10.0, 29.0};
    EXPECT_EQ(store.find(asker, query).objects.at(0).regions.size(), 20u) << "a narrower range";
}

TEST_F(FindObjectsTest, lists_the_latest_results_that_an_answer_holds) {
    const ObjectId id = put("one", 1);
    for (const char* call : {"first", "second", "third"})
        store.keep_results(id, call, std::vector<std::byte>(8000));
    put("last", 1);
    const FoundObjects found = store.find(asker, all_regions());
    ASSERT_TRUE(found.status.ok());
    ASSERT_FALSE(found.objects.empty());
    ASSERT_EQ(found.objects[0].results.size(), 2u);
    EXPECT_EQ(found.objects[0].results[0].call, "second");
    EXPECT_TRUE(found.more || found.objects.size() == 2);
}

// The oldest of a file's or dump's objects makes room, wherever it is among those that were put.
TEST(ObjectStoreTest, forgets_the_oldest_of_a_dump_for_a_new_object_and_none_that_was_put) {
    const StoreLimits limits{.objects = 4};
    ObjectStore store(limits, nullptr);
    const Asker asker{0, "alice", {}, nullptr};
    const auto describe = [&](const std::string& name) {
        DumpedDataset dataset;
        dataset.spec.path = name;
        dataset.spec.dtype = float32;
        dataset.spec.shape = {8};
        dataset.spec.chunk = {8};
        return store.describe(asker, "/scratch/run.h5", {}, 0.0, {&dataset, 1});
    };
    const auto names = [&] {
        std::vector<std::string> all;
        for (const ObjectInfo& object : store.find(asker, all_regions()).objects)
            all.push_back(object.name);
        return all;
    };
    (void)put_object(store, asker, "first", 1);
    ASSERT_TRUE(describe("a").ok());
    (void)put_object(store, asker, "second", 1);
    ASSERT_TRUE(describe("b").ok());
    ASSERT_TRUE(describe("c").ok());
    EXPECT_EQ(names(), (std::vector<std::string>{"first", "second", "b", "c"}));
    (void)put_object(store, asker, "third", 1);
    (void)put_object(store, asker, "fourth", 1);
    EXPECT_EQ(names(), (std::vector<std::string>{"first", "second", "third", "fourth"}));
    EXPECT_EQ(describe("d").status().code(), StatusCode::no_space);
}

}  // namespace
}  // namespace caesura::transit
