// Goal: what a user says of the objects of a file is in it, for all dumps or for one, on any number
// of ranks, also after a kill; what cannot be is an error that costs the dump at most.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"

namespace caesura {
namespace {

using store::Attribute;
using store::AttributeValue;
using Doubles = std::vector<double>;
using Strings = std::vector<std::string>;

class WriterMetadata : public ::testing::TestWithParam<int> {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_metadata_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }

    // On each rank; errors are collected, since gtest's fatal ones stay in their thread.
    void on_ranks(int n_ranks, const std::function<void(Writer&, int)>& body,
                  const WriterOptions& options = {}, bool closes = true) {
        base::run_ranks(n_ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            auto writer = Writer::create(path_, std::move(comm), options);
            ASSERT_TRUE(writer.ok()) << writer.status().message();
            body(**writer, rank);
            if (!closes) return;
            const Status closed = (*writer)->close();
            EXPECT_TRUE(closed.ok()) << closed.message();
        });
    }
    store::FileInfo info() const {
        auto info = store::read_info(path_);
        EXPECT_TRUE(info.ok()) << info.status().message();
        return info.ok() ? *info : store::FileInfo{};
    }
};

constexpr std::uint64_t k_rows = 8;

// Rows r, r + n, ... would be no box: each rank has a stretch of them.
Status put(Dump& dump, Field field, int rank, int n_ranks) {
    const std::uint64_t rows = k_rows / static_cast<std::uint64_t>(n_ranks);
    const std::vector<float> values(rows * 4, 1.0f);
    return dump.put(field, {{static_cast<std::uint64_t>(rank) * rows, 0}, {rows, 4}},
                    values.data());
}

AttributeValue value_of(const std::vector<Attribute>& all, const std::string& name) {
    // Of several of one name HDF5 would keep the first.
    EXPECT_LE(std::count_if(all.begin(), all.end(), [&](auto& one) { return one.name == name; }),
              1);
    for (const Attribute& one : all)
        if (one.name == name) return one.value;
    return std::string("is not there");
}

AttributeValue at(const store::FileInfo& info, const std::string& path, const std::string& name) {
    if (path == "/") return value_of(info.root, name);
    for (const store::GroupInfo& group : info.groups)
        if (group.path == path) return value_of(group.attributes, name);
    for (const store::DatasetInfo& dataset : info.datasets)
        if (dataset.spec.path == path) return value_of(dataset.spec.attributes, name);
    return std::string("the object is not there");
}

const AttributeValue k_none = std::string("is not there");

/// Every kind of value, on every kind of object; one of each is other in dump 1.
void say(Writer& writer, Field x, Field rho) {
    const auto set = [&](const AttributeOwner& owner, const char* name, AttributeValue value) {
        const Status status = writer.set_attribute(owner, name, std::move(value));
        EXPECT_TRUE(status.ok()) << status.message();
    };
    set(AttributeOwner::file(), "run", std::string("caf\xc3\xa9"));
    set(AttributeOwner::file(), "software", std::string("a code"));
    set(AttributeOwner::iteration(), "stage", std::int64_t{-1});
    set(AttributeOwner::iteration(), "timeUnitSI", 2.0);
    set(AttributeOwner::meshes(), "fieldBoundary", Strings{"periodic", "open"});
    set(AttributeOwner::record(x), "counts", std::vector<std::int64_t>{-1, 2});
    set(AttributeOwner::field(x), "hash", std::uint64_t{1} << 63);
    set(AttributeOwner::field(x), "geometry", std::string("cylindrical"));
    set(AttributeOwner::field(rho), "sums", std::vector<std::uint64_t>{3, 4});
    set(AttributeOwner::record(rho), "gridSpacing", Doubles{0.5, 0.25});
    set(AttributeOwner::field(rho), "position", Doubles{0.5, 0.0});
    set(AttributeOwner::field(rho), "mean", 0.25f);
}

void say_of_one(Dump& dump, Field x, Field rho) {
    const auto set = [&](const AttributeOwner& owner, const char* name, AttributeValue value) {
        const Status status = dump.set_attribute(owner, name, std::move(value));
        EXPECT_TRUE(status.ok()) << status.message();
    };
    set(AttributeOwner::iteration(), "stage", std::int64_t{7});
    set(AttributeOwner::meshes(), "only", 1.5);
    set(AttributeOwner::record(x), "counts", std::vector<std::int64_t>{});
    set(AttributeOwner::field(x), "hash", std::uint64_t{5});
    set(AttributeOwner::field(rho), "position", Doubles{0.0, 0.5});
}

void expect_said(const store::FileInfo& info, std::uint64_t n, bool one) {
    const std::string dump = "/data/" + std::to_string(n), meshes = dump + "/meshes";
    EXPECT_EQ(at(info, "/", "run"), AttributeValue(std::string("caf\xc3\xa9")));
    EXPECT_EQ(at(info, "/", "software"), AttributeValue(std::string("a code")));
    EXPECT_EQ(at(info, "/", "softwareVersion"), k_none) << "it is not Caesura's";
    EXPECT_EQ(at(info, dump, "stage"), AttributeValue(std::int64_t{one ? 7 : -1}));
    EXPECT_EQ(at(info, dump, "timeUnitSI"), AttributeValue(2.0));
    EXPECT_EQ(at(info, meshes, "fieldBoundary"), AttributeValue(Strings{"periodic", "open"}));
    EXPECT_EQ(at(info, meshes, "only"), one ? AttributeValue(1.5) : k_none);
    EXPECT_EQ(at(info, meshes + "/v", "counts"),
              AttributeValue(one ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{-1, 2}));
    EXPECT_EQ(at(info, meshes + "/v", "geometry"), AttributeValue(std::string("cylindrical")));
    EXPECT_EQ(at(info, meshes + "/v/x", "geometry"), k_none) << "it is the record's";
    EXPECT_EQ(at(info, meshes + "/v/x", "hash"),
              AttributeValue(one ? std::uint64_t{5} : std::uint64_t{1} << 63));
    EXPECT_EQ(at(info, meshes + "/rho", "sums"), AttributeValue(std::vector<std::uint64_t>{3, 4}));
    EXPECT_EQ(at(info, meshes + "/rho", "gridSpacing"), AttributeValue(Doubles{0.5, 0.25}));
    EXPECT_EQ(at(info, meshes + "/rho", "position"),
              AttributeValue(one ? Doubles{0.0, 0.5} : Doubles{0.5, 0.0}));
    EXPECT_EQ(at(info, meshes + "/rho", "mean"), AttributeValue(0.25f));
    EXPECT_EQ(at(info, meshes + "/rho", "timeOffset"), AttributeValue(0.0)) << "a default";
}

TEST_P(WriterMetadata, that_is_set_on_every_kind_of_object_is_in_every_dump_or_in_one) {
    const int n_ranks = GetParam();
    on_ranks(n_ranks, [&](Writer& writer, int rank) {
        const auto x = writer.define_field("v/x", float32, {k_rows, 4});
        const auto rho = writer.define_field("rho", float32, {k_rows, 4});
        ASSERT_TRUE(x.ok() && rho.ok());
        say(writer, *x, *rho);
        for (std::uint64_t n = 0; n < 3; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            if (n == 1) say_of_one(dump, *x, *rho);
            EXPECT_TRUE(put(dump, *x, rank, n_ranks).ok());
            EXPECT_TRUE(put(dump, *rho, rank, n_ranks).ok());
            const Status ended = iteration.end();
            EXPECT_TRUE(ended.ok()) << ended.message();
        }
    });
    const store::FileInfo written = info();
    for (std::uint64_t n = 0; n < 3; ++n) expect_said(written, n, n == 1);
}

TEST_P(WriterMetadata, is_part_of_what_recover_commits_after_a_kill) {
    const int n_ranks = GetParam();
    on_ranks(
        n_ranks,
        [&](Writer& writer, int rank) {
            const auto x = writer.define_field("v/x", float32, {k_rows, 4});
            const auto rho = writer.define_field("rho", float32, {k_rows, 4});
            ASSERT_TRUE(x.ok() && rho.ok());
            say(writer, *x, *rho);
            auto iteration = writer.begin_iteration(4);
            auto dump = iteration.begin_dump(0.0);
            say_of_one(dump, *x, *rho);
            EXPECT_TRUE(put(dump, *x, rank, n_ranks).ok());
            EXPECT_TRUE(put(dump, *rho, rank, n_ranks).ok());
            EXPECT_TRUE(iteration.end().ok());
            // Written, and never committed.
            auto waiting = writer.begin_iteration(5);
            const auto written = [&] { return writer.report().blocks == (rank == 0 ? 2u : 0u); };
            EXPECT_TRUE(waiting.wait_until(written, 60.0));
        },
        {}, false);
    const auto recovered = store::recover(path_);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    EXPECT_EQ(recovered->finished_iterations, std::vector<std::uint64_t>{4});
    expect_said(info(), 4, true);
}

TEST_F(WriterMetadata, that_differs_between_ranks_costs_the_dump_and_is_named) {
    constexpr int n_ranks = 4;
    constexpr int last = n_ranks - 1;
    const std::string who = std::to_string(last);
    on_ranks(n_ranks, [&](Writer& writer, int rank) {
        const auto rho = writer.define_field("rho", float32, {k_rows, 4});
        ASSERT_TRUE(rho.ok());
        const auto colour = [&](const char* value) {
            EXPECT_TRUE(
                writer.set_attribute(AttributeOwner::field(*rho), "colour", std::string(value))
                    .ok());
        };
        const auto end_of = [&](std::uint64_t n, bool alone) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            if (alone) {
                EXPECT_TRUE(dump.set_attribute(AttributeOwner::iteration(), "only", 0.5).ok());
            }
            EXPECT_TRUE(put(dump, *rho, rank, n_ranks).ok());
            return iteration.end().message();
        };
        colour(rank == last ? "red" : "blue");
        EXPECT_EQ(end_of(0, false),
                  "attribute 'colour' of field 'rho' is 'blue' on rank 0 and "
                  "'red' on rank " +
                      who + "; set the same on all ranks");
        EXPECT_EQ(writer.report().lost_dumps, 1u);
        colour("green");
        EXPECT_EQ(end_of(1, rank == last),
                  "attribute 'only' of the iteration in this dump is float64 0.5 on rank " + who +
                      " and not set on rank 0; set the same on all ranks");
        EXPECT_EQ(end_of(2, false), "");
    });
    const store::FileInfo written = info();
    ASSERT_EQ(written.datasets.size(), 1u);
    EXPECT_EQ(at(written, "/data/2/meshes/rho", "colour"), AttributeValue(std::string("green")));
}

TEST_P(WriterMetadata, that_cannot_be_in_one_dump_costs_that_dump_on_all_ranks) {
    const int n_ranks = GetParam();
    const std::string prefix = n_ranks == 1 ? "" : "rank 0: ";
    on_ranks(n_ranks, [&](Writer& writer, int rank) {
        const auto rho = writer.define_field("rho", float32, {k_rows, 4});
        ASSERT_TRUE(rho.ok());
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            const std::string why =
                "attribute 'caesura_x' of field 'rho': names that begin with caesura_ are the "
                "library's; use another";
            if (n == 0 && rank == 0) {
                EXPECT_EQ(
                    dump.set_attribute(AttributeOwner::field(*rho), "caesura_x", 1.0).message(),
                    why);
            }
            EXPECT_TRUE(put(dump, *rho, rank, n_ranks).ok());
            EXPECT_EQ(iteration.end().message(), n == 0 ? prefix + why : "");
        }
    });
    EXPECT_EQ(info().datasets.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ranks, WriterMetadata, ::testing::Values(1, 4));

TEST_F(WriterMetadata, set_at_the_wrong_time_or_of_nothing_is_an_error_and_changes_nothing) {
    on_ranks(1, [&](Writer& writer, int) {
        const auto rho = writer.define_field("rho", float32, {k_rows, 4});
        ASSERT_TRUE(rho.ok());
        const auto file = AttributeOwner::file();
        EXPECT_EQ(writer.set_attribute(AttributeOwner::field({7}), "a", 1.0).message(),
                  "set_attribute('a') on rank 0 of a field handle 7 that this writer has not "
                  "defined");
        EXPECT_EQ(
            writer.set_attribute(AttributeOwner::field(*rho), "position", Doubles{0.5}).message(),
            "field 'rho': attribute 'position' has 1 entries; its grid has 2 axes (geometry "
            "cartesian): give one per axis or none");
        auto first = writer.begin_iteration(0);
        auto dump = first.begin_dump(0.0);
        EXPECT_EQ(dump.set_attribute(file, "a", 1.0).message(),
                  "set_attribute('a') on rank 0 in one dump: the file has it for all; set it on "
                  "the Writer");
        EXPECT_FALSE(first.end().ok());
        EXPECT_TRUE(writer.set_attribute(file, "a", 1.0).ok()) << "that dump was no first one";
        auto second = writer.begin_iteration(1);
        auto good = second.begin_dump(0.0);
        EXPECT_TRUE(put(good, *rho, 0, 1).ok());
        EXPECT_TRUE(second.end().ok());
        EXPECT_EQ(writer.set_attribute(file, "a", 2.0).message(),
                  "set_attribute('a') on rank 0 after the file's first dump, with which its "
                  "attributes are committed; set it before, or on the iteration");
        EXPECT_EQ(good.set_attribute(AttributeOwner::iteration(), "b", 1.0).message(),
                  "set_attribute('b') on rank 0 outside a dump");
        EXPECT_TRUE(writer.close().ok());
        EXPECT_EQ(writer.set_attribute(AttributeOwner::iteration(), "b", 1.0).message(),
                  "set_attribute('b') on rank 0 after close()");
    });
    const store::FileInfo written = info();
    EXPECT_EQ(at(written, "/", "a"), AttributeValue(1.0));
    EXPECT_EQ(at(written, "/data/1/meshes/rho", "position"), AttributeValue(Doubles{0, 0}));
}

TEST_F(WriterMetadata, of_all_dumps_has_to_fit_what_is_said_of_the_open_one) {
    on_ranks(1, [&](Writer& writer, int) {
        const auto modes = writer.define_field("modes", float32, {3, 4, 5});
        ASSERT_TRUE(modes.ok());
        const auto of = AttributeOwner::field(*modes);
        const std::vector<float> values(60, 1.0f);
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        EXPECT_TRUE(dump.set_attribute(of, "gridSpacing", Doubles{1, 2, 3}).ok());
        EXPECT_EQ(writer.set_attribute(of, "geometry", std::string("thetaMode")).message(),
                  "field 'modes': attribute 'gridSpacing' has 3 entries; its grid has 2 axes "
                  "(geometry thetaMode): give one per axis or none");
        EXPECT_TRUE(dump.put(*modes, {{0, 0, 0}, {3, 4, 5}}, values.data()).ok());
        EXPECT_TRUE(iteration.end().ok());
        EXPECT_TRUE(writer.set_attribute(of, "geometry", std::string("thetaMode")).ok());
    });
    EXPECT_EQ(at(info(), "/data/0/meshes/modes", "gridSpacing"), AttributeValue(Doubles{1, 2, 3}));
}

TEST_F(WriterMetadata, of_what_a_dump_does_not_have_is_an_error_of_the_dump) {
    on_ranks(1, [&](Writer& writer, int) {
        const auto rho = writer.define_field("rho", float32, {k_rows, 4});
        const auto x = writer.define_field("v/x", float32, {k_rows, 4});
        const auto y = writer.define_field("v/y", float32, {k_rows, 4});
        ASSERT_TRUE(rho.ok() && x.ok() && y.ok());
        const auto end_of = [&](std::uint64_t n, const AttributeOwner& owner) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            EXPECT_TRUE(dump.set_attribute(owner, "a", 1.0).ok());
            EXPECT_TRUE(put(dump, *x, 0, 1).ok());
            return iteration.end().message();
        };
        EXPECT_EQ(end_of(0, AttributeOwner::field(*rho)),
                  "attribute 'a' of field 'rho' is set in a dump into which nothing of it was put");
        EXPECT_EQ(end_of(1, AttributeOwner::field(*y)),
                  "attribute 'a' of field 'v/y' is set in a dump into which nothing of it was put");
        EXPECT_EQ(end_of(2, AttributeOwner::record(*y)), "") << "its record is there";
    });
    EXPECT_EQ(info().datasets.size(), 1u);
}

TEST_F(WriterMetadata, of_a_file_without_a_dump_is_said_to_be_missing) {
    std::vector<std::string> said;
    WriterOptions options;
    options.on_message = [&](std::string_view text) { said.emplace_back(text); };
    options.root_attributes = {{"run", std::string("x17")}};
    on_ranks(
        1, [](Writer&, int) {}, options);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0], path_ + " has no dump, and so none of the attributes that were set");
}

TEST_F(WriterMetadata, of_a_reshaped_field_is_the_new_offset) {
    on_ranks(1, [&](Writer& writer, int) {
        FieldOptions options;
        options.grid_offset = {1, 2};
        const auto rho = writer.define_field("rho", float32, {4, 4}, lossless(), options);
        ASSERT_TRUE(rho.ok());
        EXPECT_FALSE(writer.reshape(*rho, {k_rows, 4}, {3}).ok());
        EXPECT_TRUE(writer.reshape(*rho, {k_rows, 4}, {3, 4}).ok());
        auto iteration = writer.begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        EXPECT_TRUE(put(dump, *rho, 0, 1).ok());
        EXPECT_TRUE(iteration.end().ok());
    });
    EXPECT_EQ(at(info(), "/data/0/meshes/rho", "gridGlobalOffset"), AttributeValue(Doubles{3, 4}));
}

TEST_F(WriterMetadata, of_great_size_and_number_is_kept) {
    const Doubles large(100000, 0.5);
    on_ranks(1, [&](Writer& writer, int) {
        const auto rho = writer.define_field("rho", float32, {k_rows, 4});
        ASSERT_TRUE(rho.ok());
        for (int i = 0; i < 300; ++i)
            EXPECT_TRUE(writer
                            .set_attribute(AttributeOwner::field(*rho), "a" + std::to_string(i),
                                           std::int64_t{i})
                            .ok());
        EXPECT_TRUE(writer.set_attribute(AttributeOwner::field(*rho), "large", large).ok());
        EXPECT_TRUE(writer.set_attribute(AttributeOwner::file(), "large", large).ok());
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer.begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            EXPECT_TRUE(put(dump, *rho, 0, 1).ok());
            EXPECT_TRUE(iteration.end().ok());
        }
    });
    const store::FileInfo written = info();
    for (const char* path : {"/data/0/meshes/rho", "/data/1/meshes/rho", "/"})
        EXPECT_EQ(at(written, path, "large"), AttributeValue(large)) << path;
    EXPECT_EQ(at(written, "/data/1/meshes/rho", "a299"), AttributeValue(std::int64_t{299}));
}

}  // namespace
}  // namespace caesura
