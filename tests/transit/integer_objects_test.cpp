// Goal: integers go through a service as they do without: every value in the file and in its
// objects is the one that was put, and analyses see them as float64.
#include <cmath>
#include <complex>
#include <cstring>

#include "base/short_float.hpp"
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
        const Field half = take(writer->define_field("half", float16, {1024}, absolute(0.25)));
        const Field mask = take(writer->define_field("mask", boolean, {1024}));
        const Field wave = take(writer->define_field("wave", complex64, {1024}, absolute(0.25)));
        for (unsigned n = 0; n < 2; ++n) {
            const auto ids = ids_of(n);
            auto iteration = writer->begin_iteration(n);
            auto dump = iteration.begin_dump(n);
            EXPECT_TRUE(dump.put(id, whole(k_ids_shape), ids.data()).ok());
            EXPECT_TRUE(dump.put(level, {{7, 9}, {30, 40}}, levels_.data()).ok());
            const Box line = whole({1024});
            EXPECT_TRUE(dump.put(half, line, halves_.data()).ok());
            EXPECT_TRUE(dump.put_bytes(mask, line, mask_.data(), boolean, Ownership::copy).ok());
            EXPECT_TRUE(dump.put(wave, line, waves_.data()).ok());
            const Status status = iteration.end();
            EXPECT_TRUE(status.ok()) << status.message();
        }
        const Status closed = writer->close();
        EXPECT_TRUE(closed.ok()) << closed.message();
    }
    IntegerObjects() {
        for (std::size_t i = 0; i < 1024; ++i) {
            const float x = 8.0F * std::sin(0.01F * static_cast<float>(i));
            halves_.push_back(base::to_short<Float16>(x));
            mask_.push_back(x > 4.0F ? std::uint8_t{1} : std::uint8_t{0});
            waves_.emplace_back(x, -2.0F * x);
        }
    }
    const std::vector<std::int8_t> levels_ = std::vector<std::int8_t>(1200, 3);
    std::vector<Float16> halves_;
    std::vector<std::uint8_t> mask_;
    std::vector<std::complex<float>> waves_;
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

TEST_F(IntegerObjects, of_other_types_are_what_was_put_within_their_bounds) {
    write({"stats"});
    const auto objects = connect();
    const auto source = take(read::Source::open(path()));
    const auto bytes_of = [&](const std::string& name, DType dtype, std::size_t bytes) {
        const std::size_t dataset = take(source->find(name));
        EXPECT_EQ(source->datasets()[dataset].spec.dtype, dtype) << name;
        std::vector<std::byte> values(bytes);
        EXPECT_TRUE(source->read(dataset, whole({1024}), values).ok()) << name;
        return values;
    };
    for (unsigned n = 0; n < 2; ++n) {
        const std::string meshes = "/data/" + std::to_string(n) + "/meshes/";
        const auto mask = bytes_of(meshes + "mask", boolean, 1024);
        EXPECT_EQ(std::memcmp(mask.data(), mask_.data(), mask.size()), 0);
        std::vector<Float16> halves(1024);
        const auto stored = bytes_of(meshes + "half", float16, 2048);
        std::memcpy(halves.data(), stored.data(), stored.size());
        std::vector<std::complex<float>> waves(1024);
        const auto parts = bytes_of(meshes + "wave", float32, 8192);
        std::memcpy(waves.data(), parts.data(), parts.size());
        std::vector<double> wide;
        for (std::size_t i = 0; i < 1024; ++i) {
            wide.push_back(static_cast<double>(base::to_float(halves_[i])));
            ASSERT_LE(std::abs(base::to_float(halves[i]) - base::to_float(halves_[i])), 0.25F);
            ASSERT_LE(std::abs(waves[i].real() - waves_[i].real()), 0.25F);
            ASSERT_LE(std::abs(waves[i].imag() - waves_[i].imag()), 0.25F);
        }
        const auto info = take(objects->find({.name = meshes + "half"})).objects.at(0);
        EXPECT_EQ(info.dtype, float16);
        ASSERT_EQ(info.results.size(), 1u);
        const lambda::TestObject<double> all{{1024}, wide, {}};
        expect_same(take(lambda::Results::parse(info.results[0].results)),
                    take(lambda::Registry().run("stats", all.whole())), 1e-9, "stats");
        // Of complex numbers there are none, and the dump is whole.
        EXPECT_TRUE(take(objects->find({.name = meshes + "wave"})).objects.at(0).results.empty());
    }
    const auto refused =
        objects->create({"run", "wave", complex64, {16}, 0.0, lossless()}).status();
    EXPECT_EQ(refused.code(), StatusCode::invalid_argument);
    EXPECT_NE(refused.message().find("object wave: complex64"), std::string::npos);
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
