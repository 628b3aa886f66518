// Goal: the rules for what a user says of the objects of a file: where it goes, what openPMD and
// the library allow, and that differences between ranks are named.
#include "writer/user_attributes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace caesura::writer {
namespace {

using store::Attribute;
using store::AttributeValue;
using Kind = AttributeOwner::Kind;
using Doubles = std::vector<double>;
using Strings = std::vector<std::string>;

const AttributedObject k_file{Kind::file}, k_iteration{Kind::iteration},
    k_record{Kind::record, "v"}, k_component{Kind::field, "v/x"}, k_scalar{Kind::field, "rho"};

std::string refusal(const AttributedObject& object, const std::string& name, AttributeValue value) {
    const Status status = check_attribute(object, name, value);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << name;
    return status.message();
}

AttributeValue taken(const AttributedObject& object, const std::string& name,
                     AttributeValue value) {
    const Status status = check_attribute(object, name, value);
    EXPECT_TRUE(status.ok()) << status.message();
    return value;
}

TEST(UserAttributes, of_a_record_go_to_its_group_and_others_to_the_component) {
    EXPECT_EQ(object_of(Kind::field, "v/x", "geometry"), k_record);
    EXPECT_EQ(object_of(Kind::field, "v/x", "position"), k_component);
    EXPECT_EQ(object_of(Kind::field, "v/x", "colour"), k_component);
    EXPECT_EQ(object_of(Kind::record, "v/x", "colour"), k_record);
    EXPECT_EQ(object_of(Kind::record, "rho", "colour"), k_scalar);
    EXPECT_EQ(object_of(Kind::field, "rho", "geometry"), k_scalar);
    EXPECT_EQ(object_of(Kind::iteration, "", "geometry"), k_iteration);
}

TEST(UserAttributes, that_the_library_needs_are_refused_by_name_and_object) {
    EXPECT_EQ(refusal(k_component, "caesura_bound", 1.0),
              "attribute 'caesura_bound' of field 'v/x': names that begin with caesura_ are the "
              "library's; use another");
    for (const char* name : {"openPMD", "openPMDextension", "basePath", "meshesPath",
                             "particlesPath", "iterationEncoding", "iterationFormat"})
        EXPECT_EQ(refusal(k_file, name, std::string("x")),
                  "attribute '" + std::string(name) +
                      "' of the file: it says how the file is laid out and cannot be changed");
    for (const char* name : {"time", "dt"})
        EXPECT_EQ(refusal(k_iteration, name, 1.0), "attribute '" + std::string(name) +
                                                       "' of the iteration: begin_dump() is given "
                                                       "it");
    for (const char* name : {"unitSI", "position"})
        EXPECT_EQ(refusal(k_record, name, 1.0),
                  "attribute '" + std::string(name) +
                      "' of record 'v': it belongs to each component; set it on the fields");
    EXPECT_EQ(refusal(k_record, "value", 1.0),
              "attribute 'value' of record 'v': it would make the record one constant; use another "
              "name");
    // Elsewhere they mean nothing.
    EXPECT_EQ(taken(k_scalar, "openPMD", 1.0), AttributeValue(1.0));
    EXPECT_EQ(taken(k_scalar, "value", 1.0), AttributeValue(1.0));
    EXPECT_EQ(taken(k_scalar, "time", 1.0), AttributeValue(1.0));
}

TEST(UserAttributes, that_openpmd_knows_have_its_types) {
    EXPECT_EQ(taken(k_scalar, "timeOffset", std::int64_t{2}), AttributeValue(2.0));
    EXPECT_EQ(taken(k_scalar, "timeOffset", 0.5f), AttributeValue(0.5f));
    EXPECT_EQ(taken(k_scalar, "gridSpacing", std::vector<std::int64_t>{1, 2}),
              AttributeValue(Doubles{1, 2}));
    EXPECT_EQ(refusal(k_scalar, "timeOffset", Doubles{1}),
              "attribute 'timeOffset' of field 'rho' is float64 [1]; openPMD wants one finite "
              "number");
    EXPECT_EQ(refusal(k_scalar, "unitSI", std::nan("")),
              "attribute 'unitSI' of field 'rho' is float64 nan; openPMD wants one finite number");
    EXPECT_EQ(refusal(k_record, "geometry", std::string("round")),
              "attribute 'geometry' of record 'v' is 'round'; openPMD wants cartesian, thetaMode, "
              "cylindrical, spherical, other or other:<name>");
    EXPECT_EQ(refusal(k_record, "dataOrder", std::string("D")),
              "attribute 'dataOrder' of record 'v' is 'D'; openPMD wants C or F");
    EXPECT_EQ(refusal(k_record, "dataOrder", 1.0),
              "attribute 'dataOrder' of record 'v' is float64 1; openPMD wants a string");
    EXPECT_EQ(refusal(k_record, "axisLabels", std::string("xyz")),
              "attribute 'axisLabels' of record 'v' is 'xyz'; openPMD wants a list of strings, one "
              "for each axis");
    EXPECT_EQ(refusal(k_record, "unitDimension", Doubles{1, 2}),
              "attribute 'unitDimension' of record 'v' is float64 [1, 2]; openPMD wants 7 powers "
              "(L, M, T, I, theta, N, J)");
    EXPECT_EQ(refusal(k_component, "position", Doubles{0.5, 1.0}),
              "attribute 'position' of field 'v/x' is float64 [0.5, 1]; openPMD wants numbers from "
              "0 to below 1");
    EXPECT_EQ(refusal(k_component, "position", Strings{"0"}),
              "attribute 'position' of field 'v/x' is ['0']; openPMD wants a list of finite "
              "numbers, one for each axis");
}

TEST(UserAttributes, that_openpmd_knows_elsewhere_are_the_users) {
    EXPECT_EQ(taken(k_file, "position", std::string("north")),
              AttributeValue(std::string("north")));
    EXPECT_EQ(taken(k_iteration, "geometry", std::int64_t{1}), AttributeValue(std::int64_t{1}));
    EXPECT_EQ(taken(k_scalar, "machine", 1.0), AttributeValue(1.0));
    EXPECT_EQ(refusal(k_iteration, "comment", 1.0),
              "attribute 'comment' of the iteration is float64 1; openPMD wants a string");
    EXPECT_EQ(refusal(k_iteration, "timeUnitSI", std::string("s")),
              "attribute 'timeUnitSI' of the iteration is 's'; openPMD wants one finite number");
    EXPECT_EQ(refusal(k_file, "machine", 1.0),
              "attribute 'machine' of the file is float64 1; openPMD wants a string");
}

TEST(UserAttributes, that_no_file_could_keep_are_refused) {
    EXPECT_EQ(refusal(k_scalar, "", 1.0),
              "attribute '' of field 'rho': a name has 1 to 255 bytes, and no NUL");
    EXPECT_NE(refusal(k_scalar, std::string(256, 'a'), 1.0).find("1 to 255 bytes"),
              std::string::npos);
    EXPECT_EQ(refusal(k_scalar, "text", std::string("a\0b", 3)),
              "attribute 'text' of field 'rho': a string with a NUL in it cannot be kept");
    EXPECT_EQ(refusal(k_scalar, "large", Doubles(131072)),
              "attribute 'large' of field 'rho': it takes 1048581 bytes with its name; an "
              "attribute has room for 1048576. Put it as a field");
    EXPECT_TRUE(std::isnan(std::get<double>(taken(k_scalar, "own", std::nan("")))));
}

TEST(UserAttributes, of_options_are_said_once) {
    FieldOptions options;
    options.time_offset = 0.5;
    options.attributes = {{"timeOffset", 0.5}, {"colour", std::string("blue")}};
    const auto said = attributes_of("rho", options);
    ASSERT_TRUE(said.ok()) << said.status().message();
    EXPECT_EQ(*said, (Attributes{{"timeOffset", 0.5}, {"colour", std::string("blue")}}));
    options.attributes[0].value = 0.25;
    EXPECT_EQ(attributes_of("rho", options).status().message(),
              "attribute 'timeOffset' of field 'rho' is float64 0.5 and float64 0.25; say it once");
    WriterOptions of_file;
    of_file.author = "one";
    of_file.root_attributes = {{"author", "another"}};
    EXPECT_EQ(attributes_of(of_file).status().message(),
              "attribute 'author' of the file is 'one' and 'another'; say it once");
}

TEST(UserAttributes, of_components_agree_on_their_record) {
    Metadata metadata;
    ASSERT_TRUE(define(metadata, "v/x", 2, {{"timeOffset", 0.5}, {"own", 1.0}}).ok());
    EXPECT_EQ(define(metadata, "v/y", 2, {{"new", 1.0}, {"timeOffset", 0.25}}).message(),
              "field 'v/y': attribute 'timeOffset' of record 'v' is float64 0.5 already, not "
              "float64 0.25; give all components the same");
    EXPECT_TRUE(metadata.of({Kind::field, "v/y"}).empty());
    EXPECT_TRUE(define(metadata, "v/y", 2, {{"own", 2.0}, {"timeOffset", 0.5}}).ok());
    EXPECT_TRUE(define(metadata, "w/y", 2, {{"timeOffset", 0.25}}).ok());
    EXPECT_EQ(*metadata.find(k_record, "timeOffset"), AttributeValue(0.5));
    EXPECT_EQ(*metadata.find({Kind::field, "v/y"}, "own"), AttributeValue(2.0));
}

TEST(UserAttributes, have_an_entry_for_each_axis_of_the_grid) {
    Metadata metadata;
    EXPECT_EQ(define(metadata, "rho", 3, {{"gridSpacing", Doubles{1, 2}}}).message(),
              "field 'rho': attribute 'gridSpacing' has 2 entries; its grid has 3 axes (geometry "
              "cartesian): give one per axis or none");
    const Attribute modes{"geometry", std::string("thetaMode")};
    EXPECT_TRUE(define(metadata, "rho", 3,
                       {modes, {"gridSpacing", Doubles{1, 2}}, {"axisLabels", Strings{"r", "z"}}})
                    .ok());
    EXPECT_EQ(define(metadata, "v/x", 3, {modes, {"position", Doubles{0, 0, 0}}}).message(),
              "field 'v/x': attribute 'position' has 3 entries; its grid has 2 axes (geometry "
              "thetaMode): give one per axis or none");
}

TEST(Metadata, digest_does_not_depend_on_the_order_in_which_things_were_said) {
    Metadata one, other;
    one.set(k_file, "a", 1.0);
    one.set(k_file, "b", std::string("x"));
    other.set(k_file, "b", std::string("y"));
    other.set(k_file, "a", 1.0);
    EXPECT_NE(one.digest(), other.digest());
    other.set(k_file, "b", std::string("x"));
    EXPECT_EQ(one.digest(), other.digest());
    other.set(k_file, "a", std::int64_t{1});  // another type
    EXPECT_NE(one.digest(), other.digest());
}

TEST(Metadata, first_difference_names_attribute_object_values_and_ranks) {
    Metadata same, other, more, nothing;
    same.set(k_file, "a", 1.0);
    other.set(k_file, "a", 2.0);
    more.set(k_iteration, "b", Strings{"x", "y"});
    const auto difference = [](const std::vector<std::vector<std::byte>>& by_rank) {
        return first_difference(by_rank).message();
    };
    const auto plain = pack(same, nothing);
    EXPECT_EQ(difference({plain, plain}), "");
    EXPECT_EQ(difference({plain, plain, pack(other, nothing)}),
              "attribute 'a' of the file is float64 1 on rank 0 and float64 2 on rank 2; set the "
              "same on all ranks");
    EXPECT_EQ(difference({plain, pack(same, more)}),
              "attribute 'b' of the iteration in this dump is ['x', 'y'] on rank 1 and not set on "
              "rank 0; set the same on all ranks");
    EXPECT_EQ(difference({plain, pack(nothing, nothing)}),
              "attribute 'a' of the file is float64 1 on rank 0 and not set on rank 1; set the "
              "same on all ranks");
}

}  // namespace
}  // namespace caesura::writer
