// Goal: a user's attributes of a species, of its records and of their components are in the file,
// in all dumps or in one; what cannot be is refused on all ranks, and costs no other dump.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterParticleAttributes : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_particle_attributes_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }

    std::optional<std::string> text(const std::string& object, const std::string& name) const {
        const auto info = store::read_info(path_);
        EXPECT_TRUE(info.ok()) << info.status().message();
        const auto in = [&](const std::vector<store::Attribute>& all) {
            for (const store::Attribute& one : all)
                if (one.name == name) return std::optional(std::get<std::string>(one.value));
            return std::optional<std::string>();
        };
        for (const store::GroupInfo& group : info->groups)
            if (group.path == object) return in(group.attributes);
        for (const store::DatasetInfo& dataset : info->datasets)
            if (dataset.spec.path == object) return in(dataset.spec.attributes);
        return {};
    }
};

struct Handles {
    Species ions;
    Field x, y, weighting, mesh;
};

Handles define(Writer& writer) {
    Handles made;
    SpeciesOptions options;
    options.attributes = {{"source", std::string("options")}};
    made.ions = writer.define_species("ions", options).value();
    made.x = writer.define_record(made.ions, "position/x", float32, lossless()).value();
    made.y = writer.define_record(made.ions, "position/y", float32, lossless()).value();
    made.weighting = writer.define_record(made.ions, "weighting", float32, lossless()).value();
    made.mesh = writer.define_field("ions/weighting", float32, {2}, lossless()).value();
    return made;
}

Status dump(Writer& writer, const Handles& of, std::uint64_t number, std::uint64_t count,
            const std::function<void(Dump&)>& say) {
    const float some[4] = {1, 2, 3, 4};
    auto iteration = writer.begin_iteration(number);
    auto dump = iteration.begin_dump(0.0);
    for (const Field record : {of.x, of.y, of.weighting})
        (void)dump.put_particles(record, count, some);
    (void)dump.put(of.mesh, {{0}, {2}}, some);
    say(dump);
    return iteration.end();
}

TEST_F(WriterParticleAttributes, are_of_all_dumps_or_of_one) {
    WriterOptions options;
    options.durable = false;
    auto writer = Writer::create(path_, nullptr, options).value();
    const Handles of = define(*writer);
    const auto say = [&](auto& to, const std::string& value) {
        EXPECT_TRUE(to.set_attribute(AttributeOwner::species(of.ions), "source", value).ok());
        EXPECT_TRUE(to.set_attribute(AttributeOwner::record(of.y), "frame", value).ok());
        EXPECT_TRUE(to.set_attribute(AttributeOwner::field(of.x), "position", value).ok());
        EXPECT_TRUE(to.set_attribute(AttributeOwner::record(of.weighting), "kind", value).ok());
        EXPECT_TRUE(to.set_attribute(AttributeOwner::field(of.mesh), "kind", "mesh " + value).ok());
    };
    const auto nothing = [](Dump&) {};
    ASSERT_TRUE(dump(*writer, of, 0, 4, nothing).ok());
    say(*writer, "all");
    ASSERT_TRUE(dump(*writer, of, 1, 4, [&](Dump& one) { say(one, "one"); }).ok());
    ASSERT_TRUE(dump(*writer, of, 2, 0, nothing).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(text("/data/0/particles/ions", "source"), "options");
    EXPECT_EQ(text("/data/0/particles/ions/position", "frame"), std::nullopt);
    for (const auto& [number, value] : {std::pair("1", "one"), std::pair("2", "all")}) {
        const std::string ions = std::string("/data/") + number + "/particles/ions";
        EXPECT_EQ(text(ions, "source"), value);
        EXPECT_EQ(text(ions + "/position", "frame"), value);
        EXPECT_EQ(text(ions + "/position/x", "position"), value);
        EXPECT_EQ(text(ions + "/position/y", "position"), std::nullopt);
        EXPECT_EQ(text(ions + "/weighting", "kind"), value);
        EXPECT_EQ(text(std::string("/data/") + number + "/meshes/ions/weighting", "kind"),
                  std::string("mesh ") + value);
    }
}

TEST_F(WriterParticleAttributes, are_refused_where_they_cannot_be_kept) {
    WriterOptions options;
    options.durable = false;
    auto writer = Writer::create(path_, nullptr, options).value();
    const Handles of = define(*writer);
    const auto why = [](const Status& status) { return status.message(); };
    EXPECT_EQ(why(writer->set_attribute(AttributeOwner::field(of.x), "unitSI", 2.0)),
              "attribute 'unitSI' of record 'ions/position/x': it follows from the options of the "
              "record");
    EXPECT_EQ(why(writer->set_attribute(AttributeOwner::record(of.x), "macroWeighted", 2.0)),
              "attribute 'macroWeighted' of record 'ions/position': it follows from the options of "
              "the record");
    EXPECT_NE(why(writer->set_attribute(AttributeOwner::species({7}), "a", 2.0))
                  .find("of a species handle 7 that this writer has not defined"),
              std::string::npos);
    EXPECT_EQ(why(writer->set_attribute(AttributeOwner::species(of.ions), "caesura_a", 2.0)),
              "attribute 'caesura_a' of species 'ions': names that begin with caesura_ are the "
              "library's; use another");
    const Status lost = [&] {
        auto iteration = writer->begin_iteration(0);
        auto open = iteration.begin_dump(0.0);
        const float two[2] = {};
        (void)open.put(of.mesh, {{0}, {2}}, two);
        EXPECT_TRUE(open.set_attribute(AttributeOwner::species(of.ions), "a", 2.0).ok());
        return iteration.end();
    }();
    EXPECT_NE(why(lost).find("attribute 'a' of species 'ions' is set in a dump into which nothing "
                             "of it was put"),
              std::string::npos)
        << why(lost);
    EXPECT_TRUE(dump(*writer, of, 1, 4, [](Dump&) {}).ok());
    EXPECT_TRUE(writer->close().ok());
    EXPECT_EQ(testing::iterations(path_), std::vector<std::int64_t>{1});
}

// There each dataset has the dump's time, and so none of its own; elsewhere it may have one.
TEST_F(WriterParticleAttributes, take_no_place_of_the_dumps_time_where_datasets_have_it) {
    const std::vector<std::string> names = {"time", "dt", "timeUnitSI"};
    for (const bool with_group : {false, true}) {
        WriterOptions options;
        options.durable = false;
        options.layout = with_group ? "/%T/{field}" : "/{field}/%T";
        auto writer = Writer::create(path_, nullptr, options).value();
        const auto expect = [&](const Status& status, const std::string& who,
                                const std::string& name) {
            if (with_group) {
                EXPECT_TRUE(status.ok()) << status.message();
                return;
            }
            EXPECT_EQ(status.code(), StatusCode::invalid_argument) << who;
            for (const std::string& part : {who, name, options.layout})
                EXPECT_NE(status.message().find("'" + part + "'"), std::string::npos)
                    << status.message();
        };
        const Species ions = writer->define_species("ions").value();
        const Field x = writer->define_record(ions, "x", float32, lossless()).value();
        const Field mesh = writer->define_field("mesh", float32, {2}, lossless()).value();
        for (const std::string& name : names) {
            FieldOptions of_field;
            RecordOptions of_record;
            of_field.attributes = of_record.attributes = {{name, 7.0}};
            const auto set = [&](Field field) {
                return writer->set_attribute(AttributeOwner::field(field), name, 7.0);
            };
            expect(set(x), name, name);
            expect(set(mesh), name, name);
            expect(writer->define_field("f_" + name, float32, {2}, lossless(), of_field).status(),
                   "f_" + name, name);
            expect(
                writer->define_record(ions, "r_" + name, float32, lossless(), of_record).status(),
                "ions/r_" + name, name);
            expect(writer->define_constant(ions, "c_" + name, 1.0, of_record), "ions/c_" + name,
                   name);
        }
        const float two[2] = {1, 2};
        auto iteration = writer->begin_iteration(3);
        auto dump = iteration.begin_dump(0.5);
        EXPECT_TRUE(dump.put(mesh, {{0}, {2}}, two).ok());
        EXPECT_TRUE(dump.put_particles(x, 2, two).ok());
        EXPECT_TRUE(iteration.end().ok());
        EXPECT_TRUE(writer->close().ok());
        EXPECT_EQ(Reader::open(path_).value()->dumps().at(0).time, 0.5);
    }
}

TEST_F(WriterParticleAttributes, differ_on_no_rank) {
    std::mutex mutex;
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const auto rank = static_cast<std::int64_t>(comm->rank());
        WriterOptions options;
        options.durable = false;
        auto writer = Writer::create(path_, std::move(comm), options).value();
        const Species ions = writer->define_species("ions").value();
        const Field x = writer->define_record(ions, "x", float32, lossless()).value();
        const float one = 1.0F;
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto iteration = writer->begin_iteration(n);
            auto open = iteration.begin_dump(0.0);
            (void)open.put_particles(x, 1, &one);
            (void)open.set_attribute(AttributeOwner::species(ions), "seed", n == 0 ? rank : 5);
            const Status status = iteration.end();
            const std::lock_guard lock(mutex);
            if (n == 1)
                EXPECT_TRUE(status.ok()) << status.message();
            else
                EXPECT_EQ(status.message(),
                          "attribute 'seed' of species 'ions' in this dump is int64 0 on rank 0 "
                          "and int64 1 on rank 1; set the same on all ranks");
        }
        EXPECT_TRUE(writer->close().ok());
    });
}

}  // namespace
}  // namespace caesura
