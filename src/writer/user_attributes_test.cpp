// Goal: what a user says of a field is in the file, also where openPMD asks for a default.
#include "writer/user_attributes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "store/manifest.hpp"
#include "writer/openpmd.hpp"

namespace caesura::writer {
namespace {

using store::Attribute;

std::string temporary(const std::string& name) {
    return (std::filesystem::path(::testing::TempDir()) / ("caesura_attributes_" + name + ".h5"))
        .string();
}

std::vector<Attribute> named(const std::vector<Attribute>& all, const std::string& name) {
    std::vector<Attribute> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const Attribute& attribute) { return attribute.name == name; });
    return found;
}

// Of several attributes of one name HDF5 would keep the first, so there must be one.
void expect_one(const std::vector<Attribute>& all, const Attribute& wanted) {
    const auto found = named(all, wanted.name);
    ASSERT_EQ(found.size(), 1u) << wanted.name;
    EXPECT_EQ(found.front(), wanted) << wanted.name;
}

TEST(UserAttributes, take_the_place_of_defaults_in_the_file) {
    const std::string path = temporary("scalar");
    FieldOptions field;
    field.attributes = {{"position", std::vector<double>{0.5, 0.25}},
                        {"geometry", std::string("thetaMode")},
                        {"timeOffset", 0.125},
                        {"colour", std::string("blue")}};
    WriterOptions options;
    options.root_attributes = {{"software", "a code"}, {"machine", "a laptop"}};
    {
        auto writer = Writer::create(path, nullptr, options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        const auto rho = (*writer)->define_field("rho", float32, {4, 4}, lossless(), field);
        ASSERT_TRUE(rho.ok()) << rho.status().message();
        const std::vector<float> values(16, 1.0f);
        auto iteration = (*writer)->begin_iteration(3);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(dump.put(*rho, {{0, 0}, {4, 4}}, values.data()).ok());
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE((*writer)->close().ok());
    }
    const auto info = store::read_info(path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->datasets.size(), 1u);
    for (const Attribute& wanted : field.attributes)
        expect_one(info->datasets[0].spec.attributes, wanted);
    expect_one(info->root, {"software", std::string("a code")});
    expect_one(info->root, {"machine", std::string("a laptop")});
    std::filesystem::remove(path);
}

TEST(UserAttributes, of_a_record_are_its_groups_and_of_a_component_its_own) {
    store::DumpManifest manifest;
    FieldOptions plain, said;
    said.attributes = {{"geometry", std::string("cylindrical")},
                       {"position", std::vector<double>{0.5}}};
    add_field(manifest, "v/x", float32, {8}, {8}, {}, plain, {});
    add_field(manifest, "v/y", float32, {8}, {8}, {}, said, {});
    ASSERT_EQ(manifest.groups.size(), 1u);
    expect_one(manifest.groups[0].attributes, said.attributes[0]);
    EXPECT_TRUE(named(manifest.datasets[1].attributes, "geometry").empty());
    expect_one(manifest.datasets[0].attributes, {"position", std::vector<double>{0.0}});
    expect_one(manifest.datasets[1].attributes, said.attributes[1]);
}

TEST(UserAttributes, that_cannot_be_are_refused_by_name) {
    FieldOptions one, other, ours;
    one.attributes = {{"timeOffset", 0.5}};
    other.attributes = {{"timeOffset", 0.25}};
    ours.attributes = {{"caesura_bound", 1.0}};
    const Status differ = check_same_record("v/y", other, "v/x", one);
    EXPECT_EQ(differ.code(), StatusCode::invalid_argument);
    EXPECT_NE(differ.message().find("timeOffset"), std::string::npos) << differ.message();
    EXPECT_TRUE(check_same_record("v/y", one, "v/x", one).ok());
    EXPECT_TRUE(check_same_record("w/y", other, "v/x", one).ok());
    EXPECT_TRUE(check_same_record("rho", other, "p", one).ok());
    auto writer = Writer::create(temporary("fields"), nullptr, {});
    ASSERT_TRUE(writer.ok());
    const auto refused = (*writer)->define_field("rho", float32, {8}, lossless(), ours);
    EXPECT_NE(refused.status().message().find("caesura_bound"), std::string::npos);
    ASSERT_TRUE((*writer)->define_field("v/x", float32, {8}, lossless(), one).ok());
    EXPECT_FALSE((*writer)->define_field("v/y", float32, {8}, lossless(), other).ok());
    EXPECT_TRUE((*writer)->define_field("v/y", float32, {8}, lossless(), one).ok());
    EXPECT_TRUE((*writer)->close().ok());
    std::filesystem::remove(temporary("fields"));
    WriterOptions options;
    options.root_attributes = {{"basePath", "/elsewhere/"}};
    const auto laid_out = Writer::create(temporary("refused"), nullptr, options);
    EXPECT_NE(laid_out.status().message().find("basePath"), std::string::npos);
}

}  // namespace
}  // namespace caesura::writer
