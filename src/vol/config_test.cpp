// The connector's configuration: what may be said, what is refused and in which words, and which
// datasets a pattern means.
#include "vol/config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

Config parsed(std::string_view text) {
    auto config = parse_config(text, "run.toml");
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.ok() ? *config : Config{};
}

std::string refused(std::string_view text) {
    const auto config = parse_config(text, "run.toml");
    EXPECT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.status().code(), StatusCode::invalid_argument);
    return config.status().message();
}

TEST(VolConfig, nothing_said_is_the_default) {
    Config expected;
    expected.path = "run.toml";
    EXPECT_EQ(parsed(""), expected);
}

TEST(VolConfig, every_key_arrives) {
    const Config config = parsed(R"(
capture = false
codec = "caesura:strong"
bound = 1e-3
bound_kind = "relative"
chunk_bytes = 4194304
threshold_bytes = 0
memory_bytes = 1073741824
durability = "durable"
report = "report_%r.json"
commit_writes = true
[[dataset]]
path = "/level_*/data:*"
bound = 0.5
[[dataset]]
path = "velocity"
capture = false
codec = "zfp"
chunk_bytes = 1048576
chunk = [64, 32]
box = [16, 8, 4]
commit_writes = false
)");
    EXPECT_FALSE(config.capture);
    EXPECT_EQ(config.codec, "caesura:strong");
    EXPECT_EQ(config.bound, relative(1e-3));
    EXPECT_EQ(config.chunk_bytes, 4194304u);
    EXPECT_EQ(config.threshold_bytes, 0u);
    EXPECT_EQ(config.memory_bytes, 1073741824u);
    EXPECT_EQ(config.durability, Durability::durable);
    EXPECT_EQ(config.report, "report_%r.json");
    EXPECT_TRUE(config.commit_writes);
    ASSERT_EQ(config.rules.size(), 2u);
    const Rule level{"/level_*/data:*", {}, {}, absolute(0.5), {}, {}, {}, {}};
    const Rule velocity{"velocity", false, "zfp", {}, 1048576, {64, 32}, {16, 8, 4}, false};
    EXPECT_EQ(config.rules[0], level);
    EXPECT_EQ(config.rules[1], velocity);
}

TEST(VolConfig, a_rule_says_how_durable_files_of_a_name_are) {
    const Config config = parsed(R"(
durability = "durable"
[[file]]
path = "plt*"
durability = "close"
[[file]]
path = "/scratch/**/plt_last.h5"
durability = "complete"
)");
    EXPECT_EQ(durability_of(config, "/scratch/run/chk00010.h5"), Durability::durable);
    EXPECT_EQ(rules_without_use(config).size(), 2u);
    EXPECT_EQ(durability_of(config, "/scratch/run/plt00010.h5"), Durability::close);
    EXPECT_EQ(rules_without_use(config),
              std::vector<std::string>{"[[file]] path = \"/scratch/**/plt_last.h5\""});
    EXPECT_EQ(durability_of(config, "/scratch/run/plt_last.h5"), Durability::complete)
        << "the last rule that matches";
    EXPECT_EQ(durability_of(config, "/archive/plt_last.h5"), Durability::close);
    EXPECT_EQ(parsed(to_toml(config)), config) << to_toml(config);
}

TEST(VolConfig, a_rule_of_files_needs_a_path_and_a_durability) {
    const std::pair<std::string_view, std::string_view> wrong[] = {
        {"[[file]]\ndurability = \"close\"", "needs a path"},
        {"[[file]]\npath = \"*\"", "needs a durability"},
        {"[[file]]\npath = \"*\"\ndurability = \"maybe\"", "close, complete and durable"},
        {"[[file]]\npath = \"*\"\nbound = 1.0", "'file.bound'"},
        {"[file]\npath = \"*\"", "must be written [[file]]"}};
    for (const auto& [text, words] : wrong)
        EXPECT_NE(refused(text).find(words), std::string::npos) << refused(text);
}

TEST(VolConfig, a_map_of_bounds_has_the_words_that_files_have) {
    const Config config = parsed(R"(
[[dataset]]
path = "rho"
bound = 1e-2
bound_map = { boxes = [
    { offset = [40, 0, 0], extent = [16, 64, 64], bound = 1e-5 },
], steep = [{ change = 0.5, bound = 0 }] }
[[dataset]]
path = "T"
[[dataset.bound_map.values]]
lowest = 1e3
highest = inf
bound = 1e-4
[[dataset.bound_map.values]]
lowest = -inf
highest = 0
bound = 2
)");
    BoundMap rho, temperature;
    rho.boxes.push_back({{{40, 0, 0}, {16, 64, 64}}, 1e-5});
    rho.steep.push_back({0.5, 0.0});
    temperature.values.push_back({1e3, std::numeric_limits<double>::infinity(), 1e-4});
    temperature.values.push_back({-std::numeric_limits<double>::infinity(), 0.0, 2.0});
    ASSERT_EQ(config.rules.size(), 2u);
    EXPECT_EQ(config.rules[0].bound_map, rho);
    EXPECT_EQ(config.rules[1].bound_map, temperature);
    EXPECT_EQ(parsed(to_toml(config)), config) << to_toml(config);
}

TEST(VolConfig, a_map_that_cannot_be_right_names_its_line_and_what_is_allowed) {
    const std::pair<const char*, const char*> cases[] = {
        {"3", "line 3: 'dataset.bound_map' must be a table with any of boxes, values and steep"},
        {"{ box = [] }", "'dataset.bound_map.box' is no key; the nearest is 'boxes'"},
        {"{ boxes = [3] }", "'dataset.bound_map.boxes' must be a list of tables"},
        {"{ boxes = [{ extent = [4], bound = 1 }] }", "it has no offset"},
        {"{ boxes = [{ offset = [0], bound = 1 }] }", "it has no extent"},
        {"{ boxes = [{ offset = [0], extent = [4] }] }", "'dataset.bound_map.boxes.bound' must be"},
        {"{ boxes = [{ offset = [-1], extent = [4], bound = 1 }] }",
         "'dataset.bound_map.boxes.offset' must be a list of 1 to 4 whole numbers from 0"},
        {"{ boxes = [{ offset = [0], extent = [0], bound = 1 }] }",
         "'dataset.bound_map.boxes.extent' must be a list of 1 to 4 whole numbers from 1"},
        {"{ boxes = [{ offset = [0], extent = [4, 4], bound = 1 }] }", "has two numbers of axes"},
        {"{ boxes = [{ offset = [0], extent = [4], bound = 1 }, { offset = [0, 0], extent = "
         "[4, 4], bound = 1 }] }",
         "different numbers of axes"},
        {"{ boxes = [{ offset = [0], extent = [4], bound = -1 }] }", "box 0: the bound is -1"},
        {"{ values = [{ lowest = 1, bound = 1 }] }",
         "'dataset.bound_map.values.highest' must be a number; inf and -inf are no limit"},
        {"{ values = [{ lowest = 1, highest = 0, bound = 1 }] }", "from 1 to 0 there is no value"},
        {"{ steep = [{ change = 0, bound = 1 }] }", "gradient 0: the change is 0"},
        {"{ steep = [{ change = 1, bound = \"x\" }] }", "'dataset.bound_map.steep.bound' must be"},
    };
    for (const auto& [map, part] : cases) {
        const std::string message =
            refused(fmt::format("[[dataset]]\npath = \"a\"\nbound_map = {}\n", map));
        EXPECT_NE(message.find(part), std::string::npos) << map << " -> " << message;
        EXPECT_NE(message.find("run.toml, line 3"), std::string::npos) << message;
    }
    EXPECT_NE(refused("[[dataset]]\npath = \"a\"\ncomponent = \"u\"\nbound_map = {}\n")
                  .find("'dataset.bound_map' is said of whole datasets"),
              std::string::npos);
    EXPECT_NE(refused("bound_map = {}\n").find("'bound_map' is no key"), std::string::npos);
}

TEST(VolConfig, each_durability_has_a_name_of_its_own) {
    for (const Durability durability :
         {Durability::close, Durability::complete, Durability::durable})
        EXPECT_EQ(parsed(fmt::format("durability = \"{}\"", to_string(durability))).durability,
                  durability);
}

TEST(VolConfig, the_effective_configuration_reads_back_as_it_was) {
    Config config;
    config.path = "run.toml";
    config.codec = "caesura:fast";
    config.bound = psnr(60.25);
    config.report = "a\tb \" and \\ c";
    config.commit_writes = true;
    config.rules = {{"/a/**", true, "none", lossless(), 7, {1, 2, 3}, {4, 5}, true},
                    {"?x", {}, {}, absolute(0.1), {}, {}, {6, 7, 8}, {}}};
    config.rules[1].components = {"a", "b \" c"};
    config.rules.push_back({"y", {}, {}, {}, {}, {}, {}, {}, {}, {"u", "v"}, 3});
    config.rules.push_back({"y", false, {}, psnr(60), {}, {}, {}, {}, "u*"});
    EXPECT_EQ(parsed(to_toml(config)), config) << to_toml(config);
}

TEST(VolConfig, an_unknown_key_names_its_line_and_the_nearest) {
    const std::string message = refused("codec = \"none\"\nthreshold_byte = 3\n");
    EXPECT_NE(message.find("run.toml, line 2"), std::string::npos) << message;
    EXPECT_NE(message.find("'threshold_byte' is no key"), std::string::npos) << message;
    EXPECT_NE(message.find("'threshold_bytes'"), std::string::npos) << message;
    EXPECT_NE(refused("[[dataset]]\npath = \"/a\"\nbuond = 1.0").find("'bound'"),
              std::string::npos);
}

TEST(VolConfig, values_that_cannot_be_right_are_refused_by_name) {
    const std::pair<const char*, const char*> cases[] = {
        {"codec = 3", "'codec' must be a string"},
        {"codec = \"sz4\"", "\"sz4\" is unknown; choose caesura, none, sz3"},
        {"codec = \"caesura:quick\"", "one of auto, fast, strong, planes and regions"},
        {"\n[[dataset]]\npath = \"a\"\ncodec = \"round+sz3\"", "line 4: codec \"round+sz3\""},
        {"chunk_bytes = -1", "bytes are 0 or more"},
        {"chunk_bytes = 1.5", "'chunk_bytes' must be a number of bytes"},
        {"bound = \"small\"", "'bound' must be a number"},
        {"bound = -1.0", "-1"},
        {"bound_kind = \"relativ\"", "there are lossless"},
        {"bound_kind = \"relative\"", "0"},
        {"durability = \"sometimes\"", "there are close, complete and durable"},
        {"dataset = 3", "[[dataset]]"},
        {"[[dataset]]\ncapture = true", "needs a path"},
        {"[[dataset]]\npath = \"a\"\ncapture = 1", "true or false"},
        {"[[dataset]]\npath = \"a\"\nchunk = 64", "'dataset.chunk' must be a list of 1 to 4"},
        {"[[dataset]]\npath = \"a\"\nbox = [8, 0]", "'dataset.box' must be a list"},
        {"[[dataset]]\npath = \"a\"\nbox = [1, 1, 1, 1, 1]", "'dataset.box' must be a list"},
        {"[[dataset]]\npath = \"a\"\ncomponent = \"\"", "component' is empty"},
        {"[[dataset]]\npath = \"a\"\ncomponent = \"u\"\nchunk = [8]",
         "'dataset.chunk' is said of whole datasets"},
        {"[[dataset]]\npath = \"a\"\ncomponents = [\"u\"]", "'dataset.components' needs one of"},
        {"[[dataset]]\npath = \"a\"\ncomponent_axis = 0\ncomponents = [\"u\", \"u\"]",
         "a list of different names"},
        {"[[dataset]]\npath = \"a\"\nbox = [8]\ncomponents = []", "a list of different names"},
        {"[[dataset]]\npath = \"a\"\nbox = [8]\ncomponent_axis = 0", "exclude each other"},
        {"[[dataset]]\npath = \"a\"\ncomponent_axis = -1", "axes are 0 to 31"},
        {"codec = ", "line 1"},
    };
    for (const auto& [text, part] : cases) {
        const std::string message = refused(text);
        EXPECT_NE(message.find(part), std::string::npos) << text << " -> " << message;
    }
}

TEST(VolConfig, a_file_that_is_not_there_is_an_error_that_names_it) {
    const auto config = load_config("/nowhere/run.toml");
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.status().code(), StatusCode::io);
    EXPECT_NE(config.status().message().find("/nowhere/run.toml"), std::string::npos);
}

TEST(VolConfig, an_empty_file_is_the_defaults) {
    const std::string path = testing::TempDir() + "empty.toml";
    std::ofstream(path).close();
    const auto config = load_config(path);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ((*config)->bound, lossless());
}

TEST(VolConfig, patterns_mean_what_people_expect_of_them) {
    const struct {
        const char *pattern, *path;
        bool match;
    } cases[] = {
        {"/a/b", "/a/b", true},
        {"/a/b", "/a/bc", false},
        {"/a/*", "/a/b", true},
        {"/a/*", "/a/b/c", false},
        {"/a/**", "/a/b/c", true},
        {"/**/c", "/a/b/c", true},
        {"/level_*/data:*", "/level_0/data:datatype=0", true},
        {"/level_?/x", "/level_10/x", false},
        {"/a?b", "/a/b", false},
        {"rho", "/fields/rho", true},
        {"rho", "/fields/rho2", false},
        {"*", "/fields/rho", true},
        {"v*x", "/a/velocity_x", true},
        {"*a*b*c*", "/q/xxaxxbxxcxx", true},
        {"", "/a", false},
    };
    for (const auto& c : cases) EXPECT_EQ(matches(c.pattern, c.path), c.match) << c.pattern;
}

TEST(VolConfig, delays_and_signals_are_read_and_written_back) {
    const Config config =
        parsed("max_delay = 2\non_term = \"commit\"\nterm_s = 12.5\nclosing_line = false\n");
    EXPECT_EQ(config.max_delay_s, 2.0);
    EXPECT_TRUE(config.commit_on_term);
    EXPECT_EQ(config.term_s, 12.5);
    EXPECT_FALSE(config.closing_line);
    EXPECT_EQ(parsed(to_toml(config)).max_delay_s, 2.0);
    EXPECT_EQ(parsed(to_toml(config)).term_s, 12.5);
    const Config served = parsed("transport = \"service:unix:/run/a b.sock,on_loss=write\"\n");
    EXPECT_EQ(served.transport, "service:unix:/run/a b.sock,on_loss=write");
    EXPECT_EQ(parsed(to_toml(served)), served);
    EXPECT_TRUE(std::isinf(parsed("max_delay = inf").max_delay_s));
    for (const auto& [text, why] :
         {std::pair("max_delay = -1", "'max_delay' must be a number of"),
          std::pair("max_delay = \"soon\"", "'max_delay' must be"),
          std::pair("term_s = nan", "'term_s' must be"),
          std::pair("on_term = \"die\"", "there are nothing and commit")}) {
        const auto refused = parse_config(text, "run.toml");
        ASSERT_FALSE(refused.ok()) << text;
        EXPECT_NE(refused.status().message().find(why), std::string::npos)
            << refused.status().message();
    }
}

// Goal: what is usual is the Writer's to say, for files of one rank as for those of many, but where
// other processes may be waiting for the file.
TEST(VolConfig, a_file_that_one_process_has_for_itself_is_written_within_10_s) {
    const Config usual = parsed(""), said = parsed("max_delay = 2.5"),
                 never = parsed("max_delay = inf");
    EXPECT_EQ(max_delay_s(usual, false), 0.0);
    EXPECT_EQ(max_delay_s(usual, true), 10.0);
    for (const bool alone : {false, true}) {
        EXPECT_EQ(max_delay_s(said, alone), 2.5);
        EXPECT_TRUE(std::isinf(max_delay_s(never, alone)));
    }
}

}  // namespace
}  // namespace caesura::vol
