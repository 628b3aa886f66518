// Goal: integers go through a service as they do without: every value in the file and in its
// objects is the one that was put, and analyses see them as float64.
#include "caesura/writer.hpp"
#include "read/source.hpp"
#include "transit/object_hub.hpp"

namespace caesura::transit {
namespace {

using lambda::take;

const Shape k_ids_shape{48, 32, 64};

std::vector<std::uint64_t> ids_of(unsigned dump) {
    std::mt19937_64 random(dump);
    std::vector<std::uint64_t> ids(k_ids_shape.count());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 3 * i + random() % 3;
    ids[5] = std::uint64_t{1} << 53;
    return ids;
}

class IntegerObjects : public ObjectHub {
  protected:
    std::string path() const { return place_ + "/run.h5"; }

    void write(const std::vector<std::string>& analyses) {
        start();
        writer::register_transport("service",
                                   [&](std::string_view, const writer::TransportOptions& asked)
                                       -> Result<std::shared_ptr<writer::Transport>> {
                                       ClientOptions client;
                                       client.writer = asked;
                                       auto made = Client::make(hub_->connect(), client);
                                       if (!made.ok()) return made.status();
                                       return std::shared_ptr<writer::Transport>(std::move(*made));
                                   });
        WriterOptions options;
        options.transport = "service:here";
        options.chunk_bytes = 64u << 10;
        options.memory_bytes = 64u << 20;
        options.durable = false;
        options.analyses = analyses;
        options.bound = absolute(0.25);  // of floats
        auto writer = take(Writer::create(path(), nullptr, options));
        const Field id = take(writer->define_field("id", uint64, k_ids_shape));
        FieldOptions partial;
        partial.coverage = Coverage::partial;
        partial.fill_value = -128.0;
        const Field level =
            take(writer->define_field("level", int8, {256, 512}, lossless(), partial));
        for (unsigned n = 0; n < 2; ++n) {
            const auto ids = ids_of(n);
            auto iteration = writer->begin_iteration(n);
            auto dump = iteration.begin_dump(n);
            EXPECT_TRUE(dump.put(id, whole(k_ids_shape), ids.data()).ok());
            EXPECT_TRUE(dump.put(level, {{7, 9}, {30, 40}}, levels_.data()).ok());
            const Status status = iteration.end();
            EXPECT_TRUE(status.ok()) << status.message();
        }
        const Status closed = writer->close();
        EXPECT_TRUE(closed.ok()) << closed.message();
    }
    const std::vector<std::int8_t> levels_ = std::vector<std::int8_t>(1200, 3);
};

template <class T>
std::vector<T> read_all(const read::Source& source, const std::string& name) {
    const std::size_t dataset = take(source.find(name));
    const store::DatasetSpec& spec = source.datasets()[dataset].spec;
    EXPECT_EQ(spec.dtype, dtype_of<T>());
    std::vector<T> values(spec.shape.count());
    const Box box{Shape::filled(spec.shape.rank(), 0), spec.shape};
    EXPECT_TRUE(source.read(dataset, box, std::as_writable_bytes(std::span(values))).ok());
    return values;
}

TEST_F(IntegerObjects, of_dumps_are_what_was_put_and_are_analysed_as_float64) {
    const std::string histogram = "histogram(bins=8, low=0, high=300000)";
    write({"stats", histogram});
    const auto objects = connect();
    const lambda::Registry registry;
    const auto source = take(read::Source::open(path()));
    std::vector<std::int8_t> levels(256 * 512, -128);
    for (std::size_t row = 7; row < 37; ++row)
        std::fill_n(levels.begin() + static_cast<std::ptrdiff_t>(row * 512 + 9), 40, 3);
    for (unsigned n = 0; n < 2; ++n) {
        const std::string meshes = "/data/" + std::to_string(n) + "/meshes/";
        const auto ids = ids_of(n);
        EXPECT_EQ(read_all<std::uint64_t>(*source, meshes + "id"), ids);
        EXPECT_EQ(read_all<std::int8_t>(*source, meshes + "level"), levels);
        const auto info = take(objects->find({.name = meshes + "id"})).objects.at(0);
        EXPECT_EQ(info.dtype, uint64);
        std::vector<std::uint64_t> got(ids.size());
        ASSERT_TRUE(
            objects->get_bytes(info.id, whole(k_ids_shape), got.data(), uint64).wait().ok());
        EXPECT_EQ(got, ids);
        const lambda::TestObject<double> wide{k_ids_shape, {ids.begin(), ids.end()}, {}};
        EXPECT_EQ(info.results.size(), 2u);
        for (const ResultInfo& found : info.results)
            expect_same(take(lambda::Results::parse(found.results)),
                        take(registry.run(found.call, wide.whole())), 1e-9, found.call);
        expect_same(take(objects->run(info.id, "quantiles(size=262144)").wait()),
                    take(registry.run("quantiles(size=262144)", wide.whole())), 1e-9, "quantiles");
    }
}

TEST_F(IntegerObjects, that_clients_put_keep_every_bit_and_have_no_bound) {
    const auto objects = connect();
    const auto refused =
        objects->create({"run", "ids", int32, {16, 16}, 0.0, absolute(0.5)}).status();
    EXPECT_EQ(refused.code(), StatusCode::invalid_argument);
    EXPECT_NE(refused.message().find("object ids: an error bound for int32"), std::string::npos)
        << refused.message();
    const ObjectNumber id = take(objects->create({"run", "ids", int32, {16, 16}, 0.0, lossless()}));
    std::vector<std::int32_t> values(256), got(256);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 2 == 0 ? std::numeric_limits<std::int32_t>::min() : static_cast<int>(i);
    ASSERT_TRUE(objects->put_bytes(id, whole({16, 16}), values.data(), int32).wait().ok());
    ASSERT_TRUE(objects->get_bytes(id, whole({16, 16}), got.data(), int32).wait().ok());
    EXPECT_EQ(got, values);
    const lambda::TestObject<double> wide{{16, 16}, {values.begin(), values.end()}, {}};
    expect_same(take(objects->run(id, "stats").wait()),
                take(lambda::Registry().run("stats", wide.whole())), 1e-9, "stats");
}

}  // namespace
}  // namespace caesura::transit
