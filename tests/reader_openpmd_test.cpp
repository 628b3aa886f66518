// Goal: the Reader finds dumps, meshes, particles and constant components where openPMD's
// attributes say they are, in files of others.
#include <hdf5.h>

#include "caesura/reader.hpp"
#include "read_fixture.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura {
namespace {

using store::Handle;

class OpenPmdReader : public testing::ReadTest {
  protected:
    /// Made anew, with groups above what is made in it.
    Handle create() {
        with_parents_ = Handle(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
        H5Pset_create_intermediate_group(with_parents_.get(), 1);
        return Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    }
    Handle make_group(hid_t file, const std::string& name) {
        return Handle(H5Gcreate2(file, name.c_str(), with_parents_.get(), H5P_DEFAULT, H5P_DEFAULT),
                      H5Gclose);
    }
    void make_dataset(hid_t file, const std::string& name, hid_t type, hsize_t count) {
        const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
        const Handle dataset(H5Dcreate2(file, name.c_str(), type, space.get(), with_parents_.get(),
                                        H5P_DEFAULT, H5P_DEFAULT),
                             H5Dclose);
        ASSERT_TRUE(dataset.ok()) << name;
    }
    template <class T>
    static void set(hid_t object, const char* name, hid_t type, const std::vector<T>& values) {
        const hsize_t n = values.size();
        const Handle space(n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, nullptr),
                           H5Sclose);
        const Handle attribute(
            H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
        ASSERT_GE(H5Awrite(attribute.get(), type, values.data()), 0) << name;
    }
    static void set_text(hid_t object, const char* name, const std::string& text) {
        const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(type.get(), text.size());
        const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
        const Handle attribute(
            H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
        ASSERT_GE(H5Awrite(attribute.get(), type.get(), text.data()), 0) << name;
    }
    /// A constant component.
    void make_constant(hid_t file, const std::string& name,
                       const std::vector<std::uint64_t>& shape) {
        const Handle group = make_group(file, name);
        ASSERT_TRUE(group.ok()) << name;
        set(group.get(), "value", H5T_NATIVE_DOUBLE, std::vector<double>{1.5});
        set(group.get(), "shape", H5T_NATIVE_UINT64, shape);
    }
    std::unique_ptr<Reader> open() {
        auto reader = Reader::open(path_);
        EXPECT_TRUE(reader.ok()) << reader.status().message();
        return reader.ok() ? std::move(*reader) : nullptr;
    }

  private:
    Handle with_parents_;
};

TEST_F(OpenPmdReader, particles_and_constant_components_are_fields) {
    {
        const Handle file = create();
        ASSERT_NO_FATAL_FAILURE(make_constant(file.get(), "/data/40/particles/e/mass", {20}));
        ASSERT_NO_FATAL_FAILURE(make_constant(file.get(), "/data/40/particles/e/momentum/z", {20}));
        const Handle position = make_group(file.get(), "/data/40/particles/e/position");
        set(position.get(), "timeOffset", H5T_NATIVE_DOUBLE, std::vector<double>{0.25});
        const Handle dump(H5Gopen2(file.get(), "/data/40", H5P_DEFAULT), H5Gclose);
        set(dump.get(), "time", H5T_NATIVE_DOUBLE, std::vector<double>{2.5});
        ASSERT_NO_FATAL_FAILURE(
            make_dataset(file.get(), "/data/40/particles/e/position/x", H5T_IEEE_F64LE, 20));
        ASSERT_NO_FATAL_FAILURE(
            make_dataset(file.get(), "/data/40/particles/e/id", H5T_STD_U64LE, 20));
    }
    const auto reader = open();
    ASSERT_EQ(reader->dumps().size(), 1u);
    EXPECT_EQ(reader->dumps()[0].time, 2.5);
    std::vector<std::string> names;
    for (const FieldInfo& field : reader->fields()) {
        EXPECT_EQ(field.kind, FieldInfo::Kind::particles);
        names.push_back(field.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"e/id", "e/mass", "e/momentum/z", "e/position/x"}));
    const FieldInfo& x = reader->fields()[3];
    ASSERT_NE(find_attribute(x, "timeOffset"), nullptr) << "of its record";
    std::vector<double> mass(5, 0.0);
    ASSERT_TRUE(reader->read(1, {{15}, {5}}, std::as_writable_bytes(std::span(mass))).ok());
    EXPECT_EQ(mass, std::vector<double>(5, 1.5));
    EXPECT_EQ(reader->fields()[1].codec, "constant");
}

TEST_F(OpenPmdReader, a_constant_component_may_have_more_values_than_a_double_counts) {
    constexpr std::uint64_t k_large = (std::uint64_t{1} << 53) + 1;
    {
        const Handle file = create();
        ASSERT_NO_FATAL_FAILURE(make_constant(file.get(), "/data/0/meshes/line", {k_large}));
        ASSERT_NO_FATAL_FAILURE(make_constant(file.get(), "/data/0/meshes/plane", {2, k_large}));
        const Handle group = make_group(file.get(), "/data/0/meshes/negative");
        set(group.get(), "value", H5T_NATIVE_DOUBLE, std::vector<double>{1.5});
        set(group.get(), "shape", H5T_NATIVE_INT64, std::vector<std::int64_t>{4, -1});
    }
    const auto reader = open();
    ASSERT_EQ(reader->fields().size(), 2u) << "a negative extent is none";
    EXPECT_EQ(reader->fields()[0].shape, (Shape{k_large}));
    EXPECT_EQ(reader->fields()[1].shape, (Shape{2, k_large}));
    double last = 0.0;
    const Status read =
        reader->read(1, {{1, k_large - 1}, {1, 1}}, std::as_writable_bytes(std::span(&last, 1)));
    EXPECT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(last, 1.5);
}

TEST_F(OpenPmdReader, dumps_lie_where_the_base_path_says) {
    {
        const Handle file = create();
        set_text(file.get(), "basePath", "/series/%T/step/");
        ASSERT_NO_FATAL_FAILURE(
            make_dataset(file.get(), "/series/7/step/meshes/rho", H5T_IEEE_F32LE, 4));
        ASSERT_NO_FATAL_FAILURE(
            make_dataset(file.get(), "/series/7/step/meshes/id", H5T_STD_U64LE, 4));
        ASSERT_NO_FATAL_FAILURE(make_constant(file.get(), "/series/7/step/meshes/mass", {4}));
        ASSERT_NO_FATAL_FAILURE(make_dataset(file.get(), "/series/8x/a", H5T_IEEE_F32LE, 4));
        ASSERT_NO_FATAL_FAILURE(make_dataset(file.get(), "/data/5/meshes/rho", H5T_IEEE_F32LE, 4));
        const Handle dump(H5Gopen2(file.get(), "/series/7/step", H5P_DEFAULT), H5Gclose);
        set(dump.get(), "time", H5T_NATIVE_DOUBLE, std::vector<double>{2.5});
    }
    const auto reader = open();
    ASSERT_EQ(reader->dumps().size(), 2u) << "and what lies in no dump";
    EXPECT_EQ(reader->dumps()[1].iteration, 7u);
    EXPECT_EQ(reader->dumps()[1].time, 2.5);
    for (const char* name : {"rho", "id", "mass"}) EXPECT_TRUE(reader->find(name, 7).ok()) << name;
    for (const char* name : {"data/5/meshes/rho", "series/8x/a"}) {
        const auto outside = reader->find(name, 0);
        ASSERT_TRUE(outside.ok()) << outside.status().message();
        EXPECT_EQ(reader->fields()[*outside].kind, FieldInfo::Kind::other);
    }
}

}  // namespace
}  // namespace caesura
