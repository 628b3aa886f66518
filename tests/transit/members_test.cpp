// Goal: services of a group lend each other memory. An object that is larger than the memory of
// each lies in both, is read as it was put, and is analysed where its regions are. Who dies takes
// his own with him, and nothing else.
#include "transit/members/members.hpp"

#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

constexpr std::uint64_t k_memory_bytes = 1u << 20;

class Group : public ObjectHub {
  protected:
    // The service of the others, and this one, which uses its memory.
    void start_both() {
        Loopback::Options there = options_;
        there.service.objects.memory_bytes = 4 * k_memory_bytes;
        there_ = std::make_unique<Loopback>(there);
        std::vector<Members::Member> members;
        members.push_back({"there", [this]() -> Result<std::unique_ptr<Objects>> {
                               ClientOptions options;
                               options.share_memory = false;
                               auto client = Client::make(there_->connect(), options);
                               if (!client.ok()) return client.status();
                               return std::make_unique<Objects>(std::move(*client));
                           }});
        members_ = std::make_unique<Members>("here", std::move(members), 0.0);
        options_.service.objects.memory_bytes = k_memory_bytes;
        options_.service.far = members_.get();
        start();
    }
    void TearDown() override {
        hub_.reset();
        members_.reset();
        there_.reset();
        ObjectHub::TearDown();
    }
    // 3 MiB in 60 boxes.
    static lambda::TestObject<float> object(unsigned seed) {
        std::mt19937_64 random(seed);
        auto made = lambda::random_object<float>({48, 64, 256}, random);
        made.cut(60, random);
        return made;
    }
    ObjectStore::Counts here() const { return hub_->service().objects().counts(); }
    ObjectStore::Counts there() const { return there_->service().objects().counts(); }

    std::unique_ptr<Loopback> there_;
    std::unique_ptr<Members> members_;
};

TEST_F(Group, an_object_larger_than_each_lies_in_both_and_reads_as_it_was_put) {
    const auto whole_object = object(1);
    start_both();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    const std::uint64_t bytes = whole_object.values.size() * sizeof(float);
    EXPECT_LE(here().memory_bytes, k_memory_bytes);
    EXPECT_EQ(there().guest_bytes, bytes - here().memory_bytes) << "nothing is in both, or lost";
    EXPECT_EQ(here().sunk, 0u);
    EXPECT_EQ(off_by(*objects, id, whole_object, whole(whole_object.shape)), 0.0);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(off_by(*objects, id, whole_object, random_box(whole_object.shape, random)), 0.0);
    const auto found = objects->find({.name = "rho", .regions = true});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const auto is_far = [](const RegionInfo& region) {
        return region.place == RegionPlace::member;
    };
    EXPECT_EQ(static_cast<std::uint64_t>(std::count_if(found->objects[0].regions.begin(),
                                                       found->objects[0].regions.end(), is_far)),
              here().moved_away);
}

TEST_F(Group, an_analysis_runs_where_the_regions_are) {
    const auto whole_object = object(2);
    start_both();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    const auto functions = std::make_shared<lambda::Registry>();
    const std::uint64_t far_bytes = there().guest_bytes;
    for (const std::string& call : all_calls()) {
        const Members::Counts before = members_->counts()[0];
        const auto found = objects->run(id, call).wait();
        ASSERT_TRUE(found.ok()) << call << ": " << found.status().message();
        const auto wanted = functions->run(call, whole_object.whole());
        ASSERT_TRUE(wanted.ok()) << wanted.status().message();
        expect_same(*found, *wanted, 1e-9, call);
        const Members::Counts after = members_->counts()[0];
        // Each service has looked at what it has, once a pass, and no value was fetched.
        EXPECT_EQ(after.got_bytes, before.got_bytes) << call;
        ASSERT_GT(after.passes, before.passes) << call;
        EXPECT_EQ(after.passed_bytes - before.passed_bytes,
                  (after.passes - before.passes) * far_bytes)
            << call;
    }
}

TEST_F(Group, a_deleted_object_is_deleted_everywhere) {
    const auto whole_object = object(3);
    start_both();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object);
    put_all(*objects, id, whole_object);
    ASSERT_GT(there().guest_bytes, 0u);
    ASSERT_TRUE(objects->remove(id).ok());
    while (there().objects > 0) std::this_thread::yield();
    EXPECT_EQ(there().guest_bytes, 0u);
    EXPECT_EQ(there().memory_bytes, 0u);
    EXPECT_EQ(here().memory_bytes, 0u);
}

TEST_F(Group, guests_get_half_of_a_memory_and_the_rest_goes_to_the_sink) {
    const auto whole_object = object(4);
    options_.service.sink = place_ + "/sink";
    start_both();
    const auto objects = connect();
    std::vector<ObjectNumber> ids;
    for (const char* name : {"a", "b"}) {
        ids.push_back(create(*objects, whole_object, name));
        put_all(*objects, ids.back(), whole_object);
    }
    EXPECT_LE(there().guest_bytes, 2 * k_memory_bytes);
    EXPECT_GT(here().sunk, 0u);
    for (const ObjectNumber id : ids)
        EXPECT_EQ(off_by(*objects, id, whole_object, whole(whole_object.shape)), 0.0);
}

TEST_F(Group, a_member_that_dies_takes_what_it_has_and_nothing_else) {
    const auto whole_object = object(5);
    options_.service.sink = place_ + "/sink";
    start_both();
    const auto objects = connect();
    const ObjectNumber id = create(*objects, whole_object, "lost");
    put_all(*objects, id, whole_object);
    ASSERT_GT(there().guest_bytes, 0u);
    there_->kill_service();
    std::vector<float> values(whole_object.values.size());
    const Status status = objects->get(id, whole(whole_object.shape), values.data()).wait();
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_NE(status.message().find("the memory of there"), std::string::npos) << status.message();
    EXPECT_FALSE(objects->run(id, "stats").wait().ok());
    // New ones go to the sink.
    const ObjectNumber next = create(*objects, whole_object, "next");
    put_all(*objects, next, whole_object);
    EXPECT_EQ(off_by(*objects, next, whole_object, whole(whole_object.shape)), 0.0);
}

TEST_F(Group, a_service_that_ends_leaves_nothing_in_the_others) {
    const auto whole_object = object(6);
    start_both();
    {
        const auto objects = connect();
        put_all(*objects, create(*objects, whole_object), whole_object);
        ASSERT_GT(there().guest_bytes, 0u);
    }
    hub_.reset();
    members_.reset();
    while (there().objects > 0) std::this_thread::yield();
    EXPECT_EQ(there().memory_bytes, 0u);
}

}  // namespace
}  // namespace caesura::transit
