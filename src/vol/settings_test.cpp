// Goal: each quantity of a dataset gets the bound that is meant for it, and a bound that can be
// meant for none is an error that says what to write.
#include "vol/settings.hpp"

#include <gtest/gtest.h>

namespace caesura::vol {
namespace {

const std::vector<std::string> k_names = {"density", "xmom", "ymom", "zmom", "Temp", "phi_grav"};
const std::string k_path = "/level_0/data:datatype=0";

Config config_of(const std::string& text) {
    const auto config = parse_config(text, "run.toml");
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.ok() ? *config : Config{};
}

std::vector<writer::Component> components(const std::string& text) {
    auto found = components_of(config_of(text), k_path, k_names);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : std::vector<writer::Component>(k_names.size());
}

TEST(VolSettings, the_last_rule_that_matches_a_component_wins) {
    const auto found = components(R"(
bound = 1e-3
bound_kind = "relative"
[[dataset]]
path = "/level_*/data:*"
component = "*"
bound = 1e-2
bound_kind = "relative"
[[dataset]]
path = "/level_*/data:*"
component = "?mom"
bound = 1e8
[[dataset]]
path = "/level_*/data:*"
component = "Temp"
bound = 60
bound_kind = "psnr"
[[dataset]]
path = "/level_*/data:*"
component = "phi*"
bound_kind = "lossless"
[[dataset]]
path = "/level_*/data:*"
component = "density"
capture = false
[[dataset]]
path = "/elsewhere"
component = "Temp"
bound = 3.0
)");
    EXPECT_EQ(found[0], (writer::Component{"density", lossless(), true}));
    EXPECT_EQ(found[1], (writer::Component{"xmom", absolute(1e8)}));
    EXPECT_EQ(found[3], (writer::Component{"zmom", absolute(1e8)}));
    EXPECT_EQ(found[4], (writer::Component{"Temp", psnr(60)}));
    EXPECT_EQ(found[5], (writer::Component{"phi_grav", lossless()}));
}

TEST(VolSettings, bounds_that_mean_the_same_of_each_need_no_component) {
    for (const auto& one : components("")) EXPECT_EQ(one.bound, lossless());
    for (const auto& one : components("bound = 1e-3\nbound_kind = \"pointwise_relative\""))
        EXPECT_EQ(one.bound, pointwise_relative(1e-3));
}

TEST(VolSettings, a_bound_of_several_quantities_together_is_an_error_word_for_word) {
    const std::string rule =
        "[[dataset]]\npath = \"**/data:datatype=0\"\nbound = 1e-3\nbound_kind = \"relative\"\n";
    const auto none = components_of(config_of(rule), k_path, k_names);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(
        none.status().message(),
        "/level_0/data:datatype=0 holds 6 quantities (density, xmom, ymom, zmom, Temp, "
        "phi_grav). run.toml gives no bound to density, xmom, ymom, zmom, Temp, phi_grav, and "
        "its relative bound of 0.001 would be one of all of them together. Add [[dataset]] "
        "rules with path, component and bound; component = \"*\" is every one that no later "
        "rule names. A bound_kind of lossless or pointwise_relative needs no component");
    // Some have one.
    const auto some =
        components_of(config_of("[[dataset]]\npath = \"data:*\"\nbound = 0.5\n"
                                "[[dataset]]\npath = \"**\"\ncomponent = \"*m*\"\nbound = 1.0\n"),
                      k_path, k_names);
    ASSERT_FALSE(some.ok());
    EXPECT_NE(some.status().message().find("run.toml gives no bound to density, phi_grav, and its "
                                           "absolute bound of 0.5"),
              std::string::npos)
        << some.status().message();
}

// As h5py has particles.
TEST(VolSettings, a_bound_of_all_members_of_a_compound_is_an_error_word_for_word) {
    const Config config = config_of(
        "[[dataset]]\npath = \"/part*\"\nbound = 0.01\n"
        "[[dataset]]\npath = \"/particles\"\ncomponent = \"v?\"\n"
        "bound = 1e-3\nbound_kind = \"relative\"\n");
    const auto particles = components_of(config, "/particles", {"x", "y", "z", "vx", "vy", "vz"});
    ASSERT_FALSE(particles.ok());
    EXPECT_EQ(particles.status().message(),
              "/particles holds 6 quantities (x, y, z, vx, vy, vz). run.toml gives no bound to x, "
              "y, z, and its absolute bound of 0.01 would be one of all of them together. Add "
              "[[dataset]] rules with path, component and bound; component = \"*\" is every one "
              "that no later rule names. A bound_kind of lossless or pointwise_relative needs no "
              "component");
}

TEST(VolSettings, a_bound_without_a_path_is_none_of_several_quantities) {
    for (const std::string all :
         {"", "[[dataset]]\npath = \"**\"\n", "[[dataset]]\npath = \"*\"\n"})
        for (const auto& one : components(all + "bound = 0.01\n"))
            EXPECT_EQ(one.bound, lossless()) << one.name;
    const auto some =
        components("bound = 0.5\n[[dataset]]\npath = \"**\"\ncomponent = \"?mom\"\nbound = 1.0\n");
    EXPECT_EQ(some[0].bound, lossless());
    EXPECT_EQ(some[1].bound, absolute(1.0));
}

// A rule's bound may be as large as the one that is for all.
TEST(VolSettings, a_quantity_has_a_bound_of_its_own_where_a_rule_names_it) {
    const Config config = config_of(
        "bound = 0.5\n[[dataset]]\npath = \"**\"\ncomponent = \"?mom\"\nbound = 0.5\n"
        "[[dataset]]\npath = \"**\"\ncomponent = \"Temp\"\ncapture = false\n");
    EXPECT_TRUE(has_own_bound(config, k_path, "xmom"));
    EXPECT_FALSE(has_own_bound(config, k_path, "density"));
    EXPECT_FALSE(has_own_bound(config, k_path, "Temp"));
    EXPECT_FALSE(has_own_bound(config, k_path, ""));
}

TEST(VolSettings, a_bound_of_complex_numbers_is_one_of_each_part) {
    for (const std::string rule : {"", "[[dataset]]\npath = \"/wave\"\n"}) {
        const auto wave = components_of(config_of(rule + "bound = 0.01\n"), "/wave", {"r", "i"});
        ASSERT_TRUE(wave.ok()) << wave.status().message();
        EXPECT_EQ(wave->at(0).bound, absolute(0.01));
        EXPECT_EQ(wave->at(1).bound, absolute(0.01));
    }
}

TEST(VolSettings, a_rule_is_for_all_where_its_pattern_names_nothing) {
    const auto for_all = [](const std::string& path) {
        const Config config = config_of("[[dataset]]\npath = \"" + path + "\"\nbound = 1.0\n");
        return settings_of(config, "/a/lon").bound_for_all;
    };
    EXPECT_TRUE(settings_of(config_of("bound = 1.0"), "/a/lon").bound_for_all);
    for (const char* path : {"*", "**", "/**", "/*/*"}) EXPECT_TRUE(for_all(path)) << path;
    for (const char* path : {"lon", "/a/*", "l*", "/a/lon", "**/lo?"})
        EXPECT_FALSE(for_all(path)) << path;
}

TEST(VolSettings, a_map_of_a_later_rule_replaces_that_of_an_earlier_one_or_takes_it_back) {
    const Config config = config_of(R"(
[[dataset]]
path = "*"
bound_map = { steep = [{ change = 1, bound = 0 }, { change = 2, bound = 0 }] }
[[dataset]]
path = "a"
bound_map = { values = [{ lowest = 0, highest = 1, bound = 3 }] }
[[dataset]]
path = "b"
bound_map = {}
)");
    EXPECT_EQ(settings_of(config, "/c").bound_map.steep.size(), 2u);
    EXPECT_EQ(settings_of(config, "/a").bound_map.rules(), 1u);
    EXPECT_EQ(settings_of(config, "/a").bound_map.values.at(0).bound, 3.0);
    EXPECT_EQ(settings_of(config, "/b").bound_map.rules(), 0u);
}

TEST(VolSettings, a_dataset_of_one_quantity_has_the_bound_of_its_path) {
    const Config config = config_of(
        "bound = 0.5\n[[dataset]]\npath = \"**\"\ncomponent = \"*\"\n"
        "bound = 1.0\n");
    const auto unnamed = components_of(config, k_path, {""});
    ASSERT_TRUE(unnamed.ok());
    EXPECT_EQ(unnamed->at(0).bound, absolute(0.5));
    const auto named = components_of(config, k_path, {"density"});
    ASSERT_TRUE(named.ok());
    EXPECT_EQ(named->at(0).bound, absolute(1.0));
}

}  // namespace
}  // namespace caesura::vol
