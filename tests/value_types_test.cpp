// Goal: bool, float16, bfloat16 and complex numbers come back through stock HDF5 and through the
// Reader in the type of the field, within its bound in the type's own values (lossless ones bit for
// bit), whatever the ranks, codec and coverage; what a type cannot have is refused by name; values
// that lie in a device are staged.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <complex>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/short_float.hpp"
#include "base/thread_communicator.hpp"
#include "caesura/device.hpp"
#include "caesura/particles.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"
#include "store/hdf5_handle.hpp"
#include "store/number_types.hpp"

namespace caesura {
namespace {

using store::Handle;
using testing::OwnedBox;
using Bytes = std::vector<std::byte>;

struct Kind {
    DType dtype;
    ErrorBound bound;
    std::string name() const {
        return fmt::format("{}_{}_{}", to_string(dtype), static_cast<int>(bound.kind),
                           static_cast<int>(-std::log10(std::max(bound.value, 1e-9))));
    }
};

const Kind k_kinds[] = {{boolean, lossless()},       {float16, lossless()},
                        {float16, absolute(0.05)},   {float16, relative(1e-2)},
                        {bfloat16, lossless()},      {bfloat16, absolute(0.5)},
                        {complex64, lossless()},     {complex64, absolute(1e-2)},
                        {complex64, relative(1e-3)}, {complex128, absolute(1e-4)}};

/// Numbers of a field: of a value one, of a complex one two.
std::size_t numbers_of(DType dtype) { return is_complex(dtype) ? 2 : 1; }

/// Waves with noise and, among them, what no bound covers.
Bytes make(const Kind& kind, std::uint64_t n, unsigned seed) {
    std::mt19937 random(seed);
    const std::size_t numbers = numbers_of(kind.dtype);
    Bytes bytes(n * size_of(kind.dtype));
    for (std::uint64_t i = 0; i < n * numbers; ++i) {
        const double phase = 0.02 * static_cast<double>(i / numbers) + 1.5 * double(i % numbers);
        double x = 20 * std::sin(phase) + static_cast<double>(random() % 100) / 1000;
        const unsigned what = random() % 60;
        if (what == 0) x = std::nan("");
        if (what == 1) x = -HUGE_VAL;
        if (what == 2) x = -0.0;
        const auto single = static_cast<float>(x);
        std::byte* const at = bytes.data() + i * (size_of(kind.dtype) / numbers);
        if (kind.dtype == boolean) {
            *at = static_cast<std::byte>(x > 3);
        } else if (is_short_float(kind.dtype)) {
            base::narrow(reinterpret_cast<const std::byte*>(&single), kind.dtype, {at, 2});
        } else if (kind.dtype == complex64) {
            std::memcpy(at, &single, sizeof single);
        } else {
            std::memcpy(at, &x, sizeof x);
        }
    }
    return bytes;
}

double number_at(const Bytes& bytes, std::size_t i, DType dtype) {
    if (dtype == boolean) return std::to_integer<int>(bytes[i]);
    if (is_short_float(dtype)) {
        float wide = 0;
        base::widen({bytes.data() + 2 * i, 2}, dtype, reinterpret_cast<std::byte*>(&wide));
        return wide;
    }
    float single;
    double wide;
    if (dtype == complex64) {
        std::memcpy(&single, bytes.data() + i * sizeof single, sizeof single);
        return single;
    }
    std::memcpy(&wide, bytes.data() + i * sizeof wide, sizeof wide);
    return wide;
}

/// The first number that is not what was promised; empty: all are.
std::string broken(const Kind& kind, const Bytes& before, const Bytes& after) {
    if (before.size() != after.size()) return "other sizes";
    const std::size_t bytes = size_of(kind.dtype) / numbers_of(kind.dtype);
    double low = HUGE_VAL, high = -HUGE_VAL;
    const std::size_t n = before.size() / bytes;
    for (std::size_t i = 0; i < n; ++i) {
        const double x = number_at(before, i, kind.dtype);
        if (!std::isfinite(x)) continue;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    const double limit =
        kind.bound.value * (kind.bound.kind == ErrorBound::Kind::relative ? high - low : 1.0);
    for (std::size_t i = 0; i < n; ++i) {
        if (std::memcmp(&before[i * bytes], &after[i * bytes], bytes) == 0) continue;
        const double x = number_at(before, i, kind.dtype), y = number_at(after, i, kind.dtype);
        if (kind.bound.kind == ErrorBound::Kind::lossless || !(std::abs(x - y) <= limit))
            return fmt::format("number {}: {} became {}", i, x, y);
    }
    return {};
}

Bytes part_of(const Bytes& whole, const Shape& shape, const Box& box, DType dtype) {
    Bytes part(box.extent.count() * size_of(dtype));
    copy_box(box, {Shape::filled(shape.rank(), 0), shape}, whole.data(), box, part.data(),
             size_of(dtype));
    return part;
}

Bytes stock_values(const std::string& path, const std::string& dataset, DType dtype) {
    (void)testing::filter_available(0);  // our plugin is found
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Handle data(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle type(H5Dget_type(data.get()), H5Tclose);
    const Handle space(H5Dget_space(data.get()), H5Sclose);
    EXPECT_GT(H5Tequal(type.get(), store::file_type(dtype).get()), 0) << dataset;
    Bytes bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())) *
                size_of(dtype));
    EXPECT_GE(H5Dread(data.get(), store::native_type(dtype).get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      bytes.data()),
              0)
        << dataset;
    return bytes;
}

class ValueTypes : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_types_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
    std::unique_ptr<Writer> make_writer() {
        WriterOptions options;
        options.durable = false;
        options.chunk_bytes = 64u << 10;
        auto made = Writer::create(path_, nullptr, options);
        EXPECT_TRUE(made.ok()) << made.status().message();
        return *std::move(made);
    }
};

/// Fields of all kinds in each dump, by some ranks.
struct AllKinds {
    AllKinds(unsigned seed, int n_ranks) : ranks(n_ranks), random(seed) {
        const int axes = 1 + static_cast<int>(random() % 3);
        const std::uint64_t longest[] = {50000, 250, 36};
        shape = Shape::filled(axes, 1);
        for (int axis = 0; axis < axes; ++axis) shape[axis] = 1 + random() % longest[axes - 1];
        testing::cut({Shape::filled(axes, 0), shape}, ranks, 3, random, boxes);
        options.chunk_bytes = 64u << 10;
        options.durable = false;
    }
    Bytes values(const Kind& kind, std::uint64_t dump) const {
        return make(kind, shape.count(), static_cast<unsigned>(dump * 20 + unsigned(kind.dtype)));
    }
    Status write(const std::string& path, std::unique_ptr<Communicator> comm) const {
        const int rank = comm->rank();
        auto made = Writer::create(path, std::move(comm), options);
        if (!made.ok()) return made.status();
        std::vector<Field> fields;
        for (const Kind& kind : k_kinds) {
            auto field = (*made)->define_field(kind.name(), kind.dtype, shape, kind.bound);
            if (!field.ok()) return field.status();
            fields.push_back(*field);
        }
        for (std::uint64_t d = 0; d < dumps; ++d) {
            auto iteration = (*made)->begin_iteration(d);
            auto dump = iteration.begin_dump(static_cast<double>(d));
            for (std::size_t f = 0; f < fields.size(); ++f) {
                const Kind& kind = k_kinds[f];
                const Bytes whole = values(kind, d);
                for (const OwnedBox& one : boxes)
                    if (one.rank == rank)
                        (void)dump.put_bytes(fields[f], one.box,
                                             part_of(whole, shape, one.box, kind.dtype).data(),
                                             kind.dtype, Ownership::copy);
            }
            if (Status status = iteration.end(); !status.ok()) return status;
        }
        return (*made)->close();
    }
    std::vector<std::string> write(const std::string& path) const {
        std::mutex mutex;
        std::vector<std::string> errors;
        base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
            const Status status = write(path, std::move(comm));
            const std::lock_guard lock(mutex);
            if (!status.ok()) errors.push_back(status.message());
        });
        return errors;
    }
    void check(const std::string& path) const {
        const auto reader = Reader::open(path, {.threads = 2});
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        for (std::uint64_t d = 0; d < dumps; ++d)
            for (const Kind& kind : k_kinds) {
                SCOPED_TRACE(fmt::format("{} of dump {} {}", kind.name(), d, to_string(shape)));
                const Bytes before = values(kind, d);
                const Bytes stock = stock_values(
                    path, fmt::format("/data/{}/meshes/{}", d, kind.name()), kind.dtype);
                EXPECT_EQ(broken(kind, before, stock), "");
                const auto field = (*reader)->find(kind.name(), d);
                ASSERT_TRUE(field.ok()) << field.status().message();
                const FieldInfo& info = (*reader)->fields()[*field];
                EXPECT_EQ(to_string(info.type),
                          is_complex(kind.dtype)
                              ? fmt::format("2 {}", to_string(number_type(kind.dtype)))
                              : to_string(kind.dtype));
                EXPECT_EQ(info.bound, kind.bound);
                Bytes bytes(info.raw_bytes);
                const Box whole{Shape::filled(shape.rank(), 0), shape};
                const Status status = (*reader)->read(*field, whole, bytes);
                ASSERT_TRUE(status.ok()) << status.message();
                EXPECT_TRUE(bytes == stock);
            }
    }

    int ranks;
    std::mt19937 random;
    WriterOptions options;
    Shape shape;
    std::vector<OwnedBox> boxes;
    std::uint64_t dumps = 2;
};

TEST_F(ValueTypes, come_back_within_their_bounds_on_1_and_4_ranks) {
    const char* const codecs[] = {"caesura", "none", "caesura:regions", "caesura:planes"};
    for (unsigned seed = 1; seed <= 12; ++seed) {
        AllKinds all(seed, seed % 2 == 0 ? 1 : 4);
        all.options.codec.name = codecs[seed / 2 % 4];
        all.options.codec.verify = seed % 3 == 0;
        const auto errors = all.write(path_);
        ASSERT_TRUE(errors.empty()) << "seed " << seed << ": " << errors[0];
        all.check(path_);
        if (HasFailure()) FAIL() << "seed " << seed << " " << all.options.codec.name;
    }
}

TEST_F(ValueTypes, take_the_codecs_of_others) {
    for (const char* const codec : {"zstd", "blosc2", "sz3", "zfp", "round+zstd"}) {
        AllKinds all(3, 1);
        all.options.codec.name = codec;
        const auto writer = Writer::create(path_, nullptr, all.options);
        ASSERT_TRUE(writer.ok());
        const auto field = (*writer)->define_field("f", float32, all.shape, absolute(1.0));
        if (field.status().code() == StatusCode::unsupported) GTEST_SKIP() << "no filter plugins";
        ASSERT_TRUE((*writer)->close().ok());
        const auto errors = all.write(path_);
        ASSERT_TRUE(errors.empty()) << codec << ": " << errors[0];
        all.check(path_);
        if (HasFailure()) FAIL() << codec;
    }
}

/// A wave of complex numbers; where nothing is put both parts are `fill`.
template <class T>
std::vector<std::complex<T>> wave(const Shape& shape, const std::vector<Box>& boxes, T fill) {
    std::vector<std::complex<T>> all(shape.count(), {fill, fill});
    const auto put = [&](const Box& box) {
        for (std::uint64_t i = 0; i < box.extent[0]; ++i)
            for (std::uint64_t j = 0; j < box.extent[1]; ++j)
                for (std::uint64_t k = 0; k < box.extent[2]; ++k) {
                    const std::uint64_t z = box.offset[0] + i, y = box.offset[1] + j,
                                        x = box.offset[2] + k;
                    const double phase = 0.05 * double(z) + 0.09 * double(y) + 0.13 * double(x);
                    all[(z * shape[1] + y) * shape[2] + x] = {static_cast<T>(5 * std::sin(phase)),
                                                              static_cast<T>(std::cos(2 * phase))};
                }
    };
    for (const Box& box : boxes) put(box);
    return all;
}

Bytes bytes_of(const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

TEST_F(ValueTypes, of_complex_numbers_lie_in_some_boxes_and_between_them_is_the_fill_value) {
    const Shape shape = {40, 50, 60};
    // The second one ends at the field's edge; a chunk of the first is covered in part.
    const std::vector<Box> boxes = {{{0, 0, 0}, {19, 21, 23}}, {{30, 30, 30}, {10, 20, 30}}};
    const auto before = wave<double>(shape, boxes, -2.5);
    const Bytes whole = bytes_of(before);
    for (const char* const codec : {"caesura", "none", "caesura:strong"})
        for (const ErrorBound& bound : {absolute(1e-3), lossless()}) {
            const Kind kind{complex128, bound};
            SCOPED_TRACE(fmt::format("{} {}", codec, kind.name()));
            auto writer = make_writer();
            FieldOptions options;
            options.coverage = Coverage::partial;
            options.fill_value = -2.5;
            options.codec = CodecSpec{codec};
            const auto field = writer->define_field("wave", complex128, shape, bound, options);
            ASSERT_TRUE(field.ok()) << field.status().message();
            auto iteration = writer->begin_iteration(0);
            auto dump = iteration.begin_dump(0.0);
            for (const Box& box : boxes)
                ASSERT_TRUE(dump.put_bytes(*field, box,
                                           part_of(whole, shape, box, complex128).data(),
                                           complex128, Ownership::copy)
                                .ok());
            ASSERT_TRUE(iteration.end().ok());
            ASSERT_TRUE(writer->close().ok());
            const Bytes stock = stock_values(path_, "/data/0/meshes/wave", complex128);
            EXPECT_EQ(broken(kind, whole, stock), "");
            const auto* const after = reinterpret_cast<const std::complex<double>*>(stock.data());
            for (std::size_t i = 0; i < before.size(); ++i)
                if (before[i].real() == -2.5 && before[i].imag() == -2.5)
                    ASSERT_EQ(after[i], before[i]) << i;
            const auto reader = Reader::open(path_, {.threads = 2});
            ASSERT_TRUE(reader.ok()) << reader.status().message();
            const auto found = (*reader)->find("wave", 0);
            ASSERT_TRUE(found.ok());
            Bytes read(whole.size());
            ASSERT_TRUE((*reader)->read(*found, {{0, 0, 0}, shape}, read).ok());
            EXPECT_TRUE(read == stock);
        }
}

TEST_F(ValueTypes, of_complex_numbers_keep_a_map_of_bounds_in_both_parts) {
    const Shape shape = {64, 64, 64};
    const auto before = wave<float>(shape, {{{0, 0, 0}, shape}}, 0.0F);
    const auto write = [&](bool by_value, bool partial, std::vector<std::complex<float>>& after) {
        auto writer = Writer::create(path_, nullptr, {.durable = false});
        FieldOptions options;
        if (partial) options.coverage = Coverage::partial;
        options.bound_map.boxes = {{{{0, 0, 0}, {16, 64, 64}}, 1e-5}};
        // Imaginary parts are 1 at most: what is asked of a real part holds for both.
        if (by_value) options.bound_map.values = {{4.9, HUGE_VAL, 1e-4}};
        const auto field = (*writer)->define_field("f", complex64, shape, absolute(0.1), options);
        ASSERT_TRUE(field.ok()) << field.status().message();
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(dump.put(*field, {{0, 0, 0}, shape}, before.data()).ok());
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE((*writer)->close().ok());
        const Bytes stock = stock_values(path_, "/data/0/meshes/f", complex64);
        std::memcpy(after.data(), stock.data(), stock.size());
    };
    for (const bool by_value : {false, true})
        for (const bool partial : {false, true}) {
            SCOPED_TRACE(fmt::format("by value {}, partial {}", by_value, partial));
            std::vector<std::complex<float>> after(before.size());
            write(by_value, partial, after);
            if (HasFailure()) return;
            double outside = 0.0;
            for (std::size_t i = 0; i < before.size(); ++i) {
                const auto off = before[i] - after[i];
                const double worst =
                    std::max(std::abs(double(off.real())), std::abs(double(off.imag())));
                const bool high = by_value && double(before[i].real()) >= 4.9;
                const double bound = i < 16 * 4096 ? 1e-5 : high ? 1e-4 : 0.1;
                ASSERT_LE(worst, bound) << i;
                outside = std::max(outside, worst);
            }
            if (!by_value) EXPECT_GT(outside, 1e-3);  // the map is of a part alone
            EXPECT_LT(std::filesystem::file_size(path_), before.size() * 8 / 3);
        }
}

TEST_F(ValueTypes, are_put_by_their_c_plus_plus_types) {
    auto writer = make_writer();
    const auto mask = writer->define_field("mask", dtype_of<bool>(), {4});
    const auto half = writer->define_field("half", dtype_of<Float16>(), {4}, lossless());
    const auto wave =
        writer->define_field("wave", dtype_of<std::complex<double>>(), {2, 2}, absolute(1e-3));
    ASSERT_TRUE(mask.ok() && half.ok() && wave.ok()) << wave.status().message();
    const bool on[] = {true, false, false, true};
    const Float16 halves[] = {{0x3c00}, {0x8000}, {0x7e55}, {0xfc00}};
    const std::complex<double> waves[] = {{1, 2}, {3, -4}, {0, 1e6}, {-7, 0}};
    {
        auto iteration = writer->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(dump.put(*mask, {{0}, {4}}, on).ok());
        ASSERT_TRUE(dump.put(*half, {{0}, {4}}, halves).ok());
        ASSERT_TRUE(dump.put(*wave, {{0, 0}, {2, 2}}, waves).ok());
        ASSERT_TRUE(iteration.end().ok());
    }
    {
        auto iteration = writer->begin_iteration(1);
        auto dump = iteration.begin_dump(0.0);
        const std::uint8_t wrong[] = {1, 0, 0, 1};
        const Status refused = dump.put(*mask, {{0}, {4}}, wrong);
        EXPECT_NE(refused.message().find("the data are uint8, the field is bool"),
                  std::string::npos)
            << refused.message();
        EXPECT_FALSE(iteration.end().ok());
    }
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(std::memcmp(stock_values(path_, "/data/0/meshes/mask", boolean).data(), on, 4), 0);
    EXPECT_EQ(std::memcmp(stock_values(path_, "/data/0/meshes/half", float16).data(), halves, 8),
              0);
    const Bytes stored = stock_values(path_, "/data/0/meshes/wave", complex128);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_LE(std::abs(number_at(stored, 2 * i, complex128) - waves[i].real()), 1e-3);
        EXPECT_LE(std::abs(number_at(stored, 2 * i + 1, complex128) - waves[i].imag()), 1e-3);
    }
}

TEST_F(ValueTypes, refuse_what_they_cannot_have_by_name) {
    auto writer = make_writer();
    const auto message = [&](DType dtype, const Shape& shape, const ErrorBound& bound,
                             const FieldOptions& options = {}) {
        return writer->define_field("f", dtype, shape, bound, options).status().message();
    };
    EXPECT_EQ(message(boolean, {8}, absolute(0.5)),
              "field 'f': an error bound for bool; integers are stored without loss");
    const std::uint64_t large = std::uint64_t{1} << 30;
    EXPECT_EQ(
        message(complex128, {large, large}, lossless()),
        "field 'f': shape [1073741824, 1073741824] is of more bytes of complex128 than a file "
        "can have");
    EXPECT_EQ(message(float16, {large, large, large}, lossless()),
              "field 'f': shape [1073741824, 1073741824, 1073741824] is of more bytes of float16 "
              "than a file can have");
    EXPECT_EQ(message(complex64, {2, 2, 2, 2}, lossless()),
              "field 'f': complex64 of 4 axes; 1 to 3 are possible");
    FieldOptions partial;
    partial.coverage = Coverage::partial;
    partial.fill_value = 2.0;
    EXPECT_EQ(message(boolean, {8}, lossless(), partial), "field 'f': fill_value 2 is no bool");
    partial.fill_value = 1e6;
    EXPECT_EQ(message(float16, {8}, lossless(), partial),
              "field 'f': fill_value 1000000 is no float16");
    EXPECT_TRUE(writer->close().ok());
}

TEST_F(ValueTypes, covered_in_part_have_the_fill_value_elsewhere) {
    auto writer = make_writer();
    FieldOptions options;
    options.coverage = Coverage::partial;
    options.fill_value = 1.0;
    const Kind kinds[] = {{boolean, lossless()}, {float16, absolute(0.1)}, {bfloat16, lossless()}};
    const Box box{{3, 5}, {64, 100}};
    for (const Kind& kind : kinds) {
        const auto field =
            writer->define_field(kind.name(), kind.dtype, {300, 300}, kind.bound, options);
        ASSERT_TRUE(field.ok()) << field.status().message();
    }
    auto iteration = writer->begin_iteration(0);
    auto dump = iteration.begin_dump(0.0);
    for (std::uint32_t f = 0; f < std::size(kinds); ++f)
        ASSERT_TRUE(dump.put_bytes(Field{f}, box, make(kinds[f], 6400, 5).data(), kinds[f].dtype,
                                   Ownership::copy)
                        .ok());
    ASSERT_TRUE(iteration.end().ok());
    ASSERT_TRUE(writer->close().ok());
    const Box whole{{0, 0}, {300, 300}};
    for (const Kind& kind : kinds) {
        const std::size_t bytes = size_of(kind.dtype);
        const Bytes all = stock_values(path_, "/data/0/meshes/" + kind.name(), kind.dtype);
        Bytes inside(6400 * bytes);
        copy_box(box, whole, all.data(), box, inside.data(), bytes);
        EXPECT_EQ(broken(kind, make(kind, 6400, 5), inside), "") << kind.name();
        for (const std::size_t i : {std::size_t{0}, std::size_t{4}, std::size_t{89999}})
            EXPECT_EQ(number_at(all, i, kind.dtype), 1.0) << kind.name();
    }
}

TEST_F(ValueTypes, of_particles_come_back) {
    auto writer = make_writer();
    const auto species = writer->define_species("waves");
    ASSERT_TRUE(species.ok());
    const Kind kinds[] = {
        {boolean, lossless()}, {float16, absolute(0.1)}, {complex64, absolute(1e-2)}};
    std::vector<Field> records;
    for (const Kind& kind : kinds) {
        const auto record = writer->define_record(*species, std::string(to_string(kind.dtype)),
                                                  kind.dtype, kind.bound);
        ASSERT_TRUE(record.ok()) << record.status().message();
        records.push_back(*record);
    }
    for (std::uint64_t n = 0; n < 2; ++n) {
        auto iteration = writer->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        for (std::size_t r = 0; r < records.size(); ++r)
            ASSERT_TRUE(dump.put_particle_bytes(records[r], 5000 + n,
                                                make(kinds[r], 5000 + n, unsigned(n)).data(),
                                                kinds[r].dtype, Ownership::copy)
                            .ok());
        ASSERT_TRUE(iteration.end().ok());
    }
    ASSERT_TRUE(writer->close().ok());
    for (unsigned n = 0; n < 2; ++n)
        for (const Kind& kind : kinds)
            EXPECT_EQ(broken(kind, make(kind, 5000 + n, n),
                             stock_values(path_,
                                          fmt::format("/data/{}/particles/waves/{}", n,
                                                      to_string(kind.dtype)),
                                          kind.dtype)),
                      "");
}

// ------------------------------------------------------------------------------- devices

TEST_F(ValueTypes, values_in_a_device_are_staged_and_may_be_borrowed_too) {
    device::EmulatedMachine machine;
    machine.memory_bytes = 1 << 20;
    machine.link_bytes_per_s = machine.copy_bytes_per_s = 1e9;
    machine.compress_s = [](double) { return 0.0; };
    auto gpu = device::EmulatedDevice::create(std::move(machine));
    ASSERT_TRUE(gpu.ok());
    std::byte* const memory = *gpu->allocate(4096 * sizeof(float));
    auto writer = make_writer();
    const auto field = writer->define_field("rho", float32, {64, 64}, absolute(1e-3));
    ASSERT_TRUE(field.ok());
    const auto fill = [&](float start) {
        for (int i = 0; i < 4096; ++i) {
            const float value = start + 0.01F * static_cast<float>(i % 77);
            std::memcpy(memory + i * sizeof value, &value, sizeof value);
        }
    };
    for (const Ownership own : {Ownership::copy, Ownership::borrow}) {
        const auto n = static_cast<std::uint64_t>(own == Ownership::borrow);
        fill(static_cast<float>(n));
        auto iteration = writer->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        const Box box{{0, 0}, {64, 64}};
        ASSERT_TRUE(dump.put(*field, box, reinterpret_cast<const float*>(memory), own).ok());
        fill(1e6F);  // it is the application's again
        ASSERT_TRUE(iteration.end().ok());
    }
    {
        auto iteration = writer->begin_iteration(2);
        auto dump = iteration.begin_dump(0.0);
        const auto* const beyond = reinterpret_cast<const float*>(memory + 4);
        const Status status = dump.put(*field, {{0, 0}, {64, 64}}, beyond);
        EXPECT_NE(status.message().find("field 'rho' on rank 0"), std::string::npos)
            << status.message();
        EXPECT_FALSE(iteration.end().ok());
    }
    ASSERT_TRUE(writer->close().ok());
    for (int n = 0; n < 2; ++n) {
        const auto stored = testing::read_dataset(path_, fmt::format("/data/{}/meshes/rho", n));
        ASSERT_EQ(stored.values.size(), 4096U);
        for (int i = 0; i < 4096; ++i)
            ASSERT_NEAR(stored.values[static_cast<std::size_t>(i)], n + 0.01 * (i % 77), 1.001e-3);
    }
}

}  // namespace
}  // namespace caesura
