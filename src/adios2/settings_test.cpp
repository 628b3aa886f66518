// Goal: what a configuration of ADIOS2 says is taken as it stands there, and what it cannot mean is
// named.
#include "adios2/settings.hpp"

#include <gtest/gtest.h>

namespace caesura::adios {
namespace {

TEST(Adios2Settings, bounds_are_numbers_or_a_kind_and_a_number) {
    EXPECT_EQ(bound_of("1e-3").value(), absolute(1e-3));
    EXPECT_EQ(bound_of("absolute 0.5").value(), absolute(0.5));
    EXPECT_EQ(bound_of("Relative 1e-4").value(), relative(1e-4));
    EXPECT_EQ(bound_of("pointwise_relative 0.01").value(), pointwise_relative(0.01));
    EXPECT_EQ(bound_of("psnr 80").value(), psnr(80));
    EXPECT_EQ(bound_of("lossless").value(), lossless());
    for (const char* wrong : {"", "tight", "relative", "relative x", "1e-3 m", "exact 1", "-1",
                              "relative 2", "0", "nan"}) {
        const auto bound = bound_of(wrong);
        ASSERT_FALSE(bound.ok()) << wrong;
        EXPECT_EQ(bound.status().code(), StatusCode::invalid_argument) << wrong;
    }
}

TEST(Adios2Settings, names_of_parameters_are_taken_in_any_case_and_those_of_variables_as_they_are) {
    const auto settings = settings_of({{"PluginName", "caesura"},
                                       {"PluginLibrary", "caesura_adios2"},
                                       {"filename", "run.h5"},
                                       {"Bound", "relative 1e-3"},
                                       {"bound.Temp/Gas", "0.5"},
                                       {"ranks", "ALL"},
                                       {"Codec", "caesura:fast"},
                                       {"LAYOUT", "steps"},
                                       {"durable", "Off"},
                                       {"MaxDelay", "2.5"},
                                       {"ChunkBytes", "1048576"},
                                       {"CollectiveMetadata", "On"},
                                       {"AsyncWrite", "Off"},
                                       {"StatsLevel", "0"},
                                       {"CompressThreads", "3"}});
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    EXPECT_EQ(settings->file, "run.h5");
    EXPECT_EQ(settings->ranks, Settings::Ranks::all);
    EXPECT_EQ(settings->bound_of("U", float64), relative(1e-3));
    EXPECT_EQ(settings->bound_of("Temp/Gas", float32), absolute(0.5));
    EXPECT_EQ(settings->bound_of("temp/gas", float32), relative(1e-3));
    EXPECT_EQ(settings->bound_of("Temp/Gas", DType::int32), lossless());
    EXPECT_EQ(settings->options.codec.name, "caesura:fast");
    EXPECT_EQ(settings->options.layout, "/Step%T/{field}");
    EXPECT_FALSE(settings->options.durable);
    EXPECT_EQ(settings->options.max_delay_s, 2.5);
    EXPECT_EQ(settings->options.chunk_bytes, 1u << 20);
    EXPECT_EQ(settings->options.compress_threads, 3);
}

TEST(Adios2Settings, what_is_wrong_is_named) {
    const auto message = [](Parameters parameters) {
        return settings_of(parameters).status().message();
    };
    EXPECT_NE(message({{"Bound", "1"}}).find("'FileName' is missing"), std::string::npos);
    EXPECT_NE(message({{"FileName", "a.h5"}, {"Bonud", "1"}}).find("'Bonud' is not known"),
              std::string::npos);
    EXPECT_NE(message({{"FileName", "a.h5"}, {"Ranks", "2"}}).find("all or one"),
              std::string::npos);
    EXPECT_NE(message({{"FileName", "a.h5"}, {"Bound.T", "x"}}).find("'Bound.T': 'x' is no bound"),
              std::string::npos);
    EXPECT_NE(message({{"FileName", "a.h5"}, {"Durable", "2"}}).find("true or false"),
              std::string::npos);
    EXPECT_NE(message({{"FileName", "a.h5"}, {"ChunkBytes", "8M"}}).find("a number of bytes"),
              std::string::npos);
}

TEST(Adios2Settings, an_operator_has_a_bound_by_either_name) {
    EXPECT_EQ(operator_bound({}).value(), lossless());
    EXPECT_EQ(operator_bound({{"accuracy", "0.01"}, {"pluginname", "c"}}).value(), absolute(0.01));
    EXPECT_EQ(operator_bound({{"bound", "relative 0.01"}}).value(), relative(0.01));
    EXPECT_FALSE(operator_bound({{"bound", "1"}, {"accuracy", "1"}}).ok());
    EXPECT_FALSE(operator_bound({{"tolerance", "1"}}).ok());
}

}  // namespace
}  // namespace caesura::adios
