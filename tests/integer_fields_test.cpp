// Goal: what the Writer is given as integers of any width comes back bit for bit, through stock
// HDF5 and through the Reader, in the type of the field, whatever the ranks, codec and coverage; a
// bound that would lose something is refused; and the space kept for their blocks is about what
// they take.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "codec/integers/integer_families.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"
#include "store/hdf5_handle.hpp"
#include "store/number_types.hpp"

namespace caesura {
namespace {

using store::Handle;
using testing::OwnedBox;
using Bytes = std::vector<std::byte>;

constexpr DType k_integers[] = {int8, int16, int32, int64, uint8, uint16, uint32, uint64, boolean};

class IntegerFields : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_integers_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
};

/// What one value of a type is, by the number of its kind: ends of the range among others.
std::uint64_t value_of(DType dtype, std::uint64_t i, std::mt19937_64& random) {
    const unsigned bits = static_cast<unsigned>(8 * size_of(dtype));
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    const std::uint64_t ends[] = {0, top, top - 1, ~std::uint64_t{0}, 1};
    return random() % 7 == 0 ? ends[random() % 5] : i / 3 + random() % 2;
}

Bytes values_of(DType dtype, std::uint64_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    codec::FamilyValues values(n);
    for (std::uint64_t i = 0; i < n; ++i) values[i] = value_of(dtype, i, random);
    return codec::as_bytes_of(values, dtype);
}

/// A part of a whole array, dense.
Bytes part_of(const Bytes& whole, const Shape& shape, const Box& box, DType dtype) {
    Bytes part(box.extent.count() * size_of(dtype));
    copy_box(box, {Shape::filled(shape.rank(), 0), shape}, whole.data(), box, part.data(),
             size_of(dtype));
    return part;
}

/// A dataset through stock HDF5 and our filter plugin, if its type in the file is `dtype`'s.
Bytes stock_values(const std::string& path, const std::string& dataset, DType dtype) {
    (void)testing::filter_available(0);  // our plugin is found
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Handle data(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle type(H5Dget_type(data.get()), H5Tclose);
    const Handle space(H5Dget_space(data.get()), H5Sclose);
    EXPECT_GT(H5Tequal(type.get(), store::file_type(dtype).get()), 0) << dataset;
    EXPECT_EQ(H5Tget_order(type.get()) == H5T_ORDER_BE, false);
    Bytes bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())) *
                size_of(dtype));
    EXPECT_GE(H5Dread(data.get(), store::native_type(dtype).get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      bytes.data()),
              0)
        << dataset;
    return bytes;
}

/// Every integer type and a lossy float field in each dump, by some ranks.
struct AllTypes {
    AllTypes(unsigned seed, int n_ranks) : ranks(n_ranks), random(seed) {
        const int axes = 1 + static_cast<int>(random() % 4);
        const std::uint64_t longest[] = {90000, 300, 40, 16};
        shape = Shape::filled(axes, 1);
        for (int axis = 0; axis < axes; ++axis) shape[axis] = 1 + random() % longest[axes - 1];
        testing::cut({Shape::filled(axes, 0), shape}, ranks, 4, random, boxes);
        options.chunk_bytes = 64u << 10;
        options.durable = false;
        options.bound = absolute(0.5);  // of floats
    }
    Bytes values(DType dtype, std::uint64_t dump) const {
        return values_of(dtype, shape.count(), static_cast<unsigned>(dump) * 20 + unsigned(dtype));
    }
    std::vector<float> floats(std::uint64_t dump) const {
        return testing::make_field<float>(shape, static_cast<unsigned>(dump), 0);
    }

    Status write(const std::string& path, std::unique_ptr<Communicator> comm) const {
        const int rank = comm->rank();
        auto made = Writer::create(path, std::move(comm), options);
        if (!made.ok()) return made.status();
        Writer& writer = **made;
        std::vector<Field> fields;
        for (const DType dtype : k_integers) {
            auto field = writer.define_field(std::string(to_string(dtype)), dtype, shape);
            if (!field.ok()) return field.status();
            fields.push_back(*field);
        }
        auto smooth = writer.define_field("smooth", float32, shape);
        if (!smooth.ok()) return smooth.status();
        for (std::uint64_t d = 0; d < dumps; ++d) {
            auto iteration = writer.begin_iteration(d);
            auto dump = iteration.begin_dump(static_cast<double>(d));
            for (std::size_t f = 0; f < fields.size(); ++f) {
                const Bytes whole = values(k_integers[f], d);
                for (const OwnedBox& one : boxes) {
                    if (one.rank != rank) continue;
                    const Bytes part = part_of(whole, shape, one.box, k_integers[f]);
                    (void)dump.put_bytes(fields[f], one.box, part.data(), k_integers[f],
                                         Ownership::copy);
                }
            }
            const auto whole = floats(d);
            for (const OwnedBox& one : boxes)
                if (one.rank == rank)
                    (void)dump.put(*smooth, one.box, testing::take(whole, shape, one.box).data());
            if (Status status = iteration.end(); !status.ok()) return status;
        }
        return writer.close();
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

    int ranks;
    std::mt19937 random;
    WriterOptions options;
    Shape shape;
    std::vector<OwnedBox> boxes;
    std::uint64_t dumps = 2;
};

void check_by_reader(const AllTypes& all, const std::string& path) {
    const auto reader = Reader::open(path, {.threads = 2});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    for (std::uint64_t d = 0; d < all.dumps; ++d)
        for (const DType dtype : k_integers) {
            const std::string name(to_string(dtype));
            const auto field = (*reader)->find(name, d);
            ASSERT_TRUE(field.ok()) << field.status().message();
            const FieldInfo& info = (*reader)->fields()[*field];
            EXPECT_EQ(to_string(info.type), name);
            EXPECT_EQ(info.codec, all.options.codec.name);
            EXPECT_EQ(info.bound, lossless());
            Bytes bytes(info.raw_bytes);
            const Box whole{Shape::filled(all.shape.rank(), 0), all.shape};
            const Status status = (*reader)->read(*field, whole, bytes);
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_EQ(bytes, all.values(dtype, d)) << name << " of dump " << d;
        }
}

TEST_F(IntegerFields, of_every_width_come_back_beside_lossy_floats_on_1_and_4_ranks) {
    const char* const codecs[] = {"caesura", "none", "caesura:regions", "caesura:planes"};
    for (unsigned seed = 1; seed <= 16; ++seed) {
        AllTypes all(seed, seed % 2 == 0 ? 1 : 4);
        all.options.codec.name = codecs[seed / 2 % 4];
        const auto errors = all.write(path_);
        ASSERT_TRUE(errors.empty()) << "seed " << seed << ": " << errors[0];
        for (std::uint64_t d = 0; d < all.dumps; ++d) {
            const std::string meshes = fmt::format("/data/{}/meshes/", d);
            for (const DType dtype : k_integers)
                ASSERT_EQ(stock_values(path_, meshes + std::string(to_string(dtype)), dtype),
                          all.values(dtype, d))
                    << "seed " << seed << " " << to_string(dtype) << " of dump " << d;
            EXPECT_EQ(testing::broken(all.floats(d),
                                      testing::read_dataset(path_, meshes + "smooth").values, 0.5),
                      "");
        }
        check_by_reader(all, path_);
        if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
}

TEST_F(IntegerFields, take_the_codecs_of_others_as_far_as_these_lose_nothing) {
    for (const char* const codec : {"zstd", "blosc2", "sz3", "zfp", "round+zstd"}) {
        AllTypes all(3, 1);
        all.options.codec.name = codec;
        const auto writer = Writer::create(path_, nullptr, all.options);
        ASSERT_TRUE(writer.ok());
        const auto field = (*writer)->define_field("f", float32, all.shape);
        if (field.status().code() == StatusCode::unsupported) GTEST_SKIP() << "no filter plugins";
        ASSERT_TRUE((*writer)->close().ok());
        const auto errors = all.write(path_);
        ASSERT_TRUE(errors.empty()) << codec << ": " << errors[0];
        check_by_reader(all, path_);
        if (HasFatalFailure()) FAIL() << codec;
    }
}

TEST_F(IntegerFields, put_by_their_c_plus_plus_type_are_of_the_field_or_refused) {
    WriterOptions options;
    options.durable = false;
    auto writer = Writer::create(path_, nullptr, options);
    ASSERT_TRUE(writer.ok());
    const auto field = (*writer)->define_field("id", uint64, {4});
    ASSERT_TRUE(field.ok()) << field.status().message();
    {
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        const std::int64_t wrong[] = {1, 2, 3, 4};
        const Status refused = dump.put(*field, {{0}, {4}}, wrong);
        EXPECT_EQ(refused.code(), StatusCode::invalid_argument);
        EXPECT_NE(refused.message().find("the data are int64, the field is uint64"),
                  std::string::npos)
            << refused.message();
        EXPECT_FALSE(iteration.end().ok());
    }
    const unsigned long long ids[] = {~0ULL, 0, 1ULL << 63, 9007199254740993ULL};  // 2^53 + 1
    auto iteration = (*writer)->begin_iteration(1);
    ASSERT_TRUE(iteration.begin_dump(0.0).put(*field, {{0}, {4}}, ids).ok());
    ASSERT_TRUE(iteration.end().ok());
    ASSERT_TRUE((*writer)->close().ok());
    const auto* const first = reinterpret_cast<const std::byte*>(ids);
    EXPECT_EQ(stock_values(path_, "/data/1/meshes/id", uint64), Bytes(first, first + sizeof ids));
}

TEST_F(IntegerFields, with_a_bound_are_refused_by_name_and_type) {
    WriterOptions options;
    options.bound = relative(1e-3);  // is not theirs
    options.durable = false;
    auto writer = Writer::create(path_, nullptr, options);
    ASSERT_TRUE(writer.ok());
    for (const ErrorBound& bound :
         {absolute(1.0), relative(0.1), pointwise_relative(0.1), psnr(60.0)}) {
        const Status status =
            (*writer)->define_field("cell", int32, {8}, bound, FieldOptions{}).status();
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        EXPECT_EQ(status.message(),
                  "field 'cell': an error bound for int32; integers are stored without loss");
    }
    FieldOptions mapped;
    mapped.bound_map.boxes.push_back({Box{{0}, {4}}, 1.0});
    const Status of_map = (*writer)->define_field("cell", uint8, {8}, lossless(), mapped).status();
    EXPECT_EQ(of_map.code(), StatusCode::invalid_argument);
    EXPECT_NE(of_map.message().find("a bound map for uint8"), std::string::npos)
        << of_map.message();
    FieldOptions numbers;
    numbers.codec = CodecSpec{"sz3", {0, 0, 0, 0, 0, 0, 0, 0, 0}, {}};
    const Status of_codec =
        (*writer)->define_field("cell", int64, {8}, lossless(), numbers).status();
    EXPECT_FALSE(of_codec.ok());
    EXPECT_FALSE((*writer)->define_field("cell", static_cast<DType>(16), {8}).ok());
    EXPECT_FALSE((*writer)->define_field("cell", static_cast<DType>(0), {8}).ok());
    EXPECT_TRUE((*writer)->define_field("cell", int32, {8}).ok());
    EXPECT_TRUE((*writer)->close().ok());
}

TEST_F(IntegerFields, refuse_a_fill_value_that_their_type_lacks) {
    auto writer = Writer::create(path_, nullptr);
    ASSERT_TRUE(writer.ok());
    const auto refused = [&](DType dtype, const FillValue& value, const char* message) {
        FieldOptions options;
        options.coverage = Coverage::partial;
        options.fill_value = value;
        const Status status =
            (*writer)->define_field("cell", dtype, {8}, lossless(), options).status();
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        EXPECT_EQ(status.message(), message);
    };
    refused(uint8, 256.0, "field 'cell': fill_value 256 is no uint8");
    refused(uint64, -1.0, "field 'cell': fill_value -1 is no uint64");
    refused(int32, 0.5, "field 'cell': fill_value 0.5 is no int32");
    refused(int64, std::nan(""), "field 'cell': fill_value nan is no int64");
    refused(int64, 9223372036854775808.0,
            "field 'cell': fill_value 9.223372036854776e+18 is no int64");
    refused(int8, std::int64_t{-129}, "field 'cell': fill_value -129 is no int8");
    refused(float32, 1e300, "field 'cell': fill_value 1e+300 is no float32");
    EXPECT_TRUE((*writer)->close().ok());
}

/// A field that boxes cover in part.
template <class T>
void write_partial(const std::string& path, const FillValue& fill, std::span<const T> values) {
    WriterOptions options;
    options.chunk_bytes = 64u << 10;
    options.durable = false;
    auto writer = Writer::create(path, nullptr, options);
    ASSERT_TRUE(writer.ok());
    FieldOptions of_field;
    of_field.coverage = Coverage::partial;
    of_field.fill_value = fill;
    const auto field =
        (*writer)->define_field("level", dtype_of<T>(), {512, 512}, lossless(), of_field);
    ASSERT_TRUE(field.ok()) << field.status().message();
    auto iteration = (*writer)->begin_iteration(0);
    auto dump = iteration.begin_dump(0.0);
    ASSERT_TRUE(dump.put(*field, {{3, 5}, {64, 100}}, values.data()).ok());
    ASSERT_TRUE(dump.put(*field, {{70, 5}, {64, 100}}, values.data()).ok());
    ASSERT_TRUE(iteration.end().ok());
    ASSERT_TRUE((*writer)->close().ok());
}

template <class T>
void come_back_partial(const std::string& path, const FillValue& fill, T expected_fill) {
    std::vector<T> values(6400);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * i);
    write_partial<T>(path, fill, values);
    std::vector<T> expected(512 * 512, expected_fill);
    for (const std::uint64_t row : {3u, 70u})
        copy_box({{row, 5}, {64, 100}}, {{row, 5}, {64, 100}},
                 reinterpret_cast<const std::byte*>(values.data()), {{0, 0}, {512, 512}},
                 reinterpret_cast<std::byte*>(expected.data()), sizeof(T));
    const auto* const first = reinterpret_cast<const std::byte*>(expected.data());
    const Bytes wanted(first, first + expected.size() * sizeof(T));
    EXPECT_EQ(stock_values(path, "/data/0/meshes/level", dtype_of<T>()), wanted);
    const auto reader = Reader::open(path);
    ASSERT_TRUE(reader.ok());
    Bytes bytes(wanted.size());
    ASSERT_TRUE((*reader)->read(0, {{0, 0}, {512, 512}}, bytes).ok());
    EXPECT_EQ(bytes, wanted);
}

TEST_F(IntegerFields, covered_in_part_have_exactly_the_fill_value_elsewhere) {
    come_back_partial<std::int8_t>(path_, -128.0, -128);
    come_back_partial<std::uint8_t>(path_, 0.0, 0);
    come_back_partial<std::int16_t>(path_, std::int64_t{-7}, -7);
    come_back_partial<std::uint16_t>(path_, 65535.0, 65535);
    come_back_partial<std::int32_t>(path_, -1, -1);
    come_back_partial<std::uint32_t>(path_, std::uint64_t{4294967295U}, 4294967295U);
    come_back_partial<std::int64_t>(path_, std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::min());
    come_back_partial<std::uint64_t>(path_, ~std::uint64_t{0}, ~std::uint64_t{0});
}

/// What became of a field of one family, over some dumps of other values of the same kind.
struct Space {
    double ratio, overflowed_share, reserved_share;
};

Space space_of(const std::string& path, const std::string& family, DType dtype) {
    const Shape shape{4, 64, 4096};
    WriterOptions options;
    options.chunk_bytes = 1u << 20;
    options.durable = false;
    auto writer = Writer::create(path, nullptr, options);
    const auto field = (*writer)->define_field("f", dtype, shape);
    for (std::uint64_t d = 0; d < 5; ++d) {
        const Bytes values =
            codec::as_bytes_of(codec::family(family, shape.count(), 100 + d), dtype);
        auto iteration = (*writer)->begin_iteration(d);
        EXPECT_TRUE(
            iteration.begin_dump(0.0)
                .put_bytes(*field, {{0, 0, 0}, shape}, values.data(), dtype, Ownership::copy)
                .ok());
        EXPECT_TRUE(iteration.end().ok());
    }
    EXPECT_TRUE((*writer)->close().ok());
    const WriterReport report = (*writer)->report();
    const auto share = [](std::uint64_t a, std::uint64_t b) {
        return static_cast<double>(a) / static_cast<double>(b);
    };
    return {share(report.raw_bytes, report.stored_bytes),
            share(report.overflow_blocks, report.blocks),
            share(report.reserved_bytes, report.stored_bytes)};
}

TEST_F(IntegerFields, find_room_in_what_was_kept_for_them) {
    struct Case {
        const char* family;
        DType dtype;
    };
    double overflowed = 0.0;
    int cases = 0;
    for (const auto& [family, dtype] : std::initializer_list<Case>{{"sequential", uint64},
                                                                   {"gaps", int64},
                                                                   {"sparse_morton", uint64},
                                                                   {"permuted", uint32},
                                                                   {"shuffled_4096", uint64},
                                                                   {"counts", uint16},
                                                                   {"counter", uint64},
                                                                   {"sparse_mask", uint8},
                                                                   {"blobs", int8},
                                                                   {"regions", uint32},
                                                                   {"sorted_keys", uint64},
                                                                   {"signed_levels", int32},
                                                                   {"enumeration", int64},
                                                                   {"noise", int32}}) {
        const Space space = space_of(path_, family, dtype);
        fmt::print("{:14} {:6}  ratio {:8.2f}  overflowed blocks {:5.1f} %  reserved {:5.2f} x\n",
                   family, to_string(dtype), space.ratio, 100.0 * space.overflowed_share,
                   space.reserved_share);
        EXPECT_LE(space.overflowed_share, 0.25) << family;
        overflowed += space.overflowed_share;
        ++cases;
    }
    EXPECT_LE(overflowed / cases, 0.05);
}

}  // namespace
}  // namespace caesura
