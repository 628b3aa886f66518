// Goal: files that clients have asked about take a bounded number of descriptors and of bytes,
// however many there are and whatever is in them, and can be read all the same.
#include <hdf5.h>

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
    /// What lists of so many files take.
    std::uint64_t bytes_of_lists(int files) {
        {
            const auto objects = connect();
            (void)write(*objects, 1);
            (void)list(*objects, file(0));
        }
        const std::uint64_t bytes = hub_->service().objects().counts().filed_bytes;
        hub_.reset();
        std::filesystem::remove(file(0));
        constexpr std::uint64_t k_longer_name_bytes = 8;
        return static_cast<std::uint64_t>(files) * (bytes + k_longer_name_bytes);
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

TEST_F(ListedFiles, are_forgotten_when_they_take_too_much_memory_and_listed_again) {
    constexpr std::size_t k_fit = 3;
    const std::uint64_t most_bytes = bytes_of_lists(k_fit);
    options_.service.objects.filed_bytes = most_bytes;
    const auto objects = connect();
    const auto object = write(*objects, 20);
    std::vector<ObjectNumber> ids;
    for (int i = 0; i < 20; ++i) {
        ids.push_back(list(*objects, file(i)));
        EXPECT_LE(hub_->service().objects().counts().filed_bytes, most_bytes);
    }
    EXPECT_EQ(take(objects->find({.name = "/data/*"})).objects.size(), k_fit);
    std::vector<float> got(object.values.size());
    EXPECT_EQ(objects->get(ids[0], whole(object.shape), got.data()).wait().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(off_by(*objects, ids.back(), object, whole(object.shape)), 0.0);
    EXPECT_EQ(off_by(*objects, list(*objects, file(0)), object, whole(object.shape)), 0.0);
}

TEST_F(ListedFiles, are_forgotten_in_the_order_in_which_they_were_last_used) {
    options_.service.objects.filed_bytes = bytes_of_lists(3);
    const auto objects = connect();
    const auto object = write(*objects, 4);
    std::vector<ObjectNumber> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(list(*objects, file(i)));
    EXPECT_EQ(off_by(*objects, ids[0], object, whole(object.shape)), 0.0);
    (void)list(*objects, file(3));
    EXPECT_EQ(off_by(*objects, ids[0], object, whole(object.shape)), 0.0) << "read last";
    std::vector<float> got(object.values.size());
    EXPECT_EQ(objects->get(ids[1], whole(object.shape), got.data()).wait().code(),
              StatusCode::invalid_argument);
}

TEST_F(ListedFiles, are_listed_without_regions_where_those_have_no_room) {
    options_.service.objects.filed_bytes = bytes_of_lists(1) - 64;
    const auto objects = connect();
    const auto object = write(*objects, 2);
    for (int i = 0; i < 2; ++i) {
        const auto found = take(
            objects->find({.container = file(i), .values = Range{-1e30, 1e30}, .regions = true}));
        ASSERT_EQ(found.objects.size(), 1u);
        const ObjectInfo& info = found.objects[0];
        EXPECT_EQ(info.regions_known, 0u);
        EXPECT_TRUE(info.regions.empty());
        EXPECT_EQ(info.values, object.values.size());
        EXPECT_GT(info.stored_bytes, 0u);
        EXPECT_FALSE(info.range);
        EXPECT_EQ(off_by(*objects, info.id, object, whole(object.shape)), 0.0);
        EXPECT_TRUE(objects->run(info.id, "stats").wait().ok());
        EXPECT_EQ(list(*objects, file(i)), info.id) << "it has not changed";
    }
}

// A dataset of more chunks than an object can have regions was passed over, without a word.
TEST_F(ListedFiles, list_datasets_of_any_number_of_chunks) {
    constexpr hsize_t k_values = (hsize_t{1} << 20) + 1, k_chunk = 1;
    const hid_t made = H5Fcreate(file(0).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(1, &k_values, nullptr);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 1, &k_chunk);
    const hid_t dataset =
        H5Dcreate2(made, "/many", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT);
    const hid_t few = H5Screate_simple(1, &k_chunk, nullptr);
    const float value = 3.5F;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &k_chunk, nullptr, &k_chunk, nullptr);
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, few, space, H5P_DEFAULT, &value), 0);
    for (const hid_t one : {few, space}) H5Sclose(one);
    H5Pclose(how), H5Dclose(dataset), H5Fclose(made);
    const auto objects = connect();
    const auto found = take(objects->find({.container = file(0)}));
    ASSERT_EQ(found.objects.size(), 1u);
    EXPECT_EQ(found.objects[0].regions_known, 0u);
    std::vector<float> got(4);
    const Status status = objects->get(found.objects[0].id, {{0}, {4}}, got.data()).wait();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(got, (std::vector<float>{0.0F, 3.5F, 0.0F, 0.0F}));
}

TEST_F(ListedFiles, that_take_more_than_all_that_there_is_are_an_error_that_names_them) {
    options_.service.objects.filed_bytes = 100;
    const auto objects = connect();
    (void)write(*objects, 1);
    const auto found = objects->find({.container = file(0)});
    EXPECT_EQ(found.status().code(), StatusCode::no_space);
    EXPECT_NE(found.status().message().find(file(0)), std::string::npos)
        << found.status().message();
    EXPECT_EQ(hub_->service().objects().counts().filed_bytes, 0u);
}

TEST_F(ListedFiles, stay_open_while_their_lists_of_chunks_have_room) {
    options_.service.objects.open_bytes = 1;
    const auto objects = connect();
    const auto object = write(*objects, 3);
    for (int i = 0; i < 3; ++i) {
        const ObjectNumber id = list(*objects, file(i));
        EXPECT_EQ(hub_->service().objects().counts().open_files, 1u) << "the last one";
        EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
    }
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

/// A file of plain HDF5 with datasets of one chunk, named NAME0, NAME1, ...
void write_datasets(const std::string& path, const std::string& name, int count) {
    const hid_t made = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t values = 4;
    const hid_t space = H5Screate_simple(1, &values, nullptr);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 1, &values);
    for (int i = 0; i < count; ++i)
        H5Dclose(H5Dcreate2(made, (name + std::to_string(i)).c_str(), H5T_NATIVE_FLOAT, space,
                            H5P_DEFAULT, how, H5P_DEFAULT));
    H5Pclose(how), H5Sclose(space), H5Fclose(made);
}

// A full table forgot objects of the very file that was being listed.
TEST_F(ListedFiles, make_room_by_forgetting_other_files_alone) {
    options_.service.objects.objects = 10;
    const auto objects = connect();
    write_datasets(file(0), "a", 6);
    write_datasets(file(1), "b", 6);
    EXPECT_EQ(take(objects->find({.container = file(0)})).objects.size(), 6u);
    EXPECT_EQ(take(objects->find({.container = file(1)})).objects.size(), 6u);
    EXPECT_EQ(take(objects->find({.name = "/a*"})).objects.size(), 4u) << "the oldest two went";
    write_datasets(file(0), "a", 9);  // its own are the oldest now, and stay
    EXPECT_EQ(take(objects->find({.container = file(0)})).objects.size(), 9u);
    EXPECT_EQ(take(objects->find({.name = "/b*"})).objects.size(), 1u);
}

TEST_F(ListedFiles, with_more_datasets_than_objects_may_be_are_an_error_and_nothing_else_goes) {
    options_.service.objects.objects = 10;
    const auto objects = connect();
    write_datasets(file(0), "a", 6);
    write_datasets(file(1), "b", 11);
    EXPECT_EQ(take(objects->find({.container = file(0)})).objects.size(), 6u);
    const auto found = objects->find({.container = file(1)});
    EXPECT_EQ(found.status().code(), StatusCode::no_space);
    EXPECT_NE(found.status().message().find(file(1)), std::string::npos)
        << found.status().message();
    EXPECT_EQ(take(objects->find({.name = "/b*"})).objects.size(), 0u);
    EXPECT_EQ(take(objects->find({.name = "/a*"})).objects.size(), 6u);
}

// Names of before stayed among the objects, and in the table's room.
TEST_F(ListedFiles, forget_datasets_that_are_not_in_the_file_any_more) {
    const auto objects = connect();
    write_datasets(file(0), "a", 3);
    EXPECT_EQ(take(objects->find({.container = file(0)})).objects.size(), 3u);
    write_datasets(file(0), "b", 2);
    EXPECT_EQ(take(objects->find({.container = file(0)})).objects.size(), 2u);
    EXPECT_EQ(take(objects->find({.name = "/a*"})).objects.size(), 0u);
}

}  // namespace
}  // namespace caesura::transit
