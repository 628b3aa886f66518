// Goal: objects that go through a chain of transforms come back, at whichever end it is applied;
// what a client encrypts nobody reads, changes or swaps without being caught.
#include <sys/stat.h>

#include "base/whole_file.hpp"
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

using lambda::random_object;
using lambda::random_shape;
using lambda::take;
using lambda::TestObject;

class ChainedObjects : public ObjectHub {
  protected:
    lambda::Operator key(unsigned char fill) {
        const std::string path = place_ + "/key" + std::to_string(fill);
        base::put_file(path, std::vector<std::byte>(lambda::Key::k_bytes, std::byte{fill}));
        ::chmod(path.c_str(), 0600);
        return {take(lambda::Key::read(path))};
    }
    std::unique_ptr<Objects> connect_with(const lambda::Operator& by, bool encrypted_only = false) {
        if (!hub_) start();
        ClientOptions options;
        options.share_memory = false;
        return std::make_unique<Objects>(take(Client::make(hub_->connect(), options)), by,
                                         encrypted_only);
    }
    template <class T>
    static Result<ObjectNumber> create_chained(Objects& objects, const TestObject<T>& object,
                                               const std::string& name, const std::string& chain,
                                               ChainSide side = ChainSide::client) {
        return objects.create({"run",
                               name,
                               sizeof(T) == 4 ? float32 : float64,
                               object.shape,
                               1.5,
                               lossless(),
                               false,
                               false,
                               {},
                               {chain, side}});
    }
    /// What the service says to a message that Objects might not send.
    template <class Message>
    static Result<Client::Reply> ask(Objects& objects, const Message& message,
                                     std::vector<std::span<const std::byte>> payload = {}) {
        struct Waiting {
            std::mutex mutex;
            std::condition_variable changed;
            std::optional<Result<Client::Reply>> reply;
        };
        const auto waiting = std::make_shared<Waiting>();
        objects.client().ask_later(message.request, message, std::move(payload),
                                   [waiting](Result<Client::Reply> reply) {
                                       const std::lock_guard lock(waiting->mutex);
                                       waiting->reply = std::move(reply);
                                       waiting->changed.notify_all();
                                   });
        std::unique_lock lock(waiting->mutex);
        waiting->changed.wait(lock, [&] { return waiting->reply.has_value(); });
        return std::move(*waiting->reply);
    }
    /// Bytes as a client would send them that does not go by the rules.
    static Status put_bytes(Objects& objects, ObjectNumber id, const Box& box, DType dtype,
                            std::span<const std::byte> bytes, bool chained = true) {
        if (!objects.client().spend(bytes.size())) return objects.client().loss();
        const PutRegion message{
            objects.client().next_number(), id, dtype, box, bytes.size(), chained};
        return ask(objects, message, {bytes}).status();
    }
    static void expect_says(const Status& status, StatusCode code,
                            std::initializer_list<std::string> words) {
        EXPECT_EQ(status.code(), code) << status.message();
        for (const std::string& word : words)
            EXPECT_NE(status.message().find(word), std::string::npos)
                << word << ": " << status.message();
    }
};

const std::vector<std::string>& chains() {
    static const std::vector<std::string> all = {
        "zstd",        "shuffle | deflate",     "caesura",    "caesura@deflate", "aead",
        "zstd | aead", "shuffle | zstd | aead", "aead | zstd"};
    return all;
}

// Goal: any box comes back bit for bit, from memory and from the sink, from a client that has not
// made the object, whichever end applies the chain.
TEST_F(ChainedObjects, give_back_any_box_from_either_end) {
    options_.service.by = key(1);
    options_.service.sink = place_ + "/sink";
    options_.service.objects.memory_bytes = 20'000;
    const auto writer = connect_with(key(1)), reader = connect_with(key(1));
    std::mt19937_64 random(7101);
    const auto check = [&](auto object, const std::string& chain, ChainSide side) {
        object.cut(1 + random() % 12, random);
        const ObjectNumber id = take(create_chained(*writer, object, "rho", chain, side));
        put_all(*writer, id, object);
        for (int i = 0; i < 4; ++i)
            for (Objects* const objects : {writer.get(), reader.get()})
                EXPECT_EQ(off_by(*objects, id, object, random_box(object.shape, random)), 0.0)
                    << chain;
        EXPECT_EQ(off_by(*reader, id, object, whole(object.shape)), 0.0) << chain;
        EXPECT_TRUE(writer->remove(id).ok());
    };
    for (const std::string& chain : chains())
        for (const ChainSide side : {ChainSide::client, ChainSide::service})
            for (int rank = 1; rank <= k_max_rank; ++rank) {
                check(random_object<float>(random_shape(rank, 20, random), random, 0.05), chain,
                      side);
                check(random_object<double>(random_shape(rank, 20, random), random, 0.05), chain,
                      side);
            }
    const auto counts = hub_->service().objects().counts();
    EXPECT_EQ(counts.memory_bytes, 0u);
    EXPECT_EQ(counts.spool_bytes, 0u);
    EXPECT_GT(counts.sunk, 0u);
    EXPECT_GT(counts.chained_bytes, 0u);
}

// Goal: a chain that loses keeps its bound, and a query by value misses no region that has such a
// value, as values come back.
TEST_F(ChainedObjects, that_lose_keep_the_bound_and_their_ranges) {
    const auto objects = connect();
    std::mt19937_64 random(7102);
    for (const ChainSide side : {ChainSide::client, ChainSide::service}) {
        auto object = random_object<float>({40, 50}, random);
        object.cut(9, random);
        const ObjectNumber id = take(
            create_chained(*objects, object, "rho", "caesura@deflate(bound=1e-2) | zstd", side));
        put_all(*objects, id, object);
        EXPECT_LE(off_by(*objects, id, object, whole(object.shape)), 1e-2);
        EXPECT_GT(off_by(*objects, id, object, whole(object.shape)), 0.0);
        Objects::Query query;
        query.regions = true;
        const auto found = take(objects->find(query)).objects;
        ASSERT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].chain.side, side);
        EXPECT_EQ(found[0].chain.text.find("caesura@deflate(bound=0.01"), 0u)
            << found[0].chain.text;
        std::uint64_t stored = 0;
        for (const RegionInfo& region : found[0].regions) {
            std::vector<float> got(region.box.extent.count());
            ASSERT_TRUE(objects->get(id, region.box, got.data()).wait().ok());
            const auto [low, high] = std::minmax_element(got.begin(), got.end());
            ASSERT_TRUE(region.range.has_value());
            EXPECT_EQ(region.range->lowest, *low);
            EXPECT_EQ(region.range->highest, *high);
            stored += region.stored_bytes;
        }
        EXPECT_EQ(found[0].stored_bytes, stored);
        EXPECT_EQ(hub_->service().objects().counts().memory_bytes, stored);
        EXPECT_TRUE(objects->remove(id).ok());
    }
}

// Goal: analyses in the service see the values of chains that it can undo, as they come back.
TEST_F(ChainedObjects, are_analysed_where_the_service_can_undo_them) {
    options_.service.by = key(1);
    const auto objects = connect();
    std::mt19937_64 random(7103);
    auto object = random_object<double>({12, 15, 9}, random);
    object.cut(7, random);
    const ObjectNumber plain = create(*objects, object, "plain");
    put_all(*objects, plain, object);
    const std::vector<std::pair<std::string, ChainSide>> cases = {
        {"shuffle | zstd", ChainSide::client},
        {"shuffle | zstd", ChainSide::service},
        {"zstd | aead", ChainSide::service}};
    for (const auto& [chain, side] : cases) {
        const ObjectNumber id = take(create_chained(*objects, object, "rho", chain, side));
        put_all(*objects, id, object);
        for (const std::string& call : all_calls())
            expect_same(take(objects->run(id, call).wait()), take(objects->run(plain, call).wait()),
                        1e-12, call);
        EXPECT_TRUE(objects->remove(id).ok());
    }
}

// Goal: of what a client has encrypted the service knows no values: no range, no analysis, no get
// without the key. All that is said with the object's name. Queries by value leave it in.
TEST_F(ChainedObjects, that_a_client_encrypts_are_unknown_to_the_service) {
    options_.service.by = key(1);  // the same key does not make it the service's to read
    const auto owner = connect_with(key(1)), stranger = connect();
    std::mt19937_64 random(7104);
    auto object = random_object<float>({30, 20}, random);
    object.cut(6, random);
    const ObjectNumber id = take(create_chained(*owner, object, "secret", "shuffle | aead"));
    put_all(*owner, id, object);
    Objects::Query query;
    query.values = Range{1e30, 2e30};
    query.regions = true;
    const auto found = take(owner->find(query));
    ASSERT_EQ(found.objects.size(), 1u);
    EXPECT_EQ(found.regions_kept, object.regions.size());
    EXPECT_FALSE(found.objects[0].range.has_value());
    for (const RegionInfo& region : found.objects[0].regions)
        EXPECT_FALSE(region.range.has_value());
    expect_says(owner->run(id, "stats").wait().status(), StatusCode::unsupported,
                {"secret", "encrypted", "aead", "stats"});
    std::vector<float> got(object.values.size());
    expect_says(stranger->get(id, whole(object.shape), got.data()).wait(),
                StatusCode::invalid_argument, {"secret", "aead", "key"});
    expect_says(stranger->put(id, whole(object.shape), got.data()).wait(),
                StatusCode::invalid_argument, {"secret", "key"});
    const Box& first = object.regions[0].box;
    expect_says(
        ask(*stranger, GetRegion{stranger->client().next_number(), id, first, false}).status(),
        StatusCode::unsupported, {"secret", "encrypted"});
    const auto lies =
        take(ask(*stranger, GetRegion{stranger->client().next_number(), id, first, true}));
    const auto bytes = std::as_const(lies.payload).bytes();
    const auto shuffled =
        take(take(lambda::Chain::make(lambda::Registry(), "shuffle", {})).apply(object.region(0)));
    const auto plain = std::span(shuffled).last(object.regions[0].values.size() * 4);
    EXPECT_EQ(std::search(bytes.begin(), bytes.end(), plain.begin(), plain.begin() + 8),
              bytes.end());
    const std::vector<std::byte> values(object.regions[0].values.size() * 4);
    expect_says(put_bytes(*stranger, id, object.regions[0].box, float32, values, false),
                StatusCode::invalid_argument, {"secret", "chain"});
}

// Goal: another key, and every changed or cut byte, is an error that names object and region.
TEST_F(ChainedObjects, tell_a_wrong_key_and_changed_bytes) {
    const lambda::Operator by = key(1);
    const auto owner = connect_with(by), other = connect_with(key(2));
    std::mt19937_64 random(7105);
    auto object = random_object<float>({6, 5}, random);
    const Box all = whole(object.shape);
    std::vector<float> got(object.values.size());
    const ObjectNumber id = take(create_chained(*owner, object, "rho", "zstd | aead"));
    ASSERT_TRUE(owner->put(id, all, object.values.data()).wait().ok());
    expect_says(other->get(id, all, got.data()).wait(), StatusCode::invalid_argument,
                {"rho", to_string(all), "another key"});
    const lambda::Registry functions;
    for (int round = 0; round < 40; ++round) {
        EXPECT_TRUE(owner->remove(take(create_chained(*owner, object, "rho", "zstd | aead"))).ok());
        const ObjectNumber changed = take(create_chained(*owner, object, "rho", "zstd | aead"));
        lambda::RegionView view = object.whole();
        view.object = "rho";
        view.id = changed;
        view.time = 1.5;
        const auto chain = take(lambda::ChainedObject::make(functions, "zstd | aead", by, view));
        auto bytes = take(chain.apply(all, view.values));
        if (round == 0) {  // as they are: so it is the change that is found
        } else if (round % 4 == 1) {
            bytes.resize(bytes.size() - 1 - random() % 40);
        } else {
            bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
        }
        const Status put = put_bytes(*owner, changed, all, float32, bytes);
        if (!put.ok()) {  // a header that is none is found by the service
            EXPECT_NE(put.message().find("rho"), std::string::npos) << put.message();
            continue;
        }
        const Status status = owner->get(changed, all, got.data()).wait();
        EXPECT_EQ(status.ok(), round == 0) << round;
        if (status.ok()) continue;
        EXPECT_NE(status.message().find("rho"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(to_string(all)), std::string::npos) << status.message();
    }
}

// Goal: a region's bytes stand for no other region, object or time.
TEST_F(ChainedObjects, bind_bytes_to_name_id_box_and_time) {
    const lambda::Operator by = key(1);
    const auto owner = connect_with(by);
    const TestObject<float> object{{4, 4}, std::vector<float>(16, 1.0f), {}};
    const Box top{{0, 0}, {2, 4}}, bottom{{2, 0}, {2, 4}};
    const lambda::Registry functions;
    const std::vector<float> values(8, 1.0f);
    const auto given = std::as_bytes(std::span(values));
    const auto seal = [&](const std::string& name, std::uint64_t id, double time, const Box& box) {
        lambda::RegionView view = object.whole();
        view.object = name;
        view.id = id;
        view.time = time;
        return take(
            take(lambda::ChainedObject::make(functions, "aead", by, view)).apply(box, given));
    };
    const auto opens = [&](const std::function<std::vector<std::byte>(ObjectNumber)>& make) {
        const ObjectNumber id = take(create_chained(*owner, object, "rho", "aead"));
        EXPECT_TRUE(put_bytes(*owner, id, top, float32, make(id)).ok());
        std::vector<float> got(8);
        const Status status = owner->get(id, top, got.data()).wait();
        EXPECT_TRUE(owner->remove(id).ok());
        return status.ok();
    };
    EXPECT_TRUE(opens([&](auto id) { return seal("rho", id, 1.5, top); }));
    EXPECT_FALSE(opens([&](auto id) { return seal("rho2", id, 1.5, top); }));
    EXPECT_FALSE(opens([&](auto id) { return seal("rho", id + 1, 1.5, top); }));
    EXPECT_FALSE(opens([&](auto id) { return seal("rho", id, 1.25, top); }));
    EXPECT_FALSE(opens([&](auto id) { return seal("rho", id, 1.5, bottom); }));
}

// Goal: chains that cannot be are refused when the object is made, by either end, and say why.
TEST_F(ChainedObjects, are_refused_where_their_chain_cannot_be) {
    const auto objects = connect();
    const TestObject<float> object{{4}, {1, 2, 3, 4}, {}};
    for (const ChainSide side : {ChainSide::client, ChainSide::service}) {
        const auto refused = [&](const std::string& chain) {
            return create_chained(*objects, object, "rho", chain, side).status();
        };
        const StatusCode wrong = StatusCode::invalid_argument;
        expect_says(refused("shufle"), wrong, {"rho", "shufle", "shuffle", "zstd", "aead"});
        expect_says(refused("stats"), wrong, {"rho", "stats", "no transform"});
        expect_says(refused("decompress | zstd"), wrong, {"decompress"});
        expect_says(refused("zstd(level=99)"), wrong, {"level"});
        expect_says(refused("zstd@gpu"), wrong, {"gpu", "plain"});
        expect_says(refused("zstd | aead"), wrong, {"rho", "key"});
        std::string longest = "shuffle";
        for (std::size_t i = 1; i <= lambda::k_most_stages; ++i) longest += " | shuffle";
        expect_says(refused(longest), wrong, {"stages"});
    }
    // A chain says itself what may be lost.
    EXPECT_FALSE(objects
                     ->create({"run",
                               "rho",
                               float32,
                               {4},
                               0.0,
                               absolute(1.0),
                               false,
                               false,
                               {},
                               {"zstd", ChainSide::client}})
                     .ok());
    // One that is there has another chain.
    const ObjectNumber id = take(create_chained(*objects, object, "rho", "zstd"));
    EXPECT_EQ(take(create_chained(*objects, object, "rho", "zstd")), id);
    expect_says(create_chained(*objects, object, "rho", "deflate").status(),
                StatusCode::invalid_argument, {"rho", "zstd"});
    expect_says(create_chained(*objects, object, "rho", "zstd", ChainSide::service).status(),
                StatusCode::invalid_argument, {"rho", "zstd"});
}

// Goal: what a client's chain is said to have made is looked at before it is kept.
TEST_F(ChainedObjects, are_refused_where_their_bytes_are_of_another_chain) {
    const auto objects = connect_with(key(1));
    const TestObject<float> object{{4}, {1, 2, 3, 4}, {}};
    const lambda::Registry functions;
    lambda::RegionView view = object.whole();
    view.object = "rho";
    for (const std::string chain : {"zstd", "shuffle | aead"}) {
        const ObjectNumber id = take(create_chained(*objects, object, "rho", chain));
        view.id = id;
        view.time = 1.5;
        const auto left_out = take(take(lambda::ChainedObject::make(functions, "shuffle", {}, view))
                                       .apply(whole(object.shape), view.values));
        expect_says(put_bytes(*objects, id, whole(object.shape), float32, left_out),
                    StatusCode::corrupt, {"rho", "other stages"});
        const std::vector<std::byte> nonsense(40, std::byte{7});
        expect_says(put_bytes(*objects, id, whole(object.shape), float32, nonsense),
                    StatusCode::corrupt, {"rho"});
        std::vector<float> got(4);
        expect_says(objects->get(id, whole(object.shape), got.data()).wait(),
                    StatusCode::insufficient_data, {"rho", "4 of 4"});
        EXPECT_TRUE(objects->remove(id).ok());
    }
    EXPECT_EQ(hub_->service().objects().counts().memory_bytes, 0u);
}

// Goal: who wants only what is encrypted hands out and takes nothing else.
TEST_F(ChainedObjects, alone_pass_where_only_encrypted_ones_are_wanted) {
    options_.service.by = key(1);
    const auto careful = connect_with(key(1), true), other = connect_with(key(1));
    const TestObject<float> object{{4}, {1, 2, 3, 4}, {}};
    const Box all = whole(object.shape);
    std::vector<float> got(4);
    const std::vector<std::pair<std::string, ChainSide>> plain = {
        {"", ChainSide::client}, {"zstd", ChainSide::client}, {"aead", ChainSide::service}};
    int n = 0;
    for (const auto& [chain, side] : plain) {
        const std::string name = "plain" + std::to_string(n++);
        EXPECT_FALSE(create_chained(*careful, object, name, chain, side).ok()) << chain;
        const ObjectNumber id = take(create_chained(*other, object, name, chain, side));
        expect_says(careful->put(id, all, object.values.data()).wait(),
                    StatusCode::invalid_argument, {"not encrypted"});
        ASSERT_TRUE(other->put(id, all, object.values.data()).wait().ok());
        expect_says(careful->get(id, all, got.data()).wait(), StatusCode::invalid_argument,
                    {"not encrypted"});
    }
    const ObjectNumber id = take(create_chained(*careful, object, "sealed", "aead"));
    ASSERT_TRUE(careful->put(id, all, object.values.data()).wait().ok());
    ASSERT_TRUE(careful->get(id, all, got.data()).wait().ok());
    EXPECT_EQ(got, object.values);
}

// Goal: a service that tells two stories of one id, or names a region twice, is caught.
TEST_F(ChainedObjects, notice_a_service_that_contradicts_itself) {
    ObjectChains chains(key(1), false);
    ObjectInfo info;
    info.id = 7;
    info.name = "rho";
    info.shape = {4};
    info.chain = {"zstd | aead", ChainSide::client};
    ASSERT_TRUE(chains.learn_found(info).ok());
    ASSERT_TRUE(chains.learn(info).ok());
    for (int change = 0; change < 4; ++change) {
        ObjectInfo other = info;
        if (change == 0) other.name = "temperature";
        if (change == 1) other.chain = {};
        if (change == 2) other.chain.text = "zstd";
        if (change == 3) other.time = 2.0;
        expect_says(chains.learn_found(other), StatusCode::corrupt, {"object 7", "rho"});
    }
    const Box all{{0, 0}, {4, 2}}, left{{0, 0}, {4, 1}}, right{{0, 1}, {4, 1}};
    const auto region = [](const Box& box) { return RegionInfo{box, RegionPlace::memory, {}, 0}; };
    EXPECT_EQ(take(parts_of(all, {region(right), region(left)}, "rho")).size(), 2u);
    expect_says(parts_of(all, {region(left), region(left)}, "rho").status(), StatusCode::corrupt,
                {"rho", "overlap"});
    expect_says(parts_of(all, {region(left)}, "rho").status(), StatusCode::insufficient_data,
                {"4 of 8"});
}

// Goal: a service without a sink says when a chained region has no room; one more fits after a
// delete. Memory counts what the chain made.
TEST_F(ChainedObjects, take_the_memory_that_their_chain_leaves) {
    options_.service.objects.memory_bytes = 10'000;
    const auto objects = connect();
    const TestObject<float> object{{4, 2000}, std::vector<float>(8000, 1.0f), {}};
    const ObjectNumber id =
        take(create_chained(*objects, object, "rho", "zstd", ChainSide::service));
    for (std::uint64_t row = 0; row < 4; ++row)  // 32 kB of values, a few bytes of zstd
        ASSERT_TRUE(objects->put(id, {{row, 0}, {1, 2000}}, object.values.data()).wait().ok());
    EXPECT_LT(hub_->service().objects().counts().memory_bytes, 1000u);
    EXPECT_EQ(hub_->service().objects().counts().chained_raw_bytes, 32000u);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    std::mt19937_64 random(7106);
    const auto noise = random_object<float>({2300}, random);
    const ObjectNumber full = take(create_chained(*objects, noise, "a", "shuffle"));
    ASSERT_TRUE(objects->put(full, whole(noise.shape), noise.values.data()).wait().ok());
    const ObjectNumber none = take(create_chained(*objects, noise, "b", "shuffle"));
    expect_says(objects->put(none, whole(noise.shape), noise.values.data()).wait(),
                StatusCode::no_space, {"object b", "sink"});
    EXPECT_TRUE(objects->remove(full).ok());
    EXPECT_TRUE(objects->put(none, whole(noise.shape), noise.values.data()).wait().ok());
}

}  // namespace
}  // namespace caesura::transit
