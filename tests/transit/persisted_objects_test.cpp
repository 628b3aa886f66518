// Objects that were put go into HDF5 files: the same values within the bound wherever they lay, in
// a file that stock HDF5 reads; from then on the file is where they sink to, also for the next
// service.
#include <fstream>
#include <set>

#include "limited_file_system.hpp"
#include "stock_reader.hpp"
#include "transit/object_hub.hpp"
#include "transit/objects/file_attributes.hpp"

namespace caesura::transit {
namespace {

using lambda::random_object;
using lambda::take;

class PersistedObjects : public ObjectHub {
  protected:
    std::string file(const std::string& name = "kept.h5") const { return place_ + "/" + name; }
    Status persist(Objects& objects, Objects::Persist what) {
        if (what.path.empty()) what.path = file();
        return objects.persist(what).wait();
    }
    /// Largest difference of what stock HDF5 reads from what was put.
    template <class T>
    double stock_off_by(const std::string& path, const std::string& name,
                        const lambda::TestObject<T>& object) {
        const auto read = testing::read_dataset(path, "/data/0/meshes/" + name);
        double most = 0.0;
        EXPECT_EQ(read.values.size(), object.values.size());
        for (std::size_t i = 0; i < read.values.size() && i < object.values.size(); ++i)
            if (std::isfinite(object.values[i]))
                most = std::max(most, std::abs(static_cast<double>(read.values[i]) -
                                               static_cast<double>(object.values[i])));
        return most;
    }
    static std::set<RegionPlace> places(Objects& objects, ObjectNumber id) {
        std::set<RegionPlace> all;
        for (const ObjectInfo& info :
             take(objects.find({.container = "run", .regions = true})).objects)
            if (info.id == id)
                for (const RegionInfo& region : info.regions) all.insert(region.place);
        return all;
    }
};

// Goal: whatever the shapes, regions, types, bounds and codecs, the file has the values within the
// bound; so has a get afterwards.
TEST_F(PersistedObjects, are_in_the_file_within_the_bound) {
    const auto objects = connect();
    std::mt19937_64 random(7301);
    const char* const codecs[] = {"caesura", "caesura:fast", "caesura:regions", "none"};
    for (int round = 0; round < 12; ++round) {
        Shape shape = Shape::filled(1 + round % 4, 1);
        for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] = 1 + random() % 20;
        auto object = random_object<double>(shape, random);
        object.cut(1 + random() % 12, random);
        const std::string name = "n" + std::to_string(round);
        const ObjectNumber id = create(*objects, object, name);
        put_all(*objects, id, object);
        Objects::Persist what{.path = file(name), .objects = {id}, .codec = {codecs[round % 4]}};
        if (round % 3 == 1) what.bound = absolute(0.25);
        const Status status = persist(*objects, what);
        ASSERT_TRUE(status.ok()) << status.message();
        const double bound = what.bound ? 0.25 : 0.0;
        EXPECT_LE(stock_off_by(file(name), name, object), bound);
        EXPECT_LE(off_by(*objects, id, object, whole(shape)), bound);
    }
}

// Goal: a container becomes one file, with a dataset for each object and what is said of it; the
// next service finds it there.
TEST_F(PersistedObjects, are_found_again_by_the_next_service) {
    std::mt19937_64 random(7302);
    auto one = random_object<float>({30, 20}, random);
    auto two = random_object<double>({400}, random);
    one.cut(5, random);
    two.cut(3, random);
    lambda::Results stats;
    {
        const auto objects = connect();
        const ObjectNumber first = take(objects->create({"mine",
                                                         "one",
                                                         float32,
                                                         one.shape,
                                                         2.5,
                                                         lossless(),
                                                         true,
                                                         false,
                                                         {{"run", "a"}, {"what", "\"test\""}}}));
        const ObjectNumber second =
            take(objects->create({"mine", "two", float64, two.shape, 3.5, absolute(1e-3)}));
        put_all(*objects, first, one);
        put_all(*objects, second, two);
        stats = take(objects->run(first, "stats").wait());
        const Status status = persist(*objects, {.container = "mine"});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(stock_off_by(file(), "one", one), 0.0);
        EXPECT_LE(stock_off_by(file(), "two", two), 1e-3);
    }
    hub_.reset();
    const auto objects = connect();
    const auto found = take(objects->find({.container = file(), .tags = {{"run", "a"}}}));
    ASSERT_EQ(found.objects.size(), 1u);
    const ObjectInfo& info = found.objects[0];
    EXPECT_EQ(info.name, "/data/0/meshes/one");
    EXPECT_EQ(info.origin, Origin::filed);
    EXPECT_EQ(info.time, 2.5);
    EXPECT_EQ(info.tags, (std::vector<Tag>{{"run", "a"}, {"what", "\"test\""}}));
    ASSERT_EQ(info.results.size(), 1u);
    expect_same(take(lambda::Results::parse(info.results[0].results)), stats, 0.0, "stats");
    EXPECT_EQ(off_by(*objects, info.id, one, whole(one.shape)), 0.0);
    const auto other = take(objects->find({.container = file(), .times = Range{3.0, 4.0}}));
    ASSERT_EQ(other.objects.size(), 1u);
    EXPECT_LE(off_by(*objects, other.objects[0].id, two, whole(two.shape)), 1e-3);
    expect_same(take(objects->run(info.id, "stats").wait()), stats, 1e-12, "stats");
}

// Goal: the file is a tier: what it has leaves memory without a sink when that is short, is read
// from it, and comes back when there is room.
TEST_F(PersistedObjects, sink_into_their_file_and_come_back) {
    options_.service.objects.memory_bytes = 40'000;  // and no sink
    const auto objects = connect();
    std::mt19937_64 random(7303);
    auto object = random_object<float>({80, 100}, random);
    object.cut(8, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    const std::vector<float> more(8000, 1.0f);
    const ObjectNumber other = take(objects->create({"run", "more", float32, {8000}}));
    EXPECT_EQ(objects->put(other, {{0}, {8000}}, more.data()).wait().code(), StatusCode::no_space);
    ASSERT_TRUE(persist(*objects, {.objects = {id}}).ok());
    EXPECT_EQ(places(*objects, id), std::set{RegionPlace::memory});
    EXPECT_TRUE(objects->put(other, {{0}, {8000}}, more.data()).wait().ok());
    EXPECT_TRUE(places(*objects, id).count(RegionPlace::file));
    EXPECT_LE(hub_->service().objects().counts().memory_bytes, 40'000u);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    for (int i = 0; i < 20; ++i) {
        const Box box = random_box(object.shape, random);
        EXPECT_EQ(off_by(*objects, id, object, box), 0.0);
    }
    const auto stats = take(objects->run(id, "stats").wait());
    EXPECT_TRUE(objects->remove(other).ok());
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_EQ(places(*objects, id), std::set{RegionPlace::memory});
    expect_same(take(objects->run(id, "stats").wait()), stats, 1e-12, "stats");
    EXPECT_TRUE(objects->remove(id).ok());
    EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 0u);
    EXPECT_EQ(stock_off_by(file(), "rho", object), 0.0);  // the file stays
}

// Goal: what went through the sink has had its bound; the file spends none on it again. The sink is
// free afterwards.
TEST_F(PersistedObjects, spend_a_bound_once) {
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 20'000;
    const auto objects = connect();
    std::mt19937_64 random(7304);
    auto object = random_object<double>({100, 100}, random);
    object.cut(20, random);
    const ObjectNumber id = create(*objects, object, "rho", absolute(0.125));
    put_all(*objects, id, object);
    ASSERT_GT(hub_->service().objects().counts().sunk, 0u);
    ASSERT_TRUE(persist(*objects, {.objects = {id}}).ok());
    EXPECT_EQ(hub_->service().objects().counts().spool_bytes, 0u);
    EXPECT_LE(stock_off_by(file(), "rho", object), 0.125);
    EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), 0.125);
    ASSERT_TRUE(persist(*objects, {.path = file("again.h5"), .objects = {id}}).ok());
    EXPECT_LE(stock_off_by(file("again.h5"), "rho", object), 0.125);
    EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), 0.125);
    EXPECT_EQ(
        persist(*objects,
                {.path = file("relative.h5"), .objects = {id}, .bound = pointwise_relative(0.1)})
            .code(),
        StatusCode::invalid_argument);
}

// Goal: regions of the sink that are a grid become chunks as they lie there: as small, and the same
// values as before.
TEST_F(PersistedObjects, go_from_the_sink_as_they_are) {
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 600'000;
    const auto objects = connect();
    lambda::TestObject<float> object;
    object.shape = {500, 1024};  // the last region is smaller
    for (std::uint64_t i = 0; i < object.shape.count(); ++i)
        object.values.push_back(static_cast<float>(std::sin(1e-3 * static_cast<double>(i % 7919))));
    for (std::uint64_t at = 0; at < 500; at += 64) {
        const std::uint64_t rows = std::min<std::uint64_t>(64, 500 - at);
        const auto begin = object.values.begin() + static_cast<long>(1024 * at);
        object.regions.push_back(
            {{{at, 0}, {rows, 1024}}, {begin, begin + static_cast<long>(1024 * rows)}});
    }
    const ObjectNumber id = create(*objects, object, "rho", absolute(1e-2));
    // One after the other: the first leaves memory, and what is read of it is what the sink has.
    for (const auto& region : object.regions)
        ASSERT_TRUE(objects->put(id, region.box, region.values.data()).wait().ok());
    ASSERT_TRUE(places(*objects, id).count(RegionPlace::sink));
    std::vector<float> sunk(64 * 1024), kept(sunk.size());
    ASSERT_TRUE(objects->get(id, {{0, 0}, {64, 1024}}, sunk.data()).wait().ok());
    ASSERT_TRUE(persist(*objects, {.objects = {id}}).ok());
    const auto read = testing::read_dataset(file(), "/data/0/meshes/rho");
    ASSERT_EQ(read.values.size(), object.values.size());
    EXPECT_TRUE(std::equal(sunk.begin(), sunk.end(), read.values.begin()));
    ASSERT_TRUE(objects->get(id, {{0, 0}, {64, 1024}}, kept.data()).wait().ok());
    EXPECT_EQ(kept, sunk);
    EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), 1e-2);
    EXPECT_LT(std::filesystem::file_size(file()), object.values.size() * sizeof(float) / 4);
    const auto filed = take(objects->find({.container = file(), .regions = true})).objects;
    ASSERT_EQ(filed.size(), 1u);
    EXPECT_EQ(filed[0].regions.size(), object.regions.size());
}

// Goal: what cannot be is its error, naming why; nothing is lost by it, and no file is touched that
// has something in it.
TEST_F(PersistedObjects, name_what_is_wrong) {
    const auto objects = connect();
    std::mt19937_64 random(7305);
    auto object = random_object<float>({40, 10}, random);
    object.cut(4, random);
    const ObjectNumber id = create(*objects, object);
    const auto wrong = [&](Objects::Persist what, StatusCode code, const char* word) {
        const Status status = persist(*objects, std::move(what));
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    };
    wrong({.objects = {id}}, StatusCode::insufficient_data, "400 of 400");
    put_all(*objects, id, object);
    wrong({.objects = {id + 7}}, StatusCode::invalid_argument, "no object");
    wrong({.container = "nobody's"}, StatusCode::invalid_argument, "nobody's");
    wrong({.container = "run", .objects = {id}}, StatusCode::invalid_argument, "container");
    wrong({.path = "/etc/kept.h5", .objects = {id}}, StatusCode::invalid_argument, "/etc/kept.h5");
    wrong({.path = place_ + "/../up.h5", .objects = {id}}, StatusCode::invalid_argument, "up.h5");
    wrong({.path = file("no/where.h5"), .objects = {id}}, StatusCode::io, "where.h5");
    wrong({.objects = {id}, .codec = {"guess"}}, StatusCode::invalid_argument, "guess");
    wrong({.objects = {id}, .bound = relative(0.1)}, StatusCode::invalid_argument, "bound");
    const ObjectNumber slashes = take(objects->create({"run", "a/b/c", float32, {1}}));
    const float value = 1.0f;
    ASSERT_TRUE(objects->put(slashes, {{0}, {1}}, &value).wait().ok());
    wrong({.objects = {slashes}}, StatusCode::invalid_argument, "a/b/c");
    std::ofstream(file("mine.txt")) << "not yours";
    wrong({.path = file("mine.txt"), .objects = {id}}, StatusCode::invalid_argument, "mine.txt");
    std::string text;
    std::getline(std::ifstream(file("mine.txt")), text);
    EXPECT_EQ(text, "not yours");
    ASSERT_TRUE(persist(*objects, {.objects = {id}}).ok());
    wrong({.objects = {id}}, StatusCode::invalid_argument, "not empty");  // it is there now
    EXPECT_EQ(stock_off_by(file(), "rho", object), 0.0);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
}

// Goal: a disk that is full is an error, whenever it becomes full. The objects are as they were,
// the disk has its room back, and the same file can be written when there is some.
TEST_F(PersistedObjects, stay_as_they_were_when_the_disk_is_full) {
    const auto disk = std::make_shared<testing::LimitedFileSystem>(0);
    options_.permit = [&](ClientId, Permit& permit) { permit.files = disk; };
    const auto objects = connect();
    std::mt19937_64 random(7306);
    auto object = random_object<double>({50, 40}, random);
    object.cut(6, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    int failed = 0;
    for (std::int64_t room = 0;; room += 4096) {
        disk->refill(room);
        const Status status = persist(*objects, {.objects = {id}, .codec = {"none"}});
        if (status.ok()) break;
        ASSERT_EQ(status.code(), StatusCode::no_space) << status.message();
        ++failed;
        EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
        EXPECT_EQ(places(*objects, id), std::set{RegionPlace::memory});
        if (std::filesystem::exists(file())) {
            EXPECT_EQ(std::filesystem::file_size(file()), 0u);
        }
    }
    EXPECT_GT(failed, 2);
    EXPECT_EQ(stock_off_by(file(), "rho", object), 0.0);
}

// Goal: a client that goes while its objects are being persisted leaves no half file behind; the
// service goes on.
TEST_F(PersistedObjects, of_a_client_that_dies_leave_no_half_file) {
    start();
    const auto survivor = connect();
    std::mt19937_64 random(7307);
    for (int round = 0; round < 10; ++round) {
        auto object = random_object<float>({200, 100}, random);
        object.cut(10, random);
        const std::string name = "n" + std::to_string(round);
        auto victim = connect();
        const ClientId client = hub_->last_client();
        const ObjectNumber id =
            take(victim->create({"run", name, float32, object.shape, 0.0, lossless(), true}));
        put_all(*victim, id, object);
        const Ticket ticket = victim->persist({.path = file(name), .objects = {id}});
        if (round % 2 == 0) (void)take(victim->find({.name = name}));  // it has begun
        hub_->kill_client(client);
        (void)ticket.wait();
        victim.reset();
        Status status;
        do {
            status = persist(*survivor, {.path = file(name), .objects = {id}});
        } while (status.code() == StatusCode::io);  // the victim's is still being given up
        if (!status.ok()) {
            EXPECT_NE(status.message().find("not empty"), std::string::npos) << status.message();
        }
        EXPECT_EQ(stock_off_by(file(name), name, object), 0.0);
        EXPECT_TRUE(survivor->remove(id).ok());
    }
    EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 0u);
}

// Goal: one that is deleted while it is being persisted is in the file whole, or there is no file.
TEST_F(PersistedObjects, deleted_meanwhile_are_in_the_file_or_not) {
    const auto objects = connect();
    std::mt19937_64 random(7308);
    for (int round = 0; round < 10; ++round) {
        auto object = random_object<float>({300, 100}, random);
        object.cut(10, random);
        const std::string name = "n" + std::to_string(round);
        const ObjectNumber id = create(*objects, object, name);
        put_all(*objects, id, object);
        const Ticket ticket = objects->persist({.path = file(name), .objects = {id}});
        EXPECT_TRUE(objects->remove(id).ok());
        if (const Status status = ticket.wait(); status.ok())
            EXPECT_EQ(stock_off_by(file(name), name, object), 0.0);
        else
            EXPECT_NE(status.message().find("no object"), std::string::npos) << status.message();
    }
    EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 0u);
}

// Goal: what attributes say comes back as it was, also numbers that JSON has not; what is no text,
// or too much, is refused.
TEST(AttributesOfObjects, come_back_as_they_were) {
    ObjectInfo object;
    object.id = 7;
    object.container = "run";
    object.name = "rho";
    object.owner = "bob";
    object.time = 0.25;
    object.tags = {{"a", ""}, {"a", "\"b\"\\"}, {"\u00e4", "\n"}};
    lambda::Results results;
    results.put("count", std::int64_t{3});
    results.put("mean", 0.1);
    results.put("one", 1.0);
    results.put("none", std::numeric_limits<double>::quiet_NaN());
    results.put("most", -std::numeric_limits<double>::infinity());
    results.put("counts", std::vector<std::int64_t>{1, 2});
    results.put("edges", std::vector<double>{0.5, std::numeric_limits<double>::infinity()});
    results.put("text", std::string("words"));
    object.results = {{"stats", results.bytes()}};
    const auto attributes = attributes_of(object);
    ASSERT_TRUE(attributes.ok()) << attributes.status().message();
    const FiledNotes notes = notes_of(*attributes);
    EXPECT_EQ(notes.time, 0.25);
    EXPECT_EQ(notes.tags, object.tags);
    ASSERT_EQ(notes.results.size(), 1u);
    EXPECT_EQ(notes.results[0].call, "stats");
    expect_same(take(lambda::Results::parse(notes.results[0].results)), results, 0.0, "stats");
    object.tags = {{"a", "\xff"}};
    EXPECT_EQ(attributes_of(object).status().code(), StatusCode::invalid_argument);
    object.tags.assign(40, {std::string(500, 'n'), std::string(500, 't')});
    EXPECT_EQ(attributes_of(object).status().code(), StatusCode::invalid_argument);
}

// Goal: of many results the latest are kept that fit; attributes of others do no harm.
TEST(AttributesOfObjects, fit_the_header_and_take_anything) {
    ObjectInfo object;
    object.name = "rho";
    lambda::Results results;
    results.put("counts", std::vector<std::int64_t>(2000, 1234567));
    for (int i = 0; i < 10; ++i)
        object.results.push_back({"call" + std::to_string(i), results.bytes()});
    const FiledNotes notes = notes_of(take(attributes_of(object)));
    ASSERT_FALSE(notes.results.empty());
    EXPECT_LT(notes.results.size(), 10u);
    for (const ResultInfo& one : notes.results) EXPECT_GE(one.call, "call5");
    for (const char* text : {"", "{", "[]", "[1]", "[[1,2]]", "[[\"\",\"\"]]", "null", "{\"\":{}}",
                             "{\"a\":[]}", "\xff"}) {
        const FiledNotes none = notes_of({{"caesura_object_tags", std::string(text)},
                                          {"caesura_analyses", std::string(text)},
                                          {"caesura_object_time", std::string(text)}});
        EXPECT_TRUE(none.tags.empty() && none.results.empty() && !none.time) << text;
    }
}

// Goal: objects are persisted by their owner alone, and at most a few files at once.
TEST_F(PersistedObjects, are_their_owners_to_persist) {
    options_.permit = [](ClientId client, Permit& permit) {
        permit.owner = client % 2 == 1 ? "alice" : "bob";
        permit.reads = {"*"};
    };
    const auto alice = connect(), bob = connect();
    const std::vector<float> values(1000, 3.0f);
    const ObjectNumber id = take(alice->create({"run", "rho", float32, {1000}}));
    ASSERT_TRUE(alice->put(id, {{0}, {1000}}, values.data()).wait().ok());
    EXPECT_EQ(persist(*bob, {.objects = {id}}).code(), StatusCode::invalid_argument);
    EXPECT_EQ(persist(*bob, {.container = "run"}).code(), StatusCode::invalid_argument);
    std::vector<Ticket> tickets;
    for (int i = 0; i < 12; ++i)
        tickets.push_back(alice->persist({.path = file("f" + std::to_string(i)), .objects = {id}}));
    int good = 0;
    for (const Ticket& ticket : tickets) {
        const Status status = ticket.wait();
        good += status.ok();
        if (!status.ok()) {
            EXPECT_EQ(status.code(), StatusCode::no_space);
        }
    }
    EXPECT_GE(good, 1);
}

}  // namespace
}  // namespace caesura::transit
