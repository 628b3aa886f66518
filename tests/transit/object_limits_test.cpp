// What clients of objects may not, and what is left of them when they go.
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

using lambda::random_object;
using lambda::take;

StatusCode code_of(const Status& status) { return status.code(); }

// Goal: what is wrong with a request is its error, and changes nothing.
TEST_F(ObjectHub, names_what_is_wrong_and_goes_on) {
    const auto objects = connect();
    std::mt19937_64 random(7101);
    auto object = random_object<float>({10, 10}, random);
    object.cut(1, random);
    const ObjectNumber id = create(*objects, object);
    const std::vector<float> values(100);
    const std::vector<double> doubles(100);
    std::vector<float> got(200);
    const auto put = [&](const Box& box) {
        return code_of(objects->put(id, box, values.data()).wait());
    };
    EXPECT_EQ(put({{0, 0}, {4, 10}}), StatusCode::ok);
    EXPECT_EQ(put({{3, 9}, {2, 1}}), StatusCode::invalid_argument);   // lies on the first
    EXPECT_EQ(put({{8, 0}, {3, 10}}), StatusCode::invalid_argument);  // outside
    EXPECT_EQ(put({{4}, {4}}), StatusCode::invalid_argument);
    EXPECT_EQ(put({{4, 0}, {0, 10}}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(objects->put(id, {{4, 0}, {1, 10}}, doubles.data()).wait()),
              StatusCode::invalid_argument);
    EXPECT_EQ(code_of(objects->put(id + 99, {{4, 0}, {1, 10}}, values.data()).wait()),
              StatusCode::invalid_argument);
    const Status missing = objects->get(id, {{0, 0}, {5, 10}}, got.data()).wait();
    EXPECT_EQ(missing.code(), StatusCode::insufficient_data);
    EXPECT_NE(missing.message().find("10 of 50"), std::string::npos) << missing.message();
    EXPECT_EQ(code_of(objects->get(id, {{0, 0}, {11, 1}}, got.data()).wait()),
              StatusCode::invalid_argument);
    EXPECT_EQ(objects->run(id, "stats").wait().status().code(), StatusCode::insufficient_data);
    EXPECT_EQ(
        code_of(objects->get(id, {{0, 0}, {1, 1}}, reinterpret_cast<double*>(got.data())).wait()),
        StatusCode::invalid_argument);
    EXPECT_EQ(objects->create({"run", "rho", float64, {10, 10}}).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(take(objects->create({"run", "rho", float32, {10, 10}})), id);  // joined
    EXPECT_EQ(objects->create({"run", "", float32, {10}}).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(objects->create({"run", "a", float32, {}}).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(objects->create({"run", "a", float32, {4}, 0.0, relative(0.1)}).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(put({{4, 0}, {6, 10}}), StatusCode::ok);
    EXPECT_TRUE(objects->run(id, "stats").wait().ok());
}

// Goal: without a sink memory is a limit; nothing of what was refused stays.
TEST_F(ObjectHub, refuses_what_has_no_room) {
    options_.service.objects = {1000, 3, 4};
    const auto objects = connect();
    const std::vector<float> values(1000);
    const ObjectNumber id = take(objects->create({"run", "rho", float32, {1000}}));
    EXPECT_TRUE(objects->put(id, {{0}, {200}}, values.data()).wait().ok());
    EXPECT_EQ(code_of(objects->put(id, {{200}, {100}}, values.data()).wait()),
              StatusCode::no_space);
    EXPECT_TRUE(objects->put(id, {{200}, {50}}, values.data()).wait().ok());
    EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 1000u);
    EXPECT_TRUE(objects->remove(id).ok());
    EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 0u);
    const ObjectNumber other = take(objects->create({"run", "many", float32, {1000}}));
    for (std::uint64_t i = 0; i < 5; ++i)
        EXPECT_EQ(code_of(objects->put(other, {{i}, {1}}, values.data()).wait()),
                  i < 4 ? StatusCode::ok : StatusCode::no_space);
    EXPECT_TRUE(objects->create({"run", "b", float32, {4}}).ok());
    EXPECT_TRUE(objects->create({"run", "c", float32, {4}}).ok());
    EXPECT_EQ(objects->create({"run", "d", float32, {4}}).status().code(), StatusCode::no_space);
}

// Goal: the states of analyses count against a limit, which the error names; afterwards nothing of
// them is left.
TEST_F(ObjectHub, refuses_analyses_whose_states_have_no_room) {
    options_.service.objects.states_bytes = 2'000'000;
    const auto objects = connect();
    std::mt19937_64 random(7106);
    auto object = random_object<double>({40, 100, 100}, random);  // 3.2 MB
    object.cut(30, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    const auto spectrum = objects->run(id, "spectrum").wait();  // keeps all values
    EXPECT_EQ(spectrum.status().code(), StatusCode::no_space);
    EXPECT_NE(spectrum.status().message().find("2000000 (states_bytes)"), std::string::npos)
        << spectrum.status().message();
    EXPECT_TRUE(objects->run(id, "stats").wait().ok());
    EXPECT_TRUE(objects->run(id, "histogram(bins=64)").wait().ok());  // two passes
    const Box part{{0, 0, 0}, {10, 100, 100}};
    EXPECT_NE(objects->run(id, "spectrum", part).wait().status().code(), StatusCode::no_space);
    // An errand's state goes on its lane, after its answer.
    while (hub_->service().objects().counts().states_bytes > 0) std::this_thread::yield();
}

// Goal: what is found comes whole though it takes many answers; an object that no answer holds
// comes without its regions.
TEST_F(ObjectHub, answers_a_find_that_is_larger_than_an_answer) {
    options_.service.objects.answer_bytes = 20'000;
    const auto objects = connect();
    std::mt19937_64 random(7107);
    for (int i = 0; i < 12; ++i) {
        auto object = random_object<float>({40, 5}, random);
        object.cut(40, random);
        put_all(*objects, create(*objects, object, "o" + std::to_string(i)), object);
    }
    const auto found = take(objects->find({.regions = true}));
    ASSERT_EQ(found.objects.size(), 12u);
    for (const ObjectInfo& info : found.objects) EXPECT_EQ(info.regions.size(), info.regions_known);
    auto large = random_object<float>({40, 40}, random);
    large.cut(500, random);
    put_all(*objects, create(*objects, large, "large"), large);
    const auto with_it = take(objects->find({.regions = true})).objects;
    ASSERT_EQ(with_it.size(), 13u);
    EXPECT_EQ(with_it.back().regions.size(), 0u);
    EXPECT_EQ(with_it.back().regions_known, large.regions.size());
    EXPECT_EQ(take(objects->find({})).objects.size(), 13u);
    EXPECT_EQ(take(objects->find({.name = "o*", .regions = true})).objects.size(), 12u);
}

// Goal: a sink that is full is an error of the put that it had no room for; what was there stays.
TEST_F(ObjectHub, says_that_the_sink_is_full) {
    options_.service.sink = place_ + "/sink";
    options_.service.sink_bytes = 3000;
    options_.service.objects.memory_bytes = 2000;
    const auto objects = connect();
    std::mt19937_64 random(7102);
    auto object = random_object<double>({1000}, random);  // noise: hardly compressible
    const ObjectNumber id = create(*objects, object);
    std::uint64_t good = 0;
    for (std::uint64_t i = 0; i < 10; ++i) {
        const Status status =
            objects->put(id, {{100 * i}, {100}}, object.values.data() + 100 * i).wait();
        if (!status.ok()) {
            EXPECT_EQ(status.code(), StatusCode::no_space) << status.message();
            break;
        }
        ++good;
    }
    EXPECT_GE(good, 3u);
    EXPECT_LT(good, 10u);
    EXPECT_EQ(off_by(*objects, id, object, {{0}, {100 * good}}), 0.0);
}

// Goal: with hardly any credit all puts get through, one after the other.
TEST_F(ObjectHub, puts_with_hardly_any_credit) {
    options_.credits_bytes = 100;
    const auto objects = connect();
    std::mt19937_64 random(7103);
    auto object = random_object<float>({30, 30}, random);
    object.cut(20, random);
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
}

// Goal: objects belong to their owner. Others see and reach nothing, unless they may read.
TEST_F(ObjectHub, keeps_objects_of_owners_apart) {
    options_.permit = [](ClientId client, Permit& permit) {
        const char* const owners[] = {"alice", "bob", "carol", "dave"};
        permit.owner = owners[(client - 1) % 4];
        if (permit.owner == "carol") permit.reads = {"alice"};
        if (permit.owner == "dave") permit.reads = {"*"};
    };
    const auto alice = connect(), bob = connect(), carol = connect(), dave = connect();
    const std::vector<float> values(10, 3.0f);
    std::vector<float> got(10);
    const ObjectNumber id = take(alice->create({"run", "rho", float32, {10}}));
    ASSERT_TRUE(alice->put(id, {{0}, {5}}, values.data()).wait().ok());
    ASSERT_TRUE(alice->put(id, {{5}, {5}}, values.data()).wait().ok());
    const ObjectNumber his = take(bob->create({"run", "rho", float64, {3}}));  // his own name
    EXPECT_NE(his, id);
    EXPECT_EQ(take(bob->find({})).objects.size(), 1u);
    EXPECT_FALSE(bob->get(id, {{0}, {10}}, got.data()).wait().ok());
    EXPECT_FALSE(bob->run(id, "stats").wait().ok());
    for (const auto& reader : {carol.get(), dave.get()}) {
        EXPECT_EQ(take(reader->find({.name = "rho"})).objects.size(),
                  reader == carol.get() ? 1u : 2u);
        ASSERT_TRUE(reader->get(id, {{0}, {10}}, got.data()).wait().ok());
        EXPECT_EQ(got, values);
        EXPECT_TRUE(reader->run(id, "stats").wait().ok());
        EXPECT_FALSE(reader->remove(id).ok());
        EXPECT_FALSE(reader->put(id, {{5}, {1}}, values.data()).wait().ok());
    }
    EXPECT_FALSE(bob->remove(id).ok());
    EXPECT_TRUE(alice->remove(id).ok());
    EXPECT_FALSE(carol->get(id, {{0}, {10}}, got.data()).wait().ok());
}

// Goal: a client that dies takes its objects along, what it is putting and reading too; kept ones
// stay whole, and the service works on.
TEST_F(ObjectHub, forgets_the_objects_of_a_client_that_dies) {
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 50'000;
    start();
    const auto survivor = connect();
    std::mt19937_64 random(7104);
    for (int round = 0; round < 20; ++round) {
        auto object = random_object<float>({40, 100}, random);
        object.cut(12, random);
        auto victim = connect();
        const ClientId client = hub_->last_client();
        const ObjectNumber kept = take(victim->create(
            {"kept", "k" + std::to_string(round), float32, object.shape, 0.0, lossless(), true}));
        if (round % 2 == 0) put_all(*victim, kept, object);
        const ObjectNumber own = create(*victim, object);
        std::vector<Ticket> tickets;
        for (const auto& region : object.regions)
            tickets.push_back(victim->put(own, region.box, region.values.data()));
        std::vector<float> got(object.values.size());
        const Ticket reading = victim->get(kept, whole(object.shape), got.data());
        const RunTicket running = victim->run(kept, "entropy");
        if (round % 3 == 0) (void)tickets.front().wait();
        hub_->kill_client(client);
        for (const Ticket& ticket : tickets) (void)ticket.wait();  // they all end
        (void)reading.wait();
        (void)running.wait();
        EXPECT_FALSE(victim->create({"run", "late", float32, {4}}).ok());
        victim.reset();
        while (!take(survivor->find({.container = "run"})).objects.empty())
            std::this_thread::yield();  // its session ends on another lane
        if (round % 2 == 0) {
            EXPECT_EQ(off_by(*survivor, kept, object, whole(object.shape)), 0.0);
        }
        EXPECT_TRUE(survivor->remove(kept).ok());
        const auto held = [&] {
            const auto counts = hub_->service().objects().counts();
            return counts.memory_bytes + counts.spool_bytes;
        };
        while (held() > 0) std::this_thread::yield();  // what a worker still reads goes last
    }
}

// Goal: a service that dies ends every ticket.
TEST_F(ObjectHub, ends_all_tickets_when_the_service_dies) {
    for (std::int64_t after = 2; after < 60; after += 3) {
        options_.die_after = after;
        start();
        std::mt19937_64 random(7105);
        auto object = random_object<float>({50, 50}, random);
        object.cut(10, random);
        {
            const auto objects = connect();
            const auto id = objects->create({"run", "rho", float32, object.shape});
            std::vector<Ticket> tickets;
            std::vector<float> got(object.values.size());
            for (const auto& region : object.regions)
                tickets.push_back(
                    objects->put(id.ok() ? *id : 1, region.box, region.values.data()));
            for (int i = 0; i < 30; ++i)
                tickets.push_back(objects->get(id.ok() ? *id : 1, whole(object.shape), got.data()));
            for (const Ticket& ticket : tickets) (void)ticket.wait();
            EXPECT_FALSE(objects->find({}).ok() && after < 40);
        }
        hub_.reset();
    }
}

}  // namespace
}  // namespace caesura::transit
