// Goal: what the calls of C say of a file lies in it, as our reader sees it.
#include "capi_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "caesura/caesura.h"
#include "caesura/reader.hpp"
#include "caesura/store.hpp"

namespace {

using caesura::testing_c::File;
using caesura::testing_c::last_error;

TEST(CField, values_between_ghost_cells_are_put_without_them) {
    const File file("caesura_c_within_");
    const std::uint64_t shape[] = {2, 3}, offset[] = {0, 0}, array_extent[] = {4, 5};
    const std::uint64_t begin[] = {1, 1}, beyond[] = {1, 3};
    std::vector<double> array(20, -1.0);
    for (std::size_t i = 0; i < 6; ++i)
        array[(1 + i / 3) * 5 + 1 + i % 3] = 1.0 + static_cast<double>(i);
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field(file.writer, "f", CAESURA_FLOAT64, 2, shape, CAESURA_LOSSLESS,
                                   0.0, &field),
              CAESURA_OK);
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put_within(file.writer, field, offset, shape, array.data(), array_extent,
                                 begin, CAESURA_FLOAT64, 0),
              CAESURA_OK)
        << last_error();
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_begin_iteration(file.writer, 1), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 1.0, 1.0), CAESURA_OK);
    EXPECT_EQ(caesura_put_within(file.writer, field, offset, shape, array.data(), array_extent,
                                 beyond, CAESURA_FLOAT64, 0),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("leaves the array [4, 5]"), std::string::npos) << last_error();
    EXPECT_EQ(caesura_put_within(file.writer, field, offset, shape, array.data(), nullptr, begin,
                                 CAESURA_FLOAT64, 0),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_end_iteration(file.writer), CAESURA_INVALID_ARGUMENT);
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    const auto reader = caesura::Reader::open(file.path).value();
    std::vector<double> values(6);
    ASSERT_TRUE(reader
                    ->read(reader->find("f", 0).value(), {{0, 0}, {2, 3}},
                           std::as_writable_bytes(std::span(values)))
                    .ok());
    EXPECT_EQ(values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(CField, missing_values_are_exact_and_in_no_range) {
    const File file("caesura_c_missing_");
    const std::uint64_t shape[] = {64, 50}, offset[] = {0, 0};
    std::vector<float> values(64 * 50);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 50 < 20 ? (i % 2 ? 7.5f : 1e20f)
                                : 1 + 0.5f * std::sin(static_cast<float>(i) * 0.01f);
    const double missing[] = {7.5, 1e20};
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.missing = missing;
    options.missing_count = 2;
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field_with(file.writer, "sst", CAESURA_FLOAT32, 2, shape,
                                        CAESURA_RELATIVE, 1e-3, &options, &field),
              CAESURA_OK)
        << last_error();
    options.missing = nullptr;
    std::uint32_t other = 0;
    EXPECT_EQ(caesura_define_field_with(file.writer, "other", CAESURA_FLOAT32, 2, shape,
                                        CAESURA_RELATIVE, 1e-3, &options, &other),
              CAESURA_INVALID_ARGUMENT);
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(file.writer, field, offset, shape, values.data(), CAESURA_FLOAT32, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    auto reader = caesura::Reader::open(file.path);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    std::vector<float> found(values.size());
    const auto status = (*reader)->read(*(*reader)->find("sst", 0), {{0, 0}, {64, 50}},
                                        std::as_writable_bytes(std::span(found)));
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(found[i], values[i], i % 50 < 20 ? 0 : 1.001e-3) << i;
}

TEST(CField, a_value_declared_with_a_put_is_missing_from_then_on) {
    const File file("caesura_c_declared_");
    const std::uint64_t shape[] = {64, 50}, offset[] = {0, 0};
    std::vector<float> values(64 * 50);  // 1.25 lies amid the others: nothing would suspect it
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 50 < 20 ? 1.25f : 1 + 0.5f * std::sin(static_cast<float>(i) * 0.01f);
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field(file.writer, "sst", CAESURA_FLOAT32, 2, shape, CAESURA_ABSOLUTE,
                                   0.1, &field),
              CAESURA_OK);
    EXPECT_EQ(caesura_declare_missing(file.writer, field, 1.25), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("outside a dump"), std::string::npos) << last_error();
    for (std::uint64_t n = 0; n < 3; ++n) {
        ASSERT_EQ(caesura_begin_iteration(file.writer, n), CAESURA_OK);
        ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
        if (n == 0) {
            ASSERT_EQ(caesura_declare_missing(file.writer, field, 1.25), CAESURA_OK);
        }
        if (n == 2) {
            EXPECT_EQ(caesura_declare_missing(file.writer, field, 1e300), CAESURA_INVALID_ARGUMENT);
            EXPECT_NE(last_error().find("sst"), std::string::npos) << last_error();
        }
        ASSERT_EQ(caesura_put(file.writer, field, offset, shape, values.data(), CAESURA_FLOAT32, 0),
                  CAESURA_OK);
        EXPECT_EQ(caesura_end_iteration(file.writer),
                  n < 2 ? CAESURA_OK : CAESURA_INVALID_ARGUMENT);
    }
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    const auto reader = caesura::Reader::open(file.path).value();
    for (const std::uint64_t n : {0, 1}) {
        std::vector<float> found(values.size());
        ASSERT_TRUE(reader
                        ->read(reader->find("sst", n).value(), {{0, 0}, {64, 50}},
                               std::as_writable_bytes(std::span(found)))
                        .ok());
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_NEAR(found[i], values[i], i % 50 < 20 ? 0 : 0.1) << i;
    }
}

TEST(CField, units_axes_and_grid_reach_the_file) {
    const File file("caesura_c_field_");
    const char* labels[] = {"r", "phi"};
    const double spacing[] = {0.5, 0.25}, grid_offset[] = {1.0, -2.0};
    const std::uint64_t shape[] = {8, 4}, offset[] = {0, 0};
    const std::vector<float> values(32, 1.5f);
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.codec = "caesura";
    options.unit_si = 1000.0;
    options.unit_dimension[0] = -3.0;
    options.unit_dimension[1] = 1.0;
    options.axis_labels = labels;
    options.grid_spacing = spacing;
    options.grid_offset = grid_offset;
    options.grid_unit_si = 1e-3;
    std::uint32_t field = 0;
    const auto define = [&](const char* name) {
        return caesura_define_field_with(file.writer, name, CAESURA_FLOAT32, 2, shape,
                                         CAESURA_LOSSLESS, 0.0, &options, &field);
    };
    ASSERT_EQ(define("density"), CAESURA_OK) << last_error();
    const std::uint32_t density = field;
    options.struct_bytes = offsetof(caesura_field_options, unit_si);
    ASSERT_EQ(define("older"), CAESURA_OK) << last_error();
    const std::uint32_t older = field;
    options.struct_bytes = sizeof options;
    labels[1] = nullptr;
    EXPECT_EQ(define("unlabelled"), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("'unlabelled': axis_labels[1] is NULL"), std::string::npos)
        << last_error();
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    for (const std::uint32_t each : {density, older})
        ASSERT_EQ(caesura_put(file.writer, each, offset, shape, values.data(), CAESURA_FLOAT32, 0),
                  CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();

    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    const auto attribute = [&](const char* path, const char* name) {
        for (const auto& dataset : info->datasets)
            if (dataset.spec.path == path)
                for (const auto& it : dataset.spec.attributes)
                    if (it.name == name) return it.value;
        return caesura::store::AttributeValue(std::string("is not there"));
    };
    using Value = caesura::store::AttributeValue;
    using Doubles = std::vector<double>;
    using Strings = std::vector<std::string>;
    const char* const ours = "/data/0/meshes/density";
    EXPECT_EQ(attribute(ours, "unitSI"), Value(1000.0));
    EXPECT_EQ(attribute(ours, "unitDimension"), Value(Doubles{-3, 1, 0, 0, 0, 0, 0}));
    EXPECT_EQ(attribute(ours, "axisLabels"), Value(Strings{"r", "phi"}));
    EXPECT_EQ(attribute(ours, "gridSpacing"), Value(Doubles{0.5, 0.25}));
    EXPECT_EQ(attribute(ours, "gridGlobalOffset"), Value(Doubles{1.0, -2.0}));
    EXPECT_EQ(attribute(ours, "gridUnitSI"), Value(1e-3));
    const char* const defaults = "/data/0/meshes/older";
    EXPECT_EQ(attribute(defaults, "unitSI"), Value(1.0));
    EXPECT_EQ(attribute(defaults, "axisLabels"), Value(Strings{"y", "x"}));
}

TEST(CField, openpmd_settings_reach_the_file) {
    const File file("caesura_c_openpmd_");
    const char* labels[] = {"z", "r"};
    const double spacing[] = {0.5, 0.25}, position[] = {0.5, 0.0}, moved[] = {1.0, 2.0};
    const double time_offset = 0.125;
    const std::uint64_t shape[] = {3, 4, 5}, offset[] = {0, 0, 0};
    const std::vector<double> values(60, 1.5);
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.geometry = "thetaMode";
    options.geometry_parameters = "m=2;imag=+";
    options.data_order = "F";
    options.axis_labels = labels;
    options.grid_spacing = spacing;
    options.position = position;
    options.time_offset = &time_offset;
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field_with(file.writer, "Er", CAESURA_FLOAT64, 3, shape,
                                        CAESURA_LOSSLESS, 0.0, &options, &field),
              CAESURA_OK)
        << last_error();
    ASSERT_EQ(caesura_reshape(file.writer, field, shape, moved), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(file.writer, field, offset, shape, values.data(), CAESURA_FLOAT64, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok() && info->datasets.size() == 1);
    using Doubles = std::vector<double>;
    for (const caesura::store::Attribute& wanted :
         std::vector<caesura::store::Attribute>{{"geometry", std::string("thetaMode")},
                                                {"geometryParameters", std::string("m=2;imag=+")},
                                                {"dataOrder", std::string("F")},
                                                {"axisLabels", std::vector<std::string>{"z", "r"}},
                                                {"gridSpacing", Doubles{0.5, 0.25}},
                                                {"gridGlobalOffset", Doubles{1.0, 2.0}},
                                                {"position", Doubles{0.5, 0.0}},
                                                {"timeOffset", 0.125}})
        EXPECT_EQ(std::count(info->datasets[0].spec.attributes.begin(),
                             info->datasets[0].spec.attributes.end(), wanted),
                  1)
            << wanted.name;
}

TEST(CAttributes, with_arguments_that_mean_nothing_are_refused) {
    const File file("caesura_c_refused_");
    const std::int64_t integers[] = {-1, 2};
    const auto refused = [&](int when, int owner, int type, const void* of) {
        EXPECT_EQ(caesura_set_attribute(file.writer, when, owner, 0, "a", type, of, 2),
                  CAESURA_INVALID_ARGUMENT);
        return last_error();
    };
    const int all = CAESURA_EVERY_DUMP, type = CAESURA_ATTRIBUTE_INT64;
    EXPECT_EQ(refused(7, CAESURA_OF_FILE, type, integers), "attribute 'a': when is 7; use 0 or 1");
    EXPECT_EQ(refused(all, 6, type, integers), "attribute 'a': owner 6 is unknown");
    EXPECT_EQ(refused(all, CAESURA_OF_FILE, 9, integers), "attribute 'a': type 9 is unknown");
    EXPECT_EQ(refused(all, CAESURA_OF_FILE, type, nullptr), "attribute 'a': values is NULL");
    EXPECT_EQ(refused(CAESURA_THIS_DUMP, CAESURA_OF_FILE, type, integers),
              "attribute 'a': outside a dump");
    const char* texts[] = {"x", nullptr};
    EXPECT_EQ(refused(all, CAESURA_OF_FILE, CAESURA_ATTRIBUTE_TEXT, texts),
              "attribute 'a': values[1] is NULL");
    EXPECT_EQ(refused(all, CAESURA_OF_FIELD, type, integers),
              "set_attribute('a') on rank 0 of a field handle 0 that this writer has not defined");
    EXPECT_EQ(caesura_writer_close(file.writer), CAESURA_OK);
}

TEST(CAttributes, of_every_type_and_object_reach_the_file_or_say_why_not) {
    const File file("caesura_c_attributes_");
    const std::uint64_t shape[] = {8, 4}, offset[] = {0, 0};
    const std::vector<float> values(32, 1.5f);
    std::uint32_t x = 0;
    ASSERT_EQ(caesura_define_field(file.writer, "v/x", CAESURA_FLOAT32, 2, shape, CAESURA_LOSSLESS,
                                   0.0, &x),
              CAESURA_OK);
    const std::int64_t integers[] = {-1, 2};
    const std::uint64_t large = std::uint64_t{1} << 63;
    const double numbers[] = {0.5, 0.0};
    const char* texts[] = {"periodic", "open"};
    const auto set = [&](int when, int owner, const char* name, int type, const void* of,
                         std::size_t count) {
        return caesura_set_attribute(file.writer, when, owner, x, name, type, of, count);
    };
    const int all = CAESURA_EVERY_DUMP, one = CAESURA_THIS_DUMP;
    EXPECT_EQ(set(all, CAESURA_OF_FILE, "run", CAESURA_ATTRIBUTE_TEXT, texts, CAESURA_ONE),
              CAESURA_OK)
        << last_error();
    EXPECT_EQ(
        set(all, CAESURA_OF_ITERATION, "large", CAESURA_ATTRIBUTE_UINT64, &large, CAESURA_ONE),
        CAESURA_OK);
    EXPECT_EQ(set(all, CAESURA_OF_MESHES, "boundary", CAESURA_ATTRIBUTE_TEXT, texts, 2),
              CAESURA_OK);
    EXPECT_EQ(set(all, CAESURA_OF_RECORD, "counts", CAESURA_ATTRIBUTE_INT64, integers, 2),
              CAESURA_OK);
    EXPECT_EQ(set(all, CAESURA_OF_FIELD, "none", CAESURA_ATTRIBUTE_FLOAT64, nullptr, 0),
              CAESURA_OK);
    EXPECT_EQ(set(all, CAESURA_OF_FIELD, "geometry", CAESURA_ATTRIBUTE_INT64, integers, 2),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(),
              "attribute 'geometry' of record 'v' is int64 [-1, 2]; openPMD wants a string");
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    EXPECT_EQ(set(one, CAESURA_OF_FIELD, "position", CAESURA_ATTRIBUTE_FLOAT64, numbers, 2),
              CAESURA_OK)
        << last_error();
    ASSERT_EQ(caesura_put(file.writer, x, offset, shape, values.data(), CAESURA_FLOAT32, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok() && info->datasets.size() == 1);
    using caesura::store::Attribute;
    const auto has = [&](const std::vector<Attribute>& in, const Attribute& wanted) {
        EXPECT_EQ(std::count(in.begin(), in.end(), wanted), 1) << wanted.name;
    };
    const auto group = [&](const char* path) {
        for (const auto& it : info->groups)
            if (it.path == path) return it.attributes;
        return std::vector<Attribute>();
    };
    has(info->root, {"run", std::string("periodic")});
    has(group("/data/0"), {"large", large});
    has(group("/data/0/meshes"), {"boundary", std::vector<std::string>{"periodic", "open"}});
    has(group("/data/0/meshes/v"), {"counts", std::vector<std::int64_t>{-1, 2}});
    has(info->datasets[0].spec.attributes, {"none", std::vector<double>()});
    has(info->datasets[0].spec.attributes, {"position", std::vector<double>{0.5, 0.0}});
}

TEST(CField, rules_of_bounds_reach_the_file) {
    const File file("caesura_c_rules_");
    const std::uint64_t shape[] = {8, 4}, offset[] = {0, 0};
    const std::vector<float> values(32, 1.5f);
    caesura_bound_rule rules[3] = {};
    rules[0].kind = CAESURA_IN_BOX;
    rules[0].offset[0] = 2;
    rules[0].extent[0] = 3;
    rules[0].extent[1] = 4;
    rules[0].bound = 0.25;
    rules[1].kind = CAESURA_OF_VALUES;
    rules[1].lowest = -1.0;
    rules[1].highest = 2.0;
    rules[1].bound = 0.5;
    rules[2].kind = CAESURA_WHERE_STEEP;
    rules[2].change = 3.0;
    caesura_field_options options = CAESURA_FIELD_OPTIONS_DEFAULT;
    options.bound_rules = rules;
    options.bound_rule_count = 3;
    std::uint32_t field = 0;
    const auto define = [&](const char* name) {
        return caesura_define_field_with(file.writer, name, CAESURA_FLOAT32, 2, shape,
                                         CAESURA_ABSOLUTE, 0.125, &options, &field);
    };
    ASSERT_EQ(define("density"), CAESURA_OK) << last_error();
    const std::uint32_t density = field;
    rules[2].kind = 7;
    EXPECT_EQ(define("unknown"), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("'unknown': a bound rule has the unknown kind 7"),
              std::string::npos)
        << last_error();
    rules[2].kind = CAESURA_WHERE_STEEP;
    rules[0].extent[0] = 7;
    EXPECT_EQ(define("outside"), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("'outside'"), std::string::npos) << last_error();
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(file.writer, density, offset, shape, values.data(), CAESURA_FLOAT32, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    std::string found;
    for (const auto& attribute : info->datasets.at(0).spec.attributes)
        if (attribute.name == "caesura_bound_map") found = std::get<std::string>(attribute.value);
    EXPECT_EQ(found, R"({"elsewhere": 0.125, "boxes": [{"offset": [2, 0], "extent": [3, 4], )"
                     R"("bound": 0.25}], "values": [{"lowest": -1, "highest": 2, "bound": 0.5}], )"
                     R"("steep": [{"change": 3, "bound": 0}]})");
}

TEST(CParticles, may_be_in_any_order_with_an_index_and_have_attributes) {
    const File file("caesura_c_particle_order_");
    std::uint32_t ions = 0, axes[2] = {};
    caesura_species_options any = CAESURA_SPECIES_OPTIONS_DEFAULT;
    any.keep_index = 1;
    EXPECT_EQ(caesura_define_species_with(file.writer, "ions", &any, &ions),
              CAESURA_INVALID_ARGUMENT);
    any.any_order = 1;
    ASSERT_EQ(caesura_define_species_with(file.writer, "ions", &any, &ions), CAESURA_OK);
    std::vector<double> values[2];
    for (std::size_t a = 0; a < 2; ++a) {
        ASSERT_EQ(caesura_define_record(file.writer, ions, a == 0 ? "position/x" : "position/y",
                                        CAESURA_FLOAT64, CAESURA_ABSOLUTE, 1e-4, nullptr, &axes[a]),
                  CAESURA_OK)
            << last_error();
        for (int i = 0; i < 20'000; ++i)
            values[a].push_back(std::fmod(i * (a == 0 ? 0.618034 : 0.414214), 1.0));
    }
    const double mass = 3.0;
    ASSERT_EQ(caesura_set_attribute(file.writer, CAESURA_EVERY_DUMP, CAESURA_OF_SPECIES, ions,
                                    "mass", CAESURA_ATTRIBUTE_FLOAT64, &mass, CAESURA_ONE),
              CAESURA_OK)
        << last_error();
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_set_attribute(file.writer, CAESURA_THIS_DUMP, CAESURA_OF_FIELD, axes[0],
                                    "frame", CAESURA_ATTRIBUTE_FLOAT64, &mass, CAESURA_ONE),
              CAESURA_OK)
        << last_error();
    for (std::size_t a = 0; a < 2; ++a)
        ASSERT_EQ(caesura_put_particles(file.writer, axes[a], values[a].size(), values[a].data(),
                                        CAESURA_FLOAT64, 0),
                  CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();
    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->datasets.size(), 3u);
    EXPECT_EQ(info->datasets[0].spec.path, "/data/0/particles/ions/index");
    const auto has = [](const auto& object, const std::string& name) {
        return std::any_of(object.attributes.begin(), object.attributes.end(),
                           [&](const auto& one) { return one.name == name; });
    };
    EXPECT_TRUE(has(info->datasets[1].spec, "frame"));
    EXPECT_TRUE(std::any_of(info->groups.begin(), info->groups.end(), [&](const auto& group) {
        return group.path == "/data/0/particles/ions" && has(group, "mass");
    }));
}

TEST(CParticles, reach_the_file) {
    const File file("caesura_c_particles_");
    std::uint32_t ions = 0, x = 0, weighting = 0;
    ASSERT_EQ(caesura_define_species(file.writer, "ions", &ions), CAESURA_OK) << last_error();
    caesura_record_options options = CAESURA_RECORD_OPTIONS_DEFAULT;
    options.unit_si = 1e-6;
    options.unit_dimension[0] = 1.0;
    options.time_offset = 0.5;
    options.macro_weighted = 1;
    ASSERT_EQ(caesura_define_record(file.writer, ions, "position/x", CAESURA_FLOAT64,
                                    CAESURA_ABSOLUTE, 1e-3, &options, &x),
              CAESURA_OK)
        << last_error();
    ASSERT_EQ(caesura_define_record(file.writer, ions, "weighting", CAESURA_FLOAT32,
                                    CAESURA_LOSSLESS, 0.0, nullptr, &weighting),
              CAESURA_OK);
    ASSERT_EQ(caesura_define_constant(file.writer, ions, "charge", 2.0, nullptr), CAESURA_OK);
    EXPECT_EQ(caesura_define_constant(file.writer, 4, "charge", 2.0, nullptr),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_define_record(file.writer, ions, "y", CAESURA_FLOAT32, 77, 0.0, nullptr, &x),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(), "record 'y': bound kind 77 is unknown");
    const std::vector<double> positions(1000, 0.25);
    const std::vector<float> weights(1000, 3.0F);
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put_particles(file.writer, x, 1000, positions.data(), CAESURA_FLOAT64, 0),
              CAESURA_OK);
    ASSERT_EQ(
        caesura_put_particles(file.writer, weighting, 1000, weights.data(), CAESURA_FLOAT32, 1),
        CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    ASSERT_EQ(caesura_writer_close(file.writer), CAESURA_OK) << last_error();

    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->datasets.size(), 2u);
    EXPECT_EQ(info->datasets[0].spec.path, "/data/0/particles/ions/position/x");
    EXPECT_EQ(info->datasets[1].spec.path, "/data/0/particles/ions/weighting");
    const auto attribute = [&](const std::string& path, const std::string& name) {
        for (const auto& group : info->groups)
            if (group.path == path)
                for (const auto& it : group.attributes)
                    if (it.name == name) return it.value;
        return caesura::store::AttributeValue(std::string("is not there"));
    };
    using Value = caesura::store::AttributeValue;
    EXPECT_EQ(attribute("/data/0/particles/ions/position", "timeOffset"), Value(0.5));
    EXPECT_EQ(attribute("/data/0/particles/ions/position", "macroWeighted"),
              Value(std::uint64_t{1}));
    EXPECT_EQ(attribute("/data/0/particles/ions/charge", "value"), Value(2.0));
    EXPECT_EQ(attribute("/data/0/particles/ions/charge", "shape"),
              Value(std::vector<std::uint64_t>{1000}));
}

// The other ranks are on their way into the close, so it is one whatever the report is.
TEST(CClose, closes_the_file_though_the_report_cannot_be_filled) {
    const File file("caesura_c_no_report_");
    const std::uint64_t shape = 100, offset = 0;
    const std::vector<double> values(shape, 2.5);
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field(file.writer, "a", CAESURA_FLOAT64, 1, &shape, CAESURA_LOSSLESS,
                                   0.0, &field),
              CAESURA_OK);
    ASSERT_EQ(caesura_begin_iteration(file.writer, 0), CAESURA_OK);
    ASSERT_EQ(caesura_begin_dump(file.writer, 0.0, 1.0), CAESURA_OK);
    ASSERT_EQ(caesura_put(file.writer, field, &offset, &shape, values.data(), CAESURA_FLOAT64, 0),
              CAESURA_OK);
    ASSERT_EQ(caesura_end_iteration(file.writer), CAESURA_OK) << last_error();
    caesura_writer_report report = {};
    EXPECT_EQ(caesura_writer_close_and_report(file.writer, &report), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("struct_bytes is 0"), std::string::npos) << last_error();
    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_FALSE(info->needs_recover);
    EXPECT_EQ(info->datasets.size(), 1u);
}

TEST(COpen, goes_on_with_a_file_and_drops_what_lies_behind) {
    const File file("caesura_c_open_");
    const std::uint64_t shape[] = {64}, offset[] = {0};
    const std::vector<double> values(64, 2.5);
    const auto write = [&](caesura_writer* writer, std::vector<std::uint64_t> iterations) {
        std::uint32_t field = 0;
        ASSERT_EQ(caesura_define_field(writer, "rho", CAESURA_FLOAT64, 1, shape, CAESURA_LOSSLESS,
                                       0.0, &field),
                  CAESURA_OK);
        for (const std::uint64_t n : iterations) {
            ASSERT_EQ(caesura_begin_iteration(writer, n), CAESURA_OK);
            ASSERT_EQ(caesura_begin_dump(writer, 0.0, 1.0), CAESURA_OK);
            ASSERT_EQ(caesura_put(writer, field, offset, shape, values.data(), CAESURA_FLOAT64, 0),
                      CAESURA_OK);
            ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK) << last_error();
        }
        ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK) << last_error();
    };
    write(file.writer, {0, 1, 2});
    caesura_writer* writer = nullptr;
    caesura_open_options where = CAESURA_OPEN_OPTIONS_DEFAULT;
    where.has_after = 1;
    where.after = 9;
    EXPECT_EQ(caesura_writer_open(file.path.c_str(), nullptr, nullptr, &where, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("iteration 9 is not there"), std::string::npos) << last_error();
    EXPECT_EQ(writer, nullptr);
    where.after = 1;
    ASSERT_EQ(caesura_writer_open(file.path.c_str(), nullptr, nullptr, &where, &writer), CAESURA_OK)
        << last_error();
    std::uint64_t last = 0;
    EXPECT_EQ(caesura_committed(writer, &last), 1);
    EXPECT_EQ(last, 1u);
    write(writer, {7});
    ASSERT_EQ(caesura_writer_open(file.path.c_str(), nullptr, nullptr, nullptr, &writer),
              CAESURA_OK);
    EXPECT_EQ(caesura_committed(writer, &last), 1);
    EXPECT_EQ(last, 7u);
    ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK);
    const auto info = caesura::store::read_info(file.path);
    ASSERT_TRUE(info.ok());
    std::vector<std::uint64_t> iterations;
    for (const auto& dataset : info->datasets) iterations.push_back(dataset.iteration);
    EXPECT_EQ(iterations, (std::vector<std::uint64_t>{0, 1, 7}));
}

TEST(CSeries, makes_a_file_for_every_few_dumps) {
    const std::filesystem::path place = std::filesystem::path(::testing::TempDir()) /
                                        ("caesura_c_series_" + std::to_string(::getpid()));
    std::filesystem::create_directories(place);
    const std::string pattern = (place / "run_%03T.h5").string();
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.dumps_per_file = 2;
    options.pending_files = 1;
    caesura_writer* writer = nullptr;
    ASSERT_EQ(caesura_writer_create(pattern.c_str(), nullptr, &options, &writer), CAESURA_OK)
        << last_error();
    const std::uint64_t shape[] = {16}, offset[] = {0};
    std::uint32_t field = 0;
    ASSERT_EQ(caesura_define_field(writer, "rho", CAESURA_FLOAT32, 1, shape, CAESURA_LOSSLESS, 0.0,
                                   &field),
              CAESURA_OK);
    const std::vector<float> values(16, 2.5f);
    for (std::uint64_t n = 0; n < 5; ++n) {
        ASSERT_EQ(caesura_begin_iteration(writer, n), CAESURA_OK);
        ASSERT_EQ(caesura_begin_dump(writer, 0.0, 1.0), CAESURA_OK);
        ASSERT_EQ(caesura_put(writer, field, offset, shape, values.data(), CAESURA_FLOAT32, 0),
                  CAESURA_OK);
        ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK) << last_error();
    }
    caesura_writer_report report{};
    report.struct_bytes = sizeof report;
    ASSERT_EQ(caesura_writer_get_report(writer, &report), CAESURA_OK);
    EXPECT_EQ(report.files, 3u);
    ASSERT_EQ(caesura_writer_close(writer), CAESURA_OK) << last_error();
    for (const char* name : {"run_000.h5", "run_002.h5", "run_004.h5"}) {
        const auto info = caesura::store::read_info((place / name).string());
        ASSERT_TRUE(info.ok()) << info.status().message();
        EXPECT_EQ(info->datasets.size(), std::string(name) == "run_004.h5" ? 1u : 2u);
    }
    options.dumps_per_file = 3;
    EXPECT_EQ(caesura_writer_create((place / "run.h5").c_str(), nullptr, &options, &writer),
              CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("dumps_per_file is 3"), std::string::npos) << last_error();
    std::filesystem::remove_all(place);
}

}  // namespace
