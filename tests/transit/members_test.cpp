// Goal: services of a group lend each other memory. An object that is larger than the memory of
// each lies in both, is read as it was put, and is analysed where its regions are. Who dies takes
// his own with him, and nothing else.
#include "transit/members/members.hpp"

#include <chrono>
#include <future>

#include "run/priority.hpp"
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

constexpr std::uint64_t k_memory_bytes = 3u << 19;  // half of an object

/// The way to a service that lives and gets nothing any more, once it is muted.
class Muting final : public Channel {
  public:
    Muting(std::unique_ptr<Channel> inner, const std::atomic<bool>& muted)
        : inner_(std::move(inner)), muted_(muted) {}
    void start(ChannelListener& listener) override { inner_->start(listener); }
    void send(std::vector<std::byte> message, std::vector<std::span<const std::byte>> payload,
              std::function<void()> done) override {
        if (!muted_) return inner_->send(std::move(message), std::move(payload), std::move(done));
        if (done) done();
    }

  private:
    const std::unique_ptr<Channel> inner_;
    const std::atomic<bool>& muted_;
};

class Group : public ObjectHub {
  protected:
    // Two services, and this one, which uses their memory.
    void start_all() {
        std::vector<Members::Member> members;
        for (const char* name : {"first", "second"}) {
            Loopback::Options there = options_;
            there.service.sink.clear();
            there.service.objects.memory_bytes = 3 * k_memory_bytes / 2;
            there_.push_back(std::make_unique<Loopback>(there));
            members.push_back(
                {name, [this, hub = there_.back().get()] { return connect_to(*hub); }});
        }
        members_ = std::make_unique<Members>("here", std::move(members), 0.0, patience_s_);
        options_.service.objects.memory_bytes = k_memory_bytes;
        options_.service.far = members_.get();
        start();
    }
    void TearDown() override {
        hub_.reset();
        members_.reset();
        there_.clear();
        ObjectHub::TearDown();
    }
    Result<std::unique_ptr<Objects>> connect_to(Loopback& hub) const {
        ClientOptions options;
        options.share_memory = false;
        auto client =
            Client::make(std::make_unique<Muting>(hub.connect(), members_are_muted_), options);
        if (!client.ok()) return client.status();
        return std::make_unique<Objects>(std::move(*client));
    }
    // 3 MiB in slabs of 64 KiB, in random order: more than any service has.
    static lambda::TestObject<float> object(unsigned seed) {
        std::mt19937_64 random(seed);
        auto made = lambda::random_object<float>({48, 64, 256}, random);
        const std::size_t slab = 64 * 256;
        for (std::uint64_t at = 0; at < 48; ++at)
            made.regions.push_back({{{at, 0, 0}, {1, 64, 256}},
                                    {made.values.begin() + static_cast<long>(at * slab),
                                     made.values.begin() + static_cast<long>((at + 1) * slab)}});
        std::shuffle(made.regions.begin(), made.regions.end(), random);
        return made;
    }
    ObjectStore::Counts here() const { return hub_->service().objects().counts(); }
    std::vector<ObjectStore::Counts> there() const {
        std::vector<ObjectStore::Counts> all;
        for (const auto& hub : there_) all.push_back(hub->service().objects().counts());
        return all;
    }
    // Deleting is not waited for.
    void wait_until_all_is_deleted() const {
        for (std::size_t i = 0; i < there_.size(); ++i)
            while (there()[i].objects > 0) std::this_thread::yield();
    }

    double patience_s_ = 60.0;
    std::atomic<bool> members_are_muted_{false};
    std::vector<std::unique_ptr<Loopback>> there_;
    std::unique_ptr<Members> members_;
};

TEST_F(Group, an_object_larger_than_each_lies_in_all_and_reads_as_it_was_put) {
    const auto whole_object = object(1);
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    const std::uint64_t bytes = whole_object.values.size() * sizeof(float);
    ASSERT_GT(bytes, 3 * k_memory_bytes / 2);
    EXPECT_LE(here().memory_bytes, k_memory_bytes);
    EXPECT_GT(there()[0].guest_bytes, 0u);
    EXPECT_GT(there()[1].guest_bytes, 0u);
    EXPECT_EQ(there()[0].guest_bytes + there()[1].guest_bytes + here().memory_bytes, bytes)
        << "nothing lies twice, or nowhere";
    EXPECT_EQ(off_by(*objects, id, whole_object, whole(whole_object.shape)), 0.0);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(off_by(*objects, id, whole_object, random_box(whole_object.shape, random)), 0.0);
    const auto found = objects->find({.name = "rho", .regions = true});
    ASSERT_TRUE(found.ok()) << found.status().message();
    std::uint64_t far = 0;
    for (const RegionInfo& region : found->objects[0].regions)
        far += region.place == RegionPlace::member ? 1 : 0;
    EXPECT_EQ(far, here().moved_away);
}

// Goal: what lies in other services goes into the file too, and gives their memory back.
TEST_F(Group, an_object_that_lies_in_all_is_persisted) {
    const auto whole_object = object(9);
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    ASSERT_GT(there()[0].guest_bytes + there()[1].guest_bytes, 0u);
    const std::string path = place_ + "/kept.h5";
    const Status status = objects->persist({.path = path, .objects = {id}}).wait();
    ASSERT_TRUE(status.ok()) << status.message();
    wait_until_all_is_deleted();
    EXPECT_EQ(there()[0].guest_bytes + there()[1].guest_bytes, 0u);
    EXPECT_EQ(off_by(*objects, id, whole_object, whole(whole_object.shape)), 0.0);
    const auto filed = lambda::take(objects->find({.container = path})).objects;
    ASSERT_EQ(filed.size(), 1u);
    EXPECT_EQ(off_by(*objects, filed[0].id, whole_object, whole(whole_object.shape)), 0.0);
}

// Goal: where a service that has a part of it is gone, no file is made, and it is said who.
TEST_F(Group, an_object_of_which_a_part_is_gone_is_not_persisted) {
    const auto whole_object = object(10);
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    ASSERT_GT(there()[1].guest_bytes, 0u);
    there_[1]->kill_service();
    const std::string path = place_ + "/kept.h5";
    const Status status = objects->persist({.path = path, .objects = {id}}).wait();
    EXPECT_EQ(status.code(), StatusCode::io) << status.message();
    EXPECT_NE(status.message().find("second"), std::string::npos) << status.message();
    EXPECT_EQ(std::filesystem::file_size(path), 0u);
}

TEST_F(Group, an_analysis_runs_where_the_regions_are) {
    const auto whole_object = object(2);
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    const auto functions = std::make_shared<lambda::Registry>();
    for (std::string call : all_calls()) {
        // Exact as long as a sketch has room for all values.
        if (call.starts_with("quantiles")) call = "quantiles(size=1048576)";
        const auto before = members_->counts();
        const auto found = objects->run(id, call).wait();
        ASSERT_TRUE(found.ok()) << call << ": " << found.status().message();
        const auto wanted = functions->run(call, whole_object.whole());
        ASSERT_TRUE(wanted.ok()) << wanted.status().message();
        expect_same(*found, *wanted, 1e-9, call);
        const auto after = members_->counts();
        for (std::size_t i = 0; i < after.size(); ++i) {
            // Each has looked at all that it has, once a pass, and no value was fetched.
            const std::uint64_t passes = after[i].passes - before[i].passes;
            ASSERT_GT(passes, 0u) << call;
            EXPECT_EQ(after[i].passed_bytes - before[i].passed_bytes,
                      passes * there()[i].guest_bytes)
                << call;
            EXPECT_EQ(after[i].got_bytes, before[i].got_bytes) << call;
        }
    }
}

TEST_F(Group, a_deleted_object_is_deleted_everywhere) {
    const auto whole_object = object(3);
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    ASSERT_GT(there()[0].guest_bytes, 0u);
    ASSERT_TRUE(objects->remove(id).ok());
    wait_until_all_is_deleted();
    for (const auto& counts : there()) EXPECT_EQ(counts.guest_bytes + counts.memory_bytes, 0u);
    EXPECT_EQ(here().memory_bytes, 0u);
}

TEST_F(Group, guests_get_half_of_a_memory_and_the_rest_goes_to_the_sink) {
    const auto whole_object = object(4);
    options_.service.sink = place_ + "/sink";
    start_all();
    const auto objects = connect();
    std::vector<ObjectNumber> ids;
    for (const char* name : {"a", "b"}) {
        ids.push_back(create(*objects, whole_object, name));
        put_all(*objects, ids.back(), whole_object);
    }
    for (const auto& counts : there()) EXPECT_LE(counts.guest_bytes, 3 * k_memory_bytes / 4);
    EXPECT_GT(here().sunk, 0u);
    for (const ObjectNumber id : ids)
        EXPECT_EQ(off_by(*objects, id, whole_object, whole(whole_object.shape)), 0.0);
}

TEST_F(Group, a_member_that_dies_takes_what_it_has_and_nothing_else) {
    const auto whole_object = object(5);
    options_.service.sink = place_ + "/sink";
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object, "lost");
    put_all(*objects, id, whole_object);
    ASSERT_GT(there()[1].guest_bytes, 0u);
    there_[1]->kill_service();
    std::vector<float> values(whole_object.values.size());
    const Status status = objects->get(id, whole(whole_object.shape), values.data()).wait();
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_NE(status.message().find("the memory of second"), std::string::npos) << status.message();
    EXPECT_FALSE(objects->run(id, "stats").wait().ok());
    // New ones go elsewhere.
    const ObjectNumber next = create(*objects, whole_object, "next");
    put_all(*objects, next, whole_object);
    EXPECT_EQ(off_by(*objects, next, whole_object, whole(whole_object.shape)), 0.0);
}

TEST_F(Group, a_member_that_lives_and_does_not_answer_an_analysis_is_given_up_and_named) {
    const auto whole_object = object(7);
    patience_s_ = 1.0;
    start_all();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    ASSERT_TRUE(objects->run(id, "stats").wait().ok());
    members_are_muted_ = true;
    const auto found = objects->run(id, "stats").wait();
    ASSERT_FALSE(found.ok());
    const std::string said = found.status().message();
    // Its values are asked for instead, and are gone with the connection.
    EXPECT_NE(said.find("in the memory of "), std::string::npos) << said;
    EXPECT_NE(said.find("no answer within 1 s"), std::string::npos) << said;
}

// Goal: workers at idle priority who wait for one member hold up nobody who wants another, and not
// all regions go to the one that does not come to an end. It was asked by threads of all members.
TEST_F(Group, a_member_that_is_slow_holds_up_only_who_wants_something_of_it) {
    using Far = Result<std::shared_ptr<const FarValues>>;
    const auto whole_object = object(11);
    options_.service.objects.memory_bytes = 2 * k_memory_bytes;
    there_.push_back(std::make_unique<Loopback>(options_));
    std::promise<void> asked, goes_on;
    const std::shared_future<void> going_on = goes_on.get_future();
    std::atomic<int> times{0};
    Members members("here");
    members.add({"slow", [&, this]() -> Result<std::unique_ptr<Objects>> {
                     if (times++ == 0) asked.set_value();
                     going_on.wait();
                     return connect_to(*there_.front());
                 }});
    members.add({"quick", [&, this] { return connect_to(*there_.front()); }});
    const CreateObject order{0,   "",         "rho", float32, whole_object.shape,
                             0.0, lossless(), false, true,    {}};
    const auto at_idle_priority = [](auto work) {
        return std::async(std::launch::async, [work] {
            run::lower_priority_of_this_thread();
            return work();
        });
    };
    const auto put = [&](std::size_t number) {
        return at_idle_priority([&, number]() -> Far {
            const auto& region = whole_object.regions[number];
            return members.put(number, order, region.box, std::as_bytes(std::span(region.values)));
        });
    };
    // Of what hangs, or the test would.
    const auto is_over = [](auto& work) {
        return work.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    };
    std::vector<std::future<Far>> puts;
    puts.push_back(put(0));
    asked.get_future().wait();
    std::future<Far> to_quick = put(1);
    EXPECT_TRUE(is_over(to_quick)) << "the slow one has a region on its way, the other has none";
    for (std::size_t number = 2; number < 12; ++number) puts.push_back(put(number));
    const auto& region = whole_object.regions[1];
    std::vector<float> got(region.values.size());
    auto read = at_idle_priority([&]() -> Status {
        const Far far = to_quick.get();
        if (!far.ok()) return far.status();
        return (*far)->read(region.box, region.box, reinterpret_cast<std::byte*>(got.data()));
    });
    EXPECT_TRUE(is_over(read)) << "so many others wait for the slow one";
    goes_on.set_value();
    EXPECT_TRUE(read.get().ok());
    EXPECT_EQ(got, region.values);
    for (auto& one : puts) EXPECT_TRUE(one.get().ok());
    EXPECT_GE(members.counts()[0].regions, 4u) << "it gets its part when it comes";
}

TEST_F(Group, a_service_that_ends_leaves_nothing_in_the_others) {
    const auto whole_object = object(6);
    start_all();
    {
        const auto objects = connect();
        put_all(*objects, create(*objects, whole_object), whole_object);
        ASSERT_GT(there()[0].guest_bytes, 0u);
    }
    hub_.reset();
    members_.reset();
    wait_until_all_is_deleted();
    for (const auto& counts : there()) EXPECT_EQ(counts.memory_bytes, 0u);
}

}  // namespace
}  // namespace caesura::transit
