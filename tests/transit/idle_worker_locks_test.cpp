// Goal: a worker at idle priority locks no mutex that any other thread of the service locks,
// whatever it does with objects: such a thread would wait for a worker that gets no CPU time.
#include <fstream>
#include <mutex>

#include "caesura/codec.hpp"
#include "lambda/python_functions.hpp"
#include "run/priority.hpp"
#include "shared_locks.hpp"
#include "transit/members/members.hpp"
#include "transit/object_hub.hpp"
#include "transit/objects/fragile_device.hpp"

namespace caesura::transit {
namespace {

using lambda::take;
using testing::SharedLocks;

constexpr std::uint64_t k_rows = 20, k_row_values = 2500;
constexpr std::uint64_t k_row_bytes = k_row_values * sizeof(float);

TEST(SharedLocks, are_those_that_a_lowered_thread_and_another_lock) {
    const SharedLocks locks;
    std::mutex shared, own;
    const std::lock_guard mine(own);
    const auto lock_in_thread = [&](bool lowered, std::mutex& mutex) {
        std::thread([&] {
            if (lowered) run::lower_priority_of_this_thread();
            const std::lock_guard lock(mutex);
        }).join();
    };
    std::mutex of_lowered;
    lock_in_thread(true, of_lowered);
    lock_in_thread(true, of_lowered);
    EXPECT_EQ(locks.found(), std::vector<std::string>());
    lock_in_thread(true, shared);
    lock_in_thread(false, shared);
    EXPECT_EQ(locks.found().size(), 1u);
}

class IdleWorkers : public ObjectHub {
  protected:
    /// Memory for 4 rows, a device for 8.
    void SetUp() override {
        ObjectHub::SetUp();
        options_.service.press.idle_priority = true;
        options_.service.press.most_wait_s = 1e6;  // nobody does their work instead
        options_.service.sink = place_ + "/sink";
        options_.service.objects.memory_bytes = 4 * k_row_bytes;
        options_.service.make_device_memories = [this] {
            std::vector<std::unique_ptr<DeviceMemory>> memories;
            memories.push_back(fragile_memory(8 * k_row_bytes, fragility_));
            return memories;
        };
    }
    void TearDown() override {
        hub_.reset();
        members_.reset();
        other_.reset();
        ObjectHub::TearDown();
    }
    /// Another service, which lends its memory, and no device here.
    void start_member() {
        options_.service.make_device_memories = nullptr;
        Loopback::Options there = options_;
        there.service.sink.clear();
        there.service.objects.memory_bytes = 64 * k_row_bytes;
        other_ = std::make_unique<Loopback>(there);
        members_ = std::make_unique<Members>("here");
        members_->add({"other", [this]() -> Result<std::unique_ptr<Objects>> {
                           ClientOptions options;
                           options.share_memory = false;
                           auto client = Client::make(other_->connect(), options);
                           if (!client.ok()) return client.status();
                           return std::make_unique<Objects>(std::move(*client));
                       }});
        options_.service.far = members_.get();
    }
    static lambda::TestObject<float> rows() {
        std::mt19937_64 random(8501);
        auto object = lambda::random_object<float>({k_rows, k_row_values}, random);
        for (std::uint64_t row = 0; row < k_rows; ++row) {
            const auto at = object.values.begin() + static_cast<long>(row * k_row_values);
            object.regions.push_back(
                {{{row, 0}, {1, k_row_values}}, {at, at + static_cast<long>(k_row_values)}});
        }
        return object;
    }
    // One after the other: of many at once, most find the device's room claimed.
    static void put_in_order(Objects& objects, ObjectNumber id,
                             const lambda::TestObject<float>& object) {
        for (const auto& region : object.regions) {
            const Status status = objects.put(id, region.box, region.values.data()).wait();
            ASSERT_TRUE(status.ok()) << status.message();
        }
    }
    std::shared_ptr<Fragility> fragility_ = std::make_shared<Fragility>();
    std::unique_ptr<Loopback> other_;
    std::unique_ptr<Members> members_;
};

// The test's own thread compresses as the service's threads of normal priority do what is due.
TEST_F(IdleWorkers, share_no_lock_when_regions_go_to_a_device_and_come_back) {
    const SharedLocks locks;
    const auto objects = connect();
    const auto object = rows();
    ASSERT_TRUE(
        compress(std::as_bytes(std::span(object.values)), float32, object.shape, lossless()).ok());
    const ObjectNumber id = create(*objects, object);
    put_in_order(*objects, id, object);
    EXPECT_EQ(fragility_->transfers, 16);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_TRUE(objects->run(id, "stats").wait().ok());
    const ObjectNumber other = create(*objects, object, "other");
    put_in_order(*objects, other, object);  // the first leaves memory and device
    ASSERT_TRUE(objects->remove(other).ok());
    const int transfers = fragility_->transfers;
    for (const auto& region : object.regions)  // into memory, and then into the device
        EXPECT_EQ(off_by(*objects, id, object, region.box), 0.0);
    EXPECT_GE(fragility_->transfers, transfers + 8);
    ASSERT_TRUE(objects->persist({.path = place_ + "/rho.h5", .objects = {id}}).wait().ok());
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    fragility_->fails = true;
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_EQ(locks.found(), std::vector<std::string>());
}

TEST_F(IdleWorkers, share_no_lock_when_they_apply_chains_and_look_for_values) {
    const SharedLocks locks;
    const auto objects = connect();
    const auto object = rows();
    const ObjectNumber id =
        take(objects->create({.container = "run",
                              .name = "rho",
                              .dtype = float32,
                              .shape = object.shape,
                              .chain = {"shuffle | zstd", ChainSide::service}}));
    put_all(*objects, id, object);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    const ObjectNumber other = create(*objects, object, "other");
    put_all(*objects, other, object);
    const std::string path = place_ + "/other.h5";
    ASSERT_TRUE(objects->persist({.path = path, .objects = {other}}).wait().ok());
    const auto found = take(objects->find({.container = path, .values = Range{-1.0, 1.0}}));
    ASSERT_EQ(found.objects.size(), 1u);
    EXPECT_TRUE(objects->run(found.objects.front().id, "histogram(bins=16)").wait().ok());
    EXPECT_EQ(locks.found(), std::vector<std::string>());
}

// The service's own threads ask the member too: analyses begin on its lanes.
TEST_F(IdleWorkers, share_no_lock_when_regions_go_to_a_member_and_are_fetched_and_analysed) {
    start_member();
    const SharedLocks locks;
    const auto objects = connect();
    const auto object = rows();
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    EXPECT_GE(members_->counts()[0].regions, 16u);
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_GE(members_->counts()[0].got_bytes, 16 * k_row_bytes);
    EXPECT_TRUE(objects->run(id, "stats").wait().ok());
    ASSERT_TRUE(objects->persist({.path = place_ + "/rho.h5", .objects = {id}}).wait().ok());
    other_->kill_service();
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_EQ(locks.found(), std::vector<std::string>());
}

// Goal: a worker that has read what was deleted meanwhile lets go of the last that there is of it.
TEST_F(IdleWorkers, share_no_lock_when_they_let_go_of_the_last_region_of_a_member) {
    start_member();
    start();
    const SharedLocks locks;
    const auto object = rows();
    const auto& region = object.regions.front();
    const CreateObject order{0, "", "rho", float32, object.shape, 0.0, lossless(), false, true, {}};
    auto far = take(members_->put(1, order, region.box, std::as_bytes(std::span(region.values))));
    EXPECT_EQ(other_->service().objects().counts().objects, 1u);
    std::thread([&] {
        run::lower_priority_of_this_thread();
        far.reset();
    }).join();
    // Deleting is not waited for.
    while (other_->service().objects().counts().objects > 0) std::this_thread::yield();
    EXPECT_EQ(locks.found(), std::vector<std::string>());
}

// The test's own thread uses the functions' process as a thread of normal priority would.
TEST_F(IdleWorkers, share_no_lock_when_they_run_functions_in_python) {
    const std::string place = place_ + "/python";
    std::filesystem::create_directories(place);
    std::ofstream(place + "/halo.py") << R"(
from caesura.lambda_functions import iterative

@iterative
def total(regions):
    """How many values there are."""
    return {"n": sum(region.values.size for region in regions)}
)";
    const auto functions = std::make_shared<lambda::Registry>();
    lambda::PythonSettings settings;
    settings.python = CAESURA_TEST_PYTHON;
    settings.module_path = CAESURA_TEST_PACKAGES;
    ASSERT_EQ(take(lambda::add_python_functions(*functions, place, settings)).added.size(), 1u);
    options_.service.functions = functions;
    const SharedLocks locks;
    const auto objects = connect();
    const auto object = rows();
    const ObjectNumber id = create(*objects, object);
    put_in_order(*objects, id, object);
    for (int i = 0; i < 2; ++i) {
        const auto here = functions->run("halo.total", object.whole());
        ASSERT_TRUE(here.ok()) << here.status().message();
        const auto there = objects->run(id, "halo.total").wait();
        ASSERT_TRUE(there.ok()) << there.status().message();
        EXPECT_TRUE(*there->find("n") == *here->find("n"));
    }
    EXPECT_EQ(locks.found(), std::vector<std::string>());
}

}  // namespace
}  // namespace caesura::transit
