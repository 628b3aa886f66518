// Goal: regions of objects go from memory to a device's memory and to the sink, and come back the
// same; their places are known. A device that fails loses nobody anything.

#include "transit/object_hub.hpp"
#include "transit/objects/fragile_device.hpp"
#include "transit/objects/written_block.hpp"
#include "transit/service/device_settings.hpp"

namespace caesura::transit {
namespace {

using lambda::random_object;
using lambda::take;

constexpr std::uint64_t k_region_bytes = 10'000;

class DeviceTier : public ObjectHub {
  protected:
    /// @param memories  one for each device, in bytes.
    void start_with(std::vector<std::uint64_t> memories, std::uint64_t memory_bytes = 40'000) {
        options_.service.sink = place_ + "/sink";
        options_.service.objects.memory_bytes = memory_bytes;
        options_.service.make_device_memories = [this, memories] {
            std::vector<std::unique_ptr<DeviceMemory>> all;
            for (std::size_t i = 0; i < memories.size(); ++i)
                all.push_back(fragile_memory(memories[i], fragility_, "gpu" + std::to_string(i)));
            return all;
        };
    }
    /// Rows of k_region_bytes, values as random as they come.
    static lambda::TestObject<float> rows(std::uint64_t count, unsigned seed) {
        std::mt19937_64 random(seed);
        auto object = random_object<float>({count, k_region_bytes / 4}, random);
        for (std::uint64_t row = 0; row < count; ++row) {
            const auto at = object.values.begin() + static_cast<long>(row * k_region_bytes / 4);
            object.regions.push_back({{{row, 0}, {1, k_region_bytes / 4}},
                                      {at, at + static_cast<long>(k_region_bytes / 4)}});
        }
        return object;
    }
    // One after the other, so that it is known which one leaves memory next.
    static void put_in_order(Objects& objects, ObjectNumber id,
                             const lambda::TestObject<float>& object) {
        for (const auto& region : object.regions) {
            const Status status = objects.put(id, region.box, region.values.data()).wait();
            ASSERT_TRUE(status.ok()) << status.message();
        }
    }
    static std::vector<RegionPlace> places(Objects& objects, ObjectNumber id) {
        std::vector<RegionPlace> all;
        for (const ObjectInfo& info : take(objects.find({.regions = true})).objects)
            if (info.id == id)
                for (const RegionInfo& region : info.regions) all.push_back(region.place);
        return all;
    }
    static std::vector<RegionPlace> in_turn(
        const std::vector<std::pair<std::size_t, RegionPlace>>& runs) {
        std::vector<RegionPlace> all;
        for (const auto& [count, place] : runs) all.insert(all.end(), count, place);
        return all;
    }
    ObjectStore::Counts counts() const { return hub_->service().objects().counts(); }

    std::shared_ptr<Fragility> fragility_ = std::make_shared<Fragility>();
};

// 20 regions, room for 4 in memory and for 8 in the device.
TEST_F(DeviceTier, holds_an_object_that_is_larger_than_memory_and_device) {
    start_with({80'000});
    const auto objects = connect();
    const auto object = rows(20, 8201);
    const ObjectNumber id = create(*objects, object);
    put_in_order(*objects, id, object);
    const auto wanted =
        in_turn({{8, RegionPlace::sink}, {8, RegionPlace::device}, {4, RegionPlace::memory}});
    EXPECT_EQ(places(*objects, id), wanted);
    EXPECT_EQ(counts().memory_bytes, 4 * k_region_bytes);
    ASSERT_EQ(counts().devices.size(), 1u);
    EXPECT_EQ(counts().devices[0].name, "gpu0");
    EXPECT_EQ(counts().devices[0].bytes, 8 * k_region_bytes);
    EXPECT_EQ(counts().devices[0].most_bytes, 80'000u);
    EXPECT_EQ(counts().sunk, 16u);
    // The sink has what the device has, too: noise takes about as much room as it is.
    EXPECT_GT(counts().spool_bytes, 16 * k_region_bytes / 2);
    const auto infos = take(objects->find({.regions = true})).objects;
    for (std::size_t i = 8; i < 20; ++i)
        EXPECT_EQ(infos.front().regions[i].stored_bytes, k_region_bytes);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_EQ(places(*objects, id), wanted);  // there is no room for anything to come back
    std::mt19937_64 random(8202);
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(off_by(*objects, id, object, random_box(object.shape, random)), 0.0);
    const auto stats = take(objects->run(id, "stats").wait());
    EXPECT_EQ(std::get<std::int64_t>(*stats.find("count")),
              static_cast<std::int64_t>(object.values.size()));
    EXPECT_TRUE(objects->remove(id).ok());
    EXPECT_EQ(counts().memory_bytes, 0u);
    EXPECT_EQ(counts().devices[0].bytes, 0u);
    EXPECT_EQ(counts().spool_bytes, 0u);
}

// What was used last stays in the device; what is read comes back where there is room.
TEST_F(DeviceTier, keeps_what_was_used_last_and_takes_back_what_is_read) {
    start_with({40'000});
    const auto objects = connect();
    const auto first = rows(8, 8203), second = rows(2, 8204);
    const ObjectNumber one = create(*objects, first, "one"), two = create(*objects, second, "two");
    put_in_order(*objects, one, first);  // 0 to 3 in the device, 4 to 7 in memory
    EXPECT_EQ(off_by(*objects, one, first, first.regions[0].box), 0.0);
    put_in_order(*objects, two, second);  // 4 and 5 leave memory, and 1 and 2 the device
    EXPECT_EQ(places(*objects, one),
              (std::vector{RegionPlace::device, RegionPlace::sink, RegionPlace::sink,
                           RegionPlace::device, RegionPlace::device, RegionPlace::device,
                           RegionPlace::memory, RegionPlace::memory}));
    EXPECT_EQ(off_by(*objects, one, first, first.regions[1].box), 0.0);
    EXPECT_EQ(places(*objects, one)[1], RegionPlace::sink);  // no room
    EXPECT_TRUE(objects->remove(two).ok());                  // room for two in memory
    EXPECT_EQ(off_by(*objects, one, first, first.regions[3].box), 0.0);
    EXPECT_EQ(off_by(*objects, one, first, first.regions[1].box), 0.0);
    EXPECT_EQ(places(*objects, one)[3], RegionPlace::memory);
    EXPECT_EQ(places(*objects, one)[1], RegionPlace::memory);
    EXPECT_EQ(off_by(*objects, one, first, whole(first.shape)), 0.0);
}

// A file is a place of a disk as well: a device takes copies of it without a sink.
TEST_F(DeviceTier, takes_copies_of_regions_that_a_file_has) {
    start_with({30'000});
    options_.service.sink.clear();
    const auto objects = connect();
    const auto first = rows(4, 8205), second = rows(4, 8206);
    const ObjectNumber one = create(*objects, first, "one");
    put_in_order(*objects, one, first);
    ASSERT_TRUE(objects->persist({.path = place_ + "/one.h5", .objects = {one}}).wait().ok());
    const ObjectNumber two = create(*objects, second, "two");
    put_in_order(*objects, two, second);
    EXPECT_EQ(places(*objects, one), in_turn({{4, RegionPlace::file}}));
    EXPECT_EQ(off_by(*objects, one, first, whole(first.shape)), 0.0);
    EXPECT_EQ(places(*objects, one), in_turn({{3, RegionPlace::device}, {1, RegionPlace::file}}));
    EXPECT_EQ(off_by(*objects, one, first, whole(first.shape)), 0.0);
    EXPECT_EQ(counts().devices[0].bytes, 30'000u);
}

// What lay in sink and device lies in file and device afterwards, and the sink is free.
TEST_F(DeviceTier, stands_beside_a_file_that_takes_the_sinks_place) {
    start_with({40'000}, 20'000);
    const auto objects = connect();
    const auto object = rows(8, 8207);
    const ObjectNumber id = create(*objects, object, "rho", absolute(1e-3));
    put_in_order(*objects, id, object);
    const std::string path = place_ + "/rho.h5";
    ASSERT_TRUE(objects->persist({.path = path, .objects = {id}}).wait().ok());
    EXPECT_EQ(counts().spool_bytes, 0u);
    EXPECT_EQ(
        places(*objects, id),
        in_turn({{2, RegionPlace::file}, {4, RegionPlace::device}, {2, RegionPlace::memory}}));
    EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), 1e-3);
    fragility_->fails = true;
    EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), 1e-3);
    EXPECT_TRUE(counts().devices[0].is_lost);
}

TEST_F(DeviceTier, loses_nothing_when_the_device_fails_or_its_bytes_change) {
    for (const bool changes : {false, true}) {
        fragility_ = std::make_shared<Fragility>();
        start_with({80'000});
        start();
        const auto objects = connect();
        const auto object = rows(20, 8208), more = rows(6, 8209);
        const ObjectNumber id = create(*objects, object);
        put_in_order(*objects, id, object);
        (changes ? fragility_->changes : fragility_->fails) = true;
        EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
        EXPECT_TRUE(counts().devices[0].is_lost);
        EXPECT_EQ(counts().devices[0].bytes, 0u);
        EXPECT_EQ(places(*objects, id),
                  in_turn({{16, RegionPlace::sink}, {4, RegionPlace::memory}}));
        const int transfers = fragility_->transfers;
        const ObjectNumber other = create(*objects, more, "more");
        put_in_order(*objects, other, more);
        EXPECT_EQ(off_by(*objects, other, more, whole(more.shape)), 0.0);
        EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
        EXPECT_EQ(fragility_->transfers, transfers);  // nobody asks it again
    }
}

TEST_F(DeviceTier, spreads_regions_over_several_devices) {
    start_with({30'000, 50'000});
    const auto objects = connect();
    const auto object = rows(14, 8210);
    const ObjectNumber id = create(*objects, object);
    put_in_order(*objects, id, object);
    EXPECT_EQ(counts().devices[0].bytes + counts().devices[1].bytes, 80'000u);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
}

// What a chain made of a region lies there as it is.
TEST_F(DeviceTier, holds_what_a_chain_made) {
    start_with({80'000});
    const auto objects = connect();
    const auto object = rows(20, 8211);
    for (const ChainSide side : {ChainSide::client, ChainSide::service}) {
        const ObjectNumber id = take(objects->create({.container = "run",
                                                      .name = "rho",
                                                      .dtype = float32,
                                                      .shape = object.shape,
                                                      .chain = {"shuffle | zstd", side}}));
        put_in_order(*objects, id, object);
        EXPECT_GT(counts().devices[0].bytes, 0u);
        EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
        fragility_->transfers = 0;
        EXPECT_EQ(off_by(*objects, id, object, object.regions[13].box), 0.0);
        EXPECT_EQ(fragility_->transfers, 1);
        EXPECT_TRUE(objects->remove(id).ok());
    }
}

// The memory that an operator's file names.
TEST(DeviceTierSettings, make_the_memory_that_they_name) {
    DeviceSettings settings;
    settings.name = "gpu";
    EXPECT_EQ(*make_device_memory(settings), nullptr);
    settings.object_bytes = 1000;
    const auto memory = make_device_memory(settings);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ((*memory)->most_bytes(), 1000u);
    const std::vector<std::byte> bytes(1000, std::byte{7});
    std::vector<std::byte> back(1000);
    const auto block = written_block(**memory, bytes);
    ASSERT_TRUE(block.ok());
    ASSERT_TRUE((*block)->read(back).ok());
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(written_block(**memory, {bytes.data(), 1}).status().code(), StatusCode::no_space);
}

}  // namespace
}  // namespace caesura::transit
