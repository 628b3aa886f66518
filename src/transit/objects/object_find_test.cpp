// Goal: what a find answers at once always fits a message; the answers together are all there is,
// and what fits none is an error that says how to ask.
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

TEST(FindObjects, answers_in_pages_that_fit) {
    StoreLimits limits;
    limits.answer_bytes = 20'000;
    ObjectStore store(limits, nullptr);
    Asker asker;
    asker.owner = "alice";
    for (int i = 0; i < 30; ++i) put_object(store, asker, "o" + std::to_string(i), k_regions);
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

TEST(FindObjects, counts_every_region_in_one_page) {
    StoreLimits limits;
    limits.answer_bytes = 20'000;
    ObjectStore store(limits, nullptr);
    Asker asker;
    asker.owner = "alice";
    for (int i = 0; i < 30; ++i) put_object(store, asker, "o" + std::to_string(i), k_regions);
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

TEST(FindObjects, says_that_one_object_has_too_many_regions_and_how_to_ask) {
    StoreLimits limits;
    limits.answer_bytes = 20'000;
    ObjectStore store(limits, nullptr);
    Asker asker;
    asker.owner = "alice";
    put_object(store, asker, "small", k_regions);
    const ObjectId large = put_object(store, asker, "large", 1000);
    FindObjects query = all_regions();
    const FoundObjects first = store.find(asker, query);
    ASSERT_EQ(first.objects.size(), 1u);
    EXPECT_TRUE(first.more);
    query.after = first.objects.back().id;
    const FoundObjects second = store.find(asker, query);
    EXPECT_EQ(second.status.code(), StatusCode::no_space);
    for (const char* const part : {"large", "1000 regions", "20000 bytes", "range of values"})
        EXPECT_NE(second.status.message().find(part), std::string::npos) << second.status.message();
    EXPECT_TRUE(encode(second).ok());
    query.values = Range{10.0, 29.0};
    EXPECT_EQ(store.find(asker, query).objects.at(0).regions.size(), 20u);
    query.values.reset();
    query.regions = false;
    EXPECT_EQ(store.find(asker, query).objects.at(0).id, large);
}

}  // namespace
}  // namespace caesura::transit
