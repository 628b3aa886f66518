// Objects of dumps that Writers hand to a service: on their way, committed, and of files that were
// written before; what analyses find in transit beside what they find in the file.
#include <nlohmann/json.hpp>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "read/source.hpp"
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

using lambda::take;

const Shape k_part{32, 48, 64};  // of one rank: several blocks
constexpr unsigned k_seed = 7200;

std::vector<float> part_values(int rank, unsigned dump) {
    return testing::make_field<float>(k_part, k_seed + 10 * dump + static_cast<unsigned>(rank), 1);
}

std::vector<float> all_values(int ranks, unsigned dump) {
    std::vector<float> all;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto part = part_values(rank, dump);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

struct Dumping {
    int ranks = 2;
    unsigned dumps = 3;
    ErrorBound bound = lossless();
    double reserve_factor = 1.0;
    std::vector<std::string> analyses;
    OnLoss on_loss = OnLoss::fail;
    bool planning = true;                          ///< else blocks are handed over at once
    std::function<void(unsigned)> after_end = {};  ///< of a dump, on rank 0
};

class DumpedObjects : public ObjectHub {
  protected:
    Shape shape(int ranks) const {
        Shape all = k_part;
        all[0] *= static_cast<std::uint64_t>(ranks);
        return all;
    }
    std::string path() const { return place_ + "/run.h5"; }
    static std::string name(unsigned dump) { return "/data/" + std::to_string(dump) + "/meshes/f"; }
    lambda::TestObject<float> object(int ranks, unsigned dump) const {
        return {shape(ranks), all_values(ranks, dump), {}};
    }

    std::vector<std::string> write(const Dumping& options) {
        if (!hub_) start();
        writer::register_transport("service",
                                   [&](std::string_view, const writer::TransportOptions& asked)
                                       -> Result<std::shared_ptr<writer::Transport>> {
                                       ClientOptions client;
                                       client.writer = asked;
                                       client.on_loss = options.on_loss;
                                       auto made = Client::make(hub_->connect(), client);
                                       if (!made.ok()) return made.status();
                                       return std::shared_ptr<writer::Transport>(std::move(*made));
                                   });
        std::vector<std::string> errors;
        std::mutex mutex;
        base::run_ranks(options.ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            const auto note = [&](const Status& status) {
                const std::lock_guard lock(mutex);
                if (!status.ok()) errors.push_back(status.message());
            };
            WriterOptions writer_options;
            writer_options.transport = "service:here";
            writer_options.chunk_bytes = 64u << 10;
            writer_options.memory_bytes = 64u << 20;
            writer_options.reserve_factor = options.reserve_factor;
            writer_options.durable = false;
            writer_options.planning = options.planning;
            writer_options.analyses = options.analyses;
            auto made = Writer::create(path(), std::move(comm), writer_options);
            note(made.status());
            if (!made.ok()) return;
            Writer& writer = **made;
            auto field = writer.define_field("f", float32, shape(options.ranks), options.bound);
            for (unsigned n = 0; n < options.dumps; ++n) {
                auto iteration = writer.begin_iteration(n);
                auto dump = iteration.begin_dump(0.25 * n);
                const auto values = part_values(rank, n);
                const Box box{{static_cast<std::uint64_t>(rank) * k_part[0], 0, 0}, k_part};
                note(dump.put(*field, box, values.data()));
                note(iteration.end());
                if (rank == 0 && options.after_end) options.after_end(n);
            }
            note(writer.close());
        });
        return errors;
    }
};

/// What a dataset's attribute says of analyses, by call.
nlohmann::json analyses_in(const store::DatasetSpec& dataset) {
    for (const store::Attribute& attribute : dataset.attributes)
        if (attribute.name == "caesura_analyses")
            return nlohmann::json::parse(std::get<std::string>(attribute.value));
    return nlohmann::json::object();
}

/// Equal, but for rounding: ranks are merged in another order there.
void expect_near(const nlohmann::json& a, const nlohmann::json& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, value] : a.items()) {
        if (value.is_number_float())
            EXPECT_NEAR(value.get<double>(), b.at(name).get<double>(),
                        1e-12 * std::max(1.0, std::abs(value.get<double>())))
                << name;
        else
            EXPECT_EQ(value, b.at(name)) << name;
    }
}

/// Until an object of a dump under way is all there: as soon as its blocks are written.
void wait_for_values(Objects& objects, ObjectNumber id, const Box& box, std::vector<float>& got) {
    Status status;
    do {
        status = objects.get(id, box, got.data()).wait();
    } while (status.code() == StatusCode::insufficient_data);
    ASSERT_TRUE(status.ok()) << status.message();
}

// Goal: states that have no room stop no dump; its objects lack the result, and the status says so.
TEST_F(DumpedObjects, are_written_without_a_result_whose_states_have_no_room) {
    options_.service.objects.states_bytes = 500'000;
    options_.service.on_dump = {"stats", "spectrum"};  // the second keeps all values: 786 kB
    EXPECT_EQ(write({}), std::vector<std::string>());
    const auto counts = hub_->service().objects().counts();
    EXPECT_GE(counts.states_refused, 3u);
    EXPECT_EQ(counts.states_bytes, 0u);
    const auto objects = connect();
    for (unsigned dump = 0; dump < 3; ++dump)
        for (const ObjectInfo& info : take(objects->find({.name = name(dump)})).objects)
            EXPECT_TRUE(info.results.empty());
}

// Goal: a field of a dump can be found, read and analysed while its dump is under way and before it
// is committed.
TEST_F(DumpedObjects, are_there_before_their_dump_is_committed) {
    start();
    const auto objects = connect();
    unsigned seen = 0;
    Dumping dumping;
    dumping.planning = false;
    dumping.after_end = [&](unsigned n) {
        if (n != 1) return;
        Objects::Found found;
        while (found.objects.empty()) found = take(objects->find({.name = name(1)}));
        const ObjectInfo& info = found.objects[0];
        EXPECT_EQ(info.container, path());
        EXPECT_EQ(info.origin, Origin::dumped);
        EXPECT_EQ(info.shape, shape(2));
        EXPECT_EQ(info.time, 0.25);
        std::vector<float> got(info.shape.count());
        wait_for_values(*objects, info.id, whole(info.shape), got);
        EXPECT_EQ(off_by(*objects, info.id, object(2, 1), whole(info.shape)), 0.0);
        // No commit has it: nobody can have made one since this rank's end().
        const auto source = read::Source::open(path());
        EXPECT_FALSE(source.ok() && (*source)->find(name(1)).ok());
        const lambda::Registry registry;
        expect_same(take(objects->run(info.id, "stats").wait()),
                    take(registry.run("stats", object(2, 1).whole())), 1e-9, "stats");
        ++seen;
    };
    EXPECT_EQ(write(dumping), std::vector<std::string>{});
    EXPECT_EQ(seen, 1u);
}

// Goal: what analyses find in transit, asked for by the Writer or by the operator, is what they
// find in the file afterwards: exactly, up to the order of sums, as nothing was lost.
TEST_F(DumpedObjects, have_what_was_found_in_transit) {
    const std::vector<std::string> wanted = {"stats", "min", "histogram(bins=16, low=-1, high=1)"};
    const std::vector<std::string> ordered = {"entropy", "quantiles(size=262144)",
                                              "clusters(above=0.25)", "mean"};
    options_.service.on_dump = ordered;
    Dumping dumping;
    dumping.analyses = wanted;
    EXPECT_EQ(write(dumping), std::vector<std::string>{});
    const auto objects = connect();
    const lambda::Registry registry;
    const auto source = take(read::Source::open(path()));
    for (unsigned n = 0; n < dumping.dumps; ++n) {
        const auto info = take(objects->find({.name = name(n)})).objects.at(0);
        ASSERT_EQ(info.results.size(), wanted.size() + ordered.size());
        lambda::TestObject<float> read = object(2, n);
        const std::size_t dataset = take(source->find(name(n)));
        const auto in_file = analyses_in(source->datasets()[dataset].spec);
        EXPECT_EQ(in_file.size(), wanted.size());
        ASSERT_TRUE(
            source->read(dataset, whole(read.shape), std::as_writable_bytes(std::span(read.values)))
                .ok());
        for (const ResultInfo& result : info.results) {
            const auto found = take(lambda::Results::parse(result.results));
            if (in_file.contains(result.call)) {
                expect_near(in_file[result.call], nlohmann::json(found.to_json()));
            }
            expect_same(found, take(registry.run(result.call, read.whole())), 1e-9, result.call);
            expect_same(take(objects->run(info.id, result.call).wait()), found, 1e-9, result.call);
        }
    }
}

// Goal: with a bound, what is found in transit is of the raw values; what is read is within the
// bound of them, and ranges are wide enough for it.
TEST_F(DumpedObjects, of_a_lossy_field_are_analysed_raw_and_read_within_the_bound) {
    constexpr double k_bound = 1e-2;
    Dumping dumping;
    dumping.bound = absolute(k_bound);
    dumping.analyses = {"min", "max"};
    EXPECT_EQ(write(dumping), std::vector<std::string>{});
    const auto objects = connect();
    for (unsigned n = 0; n < dumping.dumps; ++n) {
        Objects::Query query;
        query.name = name(n);
        query.regions = true;
        const auto info = take(objects->find(query)).objects.at(0);
        const auto raw = object(2, n);
        EXPECT_LE(off_by(*objects, info.id, raw, whole(raw.shape)), k_bound);
        EXPECT_GT(off_by(*objects, info.id, raw, whole(raw.shape)), 0.0);
        const lambda::Registry registry;
        for (const ResultInfo& result : info.results)
            expect_same(take(lambda::Results::parse(result.results)),
                        take(registry.run(result.call, raw.whole())), 0.0, result.call);
        for (const RegionInfo& region : info.regions) {
            std::vector<float> got(region.box.extent.count());
            ASSERT_TRUE(objects->get(info.id, region.box, got.data()).wait().ok());
            ASSERT_TRUE(region.range);
            EXPECT_TRUE(std::all_of(got.begin(), got.end(), [&](float x) {
                return !std::isfinite(x) ||
                       (x >= region.range->lowest && x <= region.range->highest);
            })) << to_string(region.box);
        }
    }
}

// Goal: blocks that found no room where they were planned are read from the file once it is
// committed.
TEST_F(DumpedObjects, whose_blocks_overflowed_are_read_once_they_are_committed) {
    Dumping dumping;
    dumping.reserve_factor = 0.5;
    EXPECT_EQ(write(dumping), std::vector<std::string>{});
    const auto objects = connect();
    for (unsigned n = 0; n < dumping.dumps; ++n) {
        const auto info = take(objects->find({.name = name(n)})).objects.at(0);
        EXPECT_LT(info.values, info.shape.count());
        EXPECT_EQ(off_by(*objects, info.id, object(2, n), whole(info.shape)), 0.0);
    }
}

// Goal: a service that has never seen a file reads, queries and analyses it all the same; regions
// without a range get one, once.
TEST_F(DumpedObjects, of_files_that_were_there_are_the_same) {
    Dumping dumping;
    EXPECT_EQ(write(dumping), std::vector<std::string>{});
    hub_.reset();
    start();
    const auto objects = connect();
    EXPECT_TRUE(take(objects->find({.name = name(0)})).objects.empty());
    const auto found = take(objects->find({.container = path()}));
    ASSERT_EQ(found.objects.size(), dumping.dumps);
    const lambda::Registry registry;
    for (unsigned n = 0; n < dumping.dumps; ++n) {
        const auto info = take(objects->find({.container = path(), .name = name(n)})).objects.at(0);
        EXPECT_EQ(info.id, found.objects[n].id);
        EXPECT_EQ(info.origin, Origin::filed);
        const auto raw = object(2, n);
        EXPECT_EQ(off_by(*objects, info.id, raw, whole(raw.shape)), 0.0);
        for (const std::string& call : all_calls())
            expect_same(take(objects->run(info.id, call).wait()),
                        take(registry.run(call, raw.whole())), 1e-9, call);
        const double most = *std::max_element(raw.values.begin(), raw.values.end());
        Objects::Query query{.container = path(), .name = name(n)};
        query.values = Range{most, most + 1.0};
        query.regions = true;
        const auto high = take(objects->find(query));
        ASSERT_EQ(high.objects.size(), 1u);
        EXPECT_GT(high.regions_skipped, 0u);
        bool has = false;
        for (const RegionInfo& region : high.objects[0].regions)
            has = has || (region.range && region.range->highest == most);
        EXPECT_TRUE(has);
    }
    EXPECT_FALSE(objects->find({.container = place_ + "/none.h5"}).ok());
    EXPECT_FALSE(objects->find({.container = "/etc/passwd"}).ok());
}

// Goal: an analysis that the service does not know, or that needs the values twice, is an error
// that says so.
TEST_F(DumpedObjects, cannot_be_analysed_by_what_is_not_there) {
    for (const char* call : {"nonsense", "histogram(bins=4)", "shuffle"}) {
        Dumping dumping;
        dumping.analyses = {call};
        const auto errors = write(dumping);
        ASSERT_FALSE(errors.empty()) << call;
        EXPECT_NE(errors[0].find(std::string(call).substr(0, 8)), std::string::npos) << errors[0];
    }
}

// Goal: whichever message the service dies after, a dataset says of itself what is right, or
// nothing.
TEST_F(DumpedObjects, say_nothing_wrong_of_themselves_wherever_the_service_dies) {
    const lambda::Registry registry;
    std::uint64_t said = 0, silent = 0;
    for (std::int64_t after = 6; after < 120; after += 6) {
        options_.die_after = after;
        options_.service.recover = false;
        hub_.reset();
        start();
        Dumping dumping;
        dumping.analyses = {"stats"};
        dumping.on_loss = OnLoss::write_here;
        ASSERT_EQ(write(dumping), std::vector<std::string>{}) << after;
        const auto source = take(read::Source::open(path()));
        for (unsigned n = 0; n < dumping.dumps; ++n) {
            const auto found = analyses_in(source->datasets()[take(source->find(name(n)))].spec);
            ++(found.empty() ? silent : said);
            if (found.empty()) continue;
            const auto wanted = take(registry.run("stats", object(2, n).whole()));
            EXPECT_EQ(found.begin()->at("count"), wanted.to_json().at("count")) << after;
            EXPECT_EQ(found.begin()->at("max"), wanted.to_json().at("max")) << after;
        }
    }
    EXPECT_GT(said, 0u);
    EXPECT_GT(silent, 0u);
}

}  // namespace
}  // namespace caesura::transit
