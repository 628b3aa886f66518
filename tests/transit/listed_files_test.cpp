// Goal: files that clients have asked about take a bounded number of descriptors and of regions,
// however many there are, and can be read all the same.
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

using lambda::random_object;
using lambda::take;

class ListedFiles : public ObjectHub {
  protected:
    std::string file(int number) const { return place_ + "/" + std::to_string(number) + ".h5"; }
    /// One object in a file; the others are copies of it.
    lambda::TestObject<float> write(Objects& objects, int files) {
        std::mt19937_64 random(8301);
        auto object = random_object<float>({20, 30}, random);
        object.cut(3, random);
        const ObjectNumber id = create(objects, object);
        put_all(objects, id, object);
        const Status status = objects.persist({.path = file(0), .objects = {id}}).wait();
        EXPECT_TRUE(status.ok()) << status.message();
        for (int i = 1; i < files; ++i) std::filesystem::copy_file(file(0), file(i));
        return object;
    }
    static ObjectNumber list(Objects& objects, const std::string& path) {
        return take(objects.find({.container = path})).objects.at(0).id;
    }
    static std::size_t descriptors() {
        std::size_t count = 0;
        for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
            count += one.exists() ? 1 : 0;
        return count;
    }
};

TEST_F(ListedFiles, keep_few_descriptors_and_can_all_be_read) {
    constexpr int k_files = 1000;
    const auto objects = connect();
    const auto object = write(*objects, k_files);
    const std::size_t before = descriptors();
    std::vector<ObjectNumber> ids;
    for (int i = 0; i < k_files; ++i) ids.push_back(list(*objects, file(i)));
    const std::size_t most = options_.service.objects.open_files;
    EXPECT_LE(descriptors(), before + most + 8);
    EXPECT_EQ(hub_->service().objects().counts().open_files, most);
    for (int i = 0; i < k_files; i += 50)
        EXPECT_EQ(off_by(*objects, ids[static_cast<std::size_t>(i)], object, whole(object.shape)),
                  0.0);
    EXPECT_LE(descriptors(), before + most + 8);
    // Those that are closed are found all the same.
    EXPECT_EQ(take(objects->find({.name = "/data/0/meshes/rho"})).objects.size(),
              static_cast<std::size_t>(k_files));
}

TEST_F(ListedFiles, are_forgotten_when_there_are_too_many_regions_and_listed_again) {
    options_.service.objects.filed_regions = 10;
    const auto objects = connect();
    const auto object = write(*objects, 20);
    const auto first = take(objects->find({.container = file(0)})).objects.at(0);
    const std::size_t fit = 10 / first.regions_known;
    std::vector<ObjectNumber> ids{first.id};
    for (int i = 1; i < 20; ++i) ids.push_back(list(*objects, file(i)));
    EXPECT_LE(hub_->service().objects().counts().filed_regions, 10u);
    EXPECT_EQ(take(objects->find({.name = "/data/*"})).objects.size(), fit);
    std::vector<float> got(object.values.size());
    EXPECT_EQ(objects->get(ids[0], whole(object.shape), got.data()).wait().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(off_by(*objects, ids.back(), object, whole(object.shape)), 0.0);
    EXPECT_EQ(off_by(*objects, list(*objects, file(0)), object, whole(object.shape)), 0.0);
}

TEST_F(ListedFiles, are_forgotten_in_the_order_in_which_they_were_last_used) {
    options_.service.objects.filed_regions = 10;
    const auto objects = connect();
    const auto object = write(*objects, 11);
    const auto first = take(objects->find({.container = file(0)})).objects.at(0);
    const int fit = static_cast<int>(10 / first.regions_known);
    ASSERT_GE(fit, 2);
    std::vector<ObjectNumber> ids{first.id};
    for (int i = 1; i < fit; ++i) ids.push_back(list(*objects, file(i)));
    EXPECT_EQ(off_by(*objects, ids[0], object, whole(object.shape)), 0.0);
    (void)list(*objects, file(fit));
    EXPECT_EQ(off_by(*objects, ids[0], object, whole(object.shape)), 0.0) << "read last";
    std::vector<float> got(object.values.size());
    EXPECT_EQ(objects->get(ids[1], whole(object.shape), got.data()).wait().code(),
              StatusCode::invalid_argument);
}

// A file that was closed, and is another one when it is opened again.
TEST_F(ListedFiles, say_that_they_have_changed) {
    options_.service.objects.open_files = 1;
    const auto objects = connect();
    const auto object = write(*objects, 2);
    auto other = object;
    for (float& value : other.values) value += 1.0f;
    other.regions = {{whole(other.shape), other.values}};
    const ObjectNumber shifted =
        take(objects->create({"other", "rho", float32, other.shape, 1.5, absolute(0.5)}));
    put_all(*objects, shifted, other);
    ASSERT_TRUE(objects->persist({.path = file(2), .objects = {shifted}}).wait().ok());
    const ObjectNumber id = list(*objects, file(1));
    EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    EXPECT_EQ(off_by(*objects, list(*objects, file(0)), object, whole(object.shape)), 0.0);
    std::filesystem::rename(file(2), file(1));
    std::vector<float> got(object.values.size());
    const Status status = objects->get(id, whole(object.shape), got.data()).wait();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find("changed"), std::string::npos) << status.message();
    EXPECT_LE(off_by(*objects, list(*objects, file(1)), other, whole(other.shape)), 0.5);
}

}  // namespace
}  // namespace caesura::transit
