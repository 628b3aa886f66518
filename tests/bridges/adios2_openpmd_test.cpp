// Goal: what openPMD-api's ADIOS2 backend says of variables and attributes, as 0.17.1 was seen to
// say it, becomes openPMD's meshes, particles and iterations.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <mutex>

#include "adios2/openpmd.hpp"
#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"

namespace caesura::adios {
namespace {

using Attributes = std::map<std::string, store::AttributeValue>;

TEST(OpenPmdPlace, is_that_of_the_path) {
    const auto place = [](const char* path) { return place_of(path, "meshes/", "particles/"); };
    EXPECT_EQ(place("/data/meshes/E/x").name, "E/x");
    EXPECT_EQ(place("/data/meshes/E/x").kind, Place::Kind::meshes);
    EXPECT_FALSE(place("/data/meshes/E/x").iteration);
    EXPECT_EQ(place("/data/7/meshes/rho").iteration, 7u);
    EXPECT_EQ(place("/data/7/meshes/rho").name, "rho");
    EXPECT_EQ(place("/data/7/particles/e/position/x").species, "e");
    EXPECT_EQ(place("/data/7/particles/e/position/x").name, "position/x");
    EXPECT_EQ(place("/data/particles/e/particlePatches/offset/x").kind, Place::Kind::none);
    EXPECT_EQ(place("/data/time").kind, Place::Kind::iteration);
    EXPECT_EQ(place("/openPMD").kind, Place::Kind::file);
    EXPECT_EQ(place("__openPMD_groups/data").kind, Place::Kind::none);
    EXPECT_EQ(place("__is_boolean__/data/closed").kind, Place::Kind::none);
    EXPECT_EQ(place_of("/data/fields/E/x", "fields/", "particles/").name, "E/x");
}

class OpenPmdSteps : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_openpmd_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }

    void on_ranks(int ranks, const std::function<Status(Steps&, OpenPmd&)>& program) {
        auto others = base::make_thread_communicators(ranks);
        std::mutex mutex;
        base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
            auto exchange = std::move(others[static_cast<std::size_t>(comm->rank())]);
            Settings settings;
            settings.file = path_;
            settings.options.durable = false;
            settings.options.bound = absolute(1e-3);
            settings.bounds["e/position/x"] = lossless();
            auto steps = Steps::open(settings, false, std::move(comm), std::move(exchange));
            Status status = steps.status();
            if (status.ok()) {
                OpenPmd openpmd(**steps);
                status = program(**steps, openpmd);
            }
            if (status.ok()) status = (*steps)->close();
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(status.ok()) << status.message();
        });
    }
};

/// As rank 0 says it by default.
Attributes said(std::uint64_t iteration) {
    const double n = static_cast<double>(iteration);
    const std::vector<double> none(7, 0.0), one{1.0}, field{1, 1, -3, -1, 0, 0, 0};
    return {{"/basePath", std::string("/data/%T/")},
            {"/openPMD", std::string("1.1.0")},
            {"/openPMDextension", std::uint64_t{0}},
            {"/iterationEncoding", std::string("variableBased")},
            {"/author", std::string("somebody")},
            {"/data/snapshot", std::vector<std::uint64_t>{iteration}},
            {"/data/time", 0.5 * n},
            {"/data/dt", 0.5},
            {"/data/timeUnitSI", 1e-15},
            {"/data/note", std::string(1, static_cast<char>('a' + iteration % 26))},
            {"/data/meshes/E/axisLabels", std::vector<std::string>{"x"}},  // of two axes
            {"/data/meshes/E/unitDimension", field},
            {"/data/meshes/E/x/unitSI", 2.0 + n},
            {"/data/meshes/E/y/value", 4.5},
            {"/data/meshes/E/y/shape", std::vector<std::uint64_t>{4, 6}},
            {"/data/particles/e/position/unitDimension", field},
            {"/data/particles/e/position/timeOffset", 0.25},
            {"/data/particles/e/position/x/unitSI", 3.0},
            {"/data/particles/e/charge/value", -1.5},
            {"/data/particles/e/charge/shape", std::vector<std::uint64_t>{10}},
            {"/data/particles/e/charge/unitSI", 1.6e-19},
            {"__openPMD_groups/data", std::uint64_t{iteration}}};
}

TEST_F(OpenPmdSteps, steps_are_iterations_with_meshes_and_particles) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const auto rank = static_cast<std::uint64_t>(steps.rank());
        for (const std::uint64_t iteration : {5u, 9u}) {
            std::vector<double> values(12, static_cast<double>(iteration + 100 * rank));
            std::vector<double> x(rank == 0 ? 4 : 6, static_cast<double>(iteration) + 0.1);
            if (Status s = steps.begin(); !s.ok()) return s;
            const Part mesh{"/data/meshes/E/x", float64, {4, 6}, {{2 * rank, 0}, {2, 6}}};
            if (Status s = openpmd.put(mesh, values.data()); !s.ok()) return s;
            // The later half first.
            for (const std::uint64_t half : {1u, 0u}) {
                const std::uint64_t n = x.size() / 2;
                const Part part{
                    "/data/particles/e/position/x", float64, {10}, {{4 * rank + half * n}, {n}}};
                if (Status s = openpmd.put(part, x.data() + half * n); !s.ok()) return s;
            }
            std::fill(values.begin(), values.end(), 1e30);  // ours again
            openpmd.end(rank == 0 ? said(iteration) : Attributes{}, {});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        // Attributes stay; a step of nothing is none, whatever its number.
        for (const std::uint64_t iteration : {9u, 12u}) {
            if (Status s = steps.begin(); !s.ok()) return s;
            Attributes all = said(iteration);
            if (iteration == 12)
                std::erase_if(all, [](const auto& one) {
                    return one.first.ends_with("/value") || one.first.ends_with("/shape");
                });
            openpmd.end(all, {});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    ASSERT_EQ(reader->dumps().size(), 2u);
    for (std::size_t d = 0; d < 2; ++d) {
        const std::uint64_t n = d == 0 ? 5 : 9;
        EXPECT_EQ(reader->dumps()[d].iteration, n);
        const auto read = [&](const std::string& name) {
            const auto field = reader->find(name, n).value();
            const Shape shape = reader->fields()[field].shape;
            std::vector<double> values(shape.count());
            EXPECT_TRUE(reader
                            ->read(field, {Shape::filled(shape.rank(), 0), shape},
                                   std::as_writable_bytes(std::span(values)))
                            .ok());
            return values;
        };
        const auto E = read("E/x");
        ASSERT_EQ(E.size(), 24u);
        for (std::size_t i = 0; i < E.size(); ++i)
            EXPECT_NEAR(E[i], static_cast<double>(n) + (i < 12 ? 0.0 : 100.0), 1e-3);
        for (const double value : read("E/y")) EXPECT_EQ(value, 4.5);
        EXPECT_EQ(read("e/position/x"), std::vector<double>(10, static_cast<double>(n) + 0.1));
        const auto& field = reader->fields()[reader->find("E/x", n).value()];
        EXPECT_EQ(std::get<double>(find_attribute(field, "unitSI")->value),
                  2.0 + static_cast<double>(n));
    }
}

TEST_F(OpenPmdSteps, particles_may_become_more_before_their_iteration_is_closed) {
    on_ranks(1, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const std::vector<double> x{0.0, 1.0, 2.0, 3.0, 4.0};
        for (const std::uint64_t iteration : {0u, 1u}) {
            (void)steps.begin();
            for (const std::uint64_t n : {2u, 5u}) {
                const std::uint64_t begin = n == 2 ? 0 : 2;
                const Part part{
                    "/data/particles/e/position/x", float64, {n}, {{begin}, {n - begin}}};
                if (Status s = openpmd.put(part, x.data() + begin); !s.ok()) return s;
            }
            openpmd.end(said(iteration), {});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    for (const std::uint64_t n : {0u, 1u}) {
        const auto field = reader->find("e/position/x", n).value();
        ASSERT_EQ(reader->fields()[field].shape, Shape({5}));
        std::vector<double> x(5);
        ASSERT_TRUE(reader->read(field, {{0}, {5}}, std::as_writable_bytes(std::span(x))).ok());
        EXPECT_EQ(x, (std::vector<double>{0.0, 1.0, 2.0, 3.0, 4.0}));
    }
}

TEST_F(OpenPmdSteps, what_is_said_in_an_iteration_without_values_is_not_lost) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        (void)steps.begin();
        const Attributes first{{"/author", std::string("somebody")},
                               {"/data/snapshot", std::vector<std::uint64_t>{3}},
                               {"/data/note", std::string("lost with its iteration")}};
        openpmd.end(steps.rank() == 0 ? first : Attributes{}, {});
        if (Status s = steps.end(); !s.ok()) return s;
        (void)steps.begin();
        const auto rank = static_cast<std::uint64_t>(steps.rank());
        const std::vector<double> values(2, 1.0);
        const Part mesh{"/data/meshes/E/x", float64, {4}, {{2 * rank}, {2}}};
        if (Status s = openpmd.put(mesh, values.data()); !s.ok()) return s;
        Attributes second{{"/author", std::string("somebody")},
                          {"/data/snapshot", std::vector<std::uint64_t>{4}}};
        openpmd.end(second, {});
        return steps.end();
    });
    const auto reader = Reader::open(path_).value();
    ASSERT_EQ(reader->dumps().size(), 1u);
    EXPECT_EQ(reader->dumps()[0].iteration, 4u);
    bool found = false;
    for (const auto& one : reader->attributes()) found |= one.name == "author";
    EXPECT_TRUE(found);
    for (const auto& one : reader->dumps()[0].attributes) EXPECT_NE(one.name, "note");
}

TEST_F(OpenPmdSteps, a_species_may_have_no_particles_at_first) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const auto rank = static_cast<std::uint64_t>(steps.rank());
        const std::string x = "/data/particles/e/position/x";
        for (const std::uint64_t iteration : {0u, 1u, 2u}) {
            const std::vector<double> mesh(2, 1.0);
            const std::vector<float> few(3, 2.5F);
            (void)steps.begin();
            const Part E{"/data/meshes/E/x", float64, {4}, {{2 * rank}, {2}}};
            if (Status s = openpmd.put(E, mesh.data()); !s.ok()) return s;
            Attributes all{{"/data/snapshot", std::vector<std::uint64_t>{iteration}}};
            // What openPMD-api says of no particles stays beside what comes later.
            all.emplace(x + "/value", 0.0);
            all.emplace(x + "/shape", std::vector<std::uint64_t>{0});
            all.emplace(x + "/unitSI", 3.0);
            const Part part{x, float32, {6}, {{3 * rank}, {3}}};
            if (iteration == 1)
                if (Status s = openpmd.put(part, few.data()); !s.ok()) return s;
            openpmd.end(rank == 0 ? all : Attributes{}, {{x + "/value", float32}});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    ASSERT_EQ(reader->dumps().size(), 3u);
    for (const std::uint64_t n : {0u, 1u, 2u}) {
        const auto field = reader->find("e/position/x", n).value();
        EXPECT_EQ(reader->fields()[field].shape, Shape({n == 1 ? 6u : 0u}));
        EXPECT_EQ(reader->fields()[field].type.bytes, 4u);
    }
}

TEST_F(OpenPmdSteps, a_constant_that_changes_is_an_error_on_all_ranks) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const auto rank = static_cast<std::uint64_t>(steps.rank());
        const std::vector<double> values(2, 1.0);
        for (const std::uint64_t iteration : {0u, 1u, 2u}) {
            (void)steps.begin();
            const Part E{"/data/meshes/E/x", float64, {4}, {{2 * rank}, {2}}};
            if (Status s = openpmd.put(E, values.data()); !s.ok()) return s;
            const Attributes all{{"/data/snapshot", std::vector<std::uint64_t>{iteration}},
                                 {"/data/meshes/E/y/value", iteration == 1 ? 8.0 : 7.0},
                                 {"/data/meshes/E/y/shape", std::vector<std::uint64_t>{4}}};
            openpmd.end(rank == 0 ? all : Attributes{}, {});
            const Status status = steps.end();
            EXPECT_EQ(status.ok(), iteration != 1) << status.message();
            if (iteration == 1) {
                EXPECT_NE(status.message().find("'E/y' was constant with another value"),
                          std::string::npos);
            }
        }
        return {};
    });
    EXPECT_EQ(Reader::open(path_).value()->dumps().size(), 2u);
}

TEST_F(OpenPmdSteps, a_rank_may_put_its_last_before_a_dataset_grows) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const auto rank = static_cast<std::uint64_t>(steps.rank());
        const std::vector<double> values(4, 1.0 + static_cast<double>(rank));
        for (const std::uint64_t iteration : {0u, 1u}) {
            (void)steps.begin();
            const std::string path = "/data/" + std::to_string(iteration) + "/meshes/rho";
            const Part part{path, float64, {4 + 4 * rank}, {{4 * rank}, {4}}};
            if (Status s = openpmd.put(part, values.data()); !s.ok()) return s;
            openpmd.end({}, {});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    for (const std::uint64_t n : {0u, 1u})
        EXPECT_EQ(reader->fields()[reader->find("rho", n).value()].shape, Shape({8}));
}

TEST_F(OpenPmdSteps, constants_are_there_where_the_rank_that_says_them_puts_nothing) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const std::vector<double> values(4, 1.0);
        Attributes all;  // those of former iterations stay
        for (const std::uint64_t iteration : {3u, 7u}) {
            (void)steps.begin();
            const std::string at = "/data/" + std::to_string(iteration);
            all.emplace(at + "/time", 0.5);
            all.emplace(at + "/meshes/E/z/value", 7.5);
            all.emplace(at + "/meshes/E/z/shape", std::vector<std::uint64_t>{4});
            const Part part{at + "/meshes/E/x", float64, {4}, {{0}, {4}}};
            if (steps.rank() == 1)
                if (Status s = openpmd.put(part, values.data()); !s.ok()) return s;
            openpmd.end(steps.rank() == 0 ? all : Attributes{}, {});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    ASSERT_EQ(reader->dumps().size(), 2u);
    for (const std::uint64_t n : {3u, 7u}) EXPECT_TRUE(reader->find("E/z", n).ok());
}

TEST_F(OpenPmdSteps, what_cannot_be_written_is_named) {
    on_ranks(2, [](Steps& steps, OpenPmd& openpmd) -> Status {
        const auto rank = static_cast<std::uint64_t>(steps.rank());
        const std::vector<double> values(8, 1.0);
        const auto step = [&](const Part& part) {
            (void)steps.begin();
            (void)openpmd.put(part, values.data());
            openpmd.end({}, {});
            return steps.end().message();
        };
        // A gap between the ranks' particles, then fewer than there are to be.
        EXPECT_NE(step({"/data/1/particles/e/id", float64, {10}, {{5 * rank}, {4}}})
                      .find("particles of 'e/id' on rank 1 begin at 5"),
                  std::string::npos);
        EXPECT_NE(step({"/data/2/particles/e/id", float64, {10}, {{4 * rank}, {4}}})
                      .find("'e/id' has 10 particles, of which 8 were put"),
                  std::string::npos);
        EXPECT_NE(step({"/data/3/elsewhere", float64, {16}, {{8 * rank}, {8}}})
                      .find("variable '/data/3/elsewhere' lies neither in"),
                  std::string::npos);
        (void)steps.begin();
        const Box box{{8 * rank}, {8}};
        (void)openpmd.put({"/data/4/meshes/a", float64, {16}, box}, values.data());
        (void)openpmd.put({"/data/5/meshes/a", float64, {16}, box}, values.data());
        openpmd.end({}, {});
        EXPECT_NE(steps.end().message().find("follows some of iteration 4 in one step"),
                  std::string::npos);
        return {};
    });
}

}  // namespace
}  // namespace caesura::adios
